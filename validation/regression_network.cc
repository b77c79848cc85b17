#include "validation/regression_network.h"

#include <dma/factors/factors.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "experiments/task/task.h"
#include "validation/importance_sampling.h"

namespace dma::validation {
namespace {

using Random = std::mt19937_64;

constexpr std::size_t layers = 3;

// One example of the network, added layer by layer.
class ExampleBuilder {
 public:
  ExampleBuilder(const RegressionTask& task, NetworkGraph& network)
      : task_(task), graph_(network.graph), weights_(network.weights) {}

  void add(std::span<const double> features, double target) {
    std::vector<Variable> units;
    for (const double feature : features) {
      units.push_back(graph_.variable());
      forward.push_back({graph_.add(Observation{feature, 0}, units.back()).index, 0});
    }
    for (std::size_t l = 0; l < layers; ++l) units = add_layer(l, units);
    const FactorId likelihood =
        graph_.add(Observation{target, task_.noise * task_.noise}, units[0]);
    backward.push_back({likelihood.index, 0});
    for (std::size_t l = layers; l-- > 0;) {
      for (const Steps* steps : {&to_sums_[l], &to_parts_[l], &to_inputs_[l], &to_units_[l]}) {
        backward.append(*steps);
      }
    }
  }

  Steps forward, backward;

 private:
  std::vector<Variable> add_layer(std::size_t l, const std::vector<Variable>& units) {
    const auto inputs =
        l == 0 ? std::vector(task_.network.layer(0).units, units) : copies(l, units);
    std::vector<Variable> outputs;
    for (std::size_t i = 0; i < task_.network.layer(l).units; ++i) {
      const Variable sum = add_sum(l, inputs[i]);
      outputs.push_back(l + 1 < layers ? add_relu(l, sum) : sum);
    }
    return outputs;
  }

  // A hidden unit reaches each of its products through a copy, so that what one product sends back
  // does not change the point around which the next one linearises. [output unit][input unit]
  std::vector<std::vector<Variable>> copies(std::size_t l, const std::vector<Variable>& units) {
    const std::size_t width = task_.network.layer(l).units;
    std::vector<std::vector<Variable>> result(width);
    for (const Variable unit : units) {
      std::vector<Variable> edges{unit};
      for (std::size_t i = 0; i < width; ++i) {
        edges.push_back(graph_.variable());
        result[i].push_back(edges.back());
      }
      const FactorId copy = graph_.add(Equality{edges.size()}, edges);
      for (std::uint32_t k = 1; k < edges.size(); ++k) forward.push_back({copy.index, k});
      to_units_[l].push_back({copy.index, 0});
    }
    return result;
  }

  Variable add_sum(std::size_t l, const std::vector<Variable>& inputs) {
    std::vector<Variable> edges{graph_.variable()};
    for (const Variable input : inputs) {
      const Variable part = graph_.variable();
      edges.push_back(part);
      const FactorId product = graph_.add(Product{}, part, weights_[next_weight_++], input);
      forward.push_back({product.index, 0});
      to_inputs_[l].push_back({product.index, 1});
      if (l > 0) to_inputs_[l].push_back({product.index, 2});
    }
    const std::vector<double> ones(inputs.size(), 1.0);
    const FactorId sum = graph_.add(WeightedSum{ones}, edges);
    forward.push_back({sum.index, 0});
    for (std::uint32_t k = 1; k < edges.size(); ++k) to_parts_[l].push_back({sum.index, k});
    return edges[0];
  }

  Variable add_relu(std::size_t l, Variable input) {
    const Variable output = graph_.variable();
    const FactorId relu = graph_.add(LeakyRelu{task_.network.slope(l)}, output, input);
    forward.push_back({relu.index, 0});
    to_sums_[l].push_back({relu.index, 1});
    return output;
  }

  const RegressionTask& task_;
  Graph& graph_;
  const std::vector<Variable>& weights_;
  std::size_t next_weight_ = 0;
  std::array<Steps, layers> to_sums_, to_parts_, to_inputs_, to_units_;
};

// Deviations from the prior means, one row per draw.
std::vector<std::vector<double>> draw_deviations(const RegressionTask& task, std::size_t samples,
                                                 Random& random) {
  std::vector<std::vector<double>> draws(samples);
  std::normal_distribution<double> normal;
  for (auto& draw : draws) {
    for (const auto& weight : task.prior) draw.push_back(weight.stddev() * normal(random));
  }
  return draws;
}

// The likelihood of example n under each draw, up to a constant.
std::vector<double> likelihoods(const RegressionTask& task,
                                const std::vector<std::vector<double>>& draws, std::size_t n) {
  std::vector<double> result;
  std::vector<double> weights(task.prior.size());
  std::vector<double> values;
  for (const auto& draw : draws) {
    for (std::size_t k = 0; k < weights.size(); ++k) weights[k] = task.prior[k].mean() + draw[k];
    values = task.features[n];
    evaluate(task.network, weights, values);
    const double residual = task.targets[n] - values[0];
    result.push_back(std::exp(-residual * residual / (2 * task.noise * task.noise)));
  }
  return result;
}

SampledPosterior posterior(const RegressionTask& task,
                           const std::vector<std::vector<double>>& draws,
                           const std::vector<double>& likelihood) {
  const std::size_t count = task.prior.size();
  std::vector<double> sum(count), squares(count);
  double total = 0;
  for (std::size_t s = 0; s < draws.size(); ++s) {
    const double weight = likelihood[s];
    if (weight < 1e-9) continue;
    total += weight;
    for (std::size_t k = 0; k < count; ++k) {
      sum[k] += weight * draws[s][k];
      squares[k] += weight * draws[s][k] * draws[s][k];
    }
  }
  SampledPosterior result{{}, effective_sample_size(likelihood)};
  for (std::size_t k = 0; k < count; ++k) {
    const double shift = sum[k] / total;
    result.weights.push_back(Gaussian<double>::from_moments(task.prior[k].mean() + shift,
                                                            squares[k] / total - shift * shift));
  }
  return result;
}

}  // namespace

std::vector<SampledPosterior> sampled_posteriors(const RegressionTask& task, std::size_t samples,
                                                 std::uint64_t seed) {
  Random random(seed);
  const auto draws = draw_deviations(task, samples, random);
  std::vector<SampledPosterior> posteriors;
  for (std::size_t n = 0; n < task.targets.size(); ++n) {
    posteriors.push_back(posterior(task, draws, likelihoods(task, draws, n)));
  }
  return posteriors;
}

RegressionTask regression_task(std::size_t examples, std::uint64_t seed) {
  const experiments::Task drawn = experiments::regression_task(seed);
  const auto prior = draw_prior(drawn.model, experiments::prior_seed(seed));
  RegressionTask task{.network = drawn.model, .noise = drawn.noise_deviation};
  for (std::size_t k = 0; k < prior.mean.size(); ++k) {
    task.prior.push_back(Gaussian<double>::from_moments(prior.mean[k], prior.variance[k]));
  }
  const std::size_t inputs = drawn.model.inputs();
  for (std::size_t n = 0; n < std::min(examples, drawn.train.size()); ++n) {
    const auto row = std::span(drawn.train.features).subspan(n * inputs, inputs);
    task.features.emplace_back(row.begin(), row.end());
    task.targets.push_back(drawn.train.targets[n]);
  }
  return task;
}

NetworkGraph network_graph(const RegressionTask& task, std::span<const std::size_t> examples) {
  NetworkGraph network;
  for (const auto& prior : task.prior) {
    network.weights.push_back(network.graph.variable());
    const FactorId factor =
        network.graph.add(Prior{prior.mean(), prior.variance()}, network.weights.back());
    network.schedule.forward.push_back({factor.index, 0});
  }
  for (const std::size_t n : examples) {
    ExampleBuilder example(task, network);
    example.add(task.features[n], task.targets[n]);
    auto& steps = network.schedule.forward;
    steps.append(example.forward);
    steps.append(example.backward);
  }
  return network;
}

}  // namespace dma::validation
