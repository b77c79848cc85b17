// The logistic function under a Gaussian, against quadrature of its definition.
#include <dma/special/logistic.h>

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include <dma/special/accuracy.h>
#include <dma/special/quadrature.h>

namespace dma::special {
namespace {

// log Z and the derivatives of log Z by m, from E[p], E[p q] and E[p q (q - p)].
ExpectedLogistic by_quadrature(double m, double s) {
  const auto [z, first, second] = integrate<3>(
      [&](double t) {
        const double x = m + s * t;
        const double p = 1 / (1 + std::exp(-x)), q = 1 / (1 + std::exp(x));
        const double weight = std::exp(-t * t / 2) / std::sqrt(2 * std::numbers::pi);
        return Integrals<3>{weight * p, weight * p * q, weight * p * q * (q - p)};
      },
      even_breaks(-14, 14, 448), 1e-14);
  const double slope = first / z;
  return {std::log(z), slope, slope * slope - second / z};
}

TEST(Logistic, UnderAGaussian) {
  for (const double m : {-30.0, -8.0, -2.0, -0.1, 0.0, 1.0, 5.0, 20.0}) {
    for (const double s : {1e-3, 0.1, 0.5, 1.0, 3.0, 10.0}) {
      const ExpectedLogistic found = expected_logistic(m, s * s);
      const ExpectedLogistic exact = by_quadrature(m, s);
      EXPECT_NEAR(found.log, exact.log, accuracy::expected_logistic) << m << ", " << s;
      EXPECT_NEAR(found.slope, exact.slope, accuracy::expected_logistic) << m << ", " << s;
      EXPECT_NEAR(found.curvature, exact.curvature, accuracy::expected_logistic) << m << ", " << s;
    }
  }
}

TEST(Logistic, OfAPointIsItself) {
  for (const double m : {-90.0, -3.0, 0.0, 2.0, 300.0}) {
    const ExpectedLogistic found = expected_logistic(m, 0);
    const double q = 1 / (1 + std::exp(m));
    EXPECT_NEAR(found.log, -std::log1p(std::exp(-m)), accuracy::expected_logistic);
    EXPECT_NEAR(found.slope, q, accuracy::expected_logistic);
    EXPECT_NEAR(found.curvature, q * (1 - q), accuracy::expected_logistic);
  }
}

// Beyond what the nodes reach it is exp(m + v / 2), and there is no jump where that begins.
TEST(Logistic, OfAFarMeanIsAnExponential) {
  for (const double v : {0.0, 4.0, 20.0}) {
    const double edge = -100 - v;
    const ExpectedLogistic inside = expected_logistic(edge + 1e-9, v);
    const ExpectedLogistic outside = expected_logistic(edge - 1e-9, v);
    EXPECT_NEAR(inside.log, outside.log, 1e-8);
    EXPECT_NEAR(inside.slope, outside.slope, 1e-8);
    EXPECT_NEAR(inside.curvature, outside.curvature, 1e-8);
  }
  EXPECT_DOUBLE_EQ(expected_logistic(-1000, 10).log, -995);
}

TEST(Logistic, OfAnythingIsAProbability) {
  for (const double m : {-1e6, -1e3, 0.0, 1e3, 1e6}) {
    for (const double v : {0.0, 1.0, 1e6, 1e12}) {
      const ExpectedLogistic found = expected_logistic(m, v);
      EXPECT_LE(found.log, 1e-12) << m << ", " << v;
      EXPECT_TRUE(std::isfinite(found.log) && found.slope >= 0 && found.slope <= 1)
          << m << ", " << v;
      EXPECT_LT(v * found.curvature, 1) << m << ", " << v;
    }
  }
}

TEST(ExpectedLogistic, QuicklyIsTheSameToFiveDigits) {
  for (const double v : {0.0, 0.01, 0.3, 1.0, 7.0, 50.0, 1000.0}) {
    for (double m = -20; m <= 20; m += 0.37) {
      const double exact = std::exp(expected_logistic(m, v).log);
      EXPECT_NEAR(quick_expected_logistic(m, v) / exact, 1, accuracy::quick_expected_logistic)
          << m << ", " << v;
    }
  }
}

}  // namespace
}  // namespace dma::special
