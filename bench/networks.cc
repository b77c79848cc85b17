#include "bench/networks.h"

#include <dma/special/random.h>

#include <cmath>

namespace dma::bench {

Network network(const std::vector<std::size_t>& widths, std::size_t rows) {
  Network result;
  for (const std::size_t width : widths) {
    result.name += (result.name.empty() ? "" : "-") + std::to_string(width);
  }
  result.architecture.widths = widths;
  result.prior = draw_prior(result.architecture, 1);
  result.rows = rows;
  special::Random random(2);
  for (std::size_t n = 0; n < rows; ++n) {
    for (std::size_t j = 0; j < widths.front(); ++j) result.inputs.push_back(random.normal());
    const double* x = result.inputs.data() + n * widths.front();
    for (std::size_t k = 0; k < widths.back(); ++k) {
      const double phase = 0.5 * static_cast<double>(k);
      result.targets.push_back(std::sin(x[0] + phase) + 0.5 * x[1] * x[2] + 0.2 * random.normal());
    }
  }
  return result;
}

Network small_network() { return network({8, 6, 5, 1}, 200); }
Network deep_network() { return network({6, 6, 12, 48, 24, 4}, 1500); }
Network table_network() { return network({13, 50, 1}, 455); }
Network wide_network() { return network({8, 100, 100, 1}, 7000); }
Network image_network() { return network({784, 256, 256, 10}, 2000); }

}  // namespace dma::bench
