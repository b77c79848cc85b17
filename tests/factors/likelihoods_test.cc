// The factors of observed classes, counts and amounts against integrals that do not know their formulas.
#include <dma/factors/factors.h>
#include <dma/special/quadrature.h>

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "factors/marginal_moments.h"

namespace dma {
namespace {

using G = Gaussian<double>;

template <class F>
G sent(const F& factor, Rule rule, G arrives = G::uniform()) {
  return factor.message(0, Incoming<double>(&arrives, 1), rule);
}

// E[g(x)], x ~ N(m, v).
template <class Function>
double expected(const Function& g, G x) {
  const double m = x.mean();
  const double s = x.stddev();
  return special::integrate<1>(
      [&](double t) {
        return special::Integrals<1>{g(m + s * t) * std::exp(-t * t / 2) /
                                     std::sqrt(2 * std::numbers::pi)};
      },
      special::even_breaks(-14, 14, 112), 1e-13)[0];
}

std::vector<G> some_messages() {
  std::vector<G> all;
  for (const double mean : {-40.0, -3.0, -0.2, 0.0, 1.5, 6.0}) {
    for (const double deviation : {1e-3, 0.3, 1.0, 4.0, 30.0}) {
      all.push_back(G::from_moments(mean, deviation * deviation));
    }
  }
  return all;
}

// The projection of EP, and that the message under Rule::direct leads there, if it reads its own edge.
template <class F>
void expect_tilted(const F& factor) {
  for (const G in : some_messages()) {
    const auto exact = detail::marginal_moments(
        [&](double x) { return factor.log_density(std::span(&x, 1)); }, in);
    ASSERT_TRUE(exact.has_value());
    const auto expect_close = [&](G marginal, double allowed) {
      EXPECT_NEAR(marginal.mean(), exact->mean, allowed * exact->deviation) << in.mean();
      EXPECT_NEAR(marginal.stddev(), exact->deviation, allowed * exact->deviation) << in.mean();
    };
    expect_close(factor.marginal(0, Incoming<double>(&in, 1)), 1e-9);
    if (!factor.info().edge(0).own_edge_reason.empty()) {
      expect_close(in * sent(factor, Rule::direct, in), 1e-9);
    }
  }
}

TEST(Likelihoods, TiltedMarginalsAreExact) {
  for (const double count : {0.0, 1.0, 4.0, 250.0}) {
    expect_tilted(Poisson{count});
    for (const double shape : {0.3, 2.0, 50.0}) expect_tilted(NegativeBinomial{count, shape});
  }
  for (const int sign : {-1, 1}) {
    expect_tilted(Probit{sign, 0.4, 2});
    expect_tilted(Probit{sign, -1, 1e-2});
  }
}

// The best linear regression of what is observed, by its definition: with mean g(x) and variance h(x) of the observation,
// slope a = Cov[x, g] / v, what is left r = E[h] + Var[g] - a^2 v; the message has rho = a^2 / r and the mean
// m + (value - E[g]) / a.
template <class Mean, class Variance>
G regression(double value, const Mean& g, const Variance& h, G x) {
  const double level = expected(g, x);
  const double slope =
      expected([&](double at) { return (at - x.mean()) * g(at); }, x) / x.variance();
  const double spread = expected([&](double at) { return std::pow(g(at) - level, 2); }, x);
  const double left = expected(h, x) + spread - slope * slope * x.variance();
  return G::from_moments(x.mean() + (value - level) / slope, left / (slope * slope));
}

void expect_same(G actual, G wanted, double allowed) {
  EXPECT_NEAR(actual.rho / wanted.rho, 1, allowed) << wanted.mean() << ", " << wanted.variance();
  EXPECT_NEAR(actual.mean(), wanted.mean(), allowed * std::max(1.0, std::abs(wanted.mean())));
}

TEST(Likelihoods, LinearIsTheBestLinearRegression) {
  for (const double mean : {-2.0, 0.3, 1.5}) {
    for (const double deviation : {0.1, 0.5, 1.0}) {
      const G x = G::from_moments(mean, deviation * deviation);
      const auto rate = [](double at) { return std::exp(at); };
      expect_same(sent(Poisson{3}, Rule::linear, x), regression(3, rate, rate, x), 1e-8);
      const auto spread = [](double at) { return std::exp(at) + std::exp(2 * at) / 1.5; };
      expect_same(sent(NegativeBinomial{3, 1.5}, Rule::linear, x), regression(3, rate, spread, x),
                  1e-8);
      const auto above = [](double at) { return special::normal_cdf((at - 0.4) / 0.5); };
      const auto binary = [&](double at) { return above(at) * (1 - above(at)); };
      expect_same(sent(Probit{1, 0.4, 0.25}, Rule::linear, x), regression(1, above, binary, x),
                  1e-7);
      expect_same(sent(Probit{-1, 0.4, 0.25}, Rule::linear, x), regression(0, above, binary, x),
                  1e-7);
    }
  }
}

// Slope and curvature of E[log f] in the mean of x, by differences.
template <class F>
void expect_variational(const F& factor) {
  for (const double mean : {-2.0, 0.3, 1.5}) {
    for (const double deviation : {0.1, 0.5, 2.0}) {
      const auto at = [&](double m) {
        return expected([&](double x) { return factor.log_density(std::span(&x, 1)); },
                        G::from_moments(m, deviation * deviation));
      };
      constexpr double step = 1e-3;
      const double slope = (at(mean + step) - at(mean - step)) / (2 * step);
      const double curvature = -(at(mean + step) - 2 * at(mean) + at(mean - step)) / (step * step);
      const G belief = G::from_moments(mean, deviation * deviation);
      const G message = factor.variational(0, Incoming<double>(&belief, 1));
      EXPECT_NEAR(message.rho / curvature, 1, 1e-4);
      EXPECT_NEAR(message.tau - mean * message.rho, slope, 1e-5 * (1 + std::abs(slope)));
    }
  }
}

TEST(Likelihoods, VariationalIsTheExpectedLogFactor) {
  expect_variational(Poisson{0});
  expect_variational(Poisson{3});
  expect_variational(NegativeBinomial{0, 1.5});
  expect_variational(NegativeBinomial{3, 1.5});
  expect_variational(Probit{1, 0.4, 0.25});
  expect_variational(Probit{-1, 0.4, 0.25});
}

// Of a count from 1 on, without anything that arrives.
// The message has the moments of the factor itself, which has a finite mass.
template <class F>
void expect_moments_of_density(const F& factor) {
  const auto [mass, first, second] = special::integrate<3>(
      [&](double x) {
        const double density = std::exp(factor.log_density(x));
        return special::Integrals<3>{density, density * x, density * x * x};
      },
      special::even_breaks(-60, 90, 300), 1e-12);
  const G message = sent(factor, Rule::direct);
  const double mean = first / mass;
  EXPECT_NEAR(message.mean(), mean, 1e-9);
  EXPECT_NEAR(message.variance(), second / mass - mean * mean, 1e-8);
}

TEST(Likelihoods, ACountHasAMessageOfItsOwn) {
  for (const double count : {1.0, 2.0, 17.0, 1e6}) {
    const G message = sent(Poisson{count}, Rule::direct);
    EXPECT_NEAR(message.mean(), std::log(count), 1 / count);
    EXPECT_NEAR(message.variance() * count, 1, 1 / count);
    // So many trials that the shape no longer counts.
    expect_same(sent(NegativeBinomial{count, 1e12}, Rule::direct), message, 1e-5);
  }
  for (const double count : {1.0, 4.0}) {
    expect_moments_of_density(Poisson{count});
    for (const double shape : {0.7, 2.0, 50.0}) {
      expect_moments_of_density(NegativeBinomial{count, shape});
    }
  }
  EXPECT_TRUE(sent(Poisson{0}, Rule::direct).is_uniform());
  EXPECT_TRUE((sent(NegativeBinomial{0, 2}, Rule::direct).is_uniform()));
}

// With the other value integrated out, what is left is a threshold.
TEST(Likelihoods, AnArgmaxOfTwoIsAProbit) {
  for (const G x : some_messages()) {
    const std::array in{x, G::from_moments(0.7, 1.3)};
    for (const Rule rule : {Rule::direct, Rule::linear}) {
      const G wins = Argmax{2, 0, 0.5}.message(0, Incoming<double>(in), rule);
      const G loses = Argmax{2, 1, 0.5}.message(0, Incoming<double>(in), rule);
      const G above = sent(Probit{1, 0.7, 2.3}, rule, x);
      const G below = sent(Probit{-1, 0.7, 2.3}, rule, x);
      // Where a class is all but certain, 1 - Z has few digits left.
      const double allowed = rule == Rule::direct ? 1e-8 : 1e-6;
      if (above.rho * x.variance() > 1e-6) expect_same(wins, above, allowed);
      if (below.rho * x.variance() > 1e-6) expect_same(loses, below, allowed);
    }
  }
}

using Three = std::array<double, 3>;

double wins_argmax(const Three& x, std::size_t winner, double variance) {
  static const special::QuadratureRule rule = special::gauss_hermite(40);
  double sum = 0;
  for (std::size_t i = 0; i < rule.nodes.size(); ++i) {
    const double u = x[winner] + std::sqrt(variance) * rule.nodes[i];
    double below = rule.weights[i];
    for (std::size_t j = 0; j < 3; ++j) {
      if (j != winner) below *= special::normal_cdf((u - x[j]) / std::sqrt(variance));
    }
    sum += below;
  }
  return sum;
}

double wins_softmax(const Three& x, std::size_t winner) {
  double sum = 0;
  for (const double one : x) sum += std::exp(one - x[winner]);
  return 1 / sum;
}

struct Weighed {
  double mass, mean, deviation;
};

// Of x_k, weighted by wins(x): all values on a grid of Gauss-Hermite nodes.
template <class Wins>
Weighed by_grid(std::size_t k, const Wins& wins, const std::array<G, 3>& in) {
  const special::QuadratureRule rule = special::gauss_hermite(40);
  double mass = 0;
  double first = 0;
  double second = 0;
  for (std::size_t a = 0; a < 40; ++a) {
    for (std::size_t b = 0; b < 40; ++b) {
      for (std::size_t c = 0; c < 40; ++c) {
        const std::array at{a, b, c};
        Three x{};
        double weight = 1;
        for (std::size_t j = 0; j < 3; ++j) {
          x[j] = in[j].mean() + in[j].stddev() * rule.nodes[at[j]];
          weight *= rule.weights[at[j]];
        }
        if (weight < 1e-15) continue;
        weight *= wins(x);
        mass += weight;
        first += weight * x[k];
        second += weight * x[k] * x[k];
      }
    }
  }
  return {mass, first / mass, std::sqrt(second / mass - std::pow(first / mass, 2))};
}

TEST(Likelihoods, AnArgmaxOfThreeHasTheExactMarginals) {
  const std::array in{G::from_moments(0.3, 1), G::from_moments(-0.5, 0.6), G::from_moments(1, 0.3)};
  for (std::size_t k = 0; k < 3; ++k) {
    const Weighed exact = by_grid(
        k, [](const Three& x) { return wins_argmax(x, 1, 2); }, in);
    const Argmax factor{3, 1, 2};
    const G marginal = factor.marginal(k, in);
    EXPECT_NEAR(marginal.mean(), exact.mean, 1e-6);
    EXPECT_NEAR(marginal.stddev(), exact.deviation, 1e-6);
    const G again = in[k] * factor.message(k, Incoming<double>(in), Rule::direct);
    EXPECT_NEAR(again.mean(), marginal.mean(), 1e-9);
    EXPECT_NEAR(again.stddev(), marginal.stddev(), 1e-9);
  }
}

TEST(Likelihoods, ASoftmaxOfThreeHasTheExactMarginals) {
  const std::array in{G::from_moments(0.3, 1), G::from_moments(-0.5, 0.6), G::from_moments(1, 0.3)};
  const auto wins = [](const Three& x) { return wins_softmax(x, 1); };
  const Softmax factor{3, 1};
  for (std::size_t k = 0; k < 3; ++k) {
    const Weighed exact = by_grid(k, wins, in);
    const G marginal = factor.marginal(k, in);
    EXPECT_NEAR(marginal.mean(), exact.mean, 1e-8);
    EXPECT_NEAR(marginal.stddev(), exact.deviation, 1e-8);
    const G again = in[k] * factor.message(k, Incoming<double>(in), Rule::direct);
    EXPECT_NEAR(again.mean(), marginal.mean(), 1e-9);
    EXPECT_NEAR(again.stddev(), marginal.stddev(), 1e-9);
    // The best linear regression: Cov[x_k, wins] / v_k = mass (mean - m_k) / v_k.
    const double v = in[k].variance();
    const double slope = exact.mass * (exact.mean - in[k].mean()) / v;
    const double left = exact.mass * (1 - exact.mass) - slope * slope * v;
    expect_same(factor.message(k, Incoming<double>(in), Rule::linear),
                G::from_moments(in[k].mean() + (1 - exact.mass) / slope, left / (slope * slope)),
                1e-7);
    // Slope and curvature of E[log softmax].
    const auto own = [&](const Three& x) { return wins_softmax(x, k); };
    const auto spread = [&](const Three& x) { return own(x) * (1 - own(x)); };
    const G variational = factor.variational(k, in);
    EXPECT_NEAR(variational.rho, by_grid(k, spread, in).mass, 1e-8);
    EXPECT_NEAR(variational.tau - in[k].mean() * variational.rho,
                (k == 1 ? 1 : 0) - by_grid(k, own, in).mass, 1e-8);
  }
}

// However wide, narrow or far apart what arrives is, the tilted density has the mass that it should: all classes together
// have the probability 1.
TEST(Likelihoods, ProbabilitiesOfASoftmaxSumToOne) {
  for (const double deviation : {0.0, 1e-3, 0.5, 3.0, 30.0}) {
    for (const double apart : {0.0, 2.0, 8.0}) {
      const double v = deviation * deviation;
      const std::array in{G::from_moments(-apart, v), G::from_moments(0.1, v),
                          G::from_moments(apart, 0.5 * v + 0.1)};
      double sum = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        // slope of the variational message: 1 - E[p_k]
        const G own = Softmax{3, static_cast<int>(k)}.variational(k, in);
        sum += 1 - (own.tau - in[k].mean() * own.rho);
      }
      EXPECT_NEAR(sum, 1, 1e-8) << deviation << ", " << apart;
    }
  }
}

// Noise of the width 1 does not matter to values that are far apart.
TEST(Likelihoods, ASoftmaxOfLargeValuesIsAnArgmax) {
  for (const double scale : {1e4, 1e7, 1e12}) {
    const std::array in{G::from_moments(0.3 * scale, 4 * scale * scale),
                        G::from_moments(0.1 * scale, scale * scale),
                        G::from_moments(-0.2 * scale, 0.01 * scale * scale)};
    for (std::size_t k = 0; k < 3; ++k) {
      const G soft = Softmax{3, 1}.message(k, Incoming<double>(in), Rule::direct);
      const G hard = Argmax{3, 1, 1}.message(k, Incoming<double>(in), Rule::direct);
      EXPECT_NEAR(soft.mean(), hard.mean(), 1e-6 * scale);
      EXPECT_NEAR(soft.stddev(), hard.stddev(), 1e-6 * scale);
    }
  }
}

TEST(Likelihoods, WhatIsUnknownSaysNothingInAnArgmax) {
  const std::array two{G::from_moments(0.3, 1), G::from_moments(-0.5, 0.6)};
  const std::array three{two[0], two[1], G::uniform()};
  const G alone = Argmax{2, 1, 2}.message(0, Incoming<double>(two), Rule::direct);
  expect_same(Argmax{3, 1, 2}.message(0, Incoming<double>(three), Rule::direct), alone, 1e-9);
  EXPECT_TRUE((Argmax{3, 1, 2}.message(2, Incoming<double>(three), Rule::direct).is_uniform()));
  EXPECT_TRUE((Argmax{3, 2, 2}.message(0, Incoming<double>(three), Rule::direct).is_uniform()));
}

TEST(Likelihoods, AnAmountSaysItsLogarithm) {
  const G message = sent(LogNormalObservation{std::exp(2.0), 0.3}, Rule::direct);
  EXPECT_DOUBLE_EQ(message.mean(), 2);
  EXPECT_DOUBLE_EQ(message.variance(), 0.3);
}

TEST(Likelihoods, RefuseWhatCannotBeObserved) {
  EXPECT_THROW(Poisson{1.5}.validate(), std::invalid_argument);
  EXPECT_THROW(Poisson{-1}.validate(), std::invalid_argument);
  EXPECT_THROW((NegativeBinomial{1, 0}).validate(), std::invalid_argument);
  EXPECT_THROW((Probit{0}).validate(), std::invalid_argument);
  EXPECT_THROW((Probit{1, 0, 0}).validate(), std::invalid_argument);
  EXPECT_THROW((LogNormalObservation{0, 1}).validate(), std::invalid_argument);
  EXPECT_THROW((Argmax{3, 3}).validate(), std::invalid_argument);
  EXPECT_THROW((Argmax{3, -1}).validate(), std::invalid_argument);
  EXPECT_THROW((Argmax{1, 0}).validate(), std::invalid_argument);
  EXPECT_THROW((Argmax{3, 0, 0}).validate(), std::invalid_argument);
  EXPECT_THROW(sent(Poisson{0}, Rule::direct, G::from_moments(1e3, 1)), std::domain_error);
}

}  // namespace
}  // namespace dma
