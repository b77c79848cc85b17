#include <dma/factors/product.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace dma {
namespace {

using G = Gaussian<double>;

G any(double widest = 4) {
  const double mean = *rc::gen::inRange(-500, 500) / 100.0;
  const double sd =
      std::exp(*rc::gen::inRange(-300, static_cast<int>(100 * std::log(widest))) / 100.0);
  return G::from_moments(mean, sd * sd);
}

// Proposition product-bwd, letter by letter.
RC_GTEST_PROP(Product, DirectIsTheProposition, ()) {
  const G z = any();
  const G y = any();
  RC_PRE(y.tau != 0);
  const double r = std::pow(y.tau, 4) * z.rho / (y.rho * (y.tau * y.tau + y.rho));
  const double d = z.tau * z.tau * y.rho + y.tau * y.tau * z.rho + y.rho * z.rho;
  const auto message = Product::to_x_direct(z, y);
  RC_ASSERT(std::abs(message.rho - r * r / d) <= 1e-13 * message.rho);
  RC_ASSERT(std::abs(message.tau - y.tau * r * z.tau / d) <= 1e-13 * std::abs(message.tau));
}

// notes: d = v_z + v_y (m_x^2 + v_x), rho = m_y^2 / d, tau = m_y m_z / d.
RC_GTEST_PROP(Product, LinearIsStatisticalLinearisation, ()) {
  const G z = any();
  const G x = any();
  const G y = any();
  const double d = z.variance() + y.variance() * (x.mean() * x.mean() + x.variance());
  const auto message = Product{}.message<double>(1, std::array{z, x, y}, Rule::linear);
  RC_ASSERT(std::abs(message.rho - y.mean() * y.mean() / d) <= 1e-13 * message.rho);
  RC_ASSERT(std::abs(message.tau - y.mean() * z.mean() / d) <= 1e-13 * std::abs(message.tau));
}

RC_GTEST_PROP(Product, BothRulesAreExactForAnObservedInput, ()) {
  const G z = any();
  const G y = G::point(*rc::gen::inRange(1, 500) / 100.0);
  for (const Rule rule : {Rule::direct, Rule::linear}) {
    const auto message = Product{}.message<double>(1, std::array{z, any(), y}, rule);
    RC_ASSERT(std::abs(message.rho * z.variance() / (y.tau * y.tau) - 1) < 1e-14);
    RC_ASSERT(std::abs(message.tau - y.tau * z.tau) <= 1e-13 * std::abs(message.tau));
  }
}

RC_GTEST_PROP(Product, MessageToYSwapsTheInputs, ()) {
  const std::array in{any(), any(), any()};
  const std::array swapped{in[0], in[2], in[1]};
  for (const Rule rule : {Rule::direct, Rule::linear}) {
    RC_ASSERT(Product{}.message<double>(2, in, rule) ==
              Product{}.message<double>(1, swapped, rule));
  }
  RC_ASSERT(Product{}.marginal(2, in) == Product{}.marginal(1, swapped));
}

TEST(Product, SilentWhereTheInputMayBeZero) {
  const G z = G::from_moments(1, 1);
  EXPECT_TRUE(Product::to_x_direct(z, G::from_moments(0, 1)).is_uniform());
  EXPECT_TRUE(Product::to_x_direct(G::uniform(), G::from_moments(1, 1)).is_uniform());
  EXPECT_TRUE(Product::to_z(G::uniform(), G::from_moments(1, 1)).is_uniform());
  EXPECT_EQ(Product::to_z(G::uniform(), G::point(0)), G::point(0));
  EXPECT_EQ(Product::to_x_direct(G::point(6), G::point(2)), G::point(3));
}

TEST(Product, ApproachesTheObservedInputMonotonically) {
  const G z = G::from_moments(3, 0.5);
  double last = std::numeric_limits<double>::infinity();
  for (int exponent = 2; exponent < 120; exponent += 4) {
    const G y = G::from_moments(2, std::pow(10.0, -exponent));
    const double gap = kl_divergence(Product::to_x_direct(z, y), G::from_moments(1.5, 0.125));
    EXPECT_LE(gap, last) << exponent;
    last = gap;
  }
  EXPECT_LT(last, 1e-30);
}

// The marginals by brute force on a grid over (x, y), an independent path.
TEST(Product, MarginalAgainstBruteForce) {
  const std::array settings{
      std::array{G::from_moments(10, 5), G::from_moments(3, 1), G::from_moments(4, 1)},
      std::array{G::from_moments(-5, 1), G::from_moments(1, 4), G::from_moments(-2.5, 1)},
      std::array{G::from_moments(2, 0.3), G::from_moments(0, 1), G::from_moments(0, 1)}};
  for (const auto& in : settings) {
    double mass = 0;
    std::array<double, 3> first{};
    std::array<double, 3> second{};
    constexpr int n = 1500;
    for (int i = -n; i <= n; ++i) {
      const double x = in[1].mean() + 9.0 * i / n * in[1].stddev();
      for (int j = -n; j <= n; ++j) {
        const double y = in[2].mean() + 9.0 * j / n * in[2].stddev();
        const std::array value{x * y, x, y};
        double log_weight = 0;
        for (std::size_t k = 0; k < 3; ++k) log_weight += in[k].log_density(value[k]);
        const double weight = std::exp(log_weight);
        mass += weight;
        for (std::size_t k = 0; k < 3; ++k) {
          first[k] += weight * value[k];
          second[k] += weight * value[k] * value[k];
        }
      }
    }
    for (std::size_t k = 0; k < 3; ++k) {
      const double mean = first[k] / mass;
      const double variance = second[k] / mass - mean * mean;
      const auto marginal = Product{}.marginal(k, in);
      EXPECT_NEAR(marginal.mean(), mean, 1e-9) << k;
      EXPECT_NEAR(marginal.variance(), variance, 1e-9) << k;
    }
  }
}

// A mean a million deviations from zero must not eat the variance; a sharp z must not be missed.
TEST(Product, MarginalOfSharpMessages) {
  const std::array sharp{G::from_moments(6e6, 1), G::from_moments(3e3, 1e-6),
                         G::from_moments(2e3, 1e-6)};
  const auto marginal = Product{}.marginal(1, sharp);
  const auto linear = sharp[1] * Product::to_x_direct(sharp[0], sharp[2]);
  EXPECT_NEAR(marginal.mean() / linear.mean(), 1, 1e-9);
  EXPECT_NEAR(marginal.variance() / linear.variance(), 1, 1e-3);
  const std::array ridge{G::from_moments(12, 1e-8), G::from_moments(3, 1), G::from_moments(4, 1)};
  const auto x = Product{}.marginal(1, ridge);
  EXPECT_NEAR(Product{}.marginal(0, ridge).mean(), 12, 1e-6);
  EXPECT_GT(x.variance(), 0.3);
  EXPECT_LT(x.variance(), 0.6);
}

// E[x] E[y] = 3, E[y] E[z] / E[y^2] = 3 * 5 / (9 + 1).
TEST(Product, VariationalIsAPoint) {
  const std::array in{G::from_moments(5, 2), G::from_moments(1, 4), G::from_moments(3, 1)};
  EXPECT_EQ(Product{}.variational(0, in), G::point(3));
  EXPECT_EQ(Product{}.variational(1, in), G::point(1.5));
  EXPECT_EQ(Product{}.variational(2, in), G::point(1));  // 1 * 5 / (1 + 4)
}

TEST(Product, MarginalRefusesWhatCannotBeNormalised) {
  const std::array in{G::from_moments(1, 1), G{1, -0.5}, G::from_moments(1, 1)};
  EXPECT_THROW((void)Product{}.marginal(1, in), NoProjection);
}

}  // namespace
}  // namespace dma
