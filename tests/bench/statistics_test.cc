#include "bench/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "bench/machine.h"

namespace dma::bench {
namespace {

TEST(Statistics, QuartilesOfKnownValues) {
  const Spread odd = spread({5, 1, 4, 2, 3});
  EXPECT_EQ(odd.low, 2);
  EXPECT_EQ(odd.median, 3);
  EXPECT_EQ(odd.high, 4);
  const Spread even = spread({4, 1, 3, 2});
  EXPECT_EQ(even.low, 1.75);
  EXPECT_EQ(even.median, 2.5);
  EXPECT_EQ(even.high, 3.25);
}

TEST(Statistics, OneValueHasNoSpread) {
  const Spread one = spread({7});
  EXPECT_EQ(one.low, 7);
  EXPECT_EQ(one.high, 7);
  EXPECT_THROW(spread({}), std::invalid_argument);
}

TEST(Statistics, NeverReachedIsAValue) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(spread({1, infinity, infinity}).median, infinity);
  EXPECT_EQ(spread({1, 2, infinity}).median, 2);
}

TEST(Statistics, TheExponentOfAPower) {
  for (const double exponent : {0.0, 1.0, 1.5, 3.0}) {
    std::vector<double> sizes{100, 1000, 5000, 80000};
    std::vector<double> costs;
    for (const double size : sizes) costs.push_back(0.3 * std::pow(size, exponent));
    EXPECT_NEAR(fitted_exponent(sizes, costs), exponent, 1e-12);
  }
}

TEST(Statistics, AConstantPartLowersTheExponent) {
  const std::vector<double> sizes{1, 10, 100};
  EXPECT_LT(fitted_exponent(sizes, std::vector<double>{6, 15, 105}), 0.7);
}

TEST(Statistics, QuotientsGoAsFarAsBothDo) {
  EXPECT_EQ(quotients(std::vector<double>{2, 6, 9}, std::vector<double>{1, 2}),
            (std::vector<double>{2, 3}));
  EXPECT_TRUE(quotients(std::vector<double>{2}, {}).empty());
}

TEST(Machine, IsKnownByAName) {
  const std::string kind = machine_kind();
  EXPECT_GT(kind.find('-'), 0U);
  EXPECT_EQ(kind.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos)
      << kind;
  EXPECT_LE(caches().level1, caches().level2);
}

}  // namespace
}  // namespace dma::bench
