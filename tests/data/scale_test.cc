// Mean and deviation against sums in long double, for numbers of every size.
#include "data/scale.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <dma/special/random.h>

namespace dma {
namespace {

struct Reference {
  long double mean = 0, deviation = 0;
};

Reference reference(const std::vector<double>& numbers) {
  const auto count = static_cast<long double>(numbers.size());
  Reference result;
  for (const double x : numbers) result.mean += x / count;
  for (const double x : numbers) {
    result.deviation += (x - result.mean) * (x - result.mean) / count;
  }
  result.deviation = std::sqrt(result.deviation);
  return result;
}

std::vector<double> draw(std::size_t count, double offset, double width, std::uint64_t seed) {
  special::Random random(seed);
  std::vector<double> numbers;
  for (std::size_t k = 0; k < count; ++k) numbers.push_back(offset + width * random.normal());
  return numbers;
}

RC_GTEST_PROP(Scale, IsThatOfLongDoubles, (std::uint64_t seed)) {
  special::Random random(seed);
  const double width = std::exp(random.uniform(-300, 300));
  const double direction = random.normal();
  const double offset = width * direction * std::exp(random.uniform(0, 20));
  const auto numbers = draw(*rc::gen::inRange<std::size_t>(2, 500), offset, width, seed);
  const Scale scale = scale_of(numbers);
  const Reference exact = reference(numbers);
  // The mean may be off by half its last bit, and by rounding in a sum of numbers of the deviation's size.
  const double mean_error = static_cast<double>(std::abs(scale.mean - exact.mean));
  const double deviation_error =
      static_cast<double>(std::abs(scale.deviation - exact.deviation) / exact.deviation);
  RC_ASSERT(mean_error <= 1.2e-16 * std::abs(offset) + 1e-14 * width);
  RC_ASSERT(deviation_error <= 1e-13);
  long double farthest = 0;
  for (const double x : numbers) farthest = std::max(farthest, std::abs(x - exact.mean));
  const long double reach_error = std::abs(scale.reach - farthest / exact.deviation);
  // A few numbers may have a deviation far below the width that they were drawn with.
  RC_ASSERT(reach_error <= (1.2e-16 * std::abs(offset) + 1e-14 * width) / exact.deviation + 1e-12);
}

TEST(Scale, HoldsForEverySize) {
  const auto numbers = draw(1000, 3, 2, 1);
  const Scale one = scale_of(numbers);
  for (const double unit : {1e150, 1e-150, 1e299, 1e-299}) {
    auto scaled = numbers;
    for (double& x : scaled) x *= unit;
    const Scale two = scale_of(scaled);
    EXPECT_NEAR(two.mean / unit, one.mean, 1e-14);
    EXPECT_NEAR(two.deviation / unit, one.deviation, 1e-14);
  }
  for (const double unit : {0x1p900, 0x1p-900}) {
    auto scaled = numbers;
    for (double& x : scaled) x *= unit;
    EXPECT_EQ(scale_of(scaled).mean, unit * one.mean);
    EXPECT_EQ(scale_of(scaled).deviation, unit * one.deviation);
  }
}

TEST(Scale, SurvivesALargeOffset) {
  // Multiples of 2^-20 around 2^30: exact in a double, so that the truth is known.
  auto numbers = draw(200'000, 0, 1, 2);
  for (double& x : numbers) x = std::round(x * 0x1p20) * 0x1p-20;
  const Scale near = scale_of(numbers);
  for (double& x : numbers) x += 0x1p30;
  const Scale far = scale_of(numbers);
  EXPECT_NEAR(far.mean - 0x1p30, near.mean, 2e-7);  // half of the last bit is 1.2e-7
  EXPECT_NEAR(far.deviation, near.deviation, 1e-12);
}

TEST(Scale, SeesOneBit) {
  std::vector<double> numbers(1'000'000, 1e9 + 0.1);
  EXPECT_EQ(scale_of(numbers).deviation, 0);
  EXPECT_EQ(scale_of(numbers).mean, 1e9 + 0.1);
  numbers[777] = std::nextafter(numbers[777], 2e9);
  const double step = numbers[777] - numbers[0];
  EXPECT_NEAR(scale_of(numbers).deviation / (step / 1000), 1, 1e-6);
  // The mean, halfway between, is no double; the deviation is half a step all the same.
  EXPECT_EQ(scale_of(std::vector{numbers[0], numbers[777]}).deviation, step / 2);
}

TEST(Scale, LeavesOutEmptyCells) {
  const double empty = std::numeric_limits<double>::quiet_NaN();
  const Scale scale = scale_of(std::vector<double>{empty, 1, empty, 3});
  EXPECT_EQ(scale.mean, 2);
  EXPECT_EQ(scale.deviation, 1);
  EXPECT_EQ(scale_of(std::vector<double>{empty, empty}).deviation, 0);
  EXPECT_EQ(scale_of({}).deviation, 0);
}

TEST(Scale, ReachesTheEndsOfTheRange) {
  const double huge = std::numeric_limits<double>::max();
  const double tiny = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(scale_of(std::vector<double>{-huge, huge}).deviation, huge);
  EXPECT_GT(scale_of(std::vector<double>{0, tiny}).deviation, 0);
  EXPECT_EQ(scale_of(std::vector<double>{1e300, -1e-300, -1e300}).mean, 0);
}

}  // namespace
}  // namespace dma
