// data/bounds.h: where the values of a number lie.
#pragma once

#include <limits>

namespace dma {

struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool assumed = false;  // from what was seen, so that a value may lie beyond them after all

  bool any() const {
    return low > -std::numeric_limits<double>::max() || high < std::numeric_limits<double>::max();
  }
  bool contain(double y) const { return low <= y && y <= high; }
};

// The bounds that are natural for numbers from smallest to largest with this deviation, if the numbers come near to them:
// 0 to 1 or 0 to 100 if the largest is within a quarter of a deviation of that end, else from 0 on if none is negative and
// the smallest is within half a deviation of 0.
Bounds natural_bounds(double smallest, double largest, double deviation);

}  // namespace dma
