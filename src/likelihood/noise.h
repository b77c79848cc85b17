// likelihood/noise.h: the noise that explains residuals best.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

namespace dma::detail {

// The sum of the logs of positive numbers, as logs of products: one log for many.
class LogSum {
 public:
  void add(double x, double weight = 1) {
    if (weight != 1) {
      sum_ += weight * std::log(x);
      return;
    }
    // Products of two such numbers are far from both ends of the doubles.
    if (x > 1e-100 && x < 1e100) {
      product_ *= x;
      if (product_ > 1e-100 && product_ < 1e100) return;
      sum_ += std::log(product_);
      product_ = 1;
    } else {
      sum_ += std::log(x);
    }
  }
  double value() const { return sum_ + std::log(product_); }

 private:
  double product_ = 1, sum_ = 0;
};

// A prediction and its miss: squared residual and predictive variance, without noise.
struct Miss {
  double square, variance;
  double weight = 1;  // of its row
};

// The b that maximises sum weight log N(residual; 0, variance + b). A wide prediction does not inflate it, as
// the mean of (residual^2 + variance) would. Searched between 1e-8 and 4 times the mean of
// (residual^2 + variance), which contains every maximum above the lower end.
double most_likely_noise(std::span<const Miss> misses);

// The noise of predictions that come one after the other and are not kept.
//
// If predictions are right, E[residual^2] = variance + b; the most likely b is the mean of residual^2 - variance
// with weights 1 / (variance + b)^2. Here the weights have the b that was known before (one step of Fisher's
// scoring), so that two sums are enough. A stretch of rows gives one estimate: half as many as there were until
// then, from 256 to 65,536, since predictions get better, and what they missed by in the beginning must not
// count for ever. Predictions that are wider than their misses leave nothing for the noise; it then falls by
// half, no further: first predictions are always wide, and noise that is too small is believed for good.
class RunningNoise {
 public:
  explicit RunningNoise(double start);

  // True if the noise is another from now on.
  bool add(Miss miss);
  // The stretch that has begun and the one before it as one; the noise of a short one alone is not worth much.
  void finish();
  double noise() const { return noise_; }

 private:
  struct Sums {
    double misses = 0, weights = 0, scale = 0;
    double rows = 0;
  };
  double estimate(const Sums& sums) const;

  double noise_;
  Sums now_, before_;
  double stretch_;
  double rows_ = 0;
};

}  // namespace dma::detail
