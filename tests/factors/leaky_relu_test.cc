#include <dma/factors/function.h>
#include <dma/factors/leaky_relu.h>

#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numbers>

namespace dma {
namespace {

using G = Gaussian<double>;

G any() {
  const double mean = *rc::gen::inRange(-400, 400) / 100.0;
  const double sd = std::exp(*rc::gen::inRange(-200, 100) / 100.0);
  return G::from_moments(mean, sd * sd);
}

// Moments of quantity(x) under exp(log_weight(x)), split at the kink.
template <class LogWeight, class Quantity>
special::Moments<double> moments(const LogWeight& log_weight, const Quantity& quantity,
                                 double reach) {
  const auto integral = [&](int power) {
    const auto f = [&](double x) { return std::exp(log_weight(x)) * std::pow(quantity(x), power); };
    double sum = 0;
    for (int panel = 0; panel < 400; ++panel) {
      const double a = reach * panel / 400;
      const double b = reach * (panel + 1) / 400;
      using Rule = boost::math::quadrature::gauss_kronrod<double, 31>;
      sum += Rule::integrate(f, a, b, 0) + Rule::integrate(f, -b, -a, 0);
    }
    return sum;
  };
  const double mass = integral(0);
  const double mean = integral(1) / mass;
  return {mean, integral(2) / mass - mean * mean};
}

RC_GTEST_PROP(LeakyRelu, DirectMatchesTheMomentsOfTheExactMessage, ()) {
  const LeakyRelu relu{*rc::gen::element(0.1, 0.4, 0.8)};
  const G y = any();
  const auto exact =
      moments([&](double x) { return y.log_density(relu.apply(x)); }, [](double x) { return x; },
              (std::abs(y.mean()) + 12 * y.stddev()) / relu.slope);
  const auto message = relu.message<double>(1, std::array{y, any()}, Rule::direct);
  RC_ASSERT(std::abs(message.mean() - exact.mean) < 1e-8 * (1 + std::abs(exact.mean)));
  RC_ASSERT(std::abs(message.variance() / exact.variance - 1) < 1e-8);
}

RC_GTEST_PROP(LeakyRelu, MarginalsMatchQuadrature, ()) {
  const LeakyRelu relu{*rc::gen::element(0.0, 0.1, 0.8)};
  const std::array in{any(), any()};
  const auto log_weight = [&](double x) {
    return in[1].log_density(x) + in[0].log_density(relu.apply(x));
  };
  const auto x = moments(
      log_weight, [](double v) { return v; }, 40);
  const auto y = moments(
      log_weight, [&](double v) { return relu.apply(v); }, 40);
  RC_PRE(std::isfinite(x.mean) && std::isfinite(y.mean) && y.variance > 1e-8);
  RC_ASSERT(std::abs(relu.marginal(1, in).mean() - x.mean) < 1e-7 * (1 + std::abs(x.mean)));
  RC_ASSERT(std::abs(relu.marginal(1, in).variance() / x.variance - 1) < 1e-6);
  RC_ASSERT(std::abs(relu.marginal(0, in).mean() - y.mean) < 1e-7 * (1 + std::abs(y.mean)));
  RC_ASSERT(std::abs(relu.marginal(0, in).variance() / y.variance - 1) < 1e-5);
}

// The general function factor, which knows nothing of ReLUs, sends the same linear message.
RC_GTEST_PROP(LeakyRelu, LinearAgreesWithTheFunctionFactor, ()) {
  const LeakyRelu relu{0.3};
  static const auto same = function(
      "relu", [](double x) { return x > 0 ? x : 0.3 * x; }, 128);
  const std::array in{any(), any()};
  const auto expected = same.message<double>(1, in, Rule::linear);
  const auto message = relu.message<double>(1, in, Rule::linear);
  RC_ASSERT(std::abs(message.rho / expected.rho - 1) < 0.03);
  RC_ASSERT(std::abs(message.mean() - expected.mean()) <
            0.03 * (expected.stddev() + std::abs(expected.mean() - in[1].mean())));
}

TEST(LeakyRelu, SlopeOneIsTheIdentity) {
  const std::array in{G::from_moments(1, 2), G::from_moments(-3, 0.5)};
  for (const Rule rule : {Rule::direct, Rule::linear}) {
    EXPECT_EQ(LeakyRelu{1}.message<double>(0, in, rule), in[1]);
    EXPECT_EQ(LeakyRelu{1}.message<double>(1, in, rule), in[0]);
  }
}

TEST(LeakyRelu, SlopeZeroIsRefusedUnderDirectOnly) {
  const std::array in{G::from_moments(1, 2), G::from_moments(-3, 0.5)};
  const LeakyRelu relu{0};
  EXPECT_TRUE(relu.message<double>(0, in, Rule::direct).is_proper());
  EXPECT_TRUE(relu.message<double>(1, in, Rule::linear).is_proper());
  try {
    (void)relu.message<double>(1, in, Rule::direct);
    FAIL() << "slope 0 sent a direct message to x";
  } catch (const std::domain_error& error) {
    EXPECT_NE(std::string(error.what()).find("cannot be normalised"), std::string::npos);
  }
}

TEST(LeakyRelu, PointMasses) {
  const LeakyRelu relu{0.25};
  EXPECT_EQ(relu.to_y(G::point(-4)), G::point(-1));
  EXPECT_EQ(relu.to_x_direct(G::point(-1)), G::point(-4));
  const auto message = relu.to_x_linear(G::from_moments(-1, 2), G::point(-3));
  EXPECT_NEAR(message.mean(), -4, 1e-14);
  EXPECT_NEAR(message.variance(), 32, 1e-13);
}

// E[r'(x)] of x at the kink, where r' is 1 and the slope by halves.
TEST(LeakyRelu, LinearAtTheKink) {
  const auto message = LeakyRelu{0.5}.to_x_linear(G::from_moments(1.5, 2.25), G::point(0));
  EXPECT_NEAR(message.mean(), 2, 1e-15);
  EXPECT_NEAR(message.variance(), 4, 1e-14);
}

TEST(LeakyRelu, VariationalIsAPoint) {
  const auto to_y = [](double slope, G x) {
    return LeakyRelu{slope}.variational(0, std::array{G::uniform(), x});
  };
  // E[max(0, x)] of a standard normal x is its density at 0.
  const G centred = to_y(0, G::from_moments(0, 1));
  EXPECT_TRUE(centred.is_point());
  EXPECT_NEAR(centred.mean(), 1 / std::sqrt(2 * std::numbers::pi), 1e-15);
  EXPECT_EQ(to_y(0.1, G::uniform()), G::uniform());
  const auto to_x = [](double slope, G y) {
    return LeakyRelu{slope}.variational(1, std::array{y, G::uniform()});
  };
  EXPECT_EQ(to_x(0.25, G::from_moments(2, 1)), G::point(2));
  EXPECT_EQ(to_x(0.25, G::from_moments(-1, 1)), G::point(-4));
  EXPECT_EQ(to_x(0, G::from_moments(-1, 1)), G::uniform());  // any x below 0 would do
  EXPECT_EQ(to_x(0.25, G::uniform()), G::uniform());
}

TEST(LeakyRelu, RefusesABadSlope) {
  EXPECT_THROW(LeakyRelu{-0.1}.validate(), std::invalid_argument);
  EXPECT_THROW(LeakyRelu{std::nan("")}.validate(), std::invalid_argument);
}

}  // namespace
}  // namespace dma
