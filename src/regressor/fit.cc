#include "regressor/fit.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <numeric>

#include <dma/likelihood/classes.h>
#include <dma/special/gamma.h>
#include <dma/special/random.h>

#include "base/require.h"
#include "belief/calibration.h"
#include "regressor/checkpoint.h"
#include "regressor/effects.h"
#include "regressor/mixture.h"
#include "regressor/ramps.h"
#include "regressor/shapes.h"

namespace dma::detail {
namespace {

constexpr std::size_t ledger_budget = 64 << 20;  // bytes, all members together
constexpr std::size_t independent_units = 50;
constexpr double joint_slope = 0;
constexpr double independent_slope = 0.1;
constexpr double first_noise_variance = 0.1;  // of a standardised target; where learning starts

// The shapes of a joint belief.
std::vector<Architecture> shapes_of(const Encoder& encoder, const RegressorOptions& options,
                                    const Rows& rows) {
  Architecture architecture = architecture_of(encoder, options, true);
  if (!options.hidden.empty()) return {architecture};
  architecture.ramps = ramps_of(rows.inputs, encoder.width());
  return default_shapes(architecture, encoder.has_classes(), rows.rows);
}

}  // namespace

std::size_t outputs_of_network(const Encoder& encoder, bool joint) {
  if (encoder.has_classes()) {
    return ClassLikelihood(encoder.targets.front().classes.size()).outputs();
  }
  return joint ? 1 : encoder.targets.size();
}

Architecture architecture_of(const Encoder& encoder, const RegressorOptions& options, bool joint) {
  Architecture architecture;
  architecture.widths = {encoder.width()};
  std::vector<std::size_t> hidden = options.hidden;
  if (hidden.empty()) hidden = {independent_units};
  architecture.widths.insert(architecture.widths.end(), hidden.begin(), hidden.end());
  architecture.widths.push_back(outputs_of_network(encoder, joint));
  architecture.slopes = {options.slope.value_or(joint ? joint_slope : independent_slope)};
  architecture.bias = {true};
  if (joint) architecture.uncertain = uncertain_inputs(encoder);
  return architecture;
}

bool may_be_joint(const RegressorOptions& options) {
  if (options.belief != BeliefKind::automatic) return options.belief == BeliefKind::joint;
  return options.rule == Rule::linear && options.ledger == LedgerMode::full &&
         !options.single_precision;
}

bool wants_joint(const Encoder& encoder, const RegressorOptions& options, std::size_t rows) {
  switch (options.belief) {
    case BeliefKind::independent:
      return false;
    case BeliefKind::joint:
      require(options.rule == Rule::linear, "the rule direct needs the belief independent");
      require(!options.single_precision, "single precision needs the belief independent");
      return true;
    case BeliefKind::automatic:
      return may_be_joint(options) &&
             !default_shapes(architecture_of(encoder, options, true), false, rows).empty();
  }
  return false;
}

void require_understood(const RegressorOptions& options, bool joint) {
  require(joint || (options.selection && options.calibration),
          "selection and calibration can only be switched off with the belief joint: independent "
          "weights have neither");
  require(joint || options.seconds == 0, "a time can only be given with the belief joint");
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

Metrics score_target(const std::vector<Predicted>& predicted, const Targets& targets,
                     const Encoder& encoder, std::size_t target, std::span<const Tails> tails) {
  std::vector<double> y;
  std::vector<double> weights;
  std::vector<Predicted> own;
  const TargetColumn& column = encoder.targets[target];
  for (std::size_t n = target; n < predicted.size(); n += encoder.targets.size()) {
    if (std::isnan(predicted[n].mean)) continue;
    y.push_back(column.decoded(targets.values[n]));
    weights.push_back(targets.weight(n / encoder.targets.size()));
    own.push_back(predicted[n]);
  }
  return y.empty() ? Metrics{} : score(y, own, weights, tails);
}

double mean_nll(const std::vector<Predicted>& predicted, const Targets& targets,
                const Encoder& encoder) {
  double sum = 0;
  for (std::size_t k = 0; k < encoder.targets.size(); ++k) {
    sum += score_target(predicted, targets, encoder, k).nll;
  }
  return sum / static_cast<double>(encoder.targets.size());
}

namespace {

std::vector<std::size_t> by_hash(const EncodedRows& rows) {
  std::vector<std::size_t> order(rows.rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rows.hashes[a] < rows.hashes[b]; });
  return order;
}

bool are_alike(const EncodedRows& rows, std::size_t a, std::size_t b) {
  const auto same = [&](const std::vector<double>& values) {
    const std::size_t width = values.size() / rows.rows;
    const auto at = [&](std::size_t row) {
      return values.begin() + static_cast<std::ptrdiff_t>(row * width);
    };
    return std::equal(at(a), at(a + 1), at(b));
  };
  return rows.hashes[a] == rows.hashes[b] && same(rows.inputs) && same(rows.targets);
}

template <class T>
std::vector<T> chosen(const std::vector<std::size_t>& places, const std::vector<T>& values,
                      std::size_t rows) {
  const std::size_t width = values.size() / rows;
  std::vector<T> result;
  result.reserve(places.size() * width);
  for (const std::size_t row : places) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * width);
    result.insert(result.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
  }
  return result;
}

// These rows, in this order.
void choose(const std::vector<std::size_t>& places, EncodedRows& rows) {
  rows.inputs = chosen(places, rows.inputs, rows.rows);
  rows.targets = chosen(places, rows.targets, rows.rows);
  rows.hashes = chosen(places, rows.hashes, rows.rows);
  rows.weights = chosen(places, rows.weights, rows.rows);
  rows.copies = chosen(places, rows.copies, rows.rows);
  rows.table_rows = chosen(places, rows.table_rows, rows.rows);
  rows.rows = places.size();
}

}  // namespace

void merge_copies(EncodedRows& rows) {
  const auto is_one = [](double weight) { return weight == 1; };
  if (std::all_of(rows.weights.begin(), rows.weights.end(), is_one)) rows.weights.clear();
  std::vector<std::size_t> kept;
  for (const std::size_t row : by_hash(rows)) {
    if (kept.empty() || !are_alike(rows, kept.back(), row)) {
      kept.push_back(row);
      continue;
    }
    rows.weights.resize(rows.rows, 1);
    rows.copies.resize(rows.rows, 1);
    rows.weights[kept.back()] += rows.weights[row];
    rows.copies[kept.back()] += rows.copies[row];
  }
  if (!rows.weights.empty()) choose(kept, rows);
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
    if (!rows.weights.empty()) std::swap(rows.weights[n - 1], rows.weights[other]);
    if (!rows.copies.empty()) std::swap(rows.copies[n - 1], rows.copies[other]);
  }
}

Stopped why_stopped(const std::vector<FitResult>& results) {
  for (const Stopped reason :
       {Stopped::interrupted, Stopped::time, Stopped::max_epochs, Stopped::patience}) {
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

// Of the logarithm of a count's rate.
double mean_square_noise(const Predicted& predicted) {
  double sum = 0;
  for (const PredictedPart& part : predicted.parts) {
    sum += part.weight * part.noise_std * part.noise_std;
  }
  return sum;
}

// The noise is less than this in half of the rows, by their weights; 0 if there are none.
double median(std::vector<std::pair<double, double>> values_and_weights) {
  std::sort(values_and_weights.begin(), values_and_weights.end());
  double all = 0;
  for (const auto& [value, weight] : values_and_weights) all += weight;
  double below = 0;
  for (const auto& [value, weight] : values_and_weights) {
    below += weight;
    if (2 * below >= all) return value;
  }
  return 0;
}

// One number for the noise of all rows, which may differ.
double usual_noise(const std::vector<Predicted>& predicted, const Targets& targets,
                   std::size_t target, const Encoder& encoder) {
  if (encoder.has_classes()) return 0;
  std::vector<std::pair<double, double>> noise;
  const bool is_amount = encoder.targets[target].kind == TargetKind::amount;
  for (std::size_t n = target; n < predicted.size(); n += encoder.targets.size()) {
    if (std::isnan(predicted[n].mean)) continue;
    const Predicted& p = predicted[n];
    const double own = encoder.has_counts() ? mean_square_noise(p)
                       : is_amount          ? mixture_of(p.parts).noise_std
                                            : p.noise_std;
    noise.emplace_back(own, targets.weight(n / encoder.targets.size()));
  }
  const double usual = median(std::move(noise));
  return encoder.has_counts() ? std::sqrt(1 / special::inverse_trigamma(usual)) : usual;
}

// Converts to the targets' own units: a density per unit of the target.
std::vector<double> nll_in_own_units(std::vector<double> nll, const Member& member,
                                     const Encoder& encoder) {
  const std::size_t outputs = member.belief->likelihood().targets();
  double shift = 0;
  for (std::size_t k = 0; k < outputs; ++k) {
    shift += encoder.targets[member.target + k].log_unit() / static_cast<double>(outputs);
  }
  for (double& value : nll) value += shift;
  return nll;
}

// Rows are in random order, so that the first ones stand for all.
std::vector<HeldOutRow> held_out_rows(const std::vector<Predicted>& predicted,
                                      const Targets& targets, const Encoder& encoder,
                                      std::size_t target) {
  std::vector<HeldOutRow> rows;
  if (encoder.has_classes()) return rows;
  const CentralLevel level(0.95);
  for (std::size_t n = target; n < predicted.size() && rows.size() < most_held_out_rows;
       n += encoder.targets.size()) {
    if (std::isnan(predicted[n].mean)) continue;
    const Interval interval = predicted[n].interval(level);
    if (!std::isfinite(interval.upper - interval.lower)) continue;
    rows.push_back({encoder.targets[target].decoded(targets.values[n]), predicted[n].mean,
                    interval.lower, interval.upper});
  }
  return rows;
}

}  // namespace

std::vector<Predicted> mixed_cavity(const std::vector<FitResult>& results, std::size_t rows,
                                    const Model& model) {
  std::vector<Prediction> parts;
  for (const FitResult& result : results) parts.push_back(result.cavity_predictions);
  return mix_members(parts, rows, model.members, model.encoder);
}

void set_probabilities_below(const std::vector<Predicted>& predicted, const Targets& targets,
                             const std::vector<std::size_t>& copies, Model& model) {
  constexpr std::size_t most = 10'000;
  model.probabilities_below.clear();
  model.held_out_below = false;
  const Encoder& encoder = model.encoder;
  const TargetKind kind = encoder.targets.front().kind;
  const bool is_known = kind == TargetKind::number || kind == TargetKind::amount;
  if (!is_known || !encoder.weight.empty()) return;
  const std::size_t count = encoder.targets.size();
  for (std::size_t k = 0; k < count; ++k) {
    std::vector<double> below;
    for (std::size_t n = k; n < predicted.size() && below.size() < most; n += count) {
      if (std::isnan(predicted[n].mean)) continue;
      const double y = encoder.targets[k].decoded(targets.values[n]);
      below.insert(below.end(), copies.empty() ? 1 : copies[n / count], predicted[n].cdf(y));
    }
    below.resize(std::min(below.size(), most));
    std::sort(below.begin(), below.end());
    model.probabilities_below.push_back(std::move(below));
  }
}

void report_fit(const std::vector<FitResult>& results, const std::vector<Predicted>& held_out,
                const Rows& rows, Model& model) {
  FitReport& report = model.report;
  const Encoder& encoder = model.encoder;
  report.epochs = most_epochs(results);
  report.stopped = why_stopped(results);
  report.certificate = results.front().certificate;
  report.certificate.bounded = {};
  report.ledger_bytes = 0;
  report.training.clear();
  report.rows_changed = 0;
  for (std::size_t m = 0; m < results.size(); ++m) {
    const FitResult& result = results[m];
    report.training.push_back(nll_in_own_units(result.train_nll, model.members[m], encoder));
    report.ledger_bytes += result.ledger_bytes;
    report.certificate.bounded += result.certificate.bounded;
  }
  set_probabilities_below(held_out, rows.data().weighted_targets(), model.row_copies, model);
  report.cavity.clear();
  report.held_out.clear();
  report.noise_std.clear();
  report.noise_at_floor.clear();
  for (std::size_t k = 0; k < encoder.targets.size(); ++k) {
    const Targets targets = rows.data().weighted_targets();
    report.cavity.push_back(score_target(held_out, targets, encoder, k));
    report.held_out.push_back(held_out_rows(held_out, targets, encoder, k));
    report.noise_std.push_back(usual_noise(held_out, targets, k, encoder));
    const double floor = std::sqrt(least_noise_variance) * encoder.targets[k].deviation;
    report.noise_at_floor.push_back(!encoder.has_classes() && !encoder.has_counts() &&
                                    report.noise_std.back() < 1.01 * floor);
  }
}

namespace {

// One mixture of shapes per target.
void fit_joint(const std::vector<Architecture>& shapes, const Rows& rows,
               std::span<const double> noise, const OnProgress& progress,
               CheckpointFile* checkpoint, Model& model) {
  const std::size_t targets = noise.size();
  const auto started = std::chrono::steady_clock::now();
  std::vector<FitResult> results;
  std::vector<Predicted> held_out(rows.rows * targets);
  for (std::size_t k = 0; k < targets; ++k) {
    const std::vector<double> own = targets_of(rows, k, 1);
    const ShapesTask task{model.options,
                          shapes,
                          k,
                          targets,
                          likelihood_of(model.encoder, model.options, {noise[k]}),
                          training_options(model.encoder, model.options, 1),
                          model.batch_rows,
                          started};
    FittedShapes fitted =
        fit_shapes(task, {rows.inputs, own, rows.rows, rows.weights}, progress, checkpoint);
    const TargetColumn& column = model.encoder.targets[k];
    for (ShapeReport& shape : fitted.shapes) {
      shape.held_out_nll += column.log_unit();
      model.report.shapes.push_back(std::move(shape));
    }
    for (std::size_t n = 0; n < rows.rows; ++n) {
      Predicted& one = held_out[n * targets + k];
      one = std::move(fitted.held_out[n]);
      if (!one.parts.empty()) one = in_own_units(std::move(one), column);
    }
    model.calibrations.push_back(fitted.calibration);
    std::move(fitted.members.begin(), fitted.members.end(), std::back_inserter(model.members));
    std::move(fitted.results.begin(), fitted.results.end(), std::back_inserter(results));
  }
  report_fit(results, held_out, rows, model);
}

}  // namespace

Model fit_rows(Encoder encoder, const RegressorOptions& asked, const Rows& rows, RowNames names,
               const OnProgress& progress, const Checkpoint& checkpoint) {
  Model model{asked, std::move(encoder), {}, std::move(names.hashes), {}, {}, {}};
  model.row_weights = rows.weights;
  model.row_copies = std::move(names.copies);
  const bool joint = wants_joint(model.encoder, asked, rows.rows);
  require_understood(asked, joint);
  require(!asked.noise || std::all_of(model.encoder.targets.begin(), model.encoder.targets.end(),
                                      [](const TargetColumn& target) {
                                        return target.kind == TargetKind::number;
                                      }),
          "a noise can only be given for a number");
  RegressorOptions& options = model.options;
  if (options.ensemble == 0) {
    options.ensemble = joint ? default_members(rows.rows) : independent_members;
  }
  options.belief = joint ? BeliefKind::joint : BeliefKind::independent;
  const Architecture architecture = architecture_of(model.encoder, options, joint);
  FitReport& report = model.report;
  report.rows = known_rows(model);
  report.copies = report.rows - rows.rows;
  std::vector<Architecture> shapes;
  if (joint) {
    shapes = shapes_of(model.encoder, options, rows);
    require(!shapes.empty(), "the table is too large for a joint belief: use the independent one");
    report.batch_size = options.batch_size > 0 ? std::min(options.batch_size, rows.rows) : 1;
    const std::size_t members = shapes.size() * options.ensemble * model.encoder.targets.size();
    const std::size_t outputs = architecture.outputs();
    const std::size_t row_bytes =
        (architecture.inputs() + outputs * (outputs + 1)) * sizeof(double) * members;
    if (rows.rows > ledger_budget / row_bytes) options.ledger = LedgerMode::none;
  } else {
    report.batch_size = batch_size_of(options, rows.rows, architecture.weight_count());
  }
  for (std::size_t first = 0; first < rows.rows; first += report.batch_size) {
    model.batch_rows.push_back(std::min(report.batch_size, rows.rows - first));
  }
  report.batches = model.batch_rows.size();
  const std::vector<double> noise = first_noise(model.encoder, options);
  std::optional<CheckpointFile> file;
  if (!checkpoint.path.empty()) {
    const std::size_t places =
        joint ? noise.size() * places_of_target(shapes.size(), options.ensemble) : options.ensemble;
    file.emplace(checkpoint, options, rows, places);
  }
  CheckpointFile* kept = file ? &*file : nullptr;
  if (joint) {
    fit_joint(shapes, rows, noise, progress, kept, model);
  } else {
    TrainingOptions training = training_options(model.encoder, options, report.batch_size);
    training.likelihood = likelihood_of(model.encoder, options, noise);
    FittedMembers fitted = fit_independent(architecture, options, training, rows, progress, kept);
    options.ensemble = fitted.members.size();
    model.members = std::move(fitted.members);
    report_fit(fitted.results, mixed_cavity(fitted.results, rows.rows, model), rows, model);
  }
  report.layers = architecture_of(model).widths;
  report.weights = architecture_of(model).weight_count();
  return model;
}

}  // namespace dma::detail
