// One example through the trainer equals the same graph in dma::Graph, message by message: both rules,
// both kernels, random architectures; targets that are numbers, classes and counts.
#include <dma/belief/independent.h>
#include <dma/factors/factors.h>
#include <dma/graph/graph.h>
#include <dma/likelihood/classes.h>
#include <dma/likelihood/counts.h>
#include <dma/special/random.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>

#include <dma/special/larger.h>

namespace dma {
namespace {

using G = Gaussian<double>;

class NetworkGraph;

struct Example {
  Architecture architecture;
  WeightPrior prior;
  std::vector<double> input, target;
  std::shared_ptr<const Likelihood> likelihood;
  // Adds the same likelihood to the graph's outputs; returns the steps from there to these.
  std::function<std::vector<Step>(const Example&, Rule, NetworkGraph&)> observe;
};

std::vector<Step> observe_numbers(const Example& example, Rule rule, NetworkGraph& network);
constexpr double noise = 0.04;

// Of 1 to 3 outputs, or of so many.
Example random_example(std::uint64_t seed, std::size_t outputs = 0) {
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
  if (outputs > 0) network.widths.back() = outputs;
  example.prior = draw_prior(network, seed + 1);
  for (std::size_t j = 0; j < network.inputs(); ++j) example.input.push_back(random.normal());
  for (std::size_t k = 0; k < network.outputs(); ++k) example.target.push_back(random.normal());
  example.likelihood = gaussian({.variance = {noise}});
  example.observe = observe_numbers;
  return example;
}

// The example as a graph, its steps in the order of Algorithm 1. A hidden unit reaches each of its
// products through a copy (equality), so that what one product sends back does not change the point
// around which the next one linearises.
class NetworkGraph {
 public:
  explicit NetworkGraph(const Example& example) : network_(example.architecture) {
    for (const double x : example.input) outputs.push_back(known(x));
    for (std::size_t l = 0; l < network_.layers(); ++l) {
      backward_.push_back(add_layer(l, example.prior, outputs));
    }
  }

  // After the likelihood's steps those of all layers.
  void send_back(const std::vector<Step>& likelihood) {
    schedule.backward = likelihood;
    for (auto layer = backward_.rbegin(); layer != backward_.rend(); ++layer) {
      schedule.backward.append(*layer);
    }
  }

  void forward(FactorId factor, std::uint32_t edge = 0) {
    schedule.forward.push_back({factor.index, edge});
  }

  Variable known(double value) {
    const Variable variable = graph.variable();
    forward(graph.add(Observation{value, 0}, variable));
    return variable;
  }

  Graph graph;
  Schedule schedule;
  std::vector<Variable> outputs;
  std::vector<Variable> weights;   // in the flat order
  std::vector<FactorId> products;  // alike

 private:
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
  std::vector<std::vector<Step>> backward_;  // by layer
};

// ------------------------------------------------------------------------------------------- likelihoods

std::vector<Step> observe_numbers(const Example& example, Rule /*rule*/, NetworkGraph& network) {
  std::vector<Step> steps;
  for (std::size_t k = 0; k < network.outputs.size(); ++k) {
    const auto factor =
        network.graph.add(Observation{example.target[k], noise}, network.outputs[k]);
    steps.push_back({factor.index, 0});
  }
  return steps;
}

// One output f: the logistic function of f is the softmax of 0 and f.
Example of_two_classes(std::uint64_t seed) {
  Example example = random_example(seed, 1);
  const int target = special::Random(seed + 2).uniform() < 0.5 ? 0 : 1;
  example.target = {static_cast<double>(target)};
  example.likelihood = std::make_shared<ClassLikelihood>(2, false);
  example.observe = [target](const Example&, Rule, NetworkGraph& network) {
    const auto softmax =
        network.graph.add(Softmax{2, target}, network.known(0), network.outputs[0]);
    return std::vector<Step>{{softmax.index, 1}};
  };
  return example;
}

// The log of the mean count is the output, plus a constant.
Example of_a_count(std::uint64_t seed) {
  constexpr double log_rate = 0.7, dispersion = 0.4;
  Example example = random_example(seed, 1);
  const double target = std::floor(std::exp(special::Random(seed + 2).uniform(-1, 3)));
  example.target = {target};
  example.likelihood = std::make_shared<CountLikelihood>(CountRates{log_rate}, false, dispersion);
  example.observe = [target](const Example&, Rule, NetworkGraph& network) {
    const Variable rate = network.graph.variable();
    const auto sum = network.graph.add(WeightedSum{std::vector<double>{1, 1}}, rate,
                                       network.outputs[0], network.known(log_rate));
    network.forward(sum);
    const auto count = network.graph.add(NegativeBinomial{target, 1 / dispersion}, rate);
    return std::vector<Step>{{count.index, 0}, {sum.index, 1}};
  };
  return example;
}

// For more than two classes the likelihood approximates the softmax (tests/likelihood/classes_test.cc says how closely), so
// that no factor has its messages. Here they are observations: what the kernels tell it of the outputs, and make of what it
// says, is still the graph's.
Example of_three_classes(std::uint64_t seed) {
  Example example = random_example(seed, 3);
  example.target = {std::floor(special::Random(seed + 2).uniform(0, 3))};
  example.likelihood = std::make_shared<ClassLikelihood>(3, false);
  example.observe = [](const Example& own, Rule rule, NetworkGraph& network) {
    const auto forward = network.graph.infer({.rule = rule}, {network.schedule.forward, {}});
    std::vector<double> mean, variance;
    for (const Variable output : network.outputs) {
      mean.push_back(forward.marginal(output).mean());
      variance.push_back(forward.marginal(output).variance());
    }
    std::vector<double> to_mean(3), to_variance(3);
    own.likelihood->message(rule, own.target, {mean, variance}, to_mean, to_variance);
    std::vector<Step> steps;
    for (std::size_t k = 0; k < 3; ++k) {
      const auto factor =
          network.graph.add(Observation{to_mean[k], to_variance[k]}, network.outputs[k]);
      steps.push_back({factor.index, 0});
    }
    return steps;
  };
  return example;
}

// ------------------------------------------------------------------------------------------------ parity

// Messages are compared relative to the belief they change: its width for tau, its precision for rho.
double largest_difference(const Example& example, Rule rule, bool readable) {
  NetworkGraph built(example);
  built.send_back(example.observe(example, rule, built));
  const auto beliefs = built.graph.infer({.rule = rule}, built.schedule);
  EXPECT_TRUE(beliefs.improper.empty());
  IndependentBelief<double> trainer(
      example.architecture, example.prior,
      {.batch_size = 1, .max_epochs = 1, .likelihood = example.likelihood},
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

double largest_difference(const Example& example) {
  double worst = 0;
  for (const Rule rule : {Rule::direct, Rule::linear}) {
    for (const bool readable : {true, false}) {
      worst = special::larger(worst, largest_difference(example, rule, readable));
    }
  }
  return worst;
}

std::uint64_t any_seed() { return *rc::gen::inRange<std::uint64_t>(0, 1'000'000); }

RC_GTEST_PROP(Parity, TrainerEqualsGraph, ()) {
  RC_ASSERT(largest_difference(random_example(any_seed())) < 1e-12);
}

// Two quadratures of the logistic function.
RC_GTEST_PROP(Parity, OfTwoClasses, ()) {
  RC_ASSERT(largest_difference(of_two_classes(any_seed())) < 1e-11);
}

RC_GTEST_PROP(Parity, OfThreeClasses, ()) {
  RC_ASSERT(largest_difference(of_three_classes(any_seed())) < 1e-12);
}

RC_GTEST_PROP(Parity, OfACount, ()) {
  RC_ASSERT(largest_difference(of_a_count(any_seed())) < 1e-12);
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
      EXPECT_LT(largest_difference(example), 1e-12);
    }
  }
}

}  // namespace
}  // namespace dma
