#include "baselines/problem.h"

#include "baselines/point_network.h"

#include <cmath>
#include <memory>
#include <numbers>

namespace dma::baselines {
namespace {

std::shared_ptr<PointNetwork> point_network(const Problem& problem) {
  return std::make_shared<PointNetwork>(problem.network, problem.inputs, problem.targets,
                                        problem.rows);
}

}  // namespace

// (error^2 / noise + log(2 pi noise)) / 2, averaged
double mean_nll(const Problem& problem, double half_squared_error) {
  const auto count = static_cast<double>(problem.observations());
  return half_squared_error / (count * problem.noise_variance) +
         std::log(2 * std::numbers::pi * problem.noise_variance) / 2;
}

Differentiable mean_nll(const Problem& problem) {
  return [problem, network = point_network(problem)](std::span<const double> weights,
                                                     std::span<double> gradient) {
    const double value = network->half_squared_error(weights, gradient);
    const double scale = 1 / (static_cast<double>(problem.observations()) * problem.noise_variance);
    for (double& g : gradient) g *= scale;
    return mean_nll(problem, value);
  };
}

Differentiable log_joint(const Problem& problem, const WeightPrior& prior) {
  return [noise = problem.noise_variance, prior, network = point_network(problem)](
             std::span<const double> weights, std::span<double> gradient) {
    double value = -network->half_squared_error(weights, gradient) / noise;
    for (std::size_t k = 0; k < weights.size(); ++k) {
      const double pull = (prior.mean[k] - weights[k]) / prior.variance[k];
      gradient[k] = pull - gradient[k] / noise;
      value -= pull * (prior.mean[k] - weights[k]) / 2;
    }
    return value;
  };
}

}  // namespace dma::baselines
