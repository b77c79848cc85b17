#include "data/scale.h"

#include <algorithm>
#include <cmath>

namespace dma {

// Knuth's: high + term = sum + rounding, to the bit.
void LongSum::add(double term) {
  const double sum = high + term;
  const double of_term = sum - high;
  low += (high - (sum - of_term)) + (term - of_term);
  high = sum;
}

void LongSum::multiply(double power_of_two) {
  high *= power_of_two;
  low *= power_of_two;
}

void ScaleBuilder::add(double number, double weight) {
  if (number != number) return;
  if (count_++ == 0) first_ = number;
  low_ = std::min(low_, number);
  high_ = std::max(high_, number);
  if (std::abs(number) >= limit_) change_unit(std::abs(number));
  const double distance = number * unit_ - first_ * unit_;
  const double square = distance * distance;
  weight_.add(weight);
  distances_.add(weight * distance);
  squares_.add(weight * square);
  // What rounding took from the products.
  distances_.low += std::fma(weight, distance, -weight * distance);
  squares_.low +=
      weight * std::fma(distance, distance, -square) + std::fma(weight, square, -weight * square);
}

void ScaleBuilder::change_unit(double size) {
  const int exponent = std::clamp(std::ilogb(size), -1022, 1022);
  // Sums of numbers that are negligible next to this one may become 0.
  const double ratio = std::scalbn(1.0, exponent_ - exponent);
  distances_.multiply(ratio);
  squares_.multiply(ratio);
  squares_.multiply(ratio);
  exponent_ = exponent;
  unit_ = std::scalbn(1.0, -exponent);
  limit_ =
      exponent == 1022 ? std::numeric_limits<double>::infinity() : std::scalbn(1.0, exponent + 1);
}

Scale ScaleBuilder::finish() const {
  if (count_ == 0) return {};
  if (low_ == high_) return {low_, 0};
  const double count = weight_.high + weight_.low;
  const double mean = distances_.high / count + distances_.low / count;
  // sum (d - mean)^2 = sum d^2 - mean sum d, where the two parts of each have the digits that cancel.
  const double product = mean * distances_.high;
  LongSum centred = squares_;
  centred.add(-product);
  centred.low -= std::fma(mean, distances_.high, -product) + mean * distances_.low;
  // `mean` is rounded: with m the true mean, sum (d - m)^2 is this minus the error of `mean` times sum d.
  const double rest = std::fma(-mean, count, distances_.high) + distances_.low;
  const double variance = (centred.high + centred.low - rest * (distances_.high / count)) / count;
  const double deviation = std::scalbn(std::sqrt(variance), exponent_);
  const double middle = first_ * unit_ + mean;
  const double farthest = std::max(high_ * unit_ - middle, middle - low_ * unit_);
  return {std::scalbn(middle, exponent_),
          std::max(deviation, std::numeric_limits<double>::denorm_min()),
          farthest / std::sqrt(variance)};
}

Scale scale_of(std::span<const double> numbers) {
  ScaleBuilder builder;
  for (const double number : numbers) builder.add(number);
  return builder.finish();
}

}  // namespace dma
