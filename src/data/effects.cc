#include <dma/data/effects.h>

#include <cmath>

namespace dma {

Effect effect_of(const Effects& effects, double weight, double sum) {
  if (effects.between == 0) return {0, 0};
  const double ratio = effects.ratio();
  return {sum / (weight + ratio) / effects.between, std::sqrt(ratio / (weight + ratio))};
}

}  // namespace dma
