// likelihood/gaussian.h: Gaussian noise, as a joint network is fitted to it.
#pragma once

#include <dma/likelihood/gaussian.h>

namespace dma::detail {

//   -log N(y; f, s) = (y - f)^2 / 2 s + log s / 2 + const,   curvature 1 / s,   slope (y - f) / s
class GaussianTerms final : public RowTerms {
 public:
  // Variances of the noise, row by row.
  GaussianTerms(const Targets& targets, std::span<const double> variances);
  // One for all rows, which is learnt.
  GaussianTerms(const Targets& targets, double& variance);

  std::size_t rows() const override { return targets_.rows(); }
  double weight() const override { return targets_.weight(); }
  double loss(std::span<const double> values) const override;
  double mean_nll(std::span<const double> values) const override;
  void expand(std::size_t first, std::span<const double> values, double* root,
              double* slope) const override;
  // MacKay's fixed point: squared misses / (rows - determined weights). Bounded where the weights have used up more
  // than nine tenths of the rows.
  Learnt learn(std::span<const double> values, double determined) override;
  std::size_t rows_at_floor() const override;

 private:
  Targets targets_;
  std::vector<double> variances_;
  double* learnt_ = nullptr;
};

// The variance of which this is the log; never below the least that is believed.
double noise_at(double log_variance);

}  // namespace dma::detail
