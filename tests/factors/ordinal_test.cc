// A level between two cut points against quadrature over the score and its noise, and against the factors that it becomes where
// something is known.
#include <dma/factors/factors.h>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include <dma/special/quadrature.h>

namespace dma {
namespace {

using G = Gaussian<double>;

double density(double x, G of) { return std::exp(of.log_density(x)); }

struct Exact {
  double mass, mean, variance;
};

// Moments of x under N(x; in) times a smooth likelihood, by the trapezoidal rule.
template <class Likelihood>
Exact moments(G in, const Likelihood& likelihood) {
  double mass = 0;
  double first = 0;
  double second = 0;
  constexpr double step = 1 / 24.0;
  for (double t = -9; t <= 9; t += step) {
    const double w = step * std::exp(-t * t / 2 - special::log_sqrt_two_pi) *
                     likelihood(in.mean() + t * in.stddev());
    mass += w;
    first += w * t;
    second += w * t * t;
  }
  if (mass == 0) return {mass, in.mean(), in.variance()};  // then only the mass is asked for
  const double mean = first / mass;
  return {mass, in.mean() + mean * in.stddev(), in.variance() * (second / mass - mean * mean)};
}

// P(lower < s < upper) given one of the three, by an integral over z where it is needed.
double given_score(double s, G lower, G upper, double variance) {
  const auto inside = [&](double z) {
    return special::normal_cdf((z - lower.mean()) / lower.stddev()) *
           special::normal_cdf((upper.mean() - z) / upper.stddev());
  };
  return moments(G::from_moments(s, variance), inside).mass;
}

double given_cut(double cut, G score, G other, double variance, double side) {
  const auto z = G::from_moments(score.mean(), score.variance() + variance);
  const double reach = 9 * z.stddev();
  // z on the right side of the cut, and on the other side of the other.
  const double begin = side > 0 ? cut : z.mean() - reach;
  const double end = side > 0 ? z.mean() + reach : cut;
  if (!(begin < end)) return 0;
  return special::integrate<1>(
      [&](double at) {
        return special::Integrals<1>{
            density(at, z) * special::normal_cdf(side * (other.mean() - at) / other.stddev())};
      },
      special::even_breaks(begin, end, 12), 1e-11)[0];
}

struct Setting {
  G score, lower, upper;
  double variance;
};

std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (const double score : {-3.0, 0.2, 4.0}) {
    for (const double spread : {0.1, 2.0}) {
      for (const double cut : {0.05, 1.5}) {
        all.push_back({G::from_moments(score, spread), G::from_moments(-0.5, cut),
                       G::from_moments(0.7, cut / 2), 0.8});
      }
    }
  }
  return all;
}

void expect_moments(G found, const Exact& exact) {
  EXPECT_NEAR(found.mean(), exact.mean, 1e-8 * std::sqrt(exact.variance));
  EXPECT_NEAR(found.variance() / exact.variance, 1, 1e-8);
}

TEST(Ordinal, MarginalsAreThoseOfQuadrature) {
  for (const auto& one : settings()) {
    const Ordinal factor{one.variance};
    const std::array in{one.score, one.lower, one.upper};
    const Exact score = moments(
        one.score, [&](double s) { return given_score(s, one.lower, one.upper, one.variance); });
    const Exact lower = moments(one.lower, [&](double cut) {
      return given_cut(cut, one.score, one.upper, one.variance, 1);
    });
    const Exact upper = moments(one.upper, [&](double cut) {
      return given_cut(cut, one.score, one.lower, one.variance, -1);
    });
    expect_moments(factor.marginal(0, in), score);
    expect_moments(factor.marginal(1, in), lower);
    expect_moments(factor.marginal(2, in), upper);
    EXPECT_NEAR(factor.log_normaliser(in), std::log(score.mass), 1e-9);
    for (const std::size_t edge : {0U, 1U, 2U}) {
      const G sent = factor.message(edge, in, Rule::direct);
      EXPECT_GT(sent.rho, 0);
      const G product = in[edge] * sent;
      EXPECT_NEAR(product.mean(), factor.marginal(edge, in).mean(), 1e-9);
    }
  }
}

TEST(Ordinal, BetweenKnownCutPointsIsBetween) {
  for (const double mean : {-4.0, 0.1, 0.6, 9.0}) {
    const G score = G::from_moments(mean, 1.3);
    const std::array in{score, G::point(-0.5), G::point(1.2)};
    const std::array alone{score};
    const Between between{-0.5, 1.2};
    expect_moments(Ordinal{}.marginal(0, in),
                   {1, between.marginal(0, alone).mean(), between.marginal(0, alone).variance()});
    EXPECT_NEAR(Ordinal{}.log_normaliser(in), between.log_normaliser(alone), 1e-10);
  }
}

TEST(Ordinal, WithOneEndFarAwayIsAComparison) {
  const std::array in{G::from_moments(0.4, 1.3), G::from_moments(0.9, 0.6), G::point(1000)};
  const Ordinal factor{0.5};
  const WinDrawLoss win{1, 0, 0.5};
  const std::array pair{in[0], in[1]};
  for (const std::size_t edge : {0U, 1U}) {
    const G expected = win.marginal(edge, pair);
    expect_moments(factor.marginal(edge, in), {1, expected.mean(), expected.variance()});
  }
  EXPECT_NEAR(factor.log_normaliser(in), win.log_normaliser(pair), 1e-10);
  EXPECT_TRUE(factor.message(2, in, Rule::direct).is_uniform());
}

TEST(Ordinal, SendsTogetherWhatItSendsAlone) {
  for (const auto& one : settings()) {
    const std::array in{one.score, one.lower, one.upper};
    std::array<G, 3> out;
    Ordinal{0.3}.messages(in, Rule::direct, out);
    for (const std::size_t edge : {0U, 1U, 2U})
      EXPECT_EQ(out[edge], Ordinal{0.3}.message(edge, in, Rule::direct));
  }
}

TEST(Ordinal, IsMirrored) {
  const G score = G::from_moments(0.4, 1.3);
  const G lower = G::from_moments(-0.9, 0.6);
  const G upper = G::from_moments(1.1, 0.2);
  const auto minus = [](G of) { return G{-of.tau, of.rho}; };
  const Ordinal factor{0.5};
  const G one = factor.message(1, std::array{score, lower, upper}, Rule::direct);
  const G other =
      factor.message(2, std::array{minus(score), minus(upper), minus(lower)}, Rule::direct);
  EXPECT_NEAR(one.rho, other.rho, 1e-12);
  EXPECT_NEAR(one.tau, -other.tau, 1e-12);
}

TEST(Ordinal, OfKnownScoreIsTruncation) {
  const std::array in{G::point(0.3), G::from_moments(0.5, 0.4), G::from_moments(1, 0.5)};
  const double t = (0.3 - 0.5) / std::sqrt(0.4);
  const auto truncated = special::truncated_moments(t);
  EXPECT_NEAR(Ordinal{}.marginal(1, in).variance(), 0.4 * truncated.variance, 1e-12);
  EXPECT_NEAR(Ordinal{}.log_normaliser(in),
              special::normal_log_cdf(t) + special::normal_log_cdf(0.7 / std::sqrt(0.5)), 1e-12);
}

TEST(Ordinal, RefusesCutPointsThatLeaveNoRoom) {
  const std::array in{G::from_moments(0, 1), G::point(1), G::point(1)};
  EXPECT_THROW(Ordinal{}.message(0, in, Rule::direct), std::domain_error);
  EXPECT_THROW(Ordinal{-1}.validate(), std::invalid_argument);
}

}  // namespace
}  // namespace dma
