#include <dma/data/bounds.h>

#include <array>

namespace dma {

Bounds natural_bounds(double smallest, double largest, double deviation) {
  if (!(smallest >= 0)) return {};
  for (const double high : std::array{1.0, 100.0}) {
    if (largest <= high && high - largest <= deviation / 4) return {0, high, true};
  }
  Bounds bounds;
  if (smallest <= deviation / 2) bounds = {0, bounds.high, true};
  return bounds;
}

}  // namespace dma
