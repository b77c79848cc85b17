// Gamma variables in a graph: which factors they take, exact posteriors where x and mean are known, and noises of a random
// walk beside the posterior on a grid.
#include <dma/factors/factors.h>
#include <dma/graph/graph.h>
#include <dma/graph/saved_beliefs.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <dma/special/random.h>

#include "../scratch.h"
#include "graph_errors.h"

namespace dma {
namespace {

using test::error_of;
using test::expect_error;

// Values of a known mean and an unknown precision.
struct Known {
  static constexpr double mean = 1.5, shape = 2, rate = 0.5;
  std::vector<double> seen{1.2, 2.1, 1.9, 0.4, 1.7};
  Graph graph;
  Variable precision = graph.variable("precision");

  Known() {
    const auto x = graph.variables("x", seen.size());
    const auto at = graph.variable("at");
    graph.add(GammaPrior{shape, rate}, precision);
    graph.add(Prior{mean, 0}, at);
    graph.add([&](std::size_t row) { return Observation{seen[row], 0}; }, {x});
    graph.add(GaussianPrecision{}, {x, at, precision});
  }

  Gamma posterior() const {
    Gamma result(shape, rate);
    for (const double one : seen) {
      result.shape += 0.5;
      result.rate += (one - mean) * (one - mean) / 2;
    }
    return result;
  }
};

TEST(GammaVariable, OfKnownValuesHasTheConjugatePosterior) {
  const Known of;
  const Gamma exact = of.posterior();
  for (const Engine engine : {Engine::direct, Engine::ep, Engine::vmp, Engine::adf}) {
    const auto beliefs = of.graph.infer({.engine = engine});
    const Gamma found = beliefs.gamma_marginal(of.precision);
    EXPECT_NEAR(found.shape, exact.shape, 1e-12) << name_of(engine);
    EXPECT_NEAR(found.rate, exact.rate, 1e-12) << name_of(engine);
    EXPECT_TRUE(beliefs.improper.empty());
    EXPECT_TRUE(beliefs.improper_marginals.empty());
  }
}

// p(x_1, ..., x_n) = (2 pi)^(-n/2) rate^shape / Gamma(shape) Gamma(shape') / rate'^shape'
TEST(GammaVariable, OfKnownValuesHasTheExactEvidence) {
  const Known of;
  const Gamma exact = of.posterior();
  const double log = -0.5 * static_cast<double>(of.seen.size()) * std::log(2 * M_PI) +
                     Known::shape * std::log(Known::rate) - std::lgamma(Known::shape) +
                     std::lgamma(exact.shape) - exact.shape * std::log(exact.rate);
  for (const Engine engine : {Engine::direct, Engine::ep}) {
    const auto beliefs = of.graph.infer({.engine = engine, .sweeps = 3});
    EXPECT_NEAR(of.graph.log_evidence(beliefs), log, 1e-11) << name_of(engine);
  }
}

TEST(GammaVariable, IsAskedAsOne) {
  Known of;
  const auto beliefs = of.graph.sweep();
  EXPECT_EQ(of.graph.family(of.precision), MessageFamily::gamma);
  EXPECT_EQ(beliefs.family(of.precision), MessageFamily::gamma);
  expect_error(error_of([&] { beliefs.marginal(of.precision); }), "gamma_marginal");
  const Variable at = of.graph.find("at");
  EXPECT_EQ(of.graph.family(at), MessageFamily::gaussian);
  expect_error(error_of([&] { beliefs.gamma_marginal(at); }), "ask for its marginal");
}

TEST(GammaVariable, IsNotTakenByAGaussianEdge) {
  Known of;
  const auto other = of.graph.variable("other");
  const std::size_t before = of.graph.factor_count();
  expect_error(error_of([&] {
                 of.graph.add(Prior{0, 1}, of.precision);
               }),
               "edge 0 (x) takes a Gaussian variable, but 'precision' is a Gamma variable");
  expect_error(error_of([&] {
                 of.graph.add(GaussianPrecision{}, of.graph.find("x[0]"), of.precision, other);
               }),
               "edge 1 (mean) takes a Gaussian variable, but 'precision' is a Gamma variable");
  expect_error(error_of([&] {
                 of.graph.add(GaussianPrecision{}, other, of.graph.find("x[1]"),
                              of.graph.find("at"));
               }),
               "edge 2 (precision) takes a Gamma variable, but 'at' is a Gaussian variable");
  EXPECT_EQ(of.graph.factor_count(), before);
  // What was refused has decided nothing: other may still be either.
  of.graph.add(GammaPrior{1, 1}, other);
  EXPECT_EQ(of.graph.family(other), MessageFamily::gamma);
}

// Values that are known numbers, without a variable or a message of their own, say the same.
TEST(GammaVariable, LearnsFromKnownNumbers) {
  const Known observed;
  Graph graph;
  const Variable precision = graph.variable("precision");
  graph.add(GammaPrior{Known::shape, Known::rate}, precision);
  const auto x = graph.known("x", observed.seen);
  const auto at = graph.known("at", Known::mean);
  graph.add(GaussianPrecision{}, {x, at, precision});
  const Gamma found = graph.sweep().gamma_marginal(precision);
  const Gamma expected = observed.graph.sweep().gamma_marginal(observed.precision);
  EXPECT_EQ(found.shape, expected.shape);
  EXPECT_EQ(found.rate, expected.rate);
  expect_error(error_of([&] {
                 graph.add(GaussianPrecision{}, {x, at, at});
               }),
               "takes a Gamma variable, but 'at' is a known number");
}

TEST(GammaVariable, ArraysAreOfOneFamily) {
  Graph g;
  const auto mixed = g.variables("mixed", {4, 3});
  expect_error(error_of([&] { g.add(GaussianPrecision{}, {mixed}); }),
               "edge 2 (precision) takes a Gamma variable, but 'mixed' is a Gaussian variable");
  const auto precision = g.variables("precision", 4, GammaPrior{2, 3});
  const auto beliefs = g.sweep();
  for (const Gamma& one : beliefs.gamma_marginals(precision)) EXPECT_EQ(one, Gamma(2, 3));
  expect_error(error_of([&] { beliefs.marginals(precision); }), "gamma_marginal");
}

// A level that walks and is seen with noise: both precisions unknown.
struct Walk {
  static constexpr double step_shape = 2, step_rate = 0.2, noise_shape = 2, noise_rate = 2;
  std::vector<double> seen;
  Graph graph;
  VariableArray level, value;
  Variable step, noise;

  explicit Walk(std::size_t rows, double true_step = 0.3) {
    special::Random random(7);
    double at = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      at += true_step * random.normal();
      seen.push_back(at + random.normal());
    }
    step = graph.variable("step");
    noise = graph.variable("noise");
    level = graph.variables("level", rows);
    value = graph.variables("value", rows);
    graph.add(GammaPrior{step_shape, step_rate}, step);
    graph.add(GammaPrior{noise_shape, noise_rate}, noise);
    graph.add(Prior{0, 100}, level[0]);
    graph.add([&](std::size_t row) { return Observation{seen[row], 0}; }, {value});
    for (std::uint32_t row = 0; row < rows; ++row) {
      graph.add(GaussianPrecision{}, value[row], level[row], noise);
      if (row + 1 < rows) graph.add(GaussianPrecision{}, level[row + 1], level[row], step);
    }
  }
};

struct OnGrid {
  double log_evidence = 0;
  double step = 0, step_deviation = 0, noise = 0, noise_deviation = 0;
};

// log p(seen) by the Kalman filter.
double filter(const std::vector<double>& seen, double step, double noise) {
  double mean = 0;
  double variance = 100;
  double log = 0;
  for (const double one : seen) {
    const double total = variance + noise;
    const double gap = one - mean;
    log -= (std::log(2 * M_PI * total) + gap * gap / total) / 2;
    mean += variance / total * gap;
    variance = variance * noise / total + step;
  }
  return log;
}

OnGrid on_grid(const Walk& walk) {
  constexpr int points = 160;
  const GammaPrior steps{Walk::step_shape, Walk::step_rate};
  const GammaPrior noises{Walk::noise_shape, Walk::noise_rate};
  struct Point {
    double log, step, noise;
  };
  std::vector<Point> all;
  for (int i = 0; i < points; ++i) {
    for (int j = 0; j < points; ++j) {
      const double step = std::exp(std::log(0.3) + 8.0 * i / points);
      const double noise = std::exp(std::log(0.1) + 4.5 * j / points);
      const double log = filter(walk.seen, 1 / step, 1 / noise) +
                         steps.log_density(std::array{step}) + std::log(step) +
                         noises.log_density(std::array{noise}) + std::log(noise);
      all.push_back({log, step, noise});
    }
  }
  const double top = std::max_element(all.begin(), all.end(), [](const Point& a, const Point& b) {
                       return a.log < b.log;
                     })->log;
  double mass = 0;
  OnGrid result;
  for (const auto& one : all) {
    const double weight = std::exp(one.log - top);
    mass += weight;
    result.step += weight * one.step;
    result.noise += weight * one.noise;
    result.step_deviation += weight * one.step * one.step;
    result.noise_deviation += weight * one.noise * one.noise;
  }
  result.log_evidence = top + std::log(mass * (8.0 / points) * (4.5 / points));
  result.step /= mass;
  result.noise /= mass;
  result.step_deviation = std::sqrt(result.step_deviation / mass - result.step * result.step);
  result.noise_deviation = std::sqrt(result.noise_deviation / mass - result.noise * result.noise);
  return result;
}

// The means are close; the deviations are too small, since neighbouring rows share what they leave in doubt
// (docs/graph-models.md).
TEST(GammaVariable, LearnsTheNoisesOfAWalkAsTheGridDoes) {
  const Walk walk(120);
  const OnGrid grid = on_grid(walk);
  for (const Rule rule : {Rule::direct, Rule::linear}) {
    const auto beliefs = walk.graph.infer({.rule = rule, .sweeps = 200, .tolerance = 1e-8});
    ASSERT_TRUE(beliefs.converged);
    const Gamma step = beliefs.gamma_marginal(walk.step);
    const Gamma noise = beliefs.gamma_marginal(walk.noise);
    EXPECT_NEAR(step.mean(), grid.step, 0.15 * grid.step_deviation);
    EXPECT_NEAR(noise.mean(), grid.noise, 0.05 * grid.noise_deviation);
    EXPECT_NEAR(step.stddev() / grid.step_deviation, 1, 0.25);
    EXPECT_NEAR(noise.stddev() / grid.noise_deviation, 1, 0.1);
    EXPECT_NEAR(walk.graph.log_evidence(beliefs), grid.log_evidence, 0.3);
  }
}

TEST(GammaVariable, EpLearnsTheNoisesOfAWalk) {
  const Walk walk(120);
  const OnGrid grid = on_grid(walk);
  const auto beliefs = walk.graph.infer({.engine = Engine::ep, .sweeps = 200, .tolerance = 1e-8});
  ASSERT_TRUE(beliefs.converged);
  EXPECT_TRUE(beliefs.improper_marginals.empty());
  EXPECT_NEAR(beliefs.gamma_marginal(walk.step).mean(), grid.step, 0.7 * grid.step_deviation);
  EXPECT_NEAR(beliefs.gamma_marginal(walk.noise).mean(), grid.noise, 0.1 * grid.noise_deviation);
}

// Values whose mean and precision are unknown: the updates of mean field, written out.
TEST(GammaVariable, VmpIsMeanField) {
  const std::vector<double> seen{1.2, 2.1, 1.9, 0.4, 1.7, 3.3};
  Graph g;
  const auto x = g.variables("x", seen.size());
  const auto at = g.variable("at");
  const auto precision = g.variable("precision");
  g.add(GammaPrior{2, 0.5}, precision);
  g.add(Prior{0, 4}, at);
  g.add([&](std::size_t row) { return Observation{seen[row], 0}; }, {x});
  g.add(GaussianPrecision{}, {x, at, precision});
  const auto beliefs = g.infer({.engine = Engine::vmp, .sweeps = 500, .tolerance = 1e-12});
  double mean = 0;
  double variance = 4;
  Gamma expected(2, 0.5);
  for (int sweep = 0; sweep < 200; ++sweep) {
    expected = {2 + 3, 0.5};
    double sum = 0;
    for (const double one : seen) {
      expected.rate += ((one - mean) * (one - mean) + variance) / 2;
      sum += one;
    }
    variance = 1 / (1 / 4.0 + 6 * expected.mean());
    mean = variance * expected.mean() * sum;
  }
  EXPECT_NEAR(beliefs.gamma_marginal(precision).shape, expected.shape, 1e-12);
  EXPECT_NEAR(beliefs.gamma_marginal(precision).rate, expected.rate, 1e-9);
  EXPECT_NEAR(beliefs.marginal(at).mean(), mean, 1e-9);
  EXPECT_NEAR(beliefs.marginal(at).variance(), variance, 1e-9);
}

TEST(GammaVariable, BeliefsAreSavedWithTheirFamily) {
  const Walk walk(40);
  const InferenceOptions options{.sweeps = 200, .tolerance = 1e-9};
  const auto beliefs = walk.graph.infer(options);
  const test::Scratch scratch;
  const auto path = scratch.path("walk.safetensors");
  save_beliefs(beliefs, path);
  const auto again = load_beliefs(path, walk.graph);
  EXPECT_EQ(again.gamma_marginal(walk.step), beliefs.gamma_marginal(walk.step));
  EXPECT_EQ(again.family(walk.level[3]), MessageFamily::gaussian);
  const auto further = walk.graph.infer(options, walk.graph.schedule(options), again);
  EXPECT_LE(further.sweeps, 2U);
}

// Acceleration leaves messages of precisions alone and finds the same.
TEST(GammaVariable, IsFoundWithAccelerationAndDamping) {
  const Walk walk(60);
  const auto plain = walk.graph.infer({.sweeps = 500, .tolerance = 1e-10});
  const auto fast = walk.graph.infer({.sweeps = 500, .tolerance = 1e-10, .acceleration = 5});
  const auto damped = walk.graph.infer({.sweeps = 500, .tolerance = 1e-10, .damping = 0.3});
  ASSERT_TRUE(plain.converged && fast.converged && damped.converged);
  for (const auto& other : {fast, damped}) {
    EXPECT_NEAR(other.gamma_marginal(walk.step).mean() / plain.gamma_marginal(walk.step).mean(), 1,
                1e-7);
  }
}

}  // namespace
}  // namespace dma
