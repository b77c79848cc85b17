#include "bench/statistics.h"

#include <gtest/gtest.h>

#include <sys/utsname.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

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

// Three sizes at equal distances: the middle one has no say.
TEST(Statistics, AConstantPartLowersTheExponent) {
  const std::vector<double> sizes{1, 10, 100};
  const double exponent = fitted_exponent(sizes, std::vector<double>{6, 15, 105});
  EXPECT_NEAR(exponent, std::log10(105.0 / 6) / 2, 1e-12);
}

TEST(Statistics, QuotientsGoAsFarAsBothDo) {
  EXPECT_EQ(quotients(std::vector<double>{2, 6, 9}, std::vector<double>{1, 2}),
            (std::vector<double>{2, 3}));
  EXPECT_TRUE(quotients(std::vector<double>{2}, {}).empty());
}

TEST(Machine, IsKnownByArchitectureAndModel) {
  utsname system{};
  ASSERT_EQ(uname(&system), 0);
  std::string begin = system.machine;
  std::replace(begin.begin(), begin.end(), '_', '-');
  begin += '-';
  const std::string kind = machine_kind();
  EXPECT_TRUE(kind.starts_with(begin)) << kind;
  EXPECT_GT(kind.size(), begin.size()) << kind;
  EXPECT_NE(kind.back(), '-') << kind;
  EXPECT_EQ(kind.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos)
      << kind;
}

TEST(Machine, CachesAreOfWholeKibibytes) {
  const Caches sizes = caches();
  for (const std::size_t size : {sizes.level1, sizes.level2, sizes.level3}) {
    EXPECT_GT(size, 0U);
    EXPECT_EQ(size % 1024, 0U);
  }
  EXPECT_LE(sizes.level1, sizes.level2);
}

}  // namespace
}  // namespace dma::bench
