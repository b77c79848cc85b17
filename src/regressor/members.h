// regressor/members.h: the beliefs of a mixture, fitted and changed in parallel.
//
// A draw is one member of the mixture: one belief over all targets if weights are independent, one per target if they
// are joint. Beliefs are stored draw by draw, in the order of the targets.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <dma/belief/belief.h>
#include <dma/belief/independent.h>
#include <dma/regressor/regressor.h>

namespace dma::detail {

using Members = std::vector<std::shared_ptr<const Belief>>;

struct FittedMembers {
  Members members;
  std::vector<FitResult> results;  // one per draw; cavity predictions rows x targets
};

TrainingOptions training_options(const RegressorOptions& options, std::size_t batch_size);
IndependentOptions independent_options(const RegressorOptions& options);
// One per draw.
std::vector<WeightPrior> draw_priors(const Architecture& architecture,
                                     const RegressorOptions& options);

// Bytes of the messages that a full ledger of joint beliefs keeps.
std::size_t joint_ledger_bytes(const Architecture& architecture, std::size_t rows,
                               const RegressorOptions& options);

// Restores a belief. Throws NetworkError if the arrays are not those of a belief.
std::shared_ptr<const Belief> stored_belief(const Architecture& architecture,
                                            const RegressorOptions& options, std::size_t batch_size,
                                            Arrays stored, const Heard& heard, std::size_t draw);

// Puts the `count` outputs of a belief in their place, from target `first` on, among all targets.
void place(const Prediction& own, std::size_t first, std::size_t count, std::size_t targets,
           Prediction& all);

class CheckpointFile;

// Rows are learnt in the given order; noise variances, one per target, are where learning starts. After an
// interruption, draws of independent weights that have not seen all rows are left out, unless none has. The
// checkpoint may be null.
FittedMembers fit_members(const Architecture& architecture, const RegressorOptions& options,
                          std::size_t batch_size, std::span<const double> noise_variance,
                          const Rows& rows, const OnProgress& progress, CheckpointFile* checkpoint);

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
  std::vector<std::size_t> remove = {};  // batches, ascending
  std::vector<Rows> attach = {};         // rows of the batches that stay, or nothing
  Rows append = {};
};

// Does not change the old members.
FittedMembers change_members(const Members& members, const RegressorOptions& options,
                             std::size_t batch_size, const Change& change,
                             const OnProgress& progress);

}  // namespace dma::detail
