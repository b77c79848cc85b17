#include "validation/experiment.h"

#include <array>

namespace dma::validation {

std::span<const Experiment> experiments() {
  static constexpr std::array all{
      Experiment{"master-theorem", "Theorem dma-master on 192 leaky-ReLU settings", master_theorem},
      Experiment{"tightness", "how tight the theorem's bound is, one parameter at a time",
                 tightness},
      Experiment{"snr", "the 1/r^2 rate of the backward messages", snr},
      Experiment{"copy", "the Gaussian-log-normal copy, coefficient 3/4 of 1/r^2", copy},
      Experiment{"product", "product marginals beside importance sampling", product},
      Experiment{"relu", "leaky-ReLU marginals beside importance sampling", relu},
      Experiment{"consistency", "the message error of every factor as its inputs concentrate",
                 consistency},
      Experiment{"coverage", "which theorem covers which message (App. B)", coverage},
      Experiment{"pathologies", "Table 1, measured: direct, EP, VMP and ADF side by side",
                 pathologies}};
  return all;
}

}  // namespace dma::validation
