// likelihood/log_variance.h: the value f of a network is the log of a variance, and y a squared deviation.
#pragma once

#include <cmath>
#include <span>

#include <dma/likelihood/likelihood.h>
#include <dma/special/normal.h>

namespace dma::detail {

//   -log N(sqrt(y); 0, exp(f)) = (f + y exp(-f)) / 2 + const,   expected curvature 1 / 2,
//   slope (y exp(-f) - 1) / 2
class LogVarianceTerms final : public RowTerms {
 public:
  explicit LogVarianceTerms(std::span<const double> squares) : squares_(squares) {}

  std::size_t rows() const override { return squares_.size(); }
  double loss(std::span<const double> values) const override {
    double sum = 0;
    for (std::size_t n = 0; n < values.size(); ++n) {
      sum += values[n] + squares_[n] * std::exp(-values[n]);
    }
    return sum / 2;
  }
  double mean_nll(std::span<const double> values) const override {
    return loss(values) / static_cast<double>(rows()) + special::log_sqrt_two_pi;
  }
  void expand(std::size_t first, std::span<const double> values, double* root,
              double* slope) const override {
    for (std::size_t n = 0; n < values.size(); ++n) {
      root[n] = std::sqrt(0.5);
      slope[n] = 0.5 * (squares_[first + n] * std::exp(-values[n]) - 1) / root[n];
    }
  }

 private:
  std::span<const double> squares_;
};

}  // namespace dma::detail
