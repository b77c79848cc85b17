#include "regressor/fit.h"

#include <algorithm>
#include <cmath>

#include <dma/special/random.h>

#include "base/require.h"
#include "belief/joint_backend.h"
#include "regressor/checkpoint.h"
#include "regressor/noise_shape.h"

namespace dma::detail {
namespace {

constexpr std::size_t ledger_budget = 64 << 20;  // bytes, all members together
constexpr std::size_t independent_units = 50;
constexpr std::size_t joint_units = 20;
constexpr std::size_t joint_units_of_many = 40;
constexpr std::size_t members_of_many = 2;  // if the belief is joint
constexpr std::size_t usual_members = 4;
// Multiplications of an epoch over all rows, up to which a joint belief is worth waiting for: seconds.
constexpr double most_joint_operations = 1e11;
constexpr double most_operations_of_many_units = 5e10;
constexpr double first_noise_variance = 0.1;  // of a standardised target; where learning starts

}  // namespace

Architecture architecture_of(const Encoder& encoder, const RegressorOptions& options, bool joint,
                             std::size_t rows) {
  Architecture architecture;
  architecture.widths = {encoder.width()};
  std::vector<std::size_t> hidden = options.hidden;
  if (hidden.empty()) hidden = {joint ? joint_units : independent_units};
  architecture.widths.insert(architecture.widths.end(), hidden.begin(), hidden.end());
  architecture.widths.push_back(joint ? 1 : encoder.targets.size());
  architecture.slopes = {options.slope};
  architecture.bias = {true};
  if (joint && options.hidden.empty() && rows >= many_rows) {
    Architecture wide = architecture;
    wide.widths[1] = joint_units_of_many;
    if (epoch_cost(wide, rows).least() <= most_operations_of_many_units) return wide;
  }
  return architecture;
}

bool wants_joint(const Encoder& encoder, const RegressorOptions& options, std::size_t rows) {
  const Architecture architecture = architecture_of(encoder, options, true, rows);
  switch (options.belief) {
    case BeliefKind::independent:
      return false;
    case BeliefKind::joint:
      require(options.rule == Rule::linear, "the rule direct needs the belief independent");
      require(!options.single_precision, "single precision needs the belief independent");
      return true;
    case BeliefKind::automatic:
      return epoch_cost(architecture, rows).least() <= most_joint_operations &&
             options.rule == Rule::linear && options.ledger == LedgerMode::full &&
             !options.single_precision;
  }
  return false;
}

void require_understood(const RegressorOptions& options, bool joint) {
  require(joint || (options.selection && options.calibration),
          "selection and calibration can only be switched off with the belief joint: independent "
          "weights have neither");
}

std::size_t members_of(bool joint, std::size_t rows) {
  return joint && rows >= many_rows ? members_of_many : usual_members;
}

std::vector<double> first_noise(const Encoder& encoder, const RegressorOptions& options) {
  std::vector<double> noise(encoder.targets.size(), first_noise_variance);
  for (std::size_t k = 0; options.noise && k < noise.size(); ++k) {
    const double scaled = *options.noise / encoder.targets[k].deviation;
    noise[k] = scaled * scaled;
  }
  return noise;
}

namespace {

std::size_t batch_size_of(const RegressorOptions& options, std::size_t rows, std::size_t weights) {
  if (options.batch_size > 0) return std::min(options.batch_size, rows);
  const std::size_t number = options.single_precision ? sizeof(float) : sizeof(double);
  const std::size_t bytes = ledger_bytes(LedgerMode::full, rows, weights, number);
  return std::clamp<std::size_t>((bytes * options.ensemble + ledger_budget - 1) / ledger_budget, 1,
                                 rows);
}

}  // namespace

std::vector<Predicted> in_own_units(const Prediction& prediction, const Encoder& encoder) {
  std::vector<Predicted> result(prediction.mean.size());
  for (std::size_t n = 0; n < result.size(); ++n) {
    const TargetColumn& target = encoder.targets[n % encoder.targets.size()];
    result[n] = {target.mean + target.deviation * prediction.mean[n],
                 target.deviation * std::sqrt(prediction.epistemic_variance[n]),
                 target.deviation * std::sqrt(prediction.noise_variance[n]),
                 prediction.noise_spread.empty() ? 0 : prediction.noise_spread[n]};
  }
  return result;
}

namespace {

bool is_finite(const Predicted& one) {
  return std::isfinite(one.mean) && std::isfinite(one.epistemic_std) &&
         std::isfinite(one.noise_std) && std::isfinite(one.noise_spread);
}

}  // namespace

Mixture::Mixture(const Model& model)
    : targets_(model.encoder.targets.size()),
      outputs_(model.members.front()->outputs()),
      shapes_(model.shapes) {
  for (const auto& member : model.members) members_.push_back(member->predictor());
}

Prediction Mixture::predict(std::span<const double> inputs, std::size_t rows,
                            std::size_t threads) const {
  const std::size_t beliefs = targets_ / outputs_;  // of a draw
  std::vector<Prediction> draws(members_.size() / beliefs);
  for (std::size_t m = 0; m < members_.size(); ++m) {
    place(members_[m]->predict(inputs, rows, threads), m % beliefs * outputs_, outputs_, targets_,
          draws[m / beliefs]);
  }
  Prediction mixture = mix(draws);
  if (!shapes_.empty()) apply_shapes(shapes_, mixture);
  return mixture;
}

std::vector<Predicted> predict_rows(const Model& model, const Mixture& mixture,
                                    std::span<const double> inputs, std::size_t rows,
                                    std::size_t threads) {
  const std::size_t targets = model.encoder.targets.size();
  auto predicted = in_own_units(mixture.predict(inputs, rows, threads), model.encoder);
  const auto broken = std::find_if_not(predicted.begin(), predicted.end(), is_finite);
  if (broken != predicted.end()) {
    throw NoPrediction(static_cast<std::size_t>(broken - predicted.begin()) / targets,
                       "the inputs are too large for this model");
  }
  return predicted;
}

Metrics score_target(const std::vector<Predicted>& predicted, std::span<const double> targets,
                     const Encoder& encoder, std::size_t target) {
  std::vector<double> y;
  std::vector<Predicted> own;
  const TargetColumn& column = encoder.targets[target];
  for (std::size_t n = target; n < predicted.size(); n += encoder.targets.size()) {
    if (std::isnan(predicted[n].mean)) continue;
    y.push_back(column.mean + column.deviation * targets[n]);
    own.push_back(predicted[n]);
  }
  return score(y, own);
}

double mean_nll(const std::vector<Predicted>& predicted, std::span<const double> targets,
                const Encoder& encoder) {
  double sum = 0;
  for (std::size_t k = 0; k < encoder.targets.size(); ++k) {
    sum += score_target(predicted, targets, encoder, k).nll;
  }
  return sum / static_cast<double>(encoder.targets.size());
}

// Fisher-Yates shuffle.
void shuffle(EncodedRows& rows, std::uint64_t seed) {
  special::Random random(seed);
  const std::size_t width = rows.inputs.size() / rows.rows;
  const std::size_t outputs = rows.targets.size() / rows.rows;
  const auto swap_rows = [](std::vector<double>& values, std::size_t a, std::size_t b,
                            std::size_t count) {
    const auto begin = [&](std::size_t row) {
      return values.begin() + static_cast<std::ptrdiff_t>(row * count);
    };
    std::swap_ranges(begin(a), begin(a + 1), begin(b));
  };
  for (std::size_t n = rows.rows; n > 1; --n) {
    const auto other = static_cast<std::size_t>(random.uniform() * static_cast<double>(n));
    if (other == n - 1) continue;
    swap_rows(rows.inputs, n - 1, other, width);
    swap_rows(rows.targets, n - 1, other, outputs);
    std::swap(rows.hashes[n - 1], rows.hashes[other]);
  }
}

Stopped why_stopped(const std::vector<FitResult>& results) {
  for (const Stopped reason : {Stopped::interrupted, Stopped::max_epochs, Stopped::patience}) {
    for (const FitResult& result : results) {
      if (result.stopped == reason) return reason;
    }
  }
  return Stopped::tolerance;
}

std::size_t most_epochs(const std::vector<FitResult>& results) {
  std::size_t most = 0;
  for (const FitResult& result : results) most = std::max(most, result.epochs);
  return most;
}

namespace {

// The members' cavity predictions, mixed as predict() mixes.
Prediction mixed_cavity(const std::vector<FitResult>& results) {
  std::vector<Prediction> parts;
  for (const FitResult& result : results) parts.push_back(result.cavity_predictions);
  return mix(parts);
}

// Fits the shape of the noise, if the noise is learnt.
void fit_shapes(Prediction& cavity, const Rows& rows, Model& model) {
  if (model.options.belief != BeliefKind::joint) return;
  const std::size_t targets = model.encoder.targets.size();
  model.shapes.resize(targets);
  for (std::size_t k = 0; k < targets; ++k) {
    const bool wanted = model.options.calibration && !model.options.noise;
    model.shapes[k] = wanted ? fit_shape(cavity, rows.targets, k, targets) : NoiseShape{};
  }
  apply_shapes(model.shapes, cavity);
}

// Root of the mean variance over rows. The unit is a power of two near the target's deviation, so no digit changes, and
// no square overflows or underflows, whatever the size of the targets.
double mean_noise(const std::vector<Predicted>& predicted, std::size_t target,
                  const Encoder& encoder) {
  const int unit = std::ilogb(encoder.targets[target].deviation);
  double sum = 0;
  double count = 0;
  for (std::size_t n = target; n < predicted.size(); n += encoder.targets.size(), ++count) {
    const double noise = std::scalbn(predicted[n].noise_std, -unit);
    sum += noise * noise;
  }
  return std::scalbn(std::sqrt(sum / count), unit);
}

// Converts to the targets' own units: a density per unit of the target.
std::vector<double> nll_in_own_units(std::vector<double> nll, const Encoder& encoder) {
  double shift = 0;
  for (const TargetColumn& target : encoder.targets) shift += std::log(target.deviation);
  for (double& value : nll) value += shift / static_cast<double>(encoder.targets.size());
  return nll;
}

}  // namespace

void report_fit(const std::vector<FitResult>& results, const Rows& rows, Model& model) {
  FitReport& report = model.report;
  const Encoder& encoder = model.encoder;
  report.epochs = most_epochs(results);
  report.stopped = why_stopped(results);
  report.certificate = results.front().certificate;
  report.certificate.bounded = {};
  report.ledger_bytes = 0;
  report.training.clear();
  report.rows_changed = 0;
  for (const FitResult& result : results) {
    report.training.push_back(nll_in_own_units(result.train_nll, encoder));
    report.ledger_bytes += result.ledger_bytes;
    report.certificate.bounded += result.certificate.bounded;
  }
  Prediction mixed = mixed_cavity(results);
  fit_shapes(mixed, rows, model);
  const auto cavity = in_own_units(mixed, encoder);
  report.cavity.clear();
  report.noise_std.clear();
  report.noise_at_floor.clear();
  for (std::size_t k = 0; k < encoder.targets.size(); ++k) {
    report.cavity.push_back(score_target(cavity, rows.targets, encoder, k));
    report.noise_std.push_back(mean_noise(cavity, k, encoder));
    const double floor = std::sqrt(least_noise_variance) * encoder.targets[k].deviation;
    report.noise_at_floor.push_back(report.noise_std.back() < 1.01 * floor);
  }
}

Model fit_rows(Encoder encoder, const RegressorOptions& asked, const Rows& rows,
               std::vector<std::uint64_t> hashes, const OnProgress& progress,
               const Checkpoint& checkpoint) {
  Model model{asked, std::move(encoder), {}, std::move(hashes), {}, {}, {}};
  const bool joint = wants_joint(model.encoder, asked, rows.rows);
  require_understood(asked, joint);
  RegressorOptions& options = model.options;
  if (options.ensemble == 0) options.ensemble = members_of(joint, rows.rows);
  const Architecture architecture = architecture_of(model.encoder, options, joint, rows.rows);
  options.belief = joint ? BeliefKind::joint : BeliefKind::independent;
  FitReport& report = model.report;
  report.rows = rows.rows;
  report.weights = architecture.weight_count();
  report.layers = architecture.widths;
  if (joint) {
    report.batch_size = options.batch_size > 0 ? std::min(options.batch_size, rows.rows) : 1;
    if (joint_ledger_bytes(architecture, rows.rows, options) > ledger_budget) {
      options.ledger = LedgerMode::none;
    }
  } else {
    report.batch_size = batch_size_of(options, rows.rows, report.weights);
  }
  for (std::size_t first = 0; first < rows.rows; first += report.batch_size) {
    model.batch_rows.push_back(std::min(report.batch_size, rows.rows - first));
  }
  report.batches = model.batch_rows.size();
  const std::vector<double> noise = first_noise(model.encoder, options);
  std::optional<CheckpointFile> file;
  if (!checkpoint.path.empty()) {
    file.emplace(checkpoint, options, rows, options.ensemble * (joint ? noise.size() : 1));
  }
  CheckpointFile* kept = file ? &*file : nullptr;
  auto fitted = fit_members(architecture, options, report.batch_size, noise, rows, progress, kept);
  options.ensemble = fitted.results.size();
  model.members = std::move(fitted.members);
  report_fit(fitted.results, rows, model);
  return model;
}

}  // namespace dma::detail
