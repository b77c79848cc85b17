// data/scale.h: mean and deviation of numbers of any size.
#pragma once

#include <span>

namespace dma {

struct Scale {
  double mean = 0, deviation = 0;
};

// Of the numbers that are not NaN, which must be finite; the deviation divides by their count. It is 0
// exactly if all are equal or there are none. Scaling the numbers by a power of two scales both results
// by it, to the bit, as long as nothing becomes subnormal.
Scale scale_of(std::span<const double> numbers);

}  // namespace dma
