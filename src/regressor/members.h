// regressor/members.h: the beliefs of a mixture, fitted and changed in parallel.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <dma/belief/belief.h>
#include <dma/belief/independent.h>
#include <dma/belief/joint.h>
#include <dma/regressor/regressor.h>

namespace dma::detail {

struct FittedMembers {
  std::vector<Member> members;
  std::vector<FitResult> results;  // one per member
};

// What a network says of the targets; of numbers it starts with these noise variances.
std::shared_ptr<const Likelihood> likelihood_of(const Encoder& encoder,
                                                const RegressorOptions& options,
                                                std::vector<double> noise_variance = {1});
TrainingOptions training_options(const Encoder& encoder, const RegressorOptions& options,
                                 std::size_t batch_size);
IndependentOptions independent_options(const RegressorOptions& options);
// One per member.
std::vector<WeightPrior> draw_priors(const Architecture& architecture,
                                     const RegressorOptions& options);

std::shared_ptr<const Belief> joint_member(JointKnowledge known, const TrainingOptions& training,
                                           const Heard& heard);

// Restores a belief. Throws NetworkError if the arrays are not those of a belief.
std::shared_ptr<const Belief> stored_belief(const Architecture& architecture, const Model& model,
                                            Arrays stored, const Heard& heard);

// Columns [first, first + count) of the targets.
std::vector<double> targets_of(const Rows& rows, std::size_t first, std::size_t count);

class CheckpointFile;

// Independent weights. Rows are learnt in the given order. After an interruption, members that have not seen all rows are
// left out, unless none has. The checkpoint may be null.
FittedMembers fit_independent(const Architecture& architecture, const RegressorOptions& options,
                              const TrainingOptions& training, const Rows& rows,
                              const OnProgress& progress, CheckpointFile* checkpoint);

// If rows are fitted to the last digit, single precision has too few digits: the option is to blame, not the rows.
template <class Run>
void with_advice(const RegressorOptions& options, const Run& run) {
  try {
    run();
  } catch (const NumericalBreakdown& breakdown) {
    if (!options.single_precision) throw;
    throw NetworkError(
        std::string("single precision has too few digits for these rows, use double: ") +
        breakdown.what());
  }
}

// What to do with members whose batches are known: see Regressor::update and forget.
struct Change {
  struct Part {
    std::size_t batch;
    double share;
  };
  std::vector<Part> reduce = {};         // batches of which only a share stays
  std::vector<std::size_t> remove = {};  // batches, ascending
  std::vector<Rows> attach = {};         // rows of the batches that stay, or nothing
  Rows append = {};
};

// Does not change the old members.
FittedMembers change_members(const Model& model, const Change& change, const OnProgress& progress);

}  // namespace dma::detail
