// An interval against quadrature that knows only its density, and against the half-line that it becomes.
#include <dma/factors/factors.h>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "factors/marginal_moments.h"

namespace dma {
namespace {

using G = Gaussian<double>;

constexpr double infinity = std::numeric_limits<double>::infinity();

G sent(const Between& factor, Rule rule, G arrives) {
  return factor.message(0, Incoming<double>(&arrives, 1), rule);
}

// Narrow and wide, on both sides of what arrives: from 1e-4 to 1e5 deviations long, up to 4e5 deviations away.
constexpr std::array some_intervals{Between{-1, 1}, Between{0.3, 0.4}, Between{-5, 20},
                                    Between{-90, -30}};

std::vector<G> some_messages() {
  std::vector<G> all;
  for (const double mean : {-40.0, -3.0, -0.2, 0.0, 0.35, 6.0}) {
    for (const double deviation : {1e-3, 0.3, 1.0, 4.0, 1e3})
      all.push_back(G::from_moments(mean, deviation * deviation));
  }
  return all;
}

TEST(Between, DirectHasTheMomentsOfTheUniformDensity) {
  for (const G arrives : {G::uniform(), G::from_moments(5, 2), G::point(9)}) {
    const G message = sent(Between{2, 8}, Rule::direct, arrives);
    EXPECT_DOUBLE_EQ(message.mean(), 5);
    EXPECT_DOUBLE_EQ(message.variance(), 3);
  }
}

TEST(Between, TruncatedMarginalsAreExact) {
  for (const Between& factor : some_intervals) {
    for (const G in : some_messages()) {
      const auto exact =
          detail::marginal_moments([&](double x) { return factor.log_density(std::span(&x, 1)); },
                                   in, (factor.lower + factor.upper) / 2);
      ASSERT_TRUE(exact.has_value());
      // As far as doubles near the mean can tell.
      const double allowed = 1e-10 * exact->deviation + 1e-15 * std::abs(exact->mean);
      for (const G marginal :
           {factor.marginal(0, Incoming<double>(&in, 1)), in * sent(factor, Rule::linear, in)}) {
        EXPECT_NEAR(marginal.mean(), exact->mean, allowed) << in.mean() << ", " << in.stddev();
        EXPECT_NEAR(marginal.stddev(), exact->deviation, 1e-10 * exact->deviation)
            << in.mean() << ", " << in.stddev();
      }
    }
  }
}

// The two ways to compute a truncation meet where it is cut at one deviation.
TEST(Between, BothWaysAgreeWhereTheyMeet) {
  for (const double length : {2.0, 2.5, 4.0, 30.0}) {
    const auto closed = detail::truncate_tails(-1, length);
    const auto summed = detail::truncate_most(-1, length);
    EXPECT_NEAR(closed.mean, summed.mean, 1e-14);
    EXPECT_NEAR(closed.from_lower, summed.from_lower, 1e-14);
    EXPECT_NEAR(closed.kept, summed.kept, 1e-14);
    EXPECT_NEAR(closed.cut, summed.cut, 1e-14);
  }
}

TEST(Between, WithAFarEndIsAHalfLine) {
  for (const double mean : {-40.0, -3.0, -0.2, 0.5, 6.0}) {
    for (const double deviation : {0.3, 1.0, 4.0}) {
      const G x = G::from_moments(mean, deviation * deviation);
      const G above = GreaterThan{0.3}.message(0, Incoming<double>(&x, 1), Rule::direct);
      const G inside = sent(Between{0.3, 1e3}, Rule::linear, x);
      EXPECT_NEAR(inside.rho, above.rho, 1e-11 * above.rho);
      EXPECT_NEAR(inside.tau, above.tau, 1e-11 * std::abs(above.tau));
      // Reflected, to the last bit.
      const G mirrored = sent(Between{-1e3, -0.3}, Rule::linear, {-x.tau, x.rho});
      EXPECT_EQ(mirrored.rho, inside.rho);
      EXPECT_EQ(mirrored.tau, -inside.tau);
    }
  }
}

TEST(Between, WithAnInfiniteEndIsAHalfLine) {
  Between{0.3, infinity}.validate();
  Between{-infinity, 0.3}.validate();
  for (const double mean : {-40.0, -3.0, -0.2, 0.5, 6.0}) {
    for (const double deviation : {0.3, 1.0, 4.0}) {
      const G x = G::from_moments(mean, deviation * deviation);
      const Incoming<double> in(&x, 1);
      const G above = GreaterThan{0.3}.message(0, in, Rule::direct);
      const G inside = sent(Between{0.3, infinity}, Rule::linear, x);
      EXPECT_NEAR(inside.rho, above.rho, 1e-11 * above.rho);
      EXPECT_NEAR(inside.tau, above.tau, 1e-11 * std::abs(above.tau));
      EXPECT_NEAR((Between{0.3, infinity}).marginal(0, in).mean(),
                  GreaterThan{0.3}.marginal(0, in).mean(), 1e-11 * (1 + std::abs(mean)));
      EXPECT_NEAR((Between{0.3, infinity}).log_normaliser(in), GreaterThan{0.3}.log_normaliser(in),
                  1e-11 * (1 + mean * mean / deviation));
      const G mirrored_x{-x.tau, x.rho};
      const G mirrored = sent(Between{-infinity, -0.3}, Rule::linear, mirrored_x);
      EXPECT_EQ(mirrored.rho, inside.rho);
      EXPECT_EQ(mirrored.tau, -inside.tau);
      EXPECT_NEAR((Between{-infinity, -0.3}).log_normaliser(Incoming<double>(&mirrored_x, 1)),
                  (Between{0.3, infinity}).log_normaliser(in), 1e-12 * (1 + mean * mean));
    }
  }
  EXPECT_TRUE(sent(Between{0, infinity}, Rule::linear, G::uniform()).is_uniform());
}

TEST(Between, SaysNothingWhereNothingIsCut) {
  EXPECT_TRUE(sent(Between{-1e9, 1e9}, Rule::linear, G::from_moments(3, 1)).is_uniform());
  EXPECT_TRUE(sent(Between{0, 1}, Rule::linear, G::point(0.5)).is_uniform());
}

TEST(Between, FromFarAwayIsTheNearerEnd) {
  for (const double far : {1e20, 1e160, 1e300}) {
    for (const double side : {-1.0, 1.0}) {
      const G message = sent(Between{-1, 1}, Rule::linear, G::from_moments(side * far, 1));
      EXPECT_TRUE(message.is_valid());
      EXPECT_DOUBLE_EQ(message.mean(), side);
    }
  }
}

// Nothing arrives: the truncated marginal is the exact message.
TEST(Between, OfAnUnknownIsTheUniformDensity) {
  const Between factor{2, 8};
  const G nothing = G::uniform();
  EXPECT_EQ(sent(factor, Rule::linear, nothing), sent(factor, Rule::direct, nothing));
  EXPECT_EQ(factor.marginal(0, Incoming<double>(&nothing, 1)), sent(factor, Rule::direct, nothing));
  const G little = sent(factor, Rule::linear, G::from_moments(-1e7, 1e20));
  EXPECT_NEAR(little.mean(), 5, 1e-9);
  EXPECT_NEAR(little.variance(), 3, 1e-9);
}

TEST(Between, Refusals) {
  EXPECT_THROW((Between{1, 1}.validate()), std::invalid_argument);
  EXPECT_THROW((Between{1, 0}.validate()), std::invalid_argument);
  EXPECT_THROW((Between{infinity, infinity}.validate()), std::invalid_argument);
  EXPECT_THROW((Between{-infinity, infinity}.validate()), std::invalid_argument);
  EXPECT_THROW((Between{-1e308, 1e308}.validate()), std::invalid_argument);
  EXPECT_NE((Between{0, infinity}.refusal(0, Rule::direct)), "");
  EXPECT_EQ((Between{0, infinity}.refusal(0, Rule::linear)), "");
  EXPECT_EQ((Between{0, 1}.refusal(0, Rule::direct)), "");
  EXPECT_THROW((Between{std::nan(""), 0}.validate()), std::invalid_argument);
  EXPECT_THROW(sent(Between{0, 1}, Rule::linear, G::point(1)), std::domain_error);
  const G improper{0, -1};
  EXPECT_THROW((void)(Between{0, 1}.marginal(0, Incoming<double>(&improper, 1))), NoProjection);
}

}  // namespace
}  // namespace dma
