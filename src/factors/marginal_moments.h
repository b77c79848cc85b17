// factors/marginal_moments.h: the exact marginal that check_factor compares a factor of one edge with.
#pragma once

#include <functional>
#include <optional>

#include <dma/messages/gaussian.h>

namespace dma::detail {

struct MeanAndDeviation {
  double mean, deviation;
};

// Mean and standard deviation of f(x) N(x; incoming), from log f, by adaptive quadrature where the mass is, even 1e150
// deviations away from the incoming mean. Accurate to 1e-12 deviations of the result, plus the spacing of doubles at
// its mean. Nothing if no mass is found: the density's support must contain `guess` or one of the scanned points, which
// are half a deviation apart within 30 deviations and a quarter of their distance apart farther out.
std::optional<MeanAndDeviation> marginal_moments(const std::function<double(double)>& log_density,
                                                 Gaussian<double> incoming,
                                                 std::optional<double> guess = {});

}  // namespace dma::detail
