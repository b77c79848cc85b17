#include "network/noise.h"

#include <algorithm>
#include <cmath>

namespace dma::detail {

double most_likely_noise(std::span<const Miss> misses) {
  double scale = 0;
  for (const Miss& miss : misses) scale += miss.square + miss.variance;
  scale /= static_cast<double>(misses.size());
  if (!(scale > 0)) return 0;
  const auto loss = [&](double log_noise) {
    const double noise = std::exp(log_noise);
    LogSum logs;
    double squares = 0;
    for (const Miss& miss : misses) {
      const double total = miss.variance + noise;
      logs.add(total);
      squares += miss.square / total;
    }
    return logs.value() + squares;
  };
  // The loss can have more than one valley: look at a grid first, then narrow down by thirds.
  constexpr int grid = 48;
  const double low = std::log(1e-8 * scale);
  const double step = (std::log(4 * scale) - low) / grid;
  int best = 0;
  double best_loss = loss(low);
  for (int k = 1; k <= grid; ++k) {
    const double here = loss(low + step * k);
    if (here < best_loss) {
      best = k;
      best_loss = here;
    }
  }
  double left = low + step * std::max(best - 1, 0);
  double right = low + step * std::min(best + 1, grid);
  while (right - left > 1e-4) {
    const double third = (right - left) / 3;
    if (loss(left + third) < loss(right - third)) {
      right -= third;
    } else {
      left += third;
    }
  }
  return std::exp((left + right) / 2);
}

}  // namespace dma::detail
