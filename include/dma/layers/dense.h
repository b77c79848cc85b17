// layers/dense.h: a dense layer: z_i = sum_j w_ij a_j, and where its weights stand among those of the network.
//
// A bias is a constant input 1, the last one. Who walks through weights asks here: the order is unit by unit.
#pragma once

#include <cstddef>
#include <span>

namespace dma {

struct Dense {
  std::size_t first;   // of its weights
  std::size_t units;   // sums z_i
  std::size_t inputs;  // a_j, with the bias
  bool bias;

  std::size_t weights() const { return units * inputs; }
  std::size_t weight(std::size_t unit, std::size_t input) const {
    return first + unit * inputs + input;
  }
  bool is_bias(std::size_t input) const { return bias && input + 1 == inputs; }

  // Its part of numbers that stand one per weight of the network.
  template <class Numbers>
  auto part(Numbers&& all) const {
    return std::span(all).subspan(first, weights());
  }

  // take(weight, unit, input), in order.
  template <class Take>
  void each_weight(const Take& take) const {
    for (std::size_t i = 0; i < units; ++i) {
      for (std::size_t j = 0; j < inputs; ++j) take(weight(i, j), i, j);
    }
  }
};

}  // namespace dma
