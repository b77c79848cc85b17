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
  LogVarianceTerms(const Targets& squares, std::span<const double> variances)
      : squares_(squares), variances_(variances) {}

  std::size_t rows() const override { return squares_.rows(); }
  double weight() const override { return squares_.weight(); }
  double loss(std::span<const double> values) const override {
    double sum = 0;
    for (std::size_t n = 0; n < values.size(); ++n) {
      const double total = variances_[n] + std::exp(values[n]);
      sum += squares_.weight(n) * (std::log(total) + squares_.values[n] / total);
    }
    return sum / 2;
  }
  double mean_nll(std::span<const double> values) const override {
    return loss(values) / weight() + special::log_sqrt_two_pi;
  }
  void expand(std::size_t first, std::span<const double> values, double* root,
              double* slope) const override {
    for (std::size_t n = 0; n < values.size(); ++n) {
      const double own = std::exp(values[n]);
      const double total = variances_[first + n] + own;
      const double share = std::sqrt(squares_.weight(first + n) / 2);
      root[n] = share * own / total;
      slope[n] = share * (squares_.values[first + n] / total - 1);
    }
  }

 private:
  Targets squares_;
  std::span<const double> variances_;
};

}  // namespace dma::detail
