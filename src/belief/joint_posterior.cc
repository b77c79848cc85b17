#include <dma/belief/joint_posterior.h>

#include <dma/special/random.h>

#include "belief/joint_algebra.h"
#include "belief/joint_backend.h"

namespace dma {
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
