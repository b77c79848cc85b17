#include <dma/regressor/regressor.h>

#include <chrono>
#include <cmath>
#include <mutex>

#include <dma/regressor/model_file.h>

#include "base/require.h"
#include "data/cells.h"
#include "data/message.h"
#include "data/utf8.h"
#include "regressor/effects.h"
#include "regressor/fit.h"
#include "regressor/kind.h"
#include "regressor/mixture.h"
#include "regressor/unseen.h"

namespace dma {

using detail::require;

void detail::validate(const RegressorOptions& options) {
  require(!options.target.empty(), "no target was given");
  require(!options.noise || (*options.noise > 0 && std::isfinite(*options.noise)),
          "the noise must be positive and finite");
  for (const std::size_t units : options.hidden)
    require(units > 0, "a hidden layer must have at least 1 unit");
  require(!options.bounds || options.bounds->low < options.bounds->high,
          "the lower bound must be below the upper one");
  require(options.seconds >= 0 && std::isfinite(options.seconds),
          "the seconds must be a number from 0 on");
}

namespace {

constexpr const char* start_is_no_model =
    "is a start, which has learnt no rows: fit some with 'dma fit ROWS.csv --start START'";

// Text goes into the model file, which is JSON and therefore UTF-8.
void require_utf8(const std::string& text, const std::string& source, const std::string& column) {
  if (csv::is_utf8(text)) return;
  throw DataError(source + ", column '" + csv::escaped(column) +
                  "': its name or one of its values is not UTF-8 text; convert the file, for "
                  "example with iconv -f latin1 -t utf-8");
}

}  // namespace

Encoder detail::finish(const EncoderBuilder& builder, const std::string& source) {
  Encoder encoder = builder.finish();
  for (const FeatureColumn& column : encoder.features) {
    require_utf8(column.name, source, column.name);
    for (const std::string& value : column.categories) require_utf8(value, source, column.name);
  }
  for (const TargetColumn& column : encoder.targets) {
    require_utf8(column.name, source, column.name);
    for (const std::string& name : column.classes) require_utf8(name, source, column.name);
  }
  for (const DroppedColumn& column : encoder.dropped) {
    require_utf8(column.name + column.reason, source, column.name);
  }
  return encoder;
}

namespace {

// A noise or bounds can only be given for a number.
bool is_of_number(const RegressorOptions& options) {
  return options.noise || (options.bounds && options.bounds->any());
}

}  // namespace

EncoderBuilder detail::encoder_builder(const RegressorOptions& options, bool effects) {
  const bool is_number = options.kind == TargetKind::automatic && is_of_number(options);
  return EncoderBuilder({.targets = options.target,
                         .kind = is_number ? TargetKind::number : options.kind,
                         .weight = options.weight,
                         .features = options.features,
                         .drop = options.drop,
                         .categorical = options.categorical,
                         .effects = effects,
                         .keep_ids = options.keep_ids,
                         .bounds = options.bounds});
}

double FitReport::rows_per_second() const {
  return rows == 0 ? 0 : static_cast<double>(rows) / sweep_seconds;
}

double FitReport::cavity_nll() const {
  double sum = 0;
  for (const Metrics& metrics : cavity) sum += metrics.nll;
  return sum / static_cast<double>(cavity.size());
}

std::array<double, 4> FitReport::cavity_coverage() const {
  std::array<double, 4> mean{};
  for (const Metrics& metrics : cavity) {
    for (std::size_t k = 0; k < mean.size(); ++k) {
      mean[k] += metrics.coverage[k] / static_cast<double>(cavity.size());
    }
  }
  return mean;
}

Encoder Regressor::encoder_for(const Table& table, const RegressorOptions& options) {
  detail::validate(options);
  const auto fit_with = [&](TargetKind kind, bool effects) {
    RegressorOptions own = options;
    own.kind = kind;
    EncoderBuilder builder = detail::encoder_builder(own, effects);
    builder.add(table);
    return detail::finish(builder, table.source);
  };
  const auto fit = [&](TargetKind kind) {
    Encoder encoder = fit_with(kind, detail::may_be_joint(options));
    const bool without =
        encoder.has_effects() && !detail::wants_joint(encoder, options, table.rows());
    return without ? fit_with(kind, false) : encoder;
  };
  Encoder encoder = fit(options.kind);
  const bool is_open = options.kind == TargetKind::automatic &&
                       encoder.targets.front().kind == TargetKind::number && !is_of_number(options);
  if (!is_open) return encoder;
  const detail::ChosenKind chosen = detail::choose_kind(table, options);
  if (chosen.kind == TargetKind::amount) encoder = fit(TargetKind::amount);
  encoder.targets.front().reason = chosen.reason;
  return encoder;
}

Regressor Regressor::fit(Table table, const RegressorOptions& options, const OnProgress& progress,
                         const Checkpoint& checkpoint) {
  Encoder encoder = encoder_for(table, options);
  return fit(std::move(table), std::move(encoder), options, progress, checkpoint);
}

Regressor Regressor::fit(Table table, Encoder encoder, const RegressorOptions& options,
                         const OnProgress& progress, const Checkpoint& checkpoint) {
  detail::validate(options);
  const auto start = std::chrono::steady_clock::now();
  EncodedRows encoded = encoder.encode_values(table);
  table = {};  // room for the trainers' copies
  detail::merge_copies(encoded);
  detail::learn_effects(encoder, encoded);
  detail::shuffle(encoded, options.seed);
  const Rows rows{encoded.rows, std::move(encoded.inputs), std::move(encoded.targets),
                  std::move(encoded.weights)};
  Regressor result(detail::fit_rows(std::move(encoder), options, rows,
                                    {std::move(encoded.hashes), std::move(encoded.copies)},
                                    progress, checkpoint));
  FitReport& report = result.model_.report;
  report.rows_without_target = encoded.without_target;
  report.rows_without_weight = encoded.without_weight;
  report.train_nll =
      detail::mean_nll(result.predict_encoded(rows.inputs, rows.rows, options.threads),
                       rows.data().weighted_targets(), result.encoder());
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

struct Regressor::Lazy {
  std::once_flag once;
  std::optional<detail::Mixture> mixture;
};

Regressor::Regressor(Model model) { set_model(std::move(model)); }

void Regressor::set_model(Model model) {
  require(!is_start(model), std::string("this ") + start_is_no_model);
  model_ = std::move(model);
  lazy_ = std::make_shared<Lazy>();
}

std::vector<Predicted> Regressor::predict_encoded(const std::vector<double>& inputs,
                                                  std::size_t rows, std::size_t threads) const {
  std::call_once(lazy_->once, [&] { lazy_->mixture.emplace(model_); });
  return lazy_->mixture->predict(model_, inputs, rows, threads);
}

std::vector<Predicted> Regressor::predict(const Table& table, std::size_t threads) const {
  return predict_encoded(model_.encoder.encode_inputs(table), threads);
}

std::vector<Predicted> Regressor::predict_encoded(const EncodedRows& rows,
                                                  std::size_t threads) const {
  auto predicted = predict_encoded(rows.inputs, rows.rows, threads);
  if (rows.unseen.empty()) return predicted;
  detail::predict_unseen(
      encoder(), rows,
      [&](std::span<const double> inputs, std::size_t count) {
        return lazy_->mixture->predict(model_, inputs, count, threads);
      },
      predicted);
  return predicted;
}

Tails Regressor::calibrated_tails(double level, std::size_t target) const {
  const TargetKind kind = encoder().targets[target].kind;
  if (kind != TargetKind::number && kind != TargetKind::amount) {
    throw DataError("intervals can be calibrated of a number or an amount, not of a " +
                    std::string(name_of(kind)));
  }
  if (model_.probabilities_below.empty()) {
    throw DataError(
        "the model does not know how rows that it had not learnt were predicted, so its intervals "
        "cannot be calibrated; fit it again with --holdout and --intervals calibrated");
  }
  const std::vector<double>& below = model_.probabilities_below[target];
  if (const auto tails = dma::calibrated_tails(below, level)) return *tails;
  throw DataError("calibrating an interval of level " + as_text(level) + " takes " +
                  std::to_string(rows_to_calibrate(level)) +
                  " rows that were not learnt, and the model knows " +
                  std::to_string(below.size()));
}

std::vector<Tails> Regressor::calibrated_curve(std::size_t target) const {
  std::vector<Tails> tails;
  for (const double level : Metrics::curve_levels) tails.push_back(calibrated_tails(level, target));
  return tails;
}

void Regressor::calibrate_intervals(const Table& table) {
  const EncodedRows rows = encoder().encode(table, UseWeights::if_there);
  detail::set_probabilities_below(predict_encoded(rows, model_.options.threads),
                                  {rows.targets, rows.weights}, rows.copies, model_);
  model_.held_out_below = true;
}

void Regressor::set_bounds(const Bounds& bounds) {
  for (TargetColumn& target : model_.encoder.targets) {
    if (target.kind != TargetKind::number) {
      throw NetworkError("bounds can only be given for a number");
    }
    target.bounds = bounds;
  }
}

std::vector<Metrics> Regressor::evaluate(const Table& table, std::size_t threads,
                                         Intervals intervals) const {
  const EncodedRows rows = encoder().encode(table, UseWeights::if_there);
  if (rows.rows == 0) {
    throw DataError(table.source + ": no row has a target" +
                    (rows.without_weight > 0 ? " and a weight above 0" : ""));
  }
  const auto predicted = predict_encoded(rows, threads);
  std::vector<Metrics> metrics;
  for (std::size_t k = 0; k < encoder().targets.size(); ++k) {
    std::vector<Tails> tails;
    if (intervals == Intervals::calibrated) tails = calibrated_curve(k);
    metrics.push_back(
        detail::score_target(predicted, {rows.targets, rows.weights}, encoder(), k, tails));
  }
  return metrics;
}

void Regressor::save(const std::filesystem::path& path, const SaveOptions& options) const {
  write_model(model_, path, options);
}

std::vector<std::byte> Regressor::to_bytes() const { return model_bytes(model_); }

Regressor Regressor::from_bytes(std::span<const std::byte> bytes) {
  return Regressor(read_model(bytes));
}

Regressor Regressor::load(const std::filesystem::path& path) {
  Model model = read_model(path);
  if (is_start(model)) throw ModelError(path.string() + " " + start_is_no_model);
  return Regressor(std::move(model));
}

}  // namespace dma
