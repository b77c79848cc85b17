// regressor/members.h: the posteriors of an ensemble, fitted and changed side by side.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <dma/regressor/regressor.h>

namespace dma::detail {

template <std::floating_point T>
struct FittedMembers {
  Members<T> members;
  std::vector<FitResult> results;
};

// Rows that are fitted to the last digit leave single precision too few of them: that is the option's fault, not the
// rows'.
template <std::floating_point T>
void refuse_single_precision(const NumericalBreakdown& breakdown) {
  if (std::is_same_v<T, double>) return;
  throw NetworkError(
      std::string("single precision has too few digits for these rows, use double: ") +
      breakdown.what());
}

TrainingOptions training_options(const RegressorOptions& options, std::size_t batch_size);
// One per member.
std::vector<WeightPrior> draw_priors(const Architecture& architecture,
                                     const RegressorOptions& options);

class CheckpointFile;

// One member per draw of the prior means. If it was interrupted, members that have not seen all rows are
// left out, unless none has. The checkpoint may be null.
template <std::floating_point T>
FittedMembers<T> fit_members(const Architecture& architecture, const RegressorOptions& options,
                             std::size_t batch_size, std::span<const double> noise_variance,
                             const Rows& rows, const OnProgress& progress,
                             CheckpointFile* checkpoint);

// What to do with members whose batches are known: see Regressor::update and forget.
struct Change {
  std::vector<std::size_t> batch_rows = {};  // before the change
  std::vector<std::size_t> remove = {};      // batches, ascending
  std::vector<Rows> attach = {};             // rows of the batches that stay, or nothing
  Rows append = {};
  bool learn_noise = true;  // not if there are rows of which nothing is known here
  // Every row that was learnt: precisions are then put together anew from what stays.
  bool all_in_ledger = true;
};

// Leaves the old members alone.
template <std::floating_point T>
FittedMembers<T> change_members(const Members<T>& members, const RegressorOptions& options,
                                std::size_t batch_size, const Change& change,
                                const OnProgress& progress);

}  // namespace dma::detail
