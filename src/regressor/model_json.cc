#include "regressor/model_json.h"

namespace dma::detail {

StrictJson to_json(const RegressorOptions& options) {
  return {{"target", std::vector<std::string>(options.target)},
          {"kind", options.kind},
          {"weight", options.weight},
          {"features", std::vector<std::string>(options.features)},
          {"drop", std::vector<std::string>(options.drop)},
          {"categorical", std::vector<std::string>(options.categorical)},
          {"keep_ids", options.keep_ids},
          {"bounds", options.bounds ? StrictJson(*options.bounds) : StrictJson()},
          {"hidden", options.hidden},
          {"slope", options.slope ? StrictJson(*options.slope) : StrictJson()},
          {"belief", options.belief},
          {"rule", options.rule},
          {"noise", options.noise ? StrictJson(*options.noise) : StrictJson()},
          {"constant_noise", options.constant_noise},
          {"selection", options.selection},
          {"calibration", options.calibration},
          {"epochs", options.epochs},
          {"seconds", options.seconds},
          {"tolerance", options.tolerance},
          {"patience", options.patience},
          {"batch_size", options.batch_size},
          {"ledger", options.ledger},
          {"ensemble", options.ensemble},
          {"seed", options.seed},
          {"single_precision", options.single_precision}};
}

RegressorOptions options_from(const StrictJson& json) {
  RegressorOptions options;
  options.target = json.at("target").get<std::vector<std::string>>();
  json.at("kind").get_to(options.kind);
  json.at("weight").get_to(options.weight);
  options.features = json.at("features").get<std::vector<std::string>>();
  options.drop = json.at("drop").get<std::vector<std::string>>();
  options.categorical = json.at("categorical").get<std::vector<std::string>>();
  json.at("keep_ids").get_to(options.keep_ids);
  if (!json.at("bounds").is_null()) options.bounds = json.at("bounds").get<Bounds>();
  json.at("hidden").get_to(options.hidden);
  if (!json.at("slope").is_null()) options.slope = json.at("slope").get<double>();
  json.at("belief").get_to(options.belief);
  json.at("rule").get_to(options.rule);
  if (!json.at("noise").is_null()) options.noise = json.at("noise").get<double>();
  json.at("constant_noise").get_to(options.constant_noise);
  json.at("selection").get_to(options.selection);
  json.at("calibration").get_to(options.calibration);
  json.at("epochs").get_to(options.epochs);
  json.at("seconds").get_to(options.seconds);
  json.at("tolerance").get_to(options.tolerance);
  json.at("patience").get_to(options.patience);
  json.at("batch_size").get_to(options.batch_size);
  json.at("ledger").get_to(options.ledger);
  json.at("ensemble").get_to(options.ensemble);
  json.at("seed").get_to(options.seed);
  json.at("single_precision").get_to(options.single_precision);
  return options;
}

namespace {

// An input and its knots, one after the other.
using Knots = std::pair<std::size_t, std::vector<double>>;

std::vector<Knots> knots_of(const std::vector<Ramp>& ramps) {
  std::vector<Knots> all;
  for (const auto& [input, from, to] : ramps) {
    if (all.empty() || all.back().first != input) all.push_back({input, {from}});
    all.back().second.push_back(to);
  }
  return all;
}

std::vector<Ramp> ramps_between(const std::vector<Knots>& all) {
  std::vector<Ramp> ramps;
  for (const auto& [input, knots] : all) {
    for (std::size_t k = 1; k < knots.size(); ++k) {
      ramps.push_back({input, knots[k - 1], knots[k]});
    }
  }
  return ramps;
}

using Pair = std::pair<std::size_t, std::size_t>;

std::vector<Pair> pairs_of(const std::vector<UncertainInput>& all) {
  std::vector<Pair> pairs;
  for (const auto& [mean, deviation] : all) pairs.emplace_back(mean, deviation);
  return pairs;
}

}  // namespace

StrictJson to_json(const Architecture& architecture) {
  return {{"widths", architecture.widths},
          {"slopes", architecture.slopes},
          {"bias", architecture.bias},
          {"knots", knots_of(architecture.ramps)},
          {"uncertain", pairs_of(architecture.uncertain)}};
}

Architecture architecture_from(const StrictJson& json) {
  Architecture architecture;
  json.at("widths").get_to(architecture.widths);
  json.at("slopes").get_to(architecture.slopes);
  json.at("bias").get_to(architecture.bias);
  if (json.contains("knots")) {  // from format 18 on
    architecture.ramps = ramps_between(json.at("knots").get<std::vector<Knots>>());
  }
  if (json.contains("uncertain")) {  // from format 19 on
    for (const auto& [mean, deviation] : json.at("uncertain").get<std::vector<Pair>>()) {
      architecture.uncertain.push_back({mean, deviation});
    }
  }
  return architecture;
}

std::string options_json(const RegressorOptions& options) { return to_json(options).dump(); }

}  // namespace dma::detail
