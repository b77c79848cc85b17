#include "experiments/experiment.h"

#include <array>

namespace dma::experiments {

std::span<const Experiment> network_experiments() {
  static constexpr std::array all{
      Experiment{"regression", "83 weights: one task in detail, and many tasks", regression},
      Experiment{"adam", "compared with Adam at four learning rates; the cost of an epoch", adam,
                 true},
      Experiment{"adamw", "compared with AdamW at four weight decays", adamw, true},
      Experiment{"ivon", "compared with IVON: 160 settings, and the best on 20 tasks", ivon},
      Experiment{"laplace", "compared with the diagonal Laplace approximation", laplace, true},
      Experiment{"calibration", "coverage inside and outside the training range", calibration},
      Experiment{"mismatch", "data from a wider network than the model's", mismatch},
      Experiment{"large", "1,932 weights, four outputs", large},
      Experiment{"exact", "beyond the paper: the exact posterior, by Hamiltonian Monte Carlo",
                 exact},
      Experiment{"long-runs",
                 "beyond the paper: 400 epochs, compared with a filter that counts the data again",
                 at_once<long_runs>},
      Experiment{"settling", "beyond the paper: where training settles and where it oscillates",
                 at_once<settling>}};
  return all;
}

}  // namespace dma::experiments
