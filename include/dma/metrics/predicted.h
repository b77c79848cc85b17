// metrics/predicted.h: the prediction of one value.
//
//   y ~ N(mean, epistemic_std^2 + s),   log s ~ N(m, noise_spread^2),   m such that E[s] = noise_std^2
//
// The noise variance s is itself uncertain. Nine Gauss-Hermite nodes represent it: a mixture of nine Gaussians around
// one mean, whose tails are heavier than a Gaussian's. With noise_spread 0
// it is N(mean, stddev()^2).
#pragma once

#include <array>
#include <cstddef>

namespace dma {

// A probability, and the z for which N(0, 1) lies in [-z, z] with it: computed once for many predictions.
struct CentralLevel {
  explicit CentralLevel(double probability);
  double level, quantile;
};

struct Predicted {
  double mean;
  double epistemic_std;     // of the function; more data could remove it
  double noise_std;         // of an observation around it
  double noise_spread = 0;  // of the log of the noise variance

  double stddev() const;
  // Ends of the central interval that should contain the value with this probability.
  double lower(double level = 0.95) const { return mean - half_width(level); }
  double upper(double level = 0.95) const { return mean + half_width(level); }
  double half_width(double level = 0.95) const { return half_width(CentralLevel(level)); }
  double half_width(const CentralLevel& central) const;

  double log_density(double y) const;
  double cdf(double y) const;
  // The probability of the central interval that ends at y.
  double central_probability(double y) const;
  // Continuous ranked probability score, in the unit of y.
  double crps(double y) const;
};

}  // namespace dma
