// Beyond the paper: does training settle? 500 epochs on one small table, with the messages computed from
// the cavity or from the full belief, for batches of several sizes and noise assumed right or wrong.
#include <dma/belief/independent.h>
#include <dma/special/larger.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "experiments/experiment.h"
#include "experiments/noisy_wave.h"
#include "experiments/verdict.h"

namespace dma::experiments {
namespace {

using nlohmann::json;

constexpr std::size_t rows = 100;
constexpr std::size_t epochs = 500;

// The largest movement of a prediction in the last epoch, in its deviations.
double last_movement(const NoisyWave& table, const TrainingOptions& options,
                     const IndependentOptions& own) {
  const Architecture network{.widths = {3, 10, 1}, .slopes = {0.1}, .bias = {true}};
  IndependentBelief<double> trainer(network, draw_prior(network, 1), options, own);
  trainer.append({table.inputs, table.targets, rows});
  Prediction before;
  Prediction after;
  for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
    trainer.fit();
    if (epoch + 2 < epochs) continue;
    before = std::move(after);
    after = predict(trainer.posterior(), table.inputs, rows);
  }
  double largest = 0;
  for (std::size_t n = 0; n < rows; ++n) {
    const double deviation = std::sqrt(after.epistemic_variance[n] + after.noise_variance[n]);
    largest = special::larger(largest, std::abs(after.mean[n] - before.mean[n]) / deviation);
  }
  return largest;
}

}  // namespace

json settling() {
  const NoisyWave table = noisy_wave(rows, 3, 0.3, 2);
  json summary = json::object();
  json results = json::array();
  for (const double noise : {0.04, 0.09, 0.25}) {
    for (const std::size_t batch_size : {1U, 5U, 20U}) {
      for (const bool belief : {false, true}) {
        for (const Rule rule : {Rule::direct, Rule::linear}) {
          const double moved =
              last_movement(table,
                            {.batch_size = batch_size,
                             .max_epochs = 1,
                             .tolerance = 0,
                             .likelihood = gaussian({.variance = {noise}})},
                            {.rule = rule, .belief_from_epoch = belief ? 1 : never});
          const std::string method =
              std::string(belief ? "belief" : "cavity") + ", " + std::string(name_of(rule));
          auto& settled = summary[method]["settled"];
          settled = (settled.is_null() ? 0 : settled.get<int>()) + (moved < 1e-3 ? 1 : 0);
          results.push_back({{"method", method},
                             {"noise_variance", noise},
                             {"batch_size", batch_size},
                             {"last_movement", moved}});
        }
      }
    }
  }
  json verdicts = json::array();
  for (const auto& [method, counts] : summary.items()) {
    verdicts.push_back(verdict("Settings that settle, " + method,
                               fmt::format("{} of 9", counts["settled"].get<int>()), "",
                               Agreement::beyond));
  }
  return {{"settings",
           {{"data", "100 rows, y = sin(2 x1) + x2/2 + N(0, 0.09)"},
            {"network", "3-10-1 with biases, 500 epochs"},
            {"settled",
             "settings, of 9, whose last epoch moved no prediction by 1e-3 standard deviations"}}},
          {"summary", std::move(summary)},
          {"rows", std::move(results)},
          {"verdicts", std::move(verdicts)}};
}

}  // namespace dma::experiments
