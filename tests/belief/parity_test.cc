// One example through the trainer equals the same graph in dma::Graph, message by message: both rules,
// both kernels, random architectures.
#include <dma/belief/independent.h>
#include <dma/factors/factors.h>
#include <dma/graph/graph.h>
#include <dma/special/random.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <dma/special/larger.h>

namespace dma {
namespace {

using G = Gaussian<double>;

struct Example {
  Architecture architecture;
  WeightPrior prior;
  std::vector<double> input, target;
  double noise = 0.04;
};

Example random_example(std::uint64_t seed) {
  special::Random random(seed);
  const auto below = [&](double n) { return static_cast<std::size_t>(n * random.uniform()); };
  Example example;
  const std::size_t layers = 1 + below(4);
  Architecture& network = example.architecture;
  network.slopes.clear();
  network.bias.clear();
  network.activation_variance.clear();
  network.widths.push_back(1 + below(20));
  for (std::size_t l = 0; l < layers; ++l) {
    network.widths.push_back(1 + below(l + 1 == layers ? 3 : 20));
    network.bias.push_back(random.uniform() < 0.5);
    const bool limited = random.uniform() < 0.3;
    network.activation_variance.push_back(limited ? random.uniform(0.5, 4)
                                                  : std::numeric_limits<double>::infinity());
    if (l + 1 < layers) network.slopes.push_back(random.uniform(0.05, 1));
  }
  if (layers == 1) network.slopes = {0.1};
  example.prior = draw_prior(network, seed + 1);
  for (std::size_t j = 0; j < network.inputs(); ++j) example.input.push_back(random.normal());
  for (std::size_t k = 0; k < network.outputs(); ++k) example.target.push_back(random.normal());
  return example;
}

// The example as a graph, its steps in the order of Algorithm 1. A hidden unit reaches each of its
// products through a copy (equality), so that what one product sends back does not change the point
// around which the next one linearises.
class NetworkGraph {
 public:
  explicit NetworkGraph(const Example& example) : network_(example.architecture) {
    std::vector<Variable> units;
    for (const double x : example.input) units.push_back(known(x));
    std::vector<std::vector<Step>> backward;
    for (std::size_t l = 0; l < network_.layers(); ++l) {
      backward.push_back(add_layer(l, example.prior, units));
    }
    for (std::size_t k = 0; k < units.size(); ++k) {
      const auto likelihood = graph.add(Observation{example.target[k], example.noise}, units[k]);
      schedule.backward.push_back({likelihood.index, 0});
    }
    for (auto layer = backward.rbegin(); layer != backward.rend(); ++layer) {
      schedule.backward.insert(schedule.backward.end(), layer->begin(), layer->end());
    }
  }

  Graph graph;
  Schedule schedule;
  std::vector<Variable> weights;   // in the flat order
  std::vector<FactorId> products;  // alike

 private:
  void forward(FactorId factor, std::uint32_t edge = 0) {
    schedule.forward.push_back({factor.index, edge});
  }

  Variable known(double value) {
    const Variable variable = graph.variable();
    forward(graph.add(Observation{value, 0}, variable));
    return variable;
  }

  // Replaces the layer's inputs by its outputs (for the last layer, by its sums); returns the steps of
  // its backward sweep, from the messages that its sums hear to those that its inputs hear.
  std::vector<Step> add_layer(std::size_t l, const WeightPrior& prior,
                              std::vector<Variable>& units) {
    std::vector<Step> to_sums, to_parts, to_weights, to_copies, to_units;
    const std::size_t width = network_.layer(l).units;
    std::vector<std::vector<Variable>> inputs;
    for (const Variable unit : units) {
      inputs.push_back(l == 0 ? std::vector<Variable>(width, unit) : copies(unit, width, to_units));
    }
    if (network_.layer(l).bias) inputs.emplace_back(width, known(1));
    std::vector<Variable> next;
    for (std::size_t i = 0; i < width; ++i) {
      std::vector<Variable> parts{graph.variable()};
      for (std::size_t j = 0; j < inputs.size(); ++j) {
        const std::size_t flat = weights.size();
        weights.push_back(graph.variable());
        parts.push_back(graph.variable());
        forward(graph.add(Prior{prior.mean[flat], prior.variance[flat]}, weights.back()));
        products.push_back(graph.add(Product{}, parts.back(), weights.back(), inputs[j][i]));
        forward(products.back());
        to_weights.push_back({products.back().index, 1});
        if (l > 0 && j < units.size()) to_copies.push_back({products.back().index, 2});
      }
      const auto sum = graph.add(WeightedSum{std::vector<double>(inputs.size(), 1.0)},
                                 std::span<const Variable>(parts));
      forward(sum);
      for (std::uint32_t j = 1; j < parts.size(); ++j) to_parts.push_back({sum.index, j});
      if (const double limit = network_.prior_variance_of_sum(l); std::isfinite(limit)) {
        forward(graph.add(Prior{0, limit}, parts[0]));
      }
      next.push_back(parts[0]);
      if (l + 1 < network_.layers()) {
        next.back() = graph.variable();
        const auto relu = graph.add(LeakyRelu{network_.slope(l)}, next.back(), parts[0]);
        forward(relu);
        to_sums.push_back({relu.index, 1});
      }
    }
    units = next;
    for (auto* steps : {&to_parts, &to_weights, &to_copies, &to_units}) {
      to_sums.insert(to_sums.end(), steps->begin(), steps->end());
    }
    return to_sums;
  }

  std::vector<Variable> copies(Variable unit, std::size_t count, std::vector<Step>& to_units) {
    std::vector<Variable> edges{unit};
    for (std::size_t i = 0; i < count; ++i) edges.push_back(graph.variable());
    const auto equality = graph.add(Equality{count + 1}, std::span<const Variable>(edges));
    for (std::uint32_t i = 1; i <= count; ++i) forward(equality, i);
    to_units.push_back({equality.index, 0});
    return {edges.begin() + 1, edges.end()};
  }

  const Architecture& network_;
};

// Messages are compared relative to the belief they change: its width for tau, its precision for rho.
double largest_difference(const Example& example, Rule rule, bool readable) {
  const NetworkGraph built(example);
  const auto beliefs = built.graph.infer({.rule = rule}, built.schedule);
  EXPECT_TRUE(beliefs.improper.empty());
  IndependentBelief<double> trainer(
      example.architecture, example.prior,
      {.batch_size = 1, .max_epochs = 1, .likelihood = gaussian({.variance = {example.noise}})},
      {.rule = rule, .readable_kernel = readable});
  trainer.append({example.input, example.target, 1});
  trainer.fit();
  double worst = 0;
  for (std::size_t k = 0; k < built.weights.size(); ++k) {
    const auto belief = beliefs.marginal(built.weights[k]);
    const auto message = beliefs.message(built.products[k], 1);
    const G posterior{trainer.posterior().tau[k], trainer.posterior().rho[k]};
    const G learnt{trainer.ledger().messages[0].tau[k], trainer.ledger().messages[0].rho[k]};
    for (const auto& [a, b] : {std::pair{belief, posterior}, std::pair{message, learnt}}) {
      const double scale = std::abs(belief.tau) + std::sqrt(belief.rho);
      worst = special::larger(worst, std::abs(a.tau - b.tau) / scale);
      worst = special::larger(worst, std::abs(a.rho - b.rho) / belief.rho);
    }
  }
  return worst;
}

RC_GTEST_PROP(Parity, TrainerEqualsGraph, ()) {
  const auto example = random_example(*rc::gen::inRange<std::uint64_t>(0, 1'000'000));
  for (const Rule rule : {Rule::direct, Rule::linear}) {
    RC_ASSERT(largest_difference(example, rule, true) < 1e-12);
    RC_ASSERT(largest_difference(example, rule, false) < 1e-12);
  }
}

TEST(Parity, ThePapersNetworks) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (const auto& widths : {std::vector<std::size_t>{8, 6, 5, 1}, {6, 6, 12, 48, 24, 4}}) {
      Example example = random_example(seed);
      example.architecture = {.widths = widths, .slopes = {0.4}};
      example.prior = draw_prior(example.architecture, seed);
      special::Random random(seed);
      example.input.assign(widths.front(), 0);
      example.target.assign(widths.back(), 0);
      for (double& x : example.input) x = random.normal();
      for (double& y : example.target) y = random.normal();
      for (const Rule rule : {Rule::direct, Rule::linear}) {
        EXPECT_LT(largest_difference(example, rule, true), 1e-12);
        EXPECT_LT(largest_difference(example, rule, false), 1e-12);
      }
    }
  }
}

}  // namespace
}  // namespace dma
