// likelihood/gaussian.h: y = f + noise, the noise Gaussian.
#pragma once

#include <span>
#include <vector>

#include "likelihood/row_terms.h"

namespace dma::detail {

//   -log N(y; f, s) = (y - f)^2 / 2 s + log s / 2 + const,   curvature 1 / s,   slope (y - f) / s
class GaussianTerms final : public RowTerms {
 public:
  // Variances of the noise, row by row.
  GaussianTerms(std::span<const double> targets, std::vector<double> variances);
  // One for all rows, which is learnt.
  GaussianTerms(std::span<const double> targets, double variance);

  std::size_t rows() const override { return targets_.size(); }
  double loss(std::span<const double> values) const override;
  double mean_nll(std::span<const double> values) const override;
  void expand(std::size_t first, std::span<const double> values, double* root,
              double* slope) const override;
  // MacKay's fixed point: squared misses / (rows - determined weights).
  double learn(std::span<const double> values, double determined) override;

  const std::vector<double>& variances() const { return variances_; }
  // The weights had used up more than nine tenths of the rows when the noise was learnt last.
  bool is_bounded() const { return bounded_; }
  void set_bounded(bool bounded) { bounded_ = bounded; }

 private:
  std::span<const double> targets_;
  std::vector<double> variances_;
  bool learns_;
  bool bounded_ = false;
};

}  // namespace dma::detail
