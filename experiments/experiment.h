// experiments/experiment.h: what `dma reproduce` can run.
//
// An experiment is a function that returns {"settings": …, "summary": …, "rows": […]}: settings say
// what was run, summary holds the headline figures (docs/reproduce.md), rows the table beside the
// paper's figures. Everything is deterministic: seeds are part of the settings.
#pragma once

#include <nlohmann/json.hpp>

#include <span>
#include <string_view>

namespace dma::experiments {

struct Experiment {
  std::string_view name;
  std::string_view about;
  nlohmann::json (*run)();
};

// The network experiments, in the order of the paper.
std::span<const Experiment> network_experiments();

nlohmann::json regression();
nlohmann::json mismatch();
nlohmann::json large();
nlohmann::json long_runs();
nlohmann::json settling();

}  // namespace dma::experiments
