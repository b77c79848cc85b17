#include "belief/shared_centre.h"

#include <algorithm>
#include <vector>

#include <dma/likelihood/gaussian.h>

#include "base/require.h"
#include "belief/joint_algebra.h"
#include "belief/joint_backend.h"
#include "belief/uncertain_inputs.h"
#include "belief/varying_noise.h"

namespace dma::detail {
namespace {

Vector vector_of(const std::vector<double>& numbers) {
  return Eigen::Map<const Vector>(numbers.data(), index(numbers.size()));
}

// With a factor in place of messages, which would show the rows that the noise was learnt from.
JointPosterior in_weights(JointPosterior posterior) {
  if (posterior.in_messages()) take_factor_from_ledger(posterior);
  posterior.ledger = {};
  return posterior;
}

// Of rows that are to be learnt, by the function's value at the centre; empty: the likelihood has none.
std::vector<double> scales_at_centre(const JointKnowledge& known, const Data& rows) {
  if (!known.likelihood->has_scale()) return {};
  const JointPosterior& function = known.function;
  const Vector centre = centre_of(function);
  const ValuesOf values = [&](std::span<const double> inputs, std::size_t count) {
    return cpu_backend().values({function.architecture, function.unit, centre}, inputs, count);
  };
  std::vector<double> scales(rows.rows, noise_variance(*known.likelihood).front());
  if (known.log_noise) {
    scales = noise_to_learn_with(*known.log_noise, known.noise_inputs, rows.inputs,
                                 values(rows.inputs, rows.rows));
  }
  add_input_variance(function.architecture, values, rows.inputs, scales);
  return scales;
}

}  // namespace

JointKnowledge without_messages(const JointKnowledge& known, std::vector<double> centre,
                                std::vector<double> prior_precision) {
  JointKnowledge start;
  start.function = {known.function.architecture,
                    known.function.unit,
                    std::vector<double>(centre.size(), 0),
                    std::move(prior_precision),
                    {},  // no factor
                    std::move(centre)};
  start.likelihood = known.likelihood;
  if (known.log_noise) start.log_noise = in_weights(*known.log_noise);
  start.noise_inputs = known.noise_inputs;
  return start;
}

JointPosterior learnt_at_centre(const JointKnowledge& start, const Data& rows) {
  const JointPosterior& prior = start.function;
  const Vector centre = centre_of(prior);
  const Vector precision = vector_of(prior.prior_precision);
  const auto likelihood = start.likelihood->clone();
  const std::vector<double> scales = scales_at_centre(start, rows);
  const auto terms = likelihood->terms(rows.weighted_targets(), scales);
  const auto messages = cpu_backend().messages({prior.architecture, prior.unit, centre},
                                               rows.inputs, *terms, nullptr, false);
  const auto factor = messages->factor(precision);
  require(factor != nullptr, not_positive_definite);
  JointPosterior learnt{prior.architecture, prior.unit, {}, prior.prior_precision, {}};
  learnt.centre = {centre.begin(), centre.end()};
  set_mean(centre + factor->step(-precision.cwiseProduct(centre)), learnt);
  factor->put(learnt);
  return learnt;
}

JointPosterior sum_of(std::span<const CentredBelief> beliefs) {
  JointPosterior sum = beliefs.front().posterior;
  const Vector centre = centre_of(sum);
  const Vector prior = vector_of(sum.prior_precision);
  Matrix precision = prior.asDiagonal();
  Vector gradient = Vector::Zero(centre.size());
  for (const CentredBelief& belief : beliefs) {
    const Matrix lower = factor_of(belief.posterior);
    const auto triangle = lower.triangularView<Eigen::Lower>();
    const Vector away = mean_of(belief.posterior) - centre;
    Matrix own = precision_of(lower);
    own.diagonal() -= prior;
    precision.triangularView<Eigen::Lower>() += belief.times * own;
    gradient += belief.times *
                (triangle * Vector(triangle.transpose() * away) + prior.cwiseProduct(centre));
  }
  const Matrix lower = factorised(std::move(precision));
  set_mean(centre + solution(lower, gradient - prior.cwiseProduct(centre)), sum);
  set_factor(lower, sum);
  return sum;
}

std::vector<double> next_prior_precision(const JointPosterior& posterior) {
  constexpr double least_determined = 1e-9;  // these as in JointNetwork
  constexpr double least_share_of_prior = 1e-10;
  const Architecture& architecture = posterior.architecture;
  const std::vector<double>& prior = posterior.prior_precision;
  // A network whose columns share a precision goes on so.
  const auto inputs = static_cast<std::ptrdiff_t>(architecture.inputs());
  const bool by_column = std::any_of(prior.begin(), prior.begin() + inputs,
                                     [&](double one) { return one != prior.front(); });
  const std::vector<std::size_t> groups = weight_groups(architecture, by_column);
  const Matrix lower = factor_of(posterior);
  const Vector variance = variances_of(inverse_of(lower));
  std::vector<double> determined(groups.back() + 1, 0);
  std::vector<double> squares(groups.back() + 1, 0);
  for (std::size_t k = 0; k < groups.size(); ++k) {
    determined[groups[k]] += 1 - prior[k] * variance[index(k)];
    squares[groups[k]] += posterior.mean[k] * posterior.mean[k];
  }
  std::vector<double> next = prior;
  for (std::size_t k = 0; k < groups.size(); ++k) {
    const std::size_t g = groups[k];
    const bool is_output_bias = g == groups.back();  // which keeps its own
    if (is_output_bias || determined[g] < least_determined || !(squares[g] > 0)) continue;
    const double told = lower.row(index(k)).head(index(k) + 1).squaredNorm();
    next[k] = std::max(
        least_share_of_prior * told,
        std::clamp(determined[g] / squares[g], least_prior_precision, most_prior_precision));
  }
  return next;
}

}  // namespace dma::detail
