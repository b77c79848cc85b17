#include "belief/joint_algebra.h"

#include <algorithm>
#include <cmath>

#include <dma/special/random.h>

#include "base/require.h"
#include "belief/joint_backend.h"

namespace dma {
namespace detail {

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

}  // namespace detail

OutputMoments outputs_of(const JointPosterior& posterior, std::span<const double> inputs,
                         std::size_t rows) {
  OutputMoments moments = detail::room_for(posterior.architecture, rows);
  detail::cpu_backend().predictor(posterior)->predict(
      inputs, rows, moments.mean.data(), moments.variance.data(), moments.covariance.data());
  return moments;
}

// f(x; c) + J (m - c + L'^-1 z), z standard normal: the covariance is J (L L')^-1 J'.
std::vector<double> sample_functions(const JointPosterior& posterior,
                                     std::span<const double> inputs, std::size_t rows,
                                     std::size_t count, std::uint64_t seed) {
  using detail::index;
  special::Random random(seed);
  detail::Matrix normal(index(posterior.mean.size()), index(count));
  for (double& value : normal.reshaped()) value = random.normal();
  const detail::Matrix inverse = detail::inverse_of(detail::factor_of(posterior));
  const detail::Vector weights = detail::centre_of(posterior);
  detail::Matrix steps = (detail::mean_of(posterior) - weights).rowwise().replicate(index(count));
  backend::add_product(backend::operand(inverse).transposed(), backend::operand(normal),
                       backend::target(steps), backend::Holds::upper);
  const std::size_t outputs = posterior.architecture.outputs();
  std::vector<double> result(count * rows * outputs);
  detail::Matrix gradients;
  detail::each_block(rows, [&](std::size_t first, std::size_t block) {
    std::vector<double> centre(block * outputs);
    const detail::Block own(posterior.architecture, posterior.unit, weights, inputs, first, block,
                            centre.data());
    for (std::size_t k = 0; k < outputs; ++k) {
      own.write_gradients(detail::only_output(k, outputs, block), gradients);
      detail::Matrix values(index(block), index(count));
      for (std::size_t n = 0; n < block; ++n) {
        values.row(index(n)).setConstant(centre[n * outputs + k]);
      }
      backend::add_product(backend::operand(gradients), backend::operand(steps),
                           backend::target(values));
      for (std::size_t s = 0; s < count; ++s) {
        double* to = result.data() + (s * rows + first) * outputs + k;
        for (std::size_t n = 0; n < block; ++n) to[n * outputs] = values(index(n), index(s));
      }
    }
  });
  return result;
}

std::vector<double> marginal_variances(const JointPosterior& posterior) {
  const detail::Vector variances =
      detail::variances_of(detail::inverse_of(detail::factor_of(posterior)));
  return {variances.begin(), variances.end()};
}

// For functions w = m + L'^-1 z, z standard normal: exact f(x; w), linearised f(x; c) + J (w - c).
double detail::linearisation_error(const JointPosterior& posterior,
                                   std::span<const double> inputs) {
  constexpr std::size_t functions = 16;
  const std::size_t outputs = posterior.architecture.outputs();
  const std::size_t rows = inputs.size() / posterior.architecture.inputs();
  const Matrix lower = factor_of(posterior);
  const Vector centre = centre_of(posterior);
  std::vector<double> at_centre(rows * outputs);
  const Block block(posterior.architecture, posterior.unit, centre, inputs, 0, rows,
                    at_centre.data());
  std::vector<Matrix> gradients(outputs);  // by output
  std::vector<Vector> deviation(outputs);
  for (std::size_t k = 0; k < outputs; ++k) {
    block.write_gradients(only_output(k, outputs, rows), gradients[k]);
    deviation[k] =
        lower.triangularView<Eigen::Lower>().solve(gradients[k].transpose()).colwise().norm();
  }
  special::Random random(1);
  std::vector<double> exact(rows * outputs);
  double sum = 0;
  for (std::size_t s = 0; s < functions; ++s) {
    Vector weights(centre.size());
    for (double& value : weights) value = random.normal();
    lower.triangularView<Eigen::Lower>().transpose().solveInPlace(weights);
    weights += mean_of(posterior);
    write_values(posterior.architecture, posterior.unit, weights, inputs, 0, rows, exact.data());
    for (std::size_t k = 0; k < outputs; ++k) {
      const Vector linear = gradients[k] * (weights - centre);
      for (std::size_t n = 0; n < rows; ++n) {
        const std::size_t place = n * outputs + k;
        const double off = exact[place] - at_centre[place] - linear[index(n)];
        sum += std::pow(off / deviation[k][index(n)], 2);
      }
    }
  }
  return std::sqrt(sum / static_cast<double>(functions * rows * outputs));
}

namespace detail {
namespace {

// The prior and the messages of all rows but these, which ascend.
Matrix precision_without(const JointPosterior& posterior, const JointLedger& ledger,
                         std::span<const std::size_t> rows) {
  const std::size_t weights = posterior.mean.size();
  Matrix precision = Matrix::Zero(index(weights), index(weights));
  precision.diagonal() = Eigen::Map<const Vector>(posterior.prior_precision.data(), index(weights));
  std::size_t first = 0;
  const auto add_until = [&](std::size_t end) {
    const backend::Operand block{ledger.gradients.data() + first * weights, end - first, weights,
                                 weights, 1};
    backend::add_square(block.transposed(), backend::target(precision));
    first = end + 1;
  };
  for (const std::size_t row : rows) add_until(row);
  add_until(ledger.shifts.size());
  return precision;
}

}  // namespace
}  // namespace detail

void forget(JointPosterior& posterior, const JointLedger& ledger, std::span<const std::size_t> rows,
            bool all_in_ledger) {
  const std::size_t weights = posterior.mean.size();
  const detail::Matrix lower = detail::factor_of(posterior);
  const auto triangle = lower.triangularView<Eigen::Lower>();
  detail::Matrix precision;
  detail::Vector shift = triangle * (triangle.transpose() * detail::mean_of(posterior));
  if (!all_in_ledger) precision = detail::precision_of(lower);
  for (const std::size_t row : rows) {
    const double* own = ledger.gradients.data() + row * weights;
    const Eigen::Map<const detail::Vector> gradient(own, shift.size());
    if (!all_in_ledger) {
      backend::subtract_square({own, weights, 1, 1, weights}, backend::target(precision));
    }
    shift -= ledger.shifts[row] * gradient;
  }
  if (all_in_ledger) precision = detail::precision_without(posterior, ledger, rows);
  const detail::Matrix factor = detail::factorised(std::move(precision));
  detail::set_factor(factor, posterior);
  if (posterior.centre.empty()) posterior.centre = posterior.mean;
  detail::set_mean(detail::solution(factor, shift), posterior);
}

}  // namespace dma
