// Beyond the paper: why messages are replaced. Held-out log-likelihood after 10 to 400 epochs with the three ledger
// modes; the filter (none) counts the data again in every epoch.
#include <dma/belief/independent.h>
#include <fmt/core.h>

#include "experiments/experiment.h"
#include "experiments/noisy_wave.h"
#include "experiments/task/task.h"
#include "experiments/verdict.h"

namespace dma::experiments {
namespace {

using nlohmann::json;

constexpr std::size_t columns = 6;

}  // namespace

json long_runs() {
  constexpr std::size_t rows_trained = 60;
  constexpr std::size_t rows_held_out = 1000;
  const NoisyWave train = noisy_wave(rows_trained, columns, 0.5, 3);
  const NoisyWave held_out = noisy_wave(rows_held_out, columns, 0.5, 4);
  const Architecture network{.widths = {columns, 20, 1}, .slopes = {0.1}, .bias = {true}};
  const std::pair<const char*, LedgerMode> modes[]{
      {"full", LedgerMode::full}, {"average", LedgerMode::average}, {"none", LedgerMode::none}};
  json summary = json::object();
  json rows = json::array();
  for (const auto& [name, mode] : modes) {
    for (const std::size_t epochs : {1U, 10U, 40U, 100U, 400U}) {
      IndependentBelief<double> trainer(network, draw_prior(network, 1),
                                        {.batch_size = 10,
                                         .max_epochs = epochs,
                                         .tolerance = 0,
                                         .ledger = mode,
                                         .likelihood = gaussian({.variance = {0.25}})});
      trainer.append({train.inputs, train.targets, rows_trained});
      trainer.fit();
      const double likelihood =
          -mean_nll(as_predicted(predict(trainer.posterior(), held_out.inputs, rows_held_out)),
                    held_out.targets);
      summary[name][std::to_string(epochs)] = likelihood;
      rows.push_back(
          {{"method", name}, {"epochs", epochs}, {"held_out_log_likelihood", likelihood}});
    }
  }
  const auto last = [&](const char* mode) { return summary[mode]["400"].get<double>(); };
  json verdicts = json::array();
  verdicts.push_back(verdict("Held-out log-likelihood after 400 epochs",
                             fmt::format("ledger full {:.2f}, average {:.2f}, none {:.2f}",
                                         last("full"), last("average"), last("none")),
                             "", Agreement::beyond));
  return {{"settings",
           {{"data", "60 training rows, 1000 held out; y = sin(2 x1) + x2/2 + N(0, 0.25)"},
            {"network", "6-20-1 with biases, rule linear, batches of 10, noise variance 0.25"}}},
          {"summary", std::move(summary)},
          {"rows", std::move(rows)},
          {"verdicts", std::move(verdicts)}};
}

}  // namespace dma::experiments
