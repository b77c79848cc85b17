// belief/joint_plan.h: the stages of a joint belief's fit, and how many epochs each may take.
#pragma once

#include <cstddef>
#include <vector>

namespace dma::detail {

// One fit of one of the two networks.
struct JointStage {
  enum class Part {
    some_rows,  // the function and its noise, from the first rows
    all_rows,   // from all
    noise,      // the noise network, given the function
    function,   // the function, given the noise of each row
  };
  Part part;
  std::size_t epochs;  // at most
  bool from_before;    // starts near where it will end

  bool fits_both() const { return part == Part::some_rows || part == Part::all_rows; }
  bool operator==(const JointStage&) const = default;
};

std::size_t epochs_of(const std::vector<JointStage>& stages);

// `varies`: the noise is a network of its own, and is refined in turn with the function. With `most_epochs` (0: as many as
// usual) the stages take no more together: the first has what is beyond the usual, and of fewer each has its share.
std::vector<JointStage> plan_fit(bool many_rows, bool varies, std::size_t most_epochs);
// For a belief that knows something, from all rows.
std::vector<JointStage> plan_refit(bool varies, std::size_t most_epochs);

}  // namespace dma::detail
