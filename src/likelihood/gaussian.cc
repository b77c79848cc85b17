#include "likelihood/gaussian.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include <dma/likelihood/noise_floor.h>
#include <dma/special/normal.h>

namespace dma::detail {
namespace {

constexpr double least_left_over = 0.1;  // share of the rows that the noise is learnt from

}  // namespace

GaussianTerms::GaussianTerms(std::span<const double> targets, std::vector<double> variances)
    : targets_(targets), variances_(std::move(variances)), learns_(false) {}

GaussianTerms::GaussianTerms(std::span<const double> targets, double variance)
    : targets_(targets), variances_(targets.size(), variance), learns_(true) {}

double GaussianTerms::loss(std::span<const double> values) const {
  double sum = 0;
  for (std::size_t n = 0; n < values.size(); ++n) {
    const double miss = targets_[n] - values[n];
    sum += miss * miss / variances_[n];
  }
  return sum / 2;
}

double GaussianTerms::mean_nll(std::span<const double> values) const {
  const Eigen::Map<const Eigen::ArrayXd> variances(variances_.data(),
                                                   static_cast<Eigen::Index>(variances_.size()));
  const double sum = loss(values) + variances.log().sum() / 2;
  return sum / static_cast<double>(rows()) + special::log_sqrt_two_pi;
}

void GaussianTerms::expand(std::size_t first, std::span<const double> values, double* root,
                           double* slope) const {
  for (std::size_t n = 0; n < values.size(); ++n) {
    root[n] = std::sqrt(1 / variances_[first + n]);
    slope[n] = (targets_[first + n] - values[n]) * root[n];
  }
}

double GaussianTerms::learn(std::span<const double> values, double determined) {
  if (!learns_) return 1;
  const auto count = static_cast<double>(rows());
  double squares = 0;
  for (std::size_t n = 0; n < values.size(); ++n) squares += std::pow(targets_[n] - values[n], 2);
  bounded_ = count - determined < least_left_over * count;
  const double learnt = std::max(least_noise_variance,
                                 squares / std::max(least_left_over * count, count - determined));
  const double factor = variances_.front() / learnt;
  std::fill(variances_.begin(), variances_.end(), learnt);
  return factor;
}

}  // namespace dma::detail
