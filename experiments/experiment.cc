#include "experiments/experiment.h"

#include <array>

namespace dma::experiments {

std::span<const Experiment> network_experiments() {
  static constexpr std::array all{
      Experiment{"regression", "83 weights: one task seen closely, and many", regression},
      Experiment{"adam", "beside Adam at four learning rates; the cost of an epoch", adam, true},
      Experiment{"adamw", "beside AdamW at four weight decays", adamw, true},
      Experiment{"ivon", "beside IVON: 160 settings, and the best on 20 tasks", ivon},
      Experiment{"laplace", "beside the diagonal Laplace approximation", laplace, true},
      Experiment{"calibration", "coverage inside and outside the training range", calibration},
      Experiment{"mismatch", "data from a wider network than the model's", mismatch},
      Experiment{"large", "1,932 weights, four outputs", large},
      Experiment{"exact", "beyond the paper: the exact posterior, by Hamiltonian Monte Carlo",
                 exact},
      Experiment{"long-runs", "beyond the paper: 400 epochs beside a filter that counts again",
                 at_once<long_runs>},
      Experiment{"settling", "beyond the paper: where training settles and where it swings",
                 at_once<settling>}};
  return all;
}

}  // namespace dma::experiments
