#include "validation/experiment.h"

#include <array>

namespace dma::validation {

std::span<const Experiment> experiments() {
  using experiments::at_once;
  static constexpr std::array all{
      Experiment{"master-theorem", "Theorem dma-master on 192 leaky-ReLU settings",
                 at_once<master_theorem>},
      Experiment{"tightness", "how tight the theorem's bound is, one parameter at a time",
                 at_once<tightness>},
      Experiment{"snr", "the 1/r^2 rate of the backward messages", at_once<snr>},
      Experiment{"copy", "the Gaussian-log-normal copy, coefficient 3/4 of 1/r^2", at_once<copy>},
      Experiment{"product", "product marginals compared with importance sampling",
                 at_once<product>},
      Experiment{"relu", "leaky-ReLU marginals compared with importance sampling", at_once<relu>},
      Experiment{"consistency", "the message error of every factor as its inputs concentrate",
                 at_once<consistency>},
      Experiment{"coverage", "which theorem covers which message (App. B)", at_once<coverage>},
      Experiment{"pathologies", "Table 1, measured: direct, EP, VMP and ADF side by side",
                 at_once<pathologies>}};
  return all;
}

}  // namespace dma::validation
