// One training example of a dense network, written as a factor graph and scheduled as Algorithm 1,
// against Algorithm 1 written out as loops over arrays.
#include <dma/factors/factors.h>
#include <dma/graph/graph.h>

#include <gtest/gtest.h>

#include <random>

namespace dma {
namespace {

using G = Gaussian<double>;

struct Network {
  std::vector<std::size_t> widths;
  std::vector<double> slopes;
  std::vector<std::vector<G>> weights;  // layer by layer, [i * fan_in + j]
  std::vector<double> input;
  double target;
  double noise;
};

Network random_network(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Network network{{8, 6, 5, 1}, {0.4, 0.8}, {}, {}, normal(random), 0.04};
  for (std::size_t j = 0; j < 8; ++j) network.input.push_back(normal(random));
  for (std::size_t l = 1; l < 4; ++l) {
    const auto fan_in = static_cast<double>(network.widths[l - 1]);
    network.weights.emplace_back();
    for (std::size_t k = 0; k < network.widths[l] * network.widths[l - 1]; ++k) {
      network.weights.back().push_back(
          G::from_moments(normal(random) / std::sqrt(fan_in), 1 / (3 * fan_in)));
    }
  }
  return network;
}

// Algorithm 1 for one example (App. D), with the factors' own messages. Returns q_W.
std::vector<std::vector<G>> algorithm_1(const Network& net, Rule rule) {
  const std::size_t layers = net.weights.size();
  std::vector<std::vector<G>> activation(layers + 1), part(layers), sum(layers);
  for (const double x : net.input) activation[0].push_back(G::point(x));
  for (std::size_t l = 0; l < layers; ++l) {
    const std::size_t fan_in = net.widths[l];
    for (std::size_t i = 0; i < net.widths[l + 1]; ++i) {
      double mean = 0;
      double variance = 0;
      for (std::size_t j = 0; j < fan_in; ++j) {
        part[l].push_back(Product::to_z(net.weights[l][i * fan_in + j], activation[l][j]));
        mean += part[l].back().mean();
        variance += part[l].back().variance();
      }
      sum[l].push_back(G::from_moments(mean, variance));
      if (l + 1 < layers) activation[l + 1].push_back(LeakyRelu{net.slopes[l]}.to_y(sum[l].back()));
    }
  }
  auto posterior = net.weights;
  std::vector<G> back{G::from_moments(net.target, net.noise)};
  for (std::size_t l = layers; l-- > 0;) {
    const std::size_t fan_in = net.widths[l];
    std::vector<G> to_input(fan_in);
    for (std::size_t i = 0; i < net.widths[l + 1]; ++i) {
      if (back[i].is_uniform()) continue;
      for (std::size_t j = 0; j < fan_in; ++j) {
        const G own = part[l][i * fan_in + j];
        const G cavity =
            G::from_moments(back[i].mean() - sum[l][i].mean() + own.mean(),
                            back[i].variance() + sum[l][i].variance() - own.variance());
        const G weight = net.weights[l][i * fan_in + j];
        const std::array in{cavity, weight, activation[l][j]};
        posterior[l][i * fan_in + j] *= Product{}.message<double>(1, in, rule);
        to_input[j] *= Product{}.message<double>(2, in, rule);
      }
    }
    if (l == 0) break;
    back.clear();
    for (std::size_t j = 0; j < fan_in; ++j) {
      const std::array in{to_input[j], sum[l - 1][j]};
      back.push_back(LeakyRelu{net.slopes[l - 1]}.message<double>(1, in, rule));
    }
  }
  return posterior;
}

// The same as a graph; steps are collected in the order of Algorithm 1. A hidden unit reaches each of
// its products through a copy (equality), so that what one product sends back does not change the
// point around which the next one linearises.
struct NetworkGraph {
  explicit NetworkGraph(const Network& net) {
    std::vector<Variable> activation;
    for (const double x : net.input) {
      activation.push_back(graph.variable());
      forward(graph.add(Observation{x, 0}, activation.back()), 0);
    }
    std::vector<std::vector<Step>> backward;
    for (std::size_t l = 0; l < net.weights.size(); ++l) {
      std::vector<Step> to_sums, to_parts, to_weights, to_copies, to_inputs;
      std::vector<Variable> next;
      weights.emplace_back();
      const auto copies = copy_units(activation, l == 0 ? 0 : net.widths[l + 1], to_inputs);
      for (std::size_t i = 0; i < net.widths[l + 1]; ++i) {
        std::vector<Variable> edges{graph.variable()};
        for (std::size_t j = 0; j < net.widths[l]; ++j) {
          const G prior = net.weights[l][i * net.widths[l] + j];
          const Variable weight = graph.variable();
          weights.back().push_back(weight);
          edges.push_back(graph.variable());
          forward(graph.add(Prior{prior.mean(), prior.variance()}, weight), 0);
          const Variable input = l == 0 ? activation[j] : copies[j][i];
          const auto product = graph.add(Product{}, edges.back(), weight, input);
          forward(product, 0);
          to_weights.push_back({product.index, 1});
          if (l > 0) to_copies.push_back({product.index, 2});
        }
        const auto sum = graph.add(WeightedSum{std::vector<double>(net.widths[l], 1.0)},
                                   std::span<const Variable>(edges));
        forward(sum, 0);
        for (std::uint32_t j = 1; j < edges.size(); ++j) to_parts.push_back({sum.index, j});
        if (l + 1 == net.weights.size()) {
          output = edges[0];
          continue;
        }
        next.push_back(graph.variable());
        const auto relu = graph.add(LeakyRelu{net.slopes[l]}, next.back(), edges[0]);
        forward(relu, 0);
        to_sums.push_back({relu.index, 1});
      }
      activation = next;
      backward.push_back(to_sums);
      for (auto* steps : {&to_parts, &to_weights, &to_copies, &to_inputs}) {
        backward.back().insert(backward.back().end(), steps->begin(), steps->end());
      }
    }
    schedule.backward.push_back({graph.add(Observation{net.target, net.noise}, output).index, 0});
    for (auto layer = backward.rbegin(); layer != backward.rend(); ++layer) {
      schedule.backward.insert(schedule.backward.end(), layer->begin(), layer->end());
    }
  }

  // For each unit, one copy per product; backward, the copy factor sends to the unit.
  std::vector<std::vector<Variable>> copy_units(const std::vector<Variable>& units,
                                                std::size_t count, std::vector<Step>& to_units) {
    std::vector<std::vector<Variable>> copies(units.size());
    for (std::size_t j = 0; count > 0 && j < units.size(); ++j) {
      std::vector<Variable> edges{units[j]};
      for (std::size_t i = 0; i < count; ++i) edges.push_back(graph.variable());
      const auto equality = graph.add(Equality{count + 1}, std::span<const Variable>(edges));
      for (std::uint32_t i = 1; i <= count; ++i) forward(equality, i);
      to_units.push_back({equality.index, 0});
      copies[j].assign(edges.begin() + 1, edges.end());
    }
    return copies;
  }

  void forward(FactorId factor, std::uint32_t edge) {
    schedule.forward.push_back({factor.index, edge});
  }

  Graph graph;
  Schedule schedule;
  std::vector<std::vector<Variable>> weights;
  Variable output{};
};

TEST(Network, OneExampleAsAGraphIsAlgorithm1) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Network network = random_network(seed);
    const NetworkGraph built(network);
    for (const Rule rule : {Rule::direct, Rule::linear}) {
      const auto expected = algorithm_1(network, rule);
      const auto beliefs = built.graph.infer({.rule = rule}, built.schedule);
      EXPECT_TRUE(beliefs.improper.empty());
      for (std::size_t l = 0; l < expected.size(); ++l) {
        for (std::size_t k = 0; k < expected[l].size(); ++k) {
          const auto marginal = beliefs.marginal(built.weights[l][k]);
          EXPECT_NEAR(marginal.mean(), expected[l][k].mean(), 1e-11);
          EXPECT_NEAR(marginal.variance() / expected[l][k].variance(), 1, 1e-11);
        }
      }
      // The example taught the weights something.
      EXPECT_LT(beliefs.marginal(built.weights[2][0]).variance(), network.weights[2][0].variance());
    }
  }
}

}  // namespace
}  // namespace dma
