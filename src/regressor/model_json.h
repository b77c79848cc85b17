// regressor/model_json.h: the parts of a model that are not arrays, as JSON.
#pragma once

#include <cmath>
#include <string>

#include <dma/regressor/model.h>

#include "data/strict_json.h"

namespace dma {

// NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE supports only nlohmann::json.
#define DMA_MEMBERS_AS_JSON(Type, ...)                                                      \
  inline void to_json(detail::StrictJson& nlohmann_json_j, const Type& nlohmann_json_t) {   \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_TO, __VA_ARGS__))                \
  }                                                                                         \
  inline void from_json(const detail::StrictJson& nlohmann_json_j, Type& nlohmann_json_t) { \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_FROM, __VA_ARGS__))              \
  }

// An unknown value is null.
template <class T>
void to_json(detail::StrictJson& json, const std::optional<T>& value) {
  json = value ? detail::StrictJson(*value) : detail::StrictJson();
}
template <class T>
void from_json(const detail::StrictJson& json, std::optional<T>& value) {
  value = json.is_null() ? std::nullopt : std::optional<T>(json.get<T>());
}

// Found by nlohmann::json through the types' namespace. Names in the file are those in the source.
NLOHMANN_JSON_SERIALIZE_ENUM(ColumnKind, {{ColumnKind::numeric, "numeric"},
                                          {ColumnKind::boolean, "boolean"},
                                          {ColumnKind::categorical, "categorical"},
                                          {ColumnKind::datetime, "datetime"}})
NLOHMANN_JSON_SERIALIZE_ENUM(SlashDates, {{SlashDates::none, "none"},
                                          {SlashDates::month_first, "month_first"},
                                          {SlashDates::day_first, "day_first"}})
NLOHMANN_JSON_SERIALIZE_ENUM(Rule, {{Rule::direct, "direct"}, {Rule::linear, "linear"}})
NLOHMANN_JSON_SERIALIZE_ENUM(BeliefKind, {{BeliefKind::automatic, "automatic"},
                                          {BeliefKind::joint, "joint"},
                                          {BeliefKind::independent, "independent"}})
NLOHMANN_JSON_SERIALIZE_ENUM(LedgerMode, {{LedgerMode::full, "full"},
                                          {LedgerMode::average, "average"},
                                          {LedgerMode::none, "none"}})
NLOHMANN_JSON_SERIALIZE_ENUM(Stopped, {{Stopped::tolerance, "tolerance"},
                                       {Stopped::patience, "patience"},
                                       {Stopped::max_epochs, "max_epochs"},
                                       {Stopped::interrupted, "interrupted"},
                                       {Stopped::time, "time"}})
NLOHMANN_JSON_SERIALIZE_ENUM(DatePart, {{DatePart::year, "year"},
                                        {DatePart::month, "month"},
                                        {DatePart::weekday, "weekday"},
                                        {DatePart::day, "day"}})
// An end that is infinite is null.
inline void to_json(detail::StrictJson& json, const Bounds& bounds) {
  const auto end = [](double value) {
    return std::isinf(value) ? detail::StrictJson() : detail::StrictJson(value);
  };
  json = {{"low", end(bounds.low)}, {"high", end(bounds.high)}, {"assumed", bounds.assumed}};
}
inline void from_json(const detail::StrictJson& json, Bounds& bounds) {
  bounds = {};
  if (!json.at("low").is_null()) json.at("low").get_to(bounds.low);
  if (!json.at("high").is_null()) json.at("high").get_to(bounds.high);
  json.at("assumed").get_to(bounds.assumed);
}
DMA_MEMBERS_AS_JSON(Effects, between, within, sums)
DMA_MEMBERS_AS_JSON(FeatureColumn, name, kind, mean, deviation, reach, indicator, text, dates,
                    parts, categories, others, value_weights, effects)
NLOHMANN_JSON_SERIALIZE_ENUM(TargetKind, {{TargetKind::automatic, "auto"},
                                          {TargetKind::number, "number"},
                                          {TargetKind::classes, "class"},
                                          {TargetKind::amount, "amount"},
                                          {TargetKind::count, "count"}})
DMA_MEMBERS_AS_JSON(TargetColumn, name, mean, deviation, kind, largest, classes, class_rows, text,
                    reason, bounds)
DMA_MEMBERS_AS_JSON(DroppedColumn, name, reason)
DMA_MEMBERS_AS_JSON(Encoder, features, targets, dropped, weight, decimal_comma)
DMA_MEMBERS_AS_JSON(ReliabilityBin, rows, confidence, accuracy)
inline void to_json(detail::StrictJson& json, const ClassMetrics& metrics) {
  json = {{"rows", metrics.rows},
          {"classes", metrics.classes},
          {"weight", metrics.weight},
          {"log_loss", metrics.log_loss},
          {"brier", metrics.brier},
          {"accuracy", metrics.accuracy},
          {"balanced_accuracy", metrics.balanced_accuracy},
          {"calibration_error", metrics.calibration_error},
          {"reliability", metrics.reliability},
          {"confusion", metrics.confusion}};
  to_json(json["auc"], metrics.auc);
}
inline void from_json(const detail::StrictJson& json, ClassMetrics& metrics) {
  json.at("rows").get_to(metrics.rows);
  json.at("classes").get_to(metrics.classes);
  json.at("weight").get_to(metrics.weight);
  json.at("log_loss").get_to(metrics.log_loss);
  json.at("brier").get_to(metrics.brier);
  json.at("accuracy").get_to(metrics.accuracy);
  json.at("balanced_accuracy").get_to(metrics.balanced_accuracy);
  json.at("calibration_error").get_to(metrics.calibration_error);
  json.at("reliability").get_to(metrics.reliability);
  json.at("confusion").get_to(metrics.confusion);
  from_json(json.at("auc"), metrics.auc);
}
DMA_MEMBERS_AS_JSON(Metrics, values, weight, rmse, mae, nll, crps, coverage, coverage_curve,
                    calibration_error, pit, classes)
DMA_MEMBERS_AS_JSON(LayerCertificate, product_messages, share_below_two, signal_to_noise,
                    uniform_messages, smallest_precision, largest_precision)
DMA_MEMBERS_AS_JSON(Bounded, prior_precisions, noise_variances, noise_levels)
DMA_MEMBERS_AS_JSON(JointCertificate, linearisation_error, largest_leverage, rows_alone, damping,
                    step_left)

inline void to_json(detail::StrictJson& json, const Certificate& certificate) {
  json = {{"examples", certificate.examples},
          {"bounded", certificate.bounded},
          {"layers", certificate.layers}};
  to_json(json["negative_messages"], certificate.negative_messages);
  to_json(json["joint"], certificate.joint);
}
inline void from_json(const detail::StrictJson& json, Certificate& certificate) {
  json.at("examples").get_to(certificate.examples);
  json.at("bounded").get_to(certificate.bounded);
  json.at("layers").get_to(certificate.layers);
  from_json(json.at("negative_messages"), certificate.negative_messages);
  from_json(json.at("joint"), certificate.joint);
}
DMA_MEMBERS_AS_JSON(Calibration, noise_shift, noise_spread, function_shift, function_spread,
                    prior_precision, of_one)
DMA_MEMBERS_AS_JSON(ShapeReport, target, hidden, ramps, weights, weight, epochs, held_out_nll)
DMA_MEMBERS_AS_JSON(FitReport, rows, rows_without_target, rows_without_weight, copies, weights,
                    layers, shapes, batches, batch_size, epochs, stopped, noise_std, noise_at_floor,
                    train_nll, cavity, training, rows_changed, seconds, stream, sweep_seconds,
                    ledger_bytes, certificate)
DMA_MEMBERS_AS_JSON(SharedStart::Part, digest, rows)
DMA_MEMBERS_AS_JSON(SharedStart, digest, round, format, parts)

namespace detail {

StrictJson to_json(const RegressorOptions& options);
RegressorOptions options_from(const StrictJson& json);
// Every option that influences a fit, so not the number of threads.
std::string options_json(const RegressorOptions& options);

// Activation variances are left out: a regressor's are infinite, which JSON cannot express.
StrictJson to_json(const Architecture& architecture);
Architecture architecture_from(const StrictJson& json);

}  // namespace detail
}  // namespace dma
