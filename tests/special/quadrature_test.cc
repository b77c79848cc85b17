#include <dma/special/quadrature.h>

#include <boost/math/quadrature/gauss.hpp>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace dma::special {
namespace {

// E[X^(2k)] = 1 * 3 * ... * (2k - 1): a rule of order n is exact up to degree 2n - 1.
TEST(GaussHermite, IntegratesPolynomialsExactly) {
  for (const std::size_t order : {1U, 2U, 5U, 20U, 32U, 64U, 128U}) {
    const auto rule = gauss_hermite(order);
    ASSERT_EQ(rule.nodes.size(), order);
    double expected = 1;
    for (std::size_t k = 0; k < std::min<std::size_t>(order, 12); ++k) {
      double even = 0;
      double odd = 0;
      for (std::size_t i = 0; i < order; ++i) {
        even += rule.weights[i] * std::pow(rule.nodes[i], 2.0 * static_cast<double>(k));
        odd += rule.weights[i] * std::pow(rule.nodes[i], 2.0 * static_cast<double>(k) + 1);
      }
      EXPECT_NEAR(even / expected, 1, 2e-13) << order << " " << k;
      EXPECT_NEAR(odd / expected, 0, 1e-11) << order << " " << k;
      expected *= 2 * static_cast<double>(k) + 1;
    }
  }
}

TEST(GaussLegendre, AgreesWithBoost) {
  const auto rule = gauss_legendre(20);
  const auto& nodes = boost::math::quadrature::gauss<double, 20>::abscissa();
  const auto& weights = boost::math::quadrature::gauss<double, 20>::weights();
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_NEAR(rule.nodes[10 + i], nodes[i], 1e-15);
    EXPECT_NEAR(rule.weights[10 + i], weights[i], 1e-14);
  }
}

TEST(QuadratureRules, RefuseUselessOrders) {
  EXPECT_THROW((void)gauss_hermite(0), std::invalid_argument);
  EXPECT_THROW((void)gauss_legendre(129), std::invalid_argument);
}

TEST(Integrate, SeesKinksAndPeaks) {
  const auto integrals = integrate<3>(
      [](double x) {
        return Integrals<3>{std::abs(x - 0.3), std::exp(-x * x * 5e5), std::sqrt(std::abs(x))};
      },
      even_breaks(-1, 1, 8), 1e-12);
  EXPECT_NEAR(integrals[0], (1.3 * 1.3 + 0.7 * 0.7) / 2, 1e-12);
  EXPECT_NEAR(integrals[1], std::sqrt(std::acos(-1.0) / 5e5), 1e-14);
  EXPECT_NEAR(integrals[2], 4.0 / 3, 1e-9);
}

// Nearer to the end of a panel than its last node: a kink there was seen by no panel at all.
RC_GTEST_PROP(Integrate, SeesAKinkHoweverNearToABreak, ()) {
  constexpr std::size_t panels = 8;
  const double side = *rc::gen::element(-1.0, 1.0);
  const double distance = std::pow(10.0, -*rc::gen::inRange(10, 120) / 10.0);
  const double kink = -1 + 0.25 * *rc::gen::inRange(1, int(panels)) + side * distance;
  const auto integrals = integrate<2>(
      [&](double x) {
        return Integrals<2>{std::max(0.0, x - kink), std::max(0.0, kink - x)};
      },
      even_breaks(-1, 1, panels), 1e-10);
  RC_ASSERT(std::abs(integrals[0] - (1 - kink) * (1 - kink) / 2) <= 1e-9);
  RC_ASSERT(std::abs(integrals[1] - (1 + kink) * (1 + kink) / 2) <= 1e-9);
}

// The ends of panels are where f may jump: nothing is to be found out there by halving.
TEST(Integrate, AJumpAtABreakTakesNoHalving) {
  std::size_t calls = 0;
  const auto integrals = integrate<1>(
      [&](double x) {
        ++calls;
        return Integrals<1>{x < 0 ? 0.0 : std::exp(-x)};
      },
      even_breaks(-1, 1, 2), 1e-10);
  EXPECT_NEAR(integrals[0], -std::expm1(-1.0), 1e-15);
  EXPECT_EQ(calls, 2 * (10 + 10 + 2 * 10 + 2));
}

}  // namespace
}  // namespace dma::special
