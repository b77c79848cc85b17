// regressor/fit.h: fitting and prediction on encoded rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <dma/regressor/regressor.h>

#include "regressor/members.h"

namespace dma::detail {

// Throws NetworkError if an option cannot be used.
void validate(const RegressorOptions& options);

// Effects are for joint beliefs, which know what is uncertain of them.
EncoderBuilder encoder_builder(const RegressorOptions& options, bool effects);
// Also requires that the names and values are UTF-8, as the model file must be.
Encoder finish(const EncoderBuilder& builder, const std::string& source);

// Of a network that speaks of one target if the belief is joint, otherwise of all.
std::size_t outputs_of_network(const Encoder& encoder, bool joint);
// One network per target if the belief is joint, otherwise one for all. Without hidden units in the options it has the
// usual ones of independent weights.
Architecture architecture_of(const Encoder& encoder, const RegressorOptions& options, bool joint);
// Whether the options leave a joint belief possible.
bool may_be_joint(const RegressorOptions& options);
// Whether the options ask for a joint belief, or leave it open and it is the better choice.
bool wants_joint(const Encoder& encoder, const RegressorOptions& options, std::size_t rows);
// Throws NetworkError if an option is given that this kind of belief does not know.
void require_understood(const RegressorOptions& options, bool joint);
inline constexpr std::size_t independent_members = 4;  // by default
// Variances of the standardised targets, where learning starts or as they were given.
std::vector<double> first_noise(const Encoder& encoder, const RegressorOptions& options);

// Rows that are alike in all columns are kept once and count together. If a row then counts other than once, rows come in
// the order of their hashes: which of several copies stood first must not matter. Weights that are all 1 are none.
void merge_copies(EncodedRows& rows);
// Files are often sorted, and neighbours must not share a batch.
void shuffle(EncodedRows& rows, std::uint64_t seed);

// How rows are found again, and how many of the table each stands for (empty: one).
struct RowNames {
  std::vector<std::uint64_t> hashes = {};
  std::vector<std::size_t> copies = {};
};

// A fit without its table. The rows are learnt in the order given.
Model fit_rows(Encoder encoder, const RegressorOptions& asked, const Rows& rows, RowNames names,
               const OnProgress& progress, const Checkpoint& checkpoint = {});

// Combines the results of the members' fits over all rows in the model's report, with predictions of rows by members that
// have not learnt them: rows x targets.
void report_fit(const std::vector<FitResult>& results, const std::vector<Predicted>& held_out,
                const Rows& rows, Model& model);
// The members' cavity predictions, mixed; independent weights only.
std::vector<Predicted> mixed_cavity(const std::vector<FitResult>& results, std::size_t rows,
                                    const Model& model);

std::size_t most_epochs(const std::vector<FitResult>& results);
Stopped why_stopped(const std::vector<FitResult>& results);

// Of predictions of rows that were not learnt, rows x targets: how probable it was that a target is smaller. Those that are
// NaN are left out; weights other than those of copies are not understood, and then nothing is known.
void set_probabilities_below(const std::vector<Predicted>& predicted, const Targets& targets,
                             const std::vector<std::size_t>& copies, Model& model);

// Scores in the target's own unit; predictions that are NaN are left out. Tails: see score().
Metrics score_target(const std::vector<Predicted>& predicted, const Targets& targets,
                     const Encoder& encoder, std::size_t target, std::span<const Tails> tails = {});
// Mean over rows and targets; the targets are standardised, the likelihood is not.
double mean_nll(const std::vector<Predicted>& predicted, const Targets& targets,
                const Encoder& encoder);

}  // namespace dma::detail
