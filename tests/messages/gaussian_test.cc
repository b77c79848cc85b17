#include <dma/messages/gaussian.h>

#include <boost/math/quadrature/tanh_sinh.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace dma {
namespace {

template <class T>
class GaussianOf : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GaussianOf, Types);

TYPED_TEST(GaussianOf, States) {
  using G = Gaussian<TypeParam>;
  EXPECT_TRUE(G{}.is_uniform());
  EXPECT_EQ(G{}.variance(), std::numeric_limits<TypeParam>::infinity());
  EXPECT_TRUE(G::point(3).is_point());
  EXPECT_EQ(G::point(3).mean(), 3);
  EXPECT_EQ(G::point(3).variance(), 0);
  EXPECT_EQ(G::from_moments(3, 0), G::point(3));
  EXPECT_EQ(G::from_moments(3, std::numeric_limits<TypeParam>::infinity()), G::uniform());
  // A Gaussian so narrow that the natural parameters overflow is the point mass, with its mean.
  EXPECT_EQ(G::from_moments(3, std::numeric_limits<TypeParam>::denorm_min()), G::point(3));
  const auto proper = G::from_moments(TypeParam(1.5), TypeParam(0.25));
  EXPECT_TRUE(proper.is_proper() && proper.is_distribution() && proper.is_valid());
  EXPECT_EQ(proper.mean(), TypeParam(1.5));
  EXPECT_EQ(proper.stddev(), TypeParam(0.5));
  EXPECT_FALSE((G{0, -1}.is_valid()));
  EXPECT_FALSE((G{1, 0}.is_valid()));
}

TYPED_TEST(GaussianOf, RefusesBadMoments) {
  using G = Gaussian<TypeParam>;
  const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
  const TypeParam inf = std::numeric_limits<TypeParam>::infinity();
  EXPECT_THROW((void)G::from_moments(nan, 1), std::invalid_argument);
  EXPECT_THROW((void)G::from_moments(0, nan), std::invalid_argument);
  EXPECT_THROW((void)G::from_moments(0, -1), std::invalid_argument);
  EXPECT_THROW((void)G::from_moments(inf, 1), std::invalid_argument);
  try {
    (void)G::from_moments(2, -1);
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("variance -1"), std::string::npos) << error.what();
  }
}

TYPED_TEST(GaussianOf, PointMassesAbsorbAndContradict) {
  using G = Gaussian<TypeParam>;
  const auto proper = G::from_moments(1, 2);
  EXPECT_EQ(G::point(3) * proper, G::point(3));
  EXPECT_EQ(proper * G::point(3), G::point(3));
  EXPECT_EQ(G::point(3) * G::point(3), G::point(3));
  EXPECT_EQ(G::point(3) / proper, G::point(3));
  EXPECT_EQ(G::point(3) / G::point(3), G::uniform());
  EXPECT_THROW((void)(G::point(3) * G::point(4)), std::domain_error);
  EXPECT_THROW((void)(proper / G::point(4)), std::domain_error);
}

TYPED_TEST(GaussianOf, PowerAndDifference) {
  using G = Gaussian<TypeParam>;
  const G message{2, 4};
  EXPECT_EQ(power(message, TypeParam(0.5)), (G{1, 2}));
  EXPECT_EQ(power(message, TypeParam(0)), G::uniform());
  EXPECT_EQ(power(G::point(1), TypeParam(0.5)), G::point(1));
  EXPECT_EQ(max_difference(message, G{1, 7}), 3);
  EXPECT_EQ(max_difference(G::point(1), G::point(1)), 0);
  EXPECT_EQ(max_difference(G::point(1), message), std::numeric_limits<TypeParam>::infinity());
}

Gaussian<double> any_proper() {
  const double mean = *rc::gen::inRange(-1000, 1000) / 100.0;
  const double variance = std::exp(*rc::gen::inRange(-800, 800) / 100.0);
  return Gaussian<double>::from_moments(mean, variance);
}

RC_GTEST_PROP(Gaussian, QuotientUndoesProduct, ()) {
  const auto a = any_proper();
  const auto b = any_proper();
  const auto back = a * b / b;
  RC_ASSERT(std::abs(back.tau - a.tau) <= 1e-15 * (std::abs(a.tau) + std::abs(b.tau)));
  RC_ASSERT(std::abs(back.rho - a.rho) <= 1e-15 * (a.rho + b.rho));
  RC_ASSERT(a * Gaussian<double>::uniform() == a);
}

RC_GTEST_PROP(Gaussian, ProductIsThePointwiseProductOfDensities, ()) {
  const auto a = any_proper();
  const auto b = any_proper();
  const auto c = a * b;
  const auto log_ratio = [&](double x) {
    return a.log_density(x) + b.log_density(x) - c.log_density(x);
  };
  const double at = c.mean();
  const double elsewhere = at + 0.7 * c.stddev();
  RC_ASSERT(std::abs(log_ratio(at) - log_ratio(elsewhere)) <= 1e-9 * (1 + std::abs(log_ratio(at))));
}

TEST(Gaussian, KlAgainstHighPrecision) {
  using Big = boost::multiprecision::cpp_bin_float_50;
  const auto exact = [](Gaussian<double> p, Gaussian<double> q) {
    const Big vp = 1 / Big(p.rho);
    const Big vq = 1 / Big(q.rho);
    const Big gap = Big(p.tau) * vp - Big(q.tau) * vq;
    return static_cast<double>((vp / vq - 1 - log(vp / vq) + gap * gap / vq) / 2);
  };
  const auto p = Gaussian<double>::from_moments(1, 2);
  EXPECT_EQ(kl_divergence(p, p), 0);
  for (const double relative : {1e-12, 1e-8, 1e-4, 0.1, 3.0, 1e6}) {
    const Gaussian<double> q{p.tau * (1 + relative), p.rho * (1 + relative)};  // same mean
    EXPECT_NEAR(kl_divergence(p, q) / exact(p, q), 1, 1e-3 * 1e-12 / relative + 1e-13) << relative;
  }
  const auto q = Gaussian<double>::from_moments(-0.5, 0.3);
  EXPECT_NEAR(kl_divergence(p, q) / exact(p, q), 1, 1e-14);
  EXPECT_EQ(kl_divergence(p, Gaussian<double>::point(1)), std::numeric_limits<double>::infinity());
  EXPECT_THROW((void)kl_divergence(p, Gaussian<double>::uniform()), std::domain_error);
}

TEST(Gaussian, LogDensityIntegratesToOne) {
  const auto p = Gaussian<double>::from_moments(1.5, 0.2);
  boost::math::quadrature::tanh_sinh<double> integrator;
  const double mass =
      integrator.integrate([&](double x) { return std::exp(p.log_density(x)); }, -8.0, 11.0);
  EXPECT_NEAR(mass, 1, 1e-12);
}

}  // namespace
}  // namespace dma
