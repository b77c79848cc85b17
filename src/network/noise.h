// network/noise.h: the noise that explains residuals best.
#pragma once

#include <span>

namespace dma::detail {

// A prediction and its miss: squared residual and predictive variance, without noise.
struct Miss {
  double square, variance;
};

// The b that maximises sum log N(residual; 0, variance + b). A wide prediction does not inflate it, as
// the mean of (residual^2 + variance) would. Searched between 1e-8 and 4 times the mean of
// (residual^2 + variance), which contains every maximum above the lower end.
double most_likely_noise(std::span<const Miss> misses);

}  // namespace dma::detail
