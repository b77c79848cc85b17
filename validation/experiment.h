// validation/experiment.h: the paper's claims about messages, measured (dma reproduce).
//
// An experiment is a function that returns {"settings": …, "summary": …, "rows": […]}: settings say
// what was run, summary holds the headline figures of docs/reproduce.md, rows the table beside the
// paper's figures. Everything is deterministic: seeds are part of the settings.
#pragma once

#include <nlohmann/json.hpp>

#include <span>
#include <string_view>

namespace dma::validation {

struct Experiment {
  std::string_view name;
  std::string_view about;
  nlohmann::json (*run)();
};

// In the order of the paper.
std::span<const Experiment> experiments();

nlohmann::json master_theorem();
nlohmann::json tightness();
nlohmann::json snr();
nlohmann::json copy();
nlohmann::json product();
nlohmann::json relu();
nlohmann::json consistency();
nlohmann::json coverage();
nlohmann::json pathologies();

}  // namespace dma::validation
