// The accuracy contracts of special/accuracy.h, held against Boost's functions with 50 digits.
#include <dma/special/accuracy.h>
#include <dma/special/gamma.h>

#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <gtest/gtest.h>

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

TEST(Gamma, OfNothingIsRefused) {
  EXPECT_THROW(digamma(0.0), std::domain_error);
  EXPECT_THROW(trigamma(-1.0), std::domain_error);
}

}  // namespace
}  // namespace dma::special
