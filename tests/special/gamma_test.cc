// The accuracy contracts of special/accuracy.h, held against Boost's functions with 50 digits.
#include <dma/special/accuracy.h>
#include <dma/special/gamma.h>

#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace dma::special {
namespace {

using Precise = boost::multiprecision::cpp_bin_float_50;

template <class T>
class Gamma : public ::testing::Test {
 protected:
  // The error in units of epsilon, relative to the exact value or to `least`, if that is more.
  static double error(T actual, const Precise& exact, double least = 0) {
    const Precise size = std::max(Precise(least), Precise(abs(exact)));
    return static_cast<double>(abs(Precise(actual) - exact) / size) /
           double(std::numeric_limits<T>::epsilon());
  }
};

using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Gamma, Types);

TYPED_TEST(Gamma, DerivativesOfItsLogarithm) {
  for (double decade = -6; decade < 9; decade += 0.013) {
    const auto x = static_cast<TypeParam>(std::pow(10, decade));
    EXPECT_LE(this->error(digamma(x), boost::math::digamma(Precise(x)), 1), accuracy::digamma) << x;
    EXPECT_LE(this->error(trigamma(x), boost::math::trigamma(Precise(x))), accuracy::trigamma) << x;
  }
}

TYPED_TEST(Gamma, BeyondTheTangent) {
  for (double decade = -6; decade < 1.5; decade += 0.01) {
    for (const int sign : {-1, 1}) {
      const auto x = static_cast<TypeParam>(sign * std::pow(10, decade));
      EXPECT_LE(this->error(exp_beyond_tangent(x), exp(Precise(x)) - 1 - Precise(x)),
                accuracy::exp_beyond_tangent)
          << x;
    }
  }
  EXPECT_EQ(exp_beyond_tangent(TypeParam(0)), TypeParam(0));
}

TEST(Gamma, InverseOfTheSecondDerivative) {
  for (double decade = -8; decade < 8; decade += 0.0137) {
    const double y = std::pow(10, decade);
    const double x = inverse_trigamma(y);
    // An x that is off by a share e gives a psi' that is off by at least e.
    const Precise back = boost::math::trigamma(Precise(x));
    EXPECT_LE(static_cast<double>(abs(back - Precise(y)) / Precise(y)) /
                  std::numeric_limits<double>::epsilon(),
              2 * accuracy::inverse_trigamma)
        << y;
  }
}

TEST(Gamma, IncompleteBeta) {
  for (const double a : {0.01, 0.3, 1.0, 4.5, 70.0, 3000.0, 1e6}) {
    for (const double b : {0.01, 0.3, 1.0, 7.0, 250.0, 1e4, 1e6}) {
      for (const double x : {1e-12, 0.001, 0.1, 0.3, 0.5, 0.77, 0.99, 1 - 1e-9}) {
        const double exact = boost::math::ibeta(a, b, x);
        const double allowed = accuracy::incomplete_beta * std::numeric_limits<double>::epsilon() *
                               std::max({1.0, a, b});
        EXPECT_NEAR(incomplete_beta(a, b, x), exact, allowed) << a << " " << b << " " << x;
        // Where it bends most.
        const double bend = a / (a + b);
        EXPECT_NEAR(incomplete_beta(a, b, bend), boost::math::ibeta(a, b, bend), allowed);
      }
      EXPECT_EQ(incomplete_beta(a, b, 0), 0);
      EXPECT_EQ(incomplete_beta(a, b, 1), 1);
    }
  }
}

TEST(Gamma, OfNothingIsRefused) {
  EXPECT_THROW(inverse_trigamma(0.0), std::domain_error);
  EXPECT_THROW(incomplete_beta(1.0, 0.0, 0.5), std::domain_error);
  EXPECT_THROW(incomplete_beta(1.0, 1.0, 1.5), std::domain_error);
  EXPECT_THROW(digamma(0.0), std::domain_error);
  EXPECT_THROW(trigamma(-1.0), std::domain_error);
}

}  // namespace
}  // namespace dma::special
