// network/noise.h: the noise that explains residuals best.
#pragma once

#include <cmath>
#include <span>

namespace dma::detail {

// The sum of the logs of positive numbers, as logs of products: one log for many.
class LogSum {
 public:
  void add(double x) {
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
};

// The b that maximises sum log N(residual; 0, variance + b). A wide prediction does not inflate it, as
// the mean of (residual^2 + variance) would. Searched between 1e-8 and 4 times the mean of
// (residual^2 + variance), which contains every maximum above the lower end.
double most_likely_noise(std::span<const Miss> misses);

}  // namespace dma::detail
