// data/scale.h: mean and deviation of numbers of any size.
#pragma once

#include <cstddef>
#include <limits>
#include <span>

namespace dma {

struct Scale {
  double mean = 0, deviation = 0;
  double reach = 0;  // how far the farthest number is from the mean, in deviations
};

// A sum with twice the digits of a double: what rounding took from `high` is in `low`.
struct LongSum {
  double high = 0, low = 0;

  void add(double term);
  void multiply(double power_of_two);
};

// Mean and deviation of the numbers that are not NaN, which must be finite; the deviation divides by their weight, which
// is their count unless they have others. It is
// exactly 0 if all are equal or there are none. Scaling the numbers by a power of two scales both results by it, to the
// bit, as long as nothing becomes subnormal.
//
// Takes one number at a time, so the portions in which they come do not matter. Sums are of distances from the first
// number, which is at most sqrt(count) deviations from the mean: subtracting the square of their mean from the mean of
// their squares cancels far fewer digits than a LongSum has to spare.
class ScaleBuilder {
 public:
  void add(double number, double weight = 1);
  Scale finish() const;
  std::size_t count() const { return count_; }

 private:
  void change_unit(double size);

  std::size_t count_ = 0;
  double first_ = 0;
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
  // In this unit the largest number is between 1 and 2: no square overflows, none that matters underflows.
  int exponent_ = 0;
  double unit_ = 1;  // 2^-exponent_
  double limit_ =
      std::numeric_limits<double>::denorm_min();  // a number of this size needs another unit
  LongSum weight_, distances_, squares_;          // weighted
};

Scale scale_of(std::span<const double> numbers);

}  // namespace dma
