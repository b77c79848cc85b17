// special/random.h: random numbers that are the same on every platform.
//
// std::mt19937_64 is defined to the bit, std::normal_distribution is not: normal variates are the
// quantiles of uniform ones.
#pragma once

#include <cstdint>
#include <random>

#include <dma/special/normal.h>

namespace dma::special {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  // Uniform in (0, 1): a multiple of 2^-53 plus 2^-54.
  double uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) * 0x1p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  std::uint64_t seed() { return engine_(); }  // of another generator
  double normal() { return normal_quantile(uniform()); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace dma::special
