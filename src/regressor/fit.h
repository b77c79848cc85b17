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

EncoderBuilder encoder_builder(const RegressorOptions& options);
// Also requires that the names and values are UTF-8, as the model file must be.
Encoder finish(const EncoderBuilder& builder, const std::string& source);

// One network per target if the belief is joint, otherwise one for all.
Architecture architecture_of(const Encoder& encoder, const RegressorOptions& options, bool joint,
                             std::size_t rows);
// Whether the options ask for a joint belief, or leave it open and it is the better choice.
bool wants_joint(const Encoder& encoder, const RegressorOptions& options, std::size_t rows);
// Throws NetworkError if an option is given that this kind of belief does not know.
void require_understood(const RegressorOptions& options, bool joint);
// Default number of members.
std::size_t members_of(bool joint, std::size_t rows);
// Variances of the standardised targets, where learning starts or as they were given.
std::vector<double> first_noise(const Encoder& encoder, const RegressorOptions& options);

// Files are often sorted, and neighbours must not share a batch.
void shuffle(EncodedRows& rows, std::uint64_t seed);

// A fit without its table. The rows are learnt in the order given.
Model fit_rows(Encoder encoder, const RegressorOptions& asked, const Rows& rows,
               std::vector<std::uint64_t> hashes, const OnProgress& progress,
               const Checkpoint& checkpoint = {});

// Combines the results of the members' fits over all rows in the model's report.
void report_fit(const std::vector<FitResult>& results, const Rows& rows, Model& model);

std::size_t most_epochs(const std::vector<FitResult>& results);
Stopped why_stopped(const std::vector<FitResult>& results);

// The members, prepared to predict many rows.
class Mixture {
 public:
  explicit Mixture(const Model& model);

  // Predictions of standardised targets: rows x targets.
  Prediction predict(std::span<const double> inputs, std::size_t rows, std::size_t threads) const;

 private:
  std::size_t targets_, outputs_;
  std::vector<std::unique_ptr<Predictor>> members_;
  std::vector<NoiseShape> shapes_;
};

// Predicts in the targets' own units. Throws NoPrediction if a prediction is not finite.
std::vector<Predicted> predict_rows(const Model& model, const Mixture& mixture,
                                    std::span<const double> inputs, std::size_t rows,
                                    std::size_t threads);
std::vector<Predicted> in_own_units(const Prediction& prediction, const Encoder& encoder);

// Scores in the target's own unit; predictions that are NaN are left out.
Metrics score_target(const std::vector<Predicted>& predicted, std::span<const double> targets,
                     const Encoder& encoder, std::size_t target);
// Mean over rows and targets; the targets are standardised, the likelihood is not.
double mean_nll(const std::vector<Predicted>& predicted, std::span<const double> targets,
                const Encoder& encoder);

}  // namespace dma::detail
