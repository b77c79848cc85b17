// kernels/layer.h: what a sweep does to one dense layer for one example, and to the belief around a batch.
//
// The layer's factors are z_ij = w_ij a_j (products) and z_i = sum_j z_ij (sums); a_j is the input
// N(a, va), known exactly (va = 0) in the first layer. Weights are independent, N(mean, variance).
//
//   forward    z_i = N(sum_j w a, sum_j [v (a^2 + va) + va w^2])
//   backward   for each unit with a message N(m, s) on z_i:
//     cavity of z_ij   N(m - z_i + z_ij, s + v_i - v_ij)           (sum factor, App. D)
//     to w_ij, to a_j  product backward messages by the rule, all from the old beliefs;
//                      the weight's belief takes its message at once, messages to a_j are added up
//   update     backward for inputs that are known exactly: nothing is sent to them, and both rules agree
//   activate   y_i = leaky ReLU of z_i, forward                     (factors/leaky_relu.h)
//   hear       the same backward: the message from y_i to z_i
//
// Two implementations with the same entry points: scalar, which calls the factor library, and simd,
// which is what runs. tests/kernels ties them together.
#pragma once

#include <concepts>
#include <cstddef>
#include <limits>

#include <dma/factors/factor.h>

namespace dma::kernels {

// Rows of weights lie one after the other, without gaps, and are swept in whole vectors: the last vector of a
// row reaches into the next one, where it reads, and writes back, what is there. Arrays of weights, inputs
// and units therefore have this many entries more than they need; after the last weight with mean 0 and
// variance 1, after the last input 0.
inline constexpr std::size_t slack = 16;

template <std::floating_point T>
struct DenseLayer {
  std::size_t outputs, inputs;
  T* mean;
  T* variance;
};

template <std::floating_point T>
struct LayerInput {
  const T* mean;
  const T* variance;  // null: known exactly
  const T* square;    // its mean: mean^2 + variance
};

// Moments of the sums z_i.
template <std::floating_point T>
struct UnitSums {
  T* mean;
  T* variance;
};

// The messages to the sums z_i from above, and what they sent forward. An infinite back_variance is the uniform
// message: the unit teaches nothing.
template <std::floating_point T>
struct UnitMessages {
  const T* back_mean;
  const T* back_variance;
  const T* forward_mean;
  const T* forward_variance;
};

// Products of the messages to the inputs, in natural parameters.
template <std::floating_point T>
struct InputMessages {
  T* tau;
  T* rho;
};

// Scratch memory for what depends only on the input, or only on the unit.
template <std::floating_point T>
struct Scratch {
  T* of_inputs[3];
  T* of_units[4];
};

// The units between two layers.
template <std::floating_point T>
struct Units {
  std::size_t count;
  T slope;
  T prior_precision;  // of the zero-mean prior on z_i; 0: none
  UnitSums<T> sum;    // as the parts of z_i add up
  T* z_mean;          // times the prior
  T* z_variance;
  T* y_mean;
  T* y_variance;
  T* y_square;  // mean of y^2
  // Gain and residual of the best linear map from z to y (factors/linearise.h).
  T* gain;
  T* residual;
  // Product of the messages to z_i, except for its sum's.
  T* back_mean;
  T* back_variance;
};

// The belief around a batch: the cavity, and the moments that the sweep starts from and changes.
template <std::floating_point T>
struct BatchBelief {
  std::size_t weights;
  const T* cavity_tau;
  const T* cavity_rho;
  T* start_mean;
  T* start_variance;
  T* mean;
  T* variance;
};

// The outcome of a batch.
struct Closed {
  bool proper = true;        // every weight's new belief is a proper Gaussian
  std::size_t negative = 0;  // messages of negative precision, beyond rounding
};

// Rounding that a precision may have, relative to it.
template <std::floating_point T>
inline constexpr T rounding_of_precision = 64 * std::numeric_limits<T>::epsilon();

template <std::floating_point T>
struct LayerKernels {
  void (*forward)(const DenseLayer<T>& layer, const LayerInput<T>& input, const UnitSums<T>& sums);
  void (*forward_exact)(const DenseLayer<T>& layer, const LayerInput<T>& input,
                        const UnitSums<T>& sums);
  // False if a weight's new variance is not positive: the numbers broke down. The same applies below.
  bool (*backward_direct)(const DenseLayer<T>& layer, const LayerInput<T>& input,
                          const UnitMessages<T>& units, const InputMessages<T>& to_input,
                          const Scratch<T>& scratch);
  bool (*backward_linear)(const DenseLayer<T>& layer, const LayerInput<T>& input,
                          const UnitMessages<T>& units, const InputMessages<T>& to_input,
                          const Scratch<T>& scratch);
  bool (*update)(const DenseLayer<T>& layer, const LayerInput<T>& input,
                 const UnitMessages<T>& units, const Scratch<T>& scratch);
  // update(), then forward_exact() with the next example's input, in one pass over the weights. The sums
  // must not be those of the messages.
  bool (*update_then_forward)(const DenseLayer<T>& layer, const LayerInput<T>& input,
                              const UnitMessages<T>& units, const Scratch<T>& scratch,
                              const LayerInput<T>& next, const UnitSums<T>& next_sums);
  // False if a sum is not finite, or its variance negative.
  bool (*activate)(const Units<T>& units);
  void (*hear_direct)(const Units<T>& units, const InputMessages<T>& from_above);
  void (*hear_linear)(const Units<T>& units, const InputMessages<T>& from_above);
  // Sets start and moments from the cavity.
  void (*open_batch)(const BatchBelief<T>& belief);
  // The batch's message is what the moments (m, v) have gained over the start (m0, v0),
  //   rho = 1 / v - 1 / v0 = (v0 - v) / (v0 v),   tau = m / v - m0 / v0 = (m (v0 - v) + (m - m0) v) / (v0 v),
  // exactly 0 for a weight that has learnt nothing, and never negative for one whose variance has not grown.
  // The new belief is the cavity times the message. The message may overwrite the start, and the new belief the cavity.
  Closed (*close_batch)(const BatchBelief<T>& belief, const InputMessages<T>& message,
                        const InputMessages<T>& new_belief);
};

template <std::floating_point T>
const LayerKernels<T>& scalar();

// For the best instruction set of this machine.
template <std::floating_point T>
const LayerKernels<T>& simd();

}  // namespace dma::kernels
