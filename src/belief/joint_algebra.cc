#include "belief/joint_algebra.h"

#include "base/require.h"

namespace dma::detail {

std::vector<double> only_output(std::size_t output, std::size_t outputs, std::size_t rows) {
  std::vector<double> factors(rows * outputs, 0);
  for (std::size_t n = 0; n < rows; ++n) factors[n * outputs + output] = 1;
  return factors;
}

Matrix factor_of(const JointPosterior& posterior) {
  const Eigen::Index size = index(posterior.mean.size());
  Matrix lower(size, size);
  const double* next = posterior.factor.data();
  for (Eigen::Index i = 0; i < size; next += ++i) {
    lower.row(i).head(i + 1) = Eigen::Map<const Eigen::RowVectorXd>(next, i + 1);
  }
  return lower;
}

void set_factor(const Matrix& lower, JointPosterior& posterior) {
  posterior.factor.clear();
  posterior.factor.reserve(static_cast<std::size_t>(lower.rows() * (lower.rows() + 1) / 2));
  for (Eigen::Index i = 0; i < lower.rows(); ++i) {
    for (Eigen::Index j = 0; j <= i; ++j) posterior.factor.push_back(lower(i, j));
  }
}

Matrix factorised(Matrix precision) {
  require(backend::factorise(backend::target(precision)), not_positive_definite);
  return precision;
}

Vector solution(const Matrix& lower, Vector x) {
  lower.triangularView<Eigen::Lower>().solveInPlace(x);
  lower.triangularView<Eigen::Lower>().transpose().solveInPlace(x);
  return x;
}

void set_mean(const Vector& mean, JointPosterior& posterior) {
  require(mean.allFinite(), "a joint mean is beyond the range of numbers");
  posterior.mean.assign(mean.begin(), mean.end());
}

Matrix precision_of(const Matrix& lower) {
  Matrix precision = Matrix::Zero(lower.rows(), lower.cols());
  backend::add_square(backend::operand(lower), backend::target(precision), backend::Holds::lower);
  return precision;
}

Vector centre_of(const JointPosterior& posterior) {
  const auto& centre = posterior.centre.empty() ? posterior.mean : posterior.centre;
  return Eigen::Map<const Vector>(centre.data(), index(centre.size()));
}

Vector mean_of(const JointPosterior& posterior) {
  return Eigen::Map<const Vector>(posterior.mean.data(), index(posterior.mean.size()));
}

Matrix inverse_of(Matrix lower) {
  backend::invert(backend::target(lower));
  return lower;
}

Vector variances_of(const Matrix& inverse) {
  Vector result(inverse.cols());
  for (Eigen::Index k = 0; k < result.size(); ++k) {
    result[k] = inverse.col(k).tail(result.size() - k).squaredNorm();
  }
  return result;
}

OutputMoments room_for(const Architecture& architecture, std::size_t rows) {
  const std::size_t outputs = architecture.outputs();
  OutputMoments moments{std::vector<double>(rows * outputs), std::vector<double>(rows * outputs)};
  if (outputs > 1) moments.covariance.resize(rows * outputs * outputs);
  return moments;
}

}  // namespace dma::detail
