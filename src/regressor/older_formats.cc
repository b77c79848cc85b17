#include "regressor/older_formats.h"

#include <limits>

#include "regressor/model_json.h"

namespace dma::detail {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

bool is_joint(const StrictJson& options) { return options.at("belief") == BeliefKind::joint; }

// Before format 9 the epochs of a joint belief were those of its first stage, and 40 was the default; three settled epochs
// ended it, and one ended the fit of independent weights.
void translate_stops(StrictJson& options) {
  if (is_joint(options)) {
    constexpr std::size_t usual = 40;
    constexpr std::size_t later_stages = 65;
    const auto epochs = options.at("epochs").get<std::size_t>();
    options["epochs"] = epochs == usual ? 0 : epochs + later_stages;
  }
  if (options.at("patience").get<std::size_t>() == 0) {
    options["patience"] = std::size_t{is_joint(options) ? 3U : 1U};
  }
}

void complete_options(StrictJson& options, int version) {
  if (version < 9) translate_stops(options);
  if (version < 11) options["seconds"] = 0;
  if (version < 16) options["kind"] = TargetKind::number;
  if (version < 17) options["weight"] = "";
  if (version < 18) {
    options["keep_ids"] = true;
    options["bounds"] = Bounds{};
  }
}

void complete_target(StrictJson& target, int version) {
  if (version < 16) {
    target["kind"] = TargetKind::number;
    target["classes"] = target["class_rows"] = StrictJson::array();
    target["text"] = false;
  }
  if (version < 17) {
    target["reason"] = "";
    target["largest"] = 0;
  }
  if (version < 18) target["bounds"] = Bounds{};  // numbers were predicted anywhere
}

// Rare categories shared a column if there were 50 others.
bool has_others(const StrictJson& categories) {
  constexpr std::size_t most = 50;
  const bool has_empty = !categories.empty() && categories.back() == "";
  return categories.size() - (has_empty ? 1 : 0) >= most;
}

void complete_encoder(StrictJson& encoder, int version) {
  for (StrictJson& target : encoder.at("targets")) complete_target(target, version);
  for (StrictJson& feature : encoder.at("features")) {
    if (version < 12) feature["reach"] = 0;
    if (version < 19) feature["value_weights"] = feature["effects"] = StrictJson::array();
    if (version >= 18) continue;
    feature["parts"] = StrictJson::array();
    feature["others"] = has_others(feature.at("categories"));
  }
  if (version < 17) encoder["weight"] = "";
  if (version < 18) encoder["decimal_comma"] = false;
}

void complete_metrics(StrictJson& metrics, int version) {
  if (version < 3) metrics["coverage_curve"] = StrictJson::array();
  if (version < 16) metrics["classes"] = nullptr;
  if (version >= 17) return;
  metrics["weight"] = metrics.at("values");  // every row counted once
  StrictJson& classes = metrics.at("classes");
  if (!classes.is_null()) classes["weight"] = classes.at("rows");
}

void complete_report(StrictJson& report, int version) {
  if (version < 3) {
    report["training"] = StrictJson::array();
    report["rows_changed"] = std::size_t{0};
  }
  if (version < 5) {
    report["stream"] = false;
    report["sweep_seconds"] = 0;
  } else if (version > 5) {
    report["seconds"] = report["sweep_seconds"] = unknown;
  }
  if (version < 8) {
    report.at("certificate")["negative_messages"] = nullptr;
    report.at("certificate")["joint"] = nullptr;
  }
  if (version < 11) report["shapes"] = StrictJson::array();
  if (version < 17) report["copies"] = report["rows_without_weight"] = std::size_t{0};
  for (StrictJson& metrics : report.at("cavity")) complete_metrics(metrics, version);
  for (StrictJson& shape : report.at("shapes")) {
    if (version < 18) shape["ramps"] = std::size_t{0};
    if (shape.at("held_out_nll").is_null()) shape["held_out_nll"] = unknown;
  }
  if (report.at("train_nll").is_null()) report["train_nll"] = unknown;
}

// Before format 14 they were of the noise alone.
StrictJson calibrations_of_noise(const StrictJson& shapes, int version) {
  StrictJson all = StrictJson::array();
  for (const StrictJson& shape : shapes) {
    Calibration one;
    shape.at("shift").get_to(one.noise_shift);
    shape.at("spread").get_to(one.noise_spread);
    if (version == 13) shape.at("of_one").get_to(one.of_one);
    all.push_back(one);
  }
  return all;
}

}  // namespace

void complete(StrictJson& model, int version) {
  complete_options(model.at("options"), version);
  complete_encoder(model.at("encoder"), version);
  complete_report(model.at("report"), version);
  if (version < 20) model["start"] = nullptr;
  if (version < 18) {
    model["held_out_below"] = false;
    model["probabilities_below"] = std::size_t{0};
  }
  if (!is_joint(model.at("options"))) return;
  if (version < 14) {
    model["calibrations"] = calibrations_of_noise(model.at("noise_shapes"), version);
  } else if (version == 14) {
    for (StrictJson& calibration : model.at("calibrations")) calibration["prior_precision"] = 0;
  }
}

}  // namespace dma::detail
