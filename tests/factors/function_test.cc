#include <dma/factors/function.h>
#include <dma/factors/greater_than.h>
#include <dma/factors/product.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace dma {
namespace {

using G = Gaussian<double>;

G any() {
  const double mean = *rc::gen::inRange(-300, 300) / 100.0;
  return G::from_moments(mean, std::exp(*rc::gen::inRange(-200, 100) / 100.0));
}

// x y is a polynomial of degree two, so quadrature is exact: the general factor must reproduce the
// product factor's linear rule and its forward moments.
RC_GTEST_PROP(Function, ReproducesTheProduct, ()) {
  static const auto times = function("times", [](double x, double y) { return x * y; });
  const std::array in{any(), any(), any()};
  for (std::size_t edge = 0; edge < 3; ++edge) {
    const auto expected = Product{}.message<double>(edge, in, Rule::linear);
    const auto message = times.message<double>(edge, in, Rule::linear);
    RC_ASSERT(std::abs(message.rho - expected.rho) <= 1e-9 * expected.rho);
    RC_ASSERT(std::abs(message.tau - expected.tau) <=
              1e-8 * (std::abs(expected.tau) + expected.rho * std::abs(in[edge].mean())));
  }
}

RC_GTEST_PROP(Function, MarginalReproducesTheProduct, ()) {
  static const auto times = function(
      "times", [](double x, double y) { return x * y; }, 100);
  std::array in{any(), any(), any()};
  in[0] = G::from_moments(in[0].mean(), in[0].variance() + 20);  // wide enough for the nodes
  for (std::size_t edge = 0; edge < 3; ++edge) {
    const auto expected = Product{}.marginal(edge, in);
    const auto marginal = times.marginal(edge, in);
    RC_ASSERT(std::abs(marginal.mean() - expected.mean()) < 1e-4 * expected.stddev());
    RC_ASSERT(std::abs(marginal.variance() / expected.variance() - 1) < 1e-3);
  }
}

TEST(Function, ArgumentCountIsFound) {
  const auto three = function("f", [](double a, double b, double c) { return a + b * c; });
  EXPECT_EQ(three.arity(), 4U);
  EXPECT_EQ(three.info().name, "f");
}

TEST(Function, DerivativeAtAPointMass) {
  const auto square = function("square", [](double x) { return x * x; });
  const std::array in{G::from_moments(5, 0.5), G::point(2)};
  const auto message = square.message<double>(1, in, Rule::linear);
  EXPECT_NEAR(message.rho, 16 / 0.5, 1e-6);  // gain 4
  EXPECT_NEAR(message.mean(), 2.25, 1e-8);   // 2 + (5 - 4) / 4
}

TEST(Function, NamesTheArgumentsWhereItIsNotFinite) {
  const auto log = function("log", [](double x) { return std::log(x); });
  try {
    (void)log.message<double>(0, std::array{G::uniform(), G::from_moments(0, 1)}, Rule::direct);
    FAIL();
  } catch (const std::domain_error& error) {
    EXPECT_EQ(std::string(error.what()).find("log("), 0U) << error.what();
  }
}

// TrueSkill's v and w at t = (m - threshold) / s, from its paper's definitions.
TEST(GreaterThan, MarginalIsTheTruncatedGaussian) {
  for (const double t : {-30.0, -3.0, -0.5, 0.0, 0.7, 4.0}) {
    const double threshold = 0.4;
    const double s = 1.5;
    const G x = G::from_moments(threshold + s * t, s * s);
    const double v = special::normal_mills(t);
    const double w = v * (v + t);
    const auto marginal = GreaterThan{threshold}.marginal(0, std::array{x});
    EXPECT_NEAR(marginal.mean(), x.mean() + s * v, 1e-9 * (1 + std::abs(t))) << t;
    EXPECT_NEAR(marginal.variance(), s * s * (1 - w), 1e-9) << t;
  }
}

TEST(GreaterThan, NeverNegativeFarOut) {
  for (double t = -1e6; t < 1e6; t = t < 0 ? t / 1.7 + 1e-9 : t * 1.7) {
    const auto message =
        GreaterThan{0}.message<double>(0, std::array{G::from_moments(t, 1)}, Rule::direct);
    EXPECT_TRUE(message.is_valid()) << t;
    if (t >= 0 && t < 1e-8) t = 1e-3;
  }
  for (const double at : {-1.0, 0.0}) {
    EXPECT_THROW((void)GreaterThan{0}.message<double>(0, std::array{G::point(at)}, Rule::direct),
                 std::domain_error);
  }
  EXPECT_EQ(GreaterThan{0}.message<double>(0, std::array{G::point(1e-300)}, Rule::direct),
            G::uniform());
}

}  // namespace
}  // namespace dma
