// likelihood/log_variance.h: the value f of a network is the log of a variance, and y a squared deviation.
#pragma once

#include <cmath>
#include <span>

#include <dma/likelihood/likelihood.h>
#include <dma/special/normal.h>

namespace dma::detail {

// The deviation has the variance exp(f) and another one, v, that is known. With u = v + exp(f) and a = exp(f) / u,
//
//   -log N(sqrt(y); 0, u) = (log u + y / u) / 2 + const,   expected curvature a^2 / 2,   slope a (y / u - 1) / 2
class LogVarianceTerms final : public RowTerms {
 public:
  LogVarianceTerms(std::span<const double> squares, std::span<const double> variances)
      : squares_(squares), variances_(variances) {}

  std::size_t rows() const override { return squares_.size(); }
  double loss(std::span<const double> values) const override {
    double sum = 0;
    for (std::size_t n = 0; n < values.size(); ++n) {
      const double total = variances_[n] + std::exp(values[n]);
      sum += std::log(total) + squares_[n] / total;
    }
    return sum / 2;
  }
  double mean_nll(std::span<const double> values) const override {
    return loss(values) / static_cast<double>(rows()) + special::log_sqrt_two_pi;
  }
  void expand(std::size_t first, std::span<const double> values, double* root,
              double* slope) const override {
    for (std::size_t n = 0; n < values.size(); ++n) {
      const double own = std::exp(values[n]);
      const double total = variances_[first + n] + own;
      root[n] = std::sqrt(0.5) * own / total;
      slope[n] = std::sqrt(0.5) * (squares_[first + n] / total - 1);
    }
  }

 private:
  std::span<const double> squares_, variances_;
};

}  // namespace dma::detail
