#include "data/scale.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace dma {
namespace {

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  std::size_t count = 0;
};

Range range_of(std::span<const double> numbers) {
  Range range;
  for (const double x : numbers) {
    if (x != x) continue;
    range.low = std::min(range.low, x);
    range.high = std::max(range.high, x);
    ++range.count;
  }
  return range;
}

// sum (u x - centre) and sum (u x - centre)^2
struct Sums {
  double first = 0, second = 0;
};

Sums centred_sums(std::span<const double> numbers, double unit, double centre) {
  Sums sums;
  for (const double x : numbers) {
    if (x != x) continue;
    const double d = x * unit - centre;
    sums.first += d;
    sums.second += d * d;
  }
  return sums;
}

}  // namespace

Scale scale_of(std::span<const double> numbers) {
  const Range range = range_of(numbers);
  if (range.count == 0) return {};
  if (range.low == range.high) return {range.low, 0};
  // In this unit the largest is between 1 and 2: no square overflows, none that matters underflows.
  const int exponent =
      std::clamp(std::ilogb(std::max(std::abs(range.low), std::abs(range.high))), -1022, 1022);
  const double unit = std::scalbn(1.0, -exponent);
  const auto count = static_cast<double>(range.count);
  double mean = 0;
  // The second time the sum is of small numbers: its rounding no longer grows with the offset.
  for (int pass = 0; pass < 2; ++pass) mean += centred_sums(numbers, unit, mean).first / count;
  const Sums sums = centred_sums(numbers, unit, mean);
  // The mean is rounded; what it missed by is known from the first sum.
  const double variance = (sums.second - sums.first * (sums.first / count)) / count;
  const double deviation = std::scalbn(std::sqrt(variance), exponent);
  return {std::scalbn(mean, exponent),
          std::max(deviation, std::numeric_limits<double>::denorm_min())};
}

}  // namespace dma
