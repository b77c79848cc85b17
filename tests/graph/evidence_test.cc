// The evidence of a graph against exact values: the joint Gaussian of linear graphs, and quadrature of what is not.
#include <dma/factors/factors.h>
#include <dma/graph/graph.h>

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <span>

#include <dma/special/quadrature.h>

#include "graph_errors.h"

namespace dma {
namespace {

using test::error_of;
using test::expect_error;

using G = Gaussian<double>;

double density(double x, double mean, double variance) {
  return std::exp(G::from_moments(mean, variance).log_density(x));
}

// The integral of g(x) N(x; mean, variance).
template <class Function>
double integral(const Function& g, double mean, double variance) {
  const double s = std::sqrt(variance);
  return special::integrate<1>(
      [&](double t) -> special::Integrals<1> { return {g(mean + s * t) * density(t, 0, 1)}; },
      special::even_breaks(-10, 10, 40), 1e-12)[0];
}

template <Factor F>
double evidence_of(const F& factor, Engine engine = Engine::direct) {
  Graph g;
  const auto x = g.variable("x");
  g.add(Prior{0.4, 1.7}, x);
  g.add(factor, x);
  return g.log_evidence(g.infer({.engine = engine, .sweeps = 3}));
}

template <Factor F>
void expect_quadrature(const F& factor) {
  const auto likelihood = [&](double x) { return std::exp(factor.log_density(std::array{x})); };
  const double exact = std::log(integral(likelihood, 0.4, 1.7));
  for (const Engine engine : {Engine::direct, Engine::ep})
    EXPECT_NEAR(evidence_of(factor, engine), exact, 1e-9) << factor.info().name;
}

TEST(Evidence, OfOneFactorIsItsIntegral) {
  expect_quadrature(Observation{1.3, 0.6});
  expect_quadrature(Probit{-1, 0.3, 0.5});
  expect_quadrature(Poisson{3});
  expect_quadrature(Poisson{0});
  expect_quadrature(NegativeBinomial{2, 1.5});
  expect_quadrature(LogNormalObservation{3, 0.5});
  const double s = std::sqrt(1.7);
  const auto mass = [&](double a, double b) {
    return std::log(special::normal_cdf((b - 0.4) / s) - special::normal_cdf((a - 0.4) / s));
  };
  EXPECT_NEAR(evidence_of(Between{-0.5, 1.2}), mass(-0.5, 1.2), 1e-12);
  EXPECT_NEAR(evidence_of(Between{1.5, 2}), mass(1.5, 2), 1e-12);
  EXPECT_NEAR(evidence_of(GreaterThan{0.9}), mass(0.9, 100), 1e-12);
}

TEST(Evidence, OfAnIntervalFarAwayIsANumber) {
  Graph g;
  const auto x = g.variable("x");
  g.add(Prior{0, 1}, x);
  g.add(Between{40, 41}, x);
  // log of phi(40) / 40, to the first order of 1 / 40^2
  const double tail = -800 - special::log_sqrt_two_pi - std::log(40.0) + std::log1p(-1 / 1600.0);
  EXPECT_NEAR(g.log_evidence(g.sweep()), tail, 1e-5);
}

// f(x, y) N(z; relation(x, y), v) under two priors, by nested quadrature.
template <Factor F>
void expect_two_inputs(const F& factor, double z_variance, double tolerance) {
  const double exact = std::log(integral(
      [&](double x) {
        return integral(
            [&](double y) {
              return density(1.6, factor.relation(std::array{x, y}), z_variance);
            },
            -0.7, 0.8);
      },
      1.2, 0.5));
  Graph g;
  const auto x = g.variable("x"), y = g.variable("y"), z = g.variable("z");
  g.add(Prior{1.2, 0.5}, x);
  g.add(Prior{-0.7, 0.8}, y);
  g.add(factor, z, x, y);
  g.add(Observation{1.6, z_variance}, z);
  EXPECT_NEAR(g.log_evidence(g.sweep()), exact, tolerance) << factor.info().name;
  EXPECT_NEAR(g.log_evidence(g.sweep(Rule::linear)), exact, tolerance) << factor.info().name;
}

TEST(Evidence, OfASoftmaxIsItsIntegral) {
  const double exact = std::log(integral(
      [&](double x) {
        return integral(
            [&](double y) { return std::exp(y) / (std::exp(x) + std::exp(y) + std::exp(0.3)); },
            -0.7, 0.8);
      },
      1.2, 2.5));
  Graph g;
  const auto x = g.variable("x"), y = g.variable("y"), known = g.variable("known");
  g.add(Prior{1.2, 2.5}, x);
  g.add(Prior{-0.7, 0.8}, y);
  g.add(Prior{0.3, 0}, known);
  g.add(Softmax{3, 1}, x, y, known);
  for (const Engine engine : {Engine::direct, Engine::ep}) {
    const auto beliefs = g.infer({.engine = engine, .sweeps = 5});
    EXPECT_NEAR(g.log_evidence(beliefs), exact, 1e-9) << name_of(engine);
  }
}

// Of one product, of a known vector, and of two products, of which one is taken for a Gaussian.
TEST(Evidence, OfAnInnerProduct) {
  expect_two_inputs(InnerProduct{3, 0.2}, 0.3, 1e-9);
  const auto evidence = [](double spread, const auto& factor, auto... edges) {
    Graph g;
    const auto z = g.variable("z");
    const auto u = g.variables("u", 2, Prior{1.2, 0.5});
    const auto v = g.variables("v", 2, Prior{-0.7, spread});
    g.add(Observation{1.6, 0.3}, z);
    if constexpr (sizeof...(edges) == 0) {
      g.add(factor, z, u[0], u[1], v[0], v[1]);
    } else {
      g.add(factor, z, u[0], u[1]);
    }
    return g.log_evidence(g.infer({.rule = Rule::linear, .sweeps = 300, .tolerance = 1e-12}));
  };
  const InnerProduct two{5, 0.2, 0.4};
  EXPECT_NEAR(evidence(0, two), evidence(0, WeightedSum{{-0.7, -0.7}, 0.2, 0.4}, 2), 1e-12);
  // Given v, z is Gaussian.
  const double exact = std::log(integral(
      [&](double a) {
        return integral(
            [&](double b) {
              return density(1.6, 1.2 * (a + b) + 0.2, 0.5 * (a * a + b * b) + 0.4 + 0.3);
            },
            -0.7, 0.8);
      },
      -0.7, 0.8));
  EXPECT_NEAR(evidence(0.8, two), exact, 0.1);
}

TEST(Evidence, OfATinyTreeIsItsIntegral) {
  expect_two_inputs(Product{}, 0.3, 1e-9);
  expect_two_inputs(WeightedSum{{2, -1}, 0.5}, 0.3, 1e-9);
  expect_two_inputs(function("sine", [](double x, double y) { return std::sin(x) + y; }), 0.5,
                    1e-6);
}

TEST(Evidence, OfAReluIsItsIntegral) {
  for (const double slope : {0.0, 0.2, 1.0}) {
    const LeakyRelu relu{slope};
    const double exact =
        std::log(integral([&](double x) { return density(0.3, relu.apply(x), 0.4); }, -0.2, 1.1));
    Graph g;
    const auto x = g.variable("x"), y = g.variable("y");
    g.add(Prior{-0.2, 1.1}, x);
    g.add(relu, y, x);
    g.add(Observation{0.3, 0.4}, y);
    EXPECT_NEAR(g.log_evidence(g.sweep(Rule::linear)), exact, 1e-9) << slope;
  }
}

// Known values: a density at a point, and scales that matter.
TEST(Evidence, OfWhatIsSeenWithoutNoiseIsADensity) {
  Graph g;
  const auto x = g.variable("x"), z = g.variable("z");
  g.add(Prior{1, 2}, x);
  g.add(WeightedSum{{3}, -0.5}, z, x);
  g.add(Observation{4, 0}, z);
  const double exact = G::from_moments(3 * 1 - 0.5, 9 * 2).log_density(4);
  EXPECT_NEAR(g.log_evidence(g.sweep()), exact, 1e-12);
  for (const double y : {0.7, -0.1}) {
    Graph relu;
    const auto in = relu.variable("in"), out = relu.variable("out");
    relu.add(Prior{1, 2}, in);
    relu.add(LeakyRelu{0.2}, out, in);
    relu.add(Observation{y, 0}, out);
    const double at = y > 0 ? y : y / 0.2;
    EXPECT_NEAR(relu.log_evidence(relu.sweep()),
                G::from_moments(1, 2).log_density(at) - (y > 0 ? 0 : std::log(0.2)), 1e-12);
  }
}

TEST(Evidence, OfEqualVariables) {
  Graph g;
  const auto x = g.variables("x", 3, Prior{1, 2});
  g.add(Equality{3}, x[0], x[1], x[2]);
  // N(x; 1, 2)^3 integrates to (4 pi)^-1 / sqrt(3)
  EXPECT_NEAR(g.log_evidence(g.sweep()), -std::log(4 * std::numbers::pi) - std::log(3) / 2, 1e-12);
}

// A sum of which one input is known by nothing else.
TEST(Evidence, OfAnInputWithoutAPrior) {
  Graph g;
  const auto x = g.variable("x"), z = g.variable("z");
  g.add(WeightedSum{{4}, 0, 1}, z, x);
  g.add(Observation{1, 1}, z);
  EXPECT_NEAR(g.log_evidence(g.sweep()), -std::log(4.0), 1e-12);
}

TEST(Evidence, PrefersTheModelThatWroteTheData) {
  const auto with_noise = [](double noise) {
    Graph g;
    const auto x = g.variables("x", 200);
    g.add(Prior{0, 1}, x[0]);
    g.add(WeightedSum{{1}, 0, 0.1}, {x.slice(1), x.slice(0, 199)});
    g.add([&](std::size_t t) { return Observation{t % 2 == 0 ? 1.0 : -1.0, noise}; }, {x});
    return g.log_evidence(g.sweep());
  };
  EXPECT_GT(with_noise(1), with_noise(0.1));
  EXPECT_GT(with_noise(1), with_noise(10));
}

TEST(Evidence, SaysWhyThereIsNone) {
  Graph g;
  const auto x = g.variable("x"), y = g.variable("y"), z = g.variable("z");
  g.add(Prior{0, 1}, x);
  g.add(Prior{0, 1}, y);
  g.add(Product{}, z, x, y);
  g.add(Observation{3, 0.5}, z);
  const auto why = [&](const InferenceOptions& options) {
    return error_of([&] { (void)g.log_evidence(g.infer(options)); });
  };
  expect_error(why({.engine = Engine::vmp}), "needs beliefs of the engine direct or ep");
  expect_error(why({.engine = Engine::adf}), "needs beliefs of the engine direct or ep");
  expect_error(why({.engine = Engine::ep, .sweeps = 3}), "a message has negative precision");
  const auto beliefs = g.sweep();
  g.variable("late");
  expect_error(error_of([&] { (void)g.log_evidence(beliefs); }), "has grown since");

  Graph copy;
  const auto a = copy.variable("a"), l = copy.variable("l");
  copy.add(Prior{1, 1}, l);
  copy.add(LogNormalCopy{}, a, l);
  expect_error(error_of([&] { (void)copy.log_evidence(copy.sweep()); }),
               "factor lognormal_copy#1: this factor has no log_normaliser");

  Graph unknown;
  const auto u = unknown.variable("u"), v = unknown.variable("v");
  unknown.add(WeightedSum{{1}}, u, v);
  expect_error(error_of([&] { (void)unknown.log_evidence(unknown.sweep()); }),
               "variable 'u': nothing is known about a variable");
}

}  // namespace
}  // namespace dma
