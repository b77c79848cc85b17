// experiments/experiment.h: the experiments of `dma reproduce`.
//
// An experiment is a function that returns {"settings", "summary", "rows", "verdicts", "figures"}: settings say what
// was run, summary holds the headline figures (docs/reproduce.md), rows the table to compare with the paper's, verdicts
// whether the paper's claims hold, figures the data of the page's charts (web/README.md). Everything except times is
// deterministic: seeds are part of the settings.
#pragma once

#include <nlohmann/json.hpp>

#include <span>
#include <string_view>

#include "experiments/run.h"

namespace dma::experiments {

struct Experiment {
  std::string_view name;
  std::string_view about;
  nlohmann::json (*run)(Run&);
  bool needs_torch = false;  // cannot run at all without libtorch
};

// An experiment without tasks to count.
template <nlohmann::json (*measure)()>
nlohmann::json at_once(Run& /*run*/) {
  return measure();
}

// The network experiments, in the order of the paper.
std::span<const Experiment> network_experiments();

nlohmann::json regression(Run& run);
nlohmann::json adam(Run& run);
nlohmann::json adamw(Run& run);
nlohmann::json ivon(Run& run);
nlohmann::json laplace(Run& run);
nlohmann::json calibration(Run& run);
nlohmann::json mismatch(Run& run);
nlohmann::json large(Run& run);
nlohmann::json exact(Run& run);
nlohmann::json long_runs();
nlohmann::json settling();

}  // namespace dma::experiments
