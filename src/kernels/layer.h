// kernels/layer.h: one dense layer, forward and backward, for one example.
//
// The layer's factors are z_ij = w_ij a_j (products) and z_i = sum_j z_ij (sums); a_j is the input
// N(a, va), known exactly (va = 0) in the first layer. Weights are independent, N(mean, variance).
//
//   forward    z_i = N(sum_j w a, sum_j [v (a^2 + va) + va w^2])
//   backward   for each unit with a message N(m, s) on z_i:
//     cavity of z_ij   N(m - z_i + z_ij, s + v_i - v_ij)           (sum factor, App. D)
//     to w_ij, to a_j  product backward messages by the rule, all from the old beliefs;
//                      the weight's belief takes its message at once, those to a_j are added up
//
// Two implementations with the same entry points: scalar, which calls the factor library, and simd,
// which is what runs. tests/kernels ties them together.
#pragma once

#include <concepts>
#include <cstddef>

#include <dma/factors/factor.h>

namespace dma::kernels {

// Row i of mean and variance holds the weights of unit i, padded with zeros to `stride`, a multiple of
// row_multiple. Inputs are padded alike.
inline constexpr std::size_t row_multiple = 16;

constexpr std::size_t padded(std::size_t inputs) {
  return (inputs + row_multiple - 1) / row_multiple * row_multiple;
}

template <std::floating_point T>
struct DenseLayer {
  std::size_t outputs, inputs, stride;
  T* mean;
  T* variance;
};

template <std::floating_point T>
struct LayerInput {
  const T* mean;
  const T* variance;
  bool exact;  // every variance is 0
};

// What arrives at the sums z_i from above, beside what they sent forward. An infinite back_variance
// is the uniform message: nothing is known, and the unit teaches nothing.
template <std::floating_point T>
struct UnitMessages {
  const T* back_mean;
  const T* back_variance;
  const T* forward_mean;
  const T* forward_variance;
};

// Products of the messages to the inputs, in natural parameters; added to what is there. Null: the
// inputs are data and need none.
template <std::floating_point T>
struct InputMessages {
  T* tau;
  T* rho;
};

// Room for what depends on the input only, three rows of the widest stride.
template <std::floating_point T>
struct Scratch {
  T* rows[3];
};

template <std::floating_point T>
struct LayerKernels {
  void (*forward)(const DenseLayer<T>& layer, const LayerInput<T>& input, T* mean, T* variance);
  // False if a weight's new variance is not positive: the numbers broke down.
  bool (*backward_direct)(const DenseLayer<T>& layer, const LayerInput<T>& input,
                          const UnitMessages<T>& units, const InputMessages<T>& to_input,
                          const Scratch<T>& scratch);
  bool (*backward_linear)(const DenseLayer<T>& layer, const LayerInput<T>& input,
                          const UnitMessages<T>& units, const InputMessages<T>& to_input,
                          const Scratch<T>& scratch);
};

template <std::floating_point T>
const LayerKernels<T>& scalar();

template <std::floating_point T>
const LayerKernels<T>& simd();

}  // namespace dma::kernels
