#include "experiments/experiment.h"

#include <array>

namespace dma::experiments {

std::span<const Experiment> network_experiments() {
  static constexpr std::array all{
      Experiment{"regression", "83 weights, 200 tasks: extrapolation and calibration", regression},
      Experiment{"mismatch", "data from a wider network than the model's", mismatch},
      Experiment{"large", "1,932 weights, four outputs: training likelihood", large},
      Experiment{"long-runs", "beyond the paper: 400 epochs beside a filter that counts again",
                 long_runs},
      Experiment{"settling", "beyond the paper: where training settles and where it swings",
                 settling}};
  return all;
}

}  // namespace dma::experiments
