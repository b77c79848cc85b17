// experiments/noisy_wave.h: a small table whose truth and noise are known, beyond the paper's tasks.
#pragma once

#include <dma/special/random.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace dma::experiments {

struct NoisyWave {
  std::vector<double> inputs, targets;
};

// y = sin(2 x_1) + x_2 / 2 + N(0, deviation^2); inputs are standard normal, further columns are irrelevant.
inline NoisyWave noisy_wave(std::size_t rows, std::size_t columns, double deviation,
                            std::uint64_t seed) {
  special::Random random(seed);
  NoisyWave table;
  for (std::size_t n = 0; n < rows; ++n) {
    std::vector<double> x(columns);
    for (double& value : x) value = random.normal();
    table.targets.push_back(std::sin(2 * x[0]) + x[1] / 2 + deviation * random.normal());
    table.inputs.insert(table.inputs.end(), x.begin(), x.end());
  }
  return table;
}

}  // namespace dma::experiments
