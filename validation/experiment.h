// validation/experiment.h: the paper's claims about messages, measured (dma reproduce).
#pragma once

#include <span>

#include "experiments/experiment.h"

namespace dma::validation {

using experiments::Experiment;

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
