// validation/regression_network.h: the paper's 1-D regression task (App. E) and its 8-6-5-1 network
// as a factor graph whose schedule is Algorithm 1 (App. D).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <dma/graph/graph.h>
#include <dma/layers/architecture.h>

namespace dma::validation {

struct RegressionTask {
  Architecture network;
  double noise = 0;                                // standard deviation
  std::vector<Gaussian<double>> prior = {};        // of the weights, in the flat order
  std::vector<std::vector<double>> features = {};  // one row of 8 per example
  std::vector<double> targets = {};
};

// The first examples of experiments::regression_task(seed), with the prior of Algorithm 1.
RegressionTask regression_task(std::size_t examples, std::uint64_t seed);

struct NetworkGraph {
  Graph graph;
  Schedule schedule;  // the examples one after another, each forward and backward
  std::vector<Variable> weights;
};

// These examples on one graph; they share the weights.
NetworkGraph network_graph(const RegressionTask& task, std::span<const std::size_t> examples);

// The weights' posterior given one example alone, by importance sampling from the prior.
struct SampledPosterior {
  std::vector<Gaussian<double>> weights;  // sampled means and variances
  double effective_samples;
};

// One per example of the task; they share the draws.
std::vector<SampledPosterior> sampled_posteriors(const RegressionTask& task, std::size_t samples,
                                                 std::uint64_t seed);

}  // namespace dma::validation
