// The dense layer, several weights at a time; included once per instruction set by simd.cc.
//
// With S = s + v_i and e = m - z_i for a unit (message N(m, s), forward N(z_i, v_i)):
//
// update and linear (d_a = S - va w^2, see factors/product.h with the cavity put in):
//   weight:  w += (e / S) v a,  v -= (v a)^2 / S                       no division per weight
//   to a_j:  r = w / d_a:  rho += r w,  tau += r (e + w a);  the sum of r w a is rho a, added at the end
//
// direct (Prop. product-bwd; c = e + w a, vc = S - v (a^2 + va) - va w^2):
//   to w_ij: q = a^2 / (a^2 + va), d = vc + c^2 (1 - q):  rho = q^3 a^2 / d, tau = q^2 a c / d
//   weight:  v' = v d / (d + v q^3 a^2),  w' = (w d + v q^2 a c) / (d + v q^3 a^2)
//   to a_j:  the same with (w, v) in place of (a, va): with E = w^2 + v, q = w^2 / E and D = E vc + c^2 v,
//            rho = q^2 w^4 / D, tau = q w^3 c / D;  q w^2 / D = w^4 / (E D) is in both
//
// Units are taken four (forward, update) or two (linear) at a time, so that inputs are loaded once for all of
// them, sums do not wait for each other, and a lane's sums are folded for four units together.
//
// Vectors are neither members nor array elements nor passed by reference: those of some instruction sets (SVE) have no
// size at compile time.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/layer.h"

#if defined(DMA_KERNELS_LAYER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMA_KERNELS_LAYER_INL_H_
#undef DMA_KERNELS_LAYER_INL_H_
#else
#define DMA_KERNELS_LAYER_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace dma::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A vector is never longer than the slack.
template <class T>
using Lanes = hn::CappedTag<T, slack>;

#if HWY_TARGET == HWY_SCALAR
template <class D, class V>
HWY_INLINE void store_sums(D d, V a, V b, V c, V e, hn::TFromD<D>* to) {
  hn::StoreU(a, d, to);
  hn::StoreU(b, d, to + 1);
  hn::StoreU(c, d, to + 2);
  hn::StoreU(e, d, to + 3);
}
#else
// Sums of neighbouring lanes: those of `a`, then those of `b`.
template <class D, class V>
HWY_INLINE V add_neighbours(D d, V a, V b) {
  return hn::Add(hn::ConcatEven(d, b, a), hn::ConcatOdd(d, b, a));
}

// The sums of the lanes of four vectors. Writes a whole vector, or two short ones.
template <class D, class V>
HWY_INLINE void store_sums(D d, V a, V b, V c, V e, hn::TFromD<D>* to) {
  const auto first = add_neighbours(d, a, b);
  const auto second = add_neighbours(d, c, e);
  if (hn::Lanes(d) == 2) {
    hn::StoreU(first, d, to);
    hn::StoreU(second, d, to + 2);
    return;
  }
  auto all = add_neighbours(d, first, second);
  for (std::size_t lanes = hn::Lanes(d); lanes > 4; lanes /= 2) all = add_neighbours(d, all, all);
  hn::StoreU(all, d, to);
}
#endif

template <class D, class V>
HWY_INLINE hn::TFromD<D> sum(D d, V v) {
  return hn::GetLane(hn::SumOfLanes(d, v));
}

// The messages to the units, in the form that the update of their weights needs.
template <class T>
struct Heard {
  const T* total;       // S
  const T* inverse;     // 1 / S
  const T* innovation;  // e; 0 for a unit that received no information
  const T* step;        // e / S
  // Given this, a weight's new variance is a number if the old one was: a NaN among the weights reaches the sum of its
  // unit.
  bool sound;
  // Whether no new variance can be 0 or below by rounding. v a^2 is one of the terms of the sum v_i, so
  // that v (1 - v a^2 / S) is positive as long as s is more than the rounding of that sum.
  bool positive;
};

template <class T>
HWY_INLINE Heard<T> hear_all(const DenseLayer<T>& layer, const UnitMessages<T>& units,
                             const Scratch<T>& scratch) {
  const Lanes<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto zero = hn::Zero(d);
  const auto one = hn::Set(d, T(1));
  const auto infinity = hn::Set(d, std::numeric_limits<T>::infinity());
  const auto rounding = hn::Set(d, T(layer.inputs + 16) * std::numeric_limits<T>::epsilon());
  auto sound = one, positive = one;
  for (std::size_t i = 0; i < layer.outputs; i += lanes) {
    const auto s = hn::LoadU(d, units.back_variance + i);
    const auto total = hn::Add(s, hn::LoadU(d, units.forward_variance + i));
    const auto inverse = hn::Div(one, total);
    const auto miss =
        hn::Sub(hn::LoadU(d, units.back_mean + i), hn::LoadU(d, units.forward_mean + i));
    const auto innovation = hn::IfThenElseZero(hn::Lt(s, infinity), miss);
    const auto step = hn::Mul(innovation, inverse);
    hn::StoreU(total, d, scratch.of_units[0] + i);
    hn::StoreU(inverse, d, scratch.of_units[1] + i);
    hn::StoreU(innovation, d, scratch.of_units[2] + i);
    hn::StoreU(step, d, scratch.of_units[3] + i);
    const auto others = hn::Not(hn::FirstN(d, layer.outputs - i));
    const auto finite = hn::Eq(hn::Mul(step, zero), zero);
    sound = hn::IfThenElseZero(hn::Or(others, hn::And(hn::Gt(total, zero), finite)), sound);
    const auto above = hn::Ge(s, hn::Mul(rounding, total));
    positive = hn::IfThenElseZero(hn::Or(others, above), positive);
  }
  return {scratch.of_units[0],
          scratch.of_units[1],
          scratch.of_units[2],
          scratch.of_units[3],
          hn::GetLane(hn::MinOfLanes(d, sound)) > 0,
          hn::GetLane(hn::MinOfLanes(d, positive)) > 0};
}

template <class D, class V>
HWY_INLINE bool all_positive(D d, V smallest) {
  return hn::GetLane(hn::MinOfLanes(d, smallest)) > 0;
}

template <class T>
void forward_exact(const DenseLayer<T>& layer, const LayerInput<T>& input,
                   const UnitSums<T>& sums) {
  const Lanes<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t n = layer.inputs;
  std::size_t i = 0;
  for (; i + 4 <= layer.outputs; i += 4) {
    const T* w = layer.mean + i * n;
    const T* v = layer.variance + i * n;
    auto m0 = hn::Zero(d), m1 = m0, m2 = m0, m3 = m0, v0 = m0, v1 = m0, v2 = m0, v3 = m0;
    for (std::size_t j = 0; j < n; j += lanes) {
      const auto a = hn::LoadU(d, input.mean + j);
      const auto square = hn::LoadU(d, input.square + j);
      m0 = hn::MulAdd(hn::LoadU(d, w + j), a, m0);
      m1 = hn::MulAdd(hn::LoadU(d, w + n + j), a, m1);
      m2 = hn::MulAdd(hn::LoadU(d, w + 2 * n + j), a, m2);
      m3 = hn::MulAdd(hn::LoadU(d, w + 3 * n + j), a, m3);
      v0 = hn::MulAdd(hn::LoadU(d, v + j), square, v0);
      v1 = hn::MulAdd(hn::LoadU(d, v + n + j), square, v1);
      v2 = hn::MulAdd(hn::LoadU(d, v + 2 * n + j), square, v2);
      v3 = hn::MulAdd(hn::LoadU(d, v + 3 * n + j), square, v3);
    }
    store_sums(d, m0, m1, m2, m3, sums.mean + i);
    store_sums(d, v0, v1, v2, v3, sums.variance + i);
  }
  for (; i < layer.outputs; ++i) {
    const T* w = layer.mean + i * n;
    const T* v = layer.variance + i * n;
    auto mean = hn::Zero(d), variance = mean;
    for (std::size_t j = 0; j < n; j += lanes) {
      mean = hn::MulAdd(hn::LoadU(d, w + j), hn::LoadU(d, input.mean + j), mean);
      variance = hn::MulAdd(hn::LoadU(d, v + j), hn::LoadU(d, input.square + j), variance);
    }
    sums.mean[i] = sum(d, mean);
    sums.variance[i] = sum(d, variance);
  }
}

// va w^2 + sum
template <class V>
HWY_INLINE V add_noise(V w, V va, V sum) {
  return hn::MulAdd(hn::Mul(w, va), w, sum);
}

template <class T>
void forward(const DenseLayer<T>& layer, const LayerInput<T>& input, const UnitSums<T>& sums) {
  const Lanes<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t n = layer.inputs;
  std::size_t i = 0;
  for (; i + 4 <= layer.outputs; i += 4) {
    const T* w = layer.mean + i * n;
    const T* v = layer.variance + i * n;
    auto m0 = hn::Zero(d), m1 = m0, m2 = m0, m3 = m0, v0 = m0, v1 = m0, v2 = m0, v3 = m0;
    auto noise0 = m0, noise1 = m0, noise2 = m0, noise3 = m0;
    for (std::size_t j = 0; j < n; j += lanes) {
      const auto a = hn::LoadU(d, input.mean + j);
      const auto square = hn::LoadU(d, input.square + j);
      const auto va = hn::LoadU(d, input.variance + j);
      const auto w0 = hn::LoadU(d, w + j);
      const auto w1 = hn::LoadU(d, w + n + j);
      const auto w2 = hn::LoadU(d, w + 2 * n + j);
      const auto w3 = hn::LoadU(d, w + 3 * n + j);
      m0 = hn::MulAdd(w0, a, m0);
      m1 = hn::MulAdd(w1, a, m1);
      m2 = hn::MulAdd(w2, a, m2);
      m3 = hn::MulAdd(w3, a, m3);
      noise0 = add_noise(w0, va, noise0);
      noise1 = add_noise(w1, va, noise1);
      noise2 = add_noise(w2, va, noise2);
      noise3 = add_noise(w3, va, noise3);
      v0 = hn::MulAdd(hn::LoadU(d, v + j), square, v0);
      v1 = hn::MulAdd(hn::LoadU(d, v + n + j), square, v1);
      v2 = hn::MulAdd(hn::LoadU(d, v + 2 * n + j), square, v2);
      v3 = hn::MulAdd(hn::LoadU(d, v + 3 * n + j), square, v3);
    }
    store_sums(d, m0, m1, m2, m3, sums.mean + i);
    store_sums(d, hn::Add(v0, noise0), hn::Add(v1, noise1), hn::Add(v2, noise2),
               hn::Add(v3, noise3), sums.variance + i);
  }
  for (; i < layer.outputs; ++i) {
    const T* w_row = layer.mean + i * n;
    const T* v_row = layer.variance + i * n;
    auto mean = hn::Zero(d), variance = mean, noise = mean;
    for (std::size_t j = 0; j < n; j += lanes) {
      const auto w = hn::LoadU(d, w_row + j);
      mean = hn::MulAdd(w, hn::LoadU(d, input.mean + j), mean);
      variance = hn::MulAdd(hn::LoadU(d, v_row + j), hn::LoadU(d, input.square + j), variance);
      noise = add_noise(w, hn::LoadU(d, input.variance + j), noise);
    }
    sums.mean[i] = sum(d, mean);
    sums.variance[i] = sum(d, hn::Add(variance, noise));
  }
}

// w += step v a
template <class V>
HWY_INLINE V learnt_mean(V w, V va, V step) {
  return hn::MulAdd(va, step, w);
}

// v -= (v a)^2 / S
template <class V>
HWY_INLINE V learnt_variance(V v, V va, V inverse) {
  return hn::NegMulAdd(hn::Mul(va, inverse), va, v);
}

// Where a vector reaches into the next row the input is 0, so that weights there stay what they are. Rows are
// taken one after the other, a row's load after the store of the one before: they overlap in that case.
template <class T>
bool update(const DenseLayer<T>& layer, const LayerInput<T>& input, const UnitMessages<T>& units,
            const Scratch<T>& scratch) {
  const Lanes<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t n = layer.inputs;
  const Heard<T> heard = hear_all(layer, units, scratch);
  const T* input_mean = input.mean;
  auto smallest = hn::Set(d, T(1));
  for (std::size_t i = 0; i < layer.outputs; ++i) {
    T* w_row = layer.mean + i * n;
    T* v_row = layer.variance + i * n;
    const auto inverse = hn::Set(d, heard.inverse[i]), step = hn::Set(d, heard.step[i]);
    for (std::size_t j = 0; j < n; j += lanes) {
      const auto v = hn::LoadU(d, v_row + j);
      const auto va = hn::Mul(v, hn::LoadU(d, input_mean + j));
      const auto new_v = learnt_variance(v, va, inverse);
      hn::StoreU(learnt_mean(hn::LoadU(d, w_row + j), va, step), d, w_row + j);
      hn::StoreU(new_v, d, v_row + j);
      smallest = hn::Min(smallest, new_v);
    }
  }
  return heard.sound && all_positive(d, smallest);
}

template <bool checked, class T>
HWY_INLINE bool update_rows_then_forward(const DenseLayer<T>& layer, const LayerInput<T>& input,
                                         const Heard<T>& heard, const LayerInput<T>& next,
                                         const UnitSums<T>& next_sums) {
  const Lanes<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t n = layer.inputs;
  const T* input_mean = input.mean;
  const T* next_mean = next.mean;
  const T* next_square = next.square;
  auto smallest = hn::Set(d, T(1));
#define DMA_LEARN_ROW(inverse, step, w_at, v_at, mean_sum, variance_sum) \
  {                                                                      \
    const auto old_v = hn::LoadU(d, v_at);                               \
    const auto va = hn::Mul(old_v, a);                                   \
    const auto new_w = learnt_mean(hn::LoadU(d, w_at), va, step);        \
    const auto new_v = learnt_variance(old_v, va, inverse);              \
    hn::StoreU(new_w, d, w_at);                                          \
    hn::StoreU(new_v, d, v_at);                                          \
    if (checked) smallest = hn::Min(smallest, new_v);                    \
    (mean_sum) = hn::MulAdd(new_w, next_a, mean_sum);                    \
    (variance_sum) = hn::MulAdd(new_v, square, variance_sum);            \
  }
  std::size_t i = 0;
  for (; i + 4 <= layer.outputs; i += 4) {
    T* w = layer.mean + i * n;
    T* v = layer.variance + i * n;
    const auto inverse0 = hn::Set(d, heard.inverse[i]), step0 = hn::Set(d, heard.step[i]);
    const auto inverse1 = hn::Set(d, heard.inverse[i + 1]), step1 = hn::Set(d, heard.step[i + 1]);
    const auto inverse2 = hn::Set(d, heard.inverse[i + 2]), step2 = hn::Set(d, heard.step[i + 2]);
    const auto inverse3 = hn::Set(d, heard.inverse[i + 3]), step3 = hn::Set(d, heard.step[i + 3]);
    auto m0 = hn::Zero(d), m1 = m0, m2 = m0, m3 = m0, v0 = m0, v1 = m0, v2 = m0, v3 = m0;
    for (std::size_t j = 0; j < n; j += lanes) {
      const auto a = hn::LoadU(d, input_mean + j);
      const auto next_a = hn::LoadU(d, next_mean + j);
      const auto square = hn::LoadU(d, next_square + j);
      DMA_LEARN_ROW(inverse0, step0, w + j, v + j, m0, v0)
      DMA_LEARN_ROW(inverse1, step1, w + n + j, v + n + j, m1, v1)
      DMA_LEARN_ROW(inverse2, step2, w + 2 * n + j, v + 2 * n + j, m2, v2)
      DMA_LEARN_ROW(inverse3, step3, w + 3 * n + j, v + 3 * n + j, m3, v3)
    }
    store_sums(d, m0, m1, m2, m3, next_sums.mean + i);
    store_sums(d, v0, v1, v2, v3, next_sums.variance + i);
  }
  for (; i < layer.outputs; ++i) {
    T* w = layer.mean + i * n;
    T* v = layer.variance + i * n;
    const auto inverse = hn::Set(d, heard.inverse[i]), step = hn::Set(d, heard.step[i]);
    auto mean = hn::Zero(d), variance = mean;
    for (std::size_t j = 0; j < n; j += lanes) {
      const auto a = hn::LoadU(d, input_mean + j);
      const auto next_a = hn::LoadU(d, next_mean + j);
      const auto square = hn::LoadU(d, next_square + j);
      DMA_LEARN_ROW(inverse, step, w + j, v + j, mean, variance)
    }
    next_sums.mean[i] = sum(d, mean);
    next_sums.variance[i] = sum(d, variance);
  }
#undef DMA_LEARN_ROW
  return all_positive(d, smallest);
}

template <class T>
bool update_then_forward(const DenseLayer<T>& layer, const LayerInput<T>& input,
                         const UnitMessages<T>& units, const Scratch<T>& scratch,
                         const LayerInput<T>& next, const UnitSums<T>& next_sums) {
  const Heard<T> heard = hear_all(layer, units, scratch);
  const bool positive = heard.positive
                            ? update_rows_then_forward<false>(layer, input, heard, next, next_sums)
                            : update_rows_then_forward<true>(layer, input, heard, next, next_sums);
  return heard.sound && positive;
}

// S - va w^2
template <class V>
HWY_INLINE V without_input(V w, V va, V total) {
  return hn::NegMulAdd(hn::Mul(w, w), va, total);
}

template <bool checked, class T>
HWY_INLINE bool backward_linear_rows(const DenseLayer<T>& layer, const LayerInput<T>& input,
                                     const Heard<T>& heard, const InputMessages<T>& to_input) {
  const Lanes<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t n = layer.inputs;
  const T* input_mean = input.mean;
  const T* input_variance = input.variance;
  T* to_tau = to_input.tau;
  T* to_rho = to_input.rho;
  auto smallest = hn::Set(d, T(1));
  // Adds the row's messages to the inputs, given its ratio r, and updates its weights.
#define DMA_LEARN_ROW(k, w, ratio, w_at, v_at)             \
  {                                                        \
    tau = hn::MulAdd(ratio, innovation##k, tau);           \
    rho = hn::MulAdd(ratio, w, rho);                       \
    const auto v = hn::LoadU(d, v_at);                     \
    const auto va = hn::Mul(v, a);                         \
    const auto new_v = learnt_variance(v, va, inverse##k); \
    hn::StoreU(learnt_mean(w, va, step##k), d, w_at);      \
    hn::StoreU(new_v, d, v_at);                            \
    if (checked) smallest = hn::Min(smallest, new_v);      \
  }
  std::size_t i = 0;
  // A short row's vector reaches into the row below, whose old weights it stores again: the lower one comes last.
  for (; i + 2 <= layer.outputs; i += 2) {
    T* w_row = layer.mean + i * n;
    T* v_row = layer.variance + i * n;
    const auto total0 = hn::Set(d, heard.total[i]), inverse0 = hn::Set(d, heard.inverse[i]);
    const auto innovation0 = hn::Set(d, heard.innovation[i]), step0 = hn::Set(d, heard.step[i]);
    const auto total1 = hn::Set(d, heard.total[i + 1]), inverse1 = hn::Set(d, heard.inverse[i + 1]);
    const auto innovation1 = hn::Set(d, heard.innovation[i + 1]),
               step1 = hn::Set(d, heard.step[i + 1]);
    for (std::size_t j = 0; j < n; j += lanes) {
      const auto a = hn::LoadU(d, input_mean + j);
      const auto va = hn::LoadU(d, input_variance + j);
      const auto w0 = hn::LoadU(d, w_row + j);
      const auto w1 = hn::LoadU(d, w_row + n + j);
      const auto ratio0 = hn::Div(w0, without_input(w0, va, total0));
      const auto ratio1 = hn::Div(w1, without_input(w1, va, total1));
      auto tau = hn::LoadU(d, to_tau + j);
      auto rho = hn::LoadU(d, to_rho + j);
      DMA_LEARN_ROW(0, w0, ratio0, w_row + j, v_row + j)
      DMA_LEARN_ROW(1, w1, ratio1, w_row + n + j, v_row + n + j)
      hn::StoreU(tau, d, to_tau + j);
      hn::StoreU(rho, d, to_rho + j);
    }
  }
  for (; i < layer.outputs; ++i) {
    T* w_row = layer.mean + i * n;
    T* v_row = layer.variance + i * n;
    const auto total0 = hn::Set(d, heard.total[i]), inverse0 = hn::Set(d, heard.inverse[i]);
    const auto innovation0 = hn::Set(d, heard.innovation[i]), step0 = hn::Set(d, heard.step[i]);
    for (std::size_t j = 0; j < n; j += lanes) {
      const auto a = hn::LoadU(d, input_mean + j);
      const auto va = hn::LoadU(d, input_variance + j);
      const auto w = hn::LoadU(d, w_row + j);
      const auto ratio = hn::Div(w, without_input(w, va, total0));
      auto tau = hn::LoadU(d, to_tau + j);
      auto rho = hn::LoadU(d, to_rho + j);
      DMA_LEARN_ROW(0, w, ratio, w_row + j, v_row + j)
      hn::StoreU(tau, d, to_tau + j);
      hn::StoreU(rho, d, to_rho + j);
    }
  }
#undef DMA_LEARN_ROW
  for (std::size_t j = 0; j < n; j += lanes) {
    const auto tau = hn::MulAdd(hn::LoadU(d, to_rho + j), hn::LoadU(d, input_mean + j),
                                hn::LoadU(d, to_tau + j));
    hn::StoreU(tau, d, to_tau + j);
  }
  return all_positive(d, smallest);
}

template <class T>
bool backward_linear(const DenseLayer<T>& layer, const LayerInput<T>& input,
                     const UnitMessages<T>& units, const InputMessages<T>& to_input,
                     const Scratch<T>& scratch) {
  std::fill_n(to_input.tau, layer.inputs + slack, T(0));
  std::fill_n(to_input.rho, layer.inputs + slack, T(0));
  const Heard<T> heard = hear_all(layer, units, scratch);
  const bool positive = heard.positive ? backward_linear_rows<false>(layer, input, heard, to_input)
                                       : backward_linear_rows<true>(layer, input, heard, to_input);
  return heard.sound && positive;
}

// Whether products of a few variances, and squares of means, neither overflow nor underflow.
template <class T>
HWY_INLINE bool is_moderate(T total, T innovation) {
  constexpr T most = sizeof(T) > sizeof(float) ? T(1e60) : T(1e12);
  return total > 1 / most && total < most && std::abs(innovation) < most;
}

// q^3 a^2, q^2 a and 1 - q, by input. If an input is certainly 0, so are all three.
template <class T>
void input_shares(const DenseLayer<T>& layer, const LayerInput<T>& input,
                  const Scratch<T>& scratch) {
  const Lanes<T> d;
  const auto one = hn::Set(d, T(1));
  for (std::size_t j = 0; j < layer.inputs; j += hn::Lanes(d)) {
    const auto a = hn::LoadU(d, input.mean + j);
    const auto square = hn::LoadU(d, input.square + j);
    const auto inverse = hn::Div(one, hn::IfThenElse(hn::Gt(square, hn::Zero(d)), square, one));
    const auto q = hn::Mul(hn::Mul(a, a), inverse);
    const auto tau = hn::Mul(hn::Mul(q, q), a);
    hn::StoreU(hn::Mul(hn::Mul(tau, q), a), d, scratch.of_inputs[0] + j);
    hn::StoreU(tau, d, scratch.of_inputs[1] + j);
    hn::StoreU(hn::Mul(hn::LoadU(d, input.variance + j), inverse), d, scratch.of_inputs[2] + j);
  }
}

// One row of backward_direct for numbers of any size: every quotient is computed on its own, and only a quotient is
// multiplied by a large number.
template <class T>
bool learn_direct_carefully(const DenseLayer<T>& layer, const LayerInput<T>& input,
                            const Heard<T>& heard, const InputMessages<T>& to_input,
                            const Scratch<T>& scratch, std::size_t i) {
  const T* w_row = layer.mean + i * layer.inputs;
  const T* v_row = layer.variance + i * layer.inputs;
  bool sound = true;
  for (std::size_t j = 0; j < layer.inputs; ++j) {
    const T w = w_row[j];
    const T v = v_row[j];
    const T c = heard.innovation[i] + w * input.mean[j];
    const T cavity = heard.total[i] - v * input.square[j] - input.variance[j] * w * w;
    const T q = w * w / (w * w + v);
    const T to_a = cavity + c * (c * (1 - q));
    to_input.rho[j] += q * q * q * w * w / to_a;
    to_input.tau[j] += q * q * w * (c / to_a);
    const T to_w = cavity + c * (c * scratch.of_inputs[2][j]);
    const T shrink = 1 / (1 + v * (scratch.of_inputs[0][j] / to_w));
    layer.mean[i * layer.inputs + j] = (w + v * (scratch.of_inputs[1][j] * (c / to_w))) * shrink;
    layer.variance[i * layer.inputs + j] = v * shrink;
    sound = sound && cavity > 0 && v * shrink > 0;
  }
  return sound;
}

template <class T>
bool backward_direct(const DenseLayer<T>& layer, const LayerInput<T>& input,
                     const UnitMessages<T>& units, const InputMessages<T>& to_input,
                     const Scratch<T>& scratch) {
  const Lanes<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t n = layer.inputs;
  const T *input_mean = input.mean, *input_variance = input.variance, *input_square = input.square;
  const T *share_rho = scratch.of_inputs[0], *share_tau = scratch.of_inputs[1],
          *spread = scratch.of_inputs[2];
  T* to_tau = to_input.tau;
  T* to_rho = to_input.rho;
  const auto one = hn::Set(d, T(1));
  auto sound = one;
  std::fill_n(to_tau, n + slack, T(0));
  std::fill_n(to_rho, n + slack, T(0));
  input_shares(layer, input, scratch);
  const Heard<T> heard = hear_all(layer, units, scratch);
  bool careful = true;
  for (std::size_t i = 0; i < layer.outputs; ++i) {
    if (std::isinf(units.back_variance[i])) continue;
    if (!is_moderate(heard.total[i], heard.innovation[i])) {
      careful = learn_direct_carefully(layer, input, heard, to_input, scratch, i) && careful;
      continue;
    }
    T* w_row = layer.mean + i * n;
    T* v_row = layer.variance + i * n;
    for (std::size_t j = 0; j < n; j += lanes) {
      const auto w = hn::LoadU(d, w_row + j);
      const auto v = hn::LoadU(d, v_row + j);
      const auto ww = hn::Mul(w, w);
      const auto c = hn::MulAdd(w, hn::LoadU(d, input_mean + j), hn::Set(d, heard.innovation[i]));
      const auto cc = hn::Mul(c, c);
      const auto without =
          hn::NegMulAdd(v, hn::LoadU(d, input_square + j), hn::Set(d, heard.total[i]));
      const auto cavity = hn::NegMulAdd(hn::LoadU(d, input_variance + j), ww, without);

      const auto energy = hn::Add(ww, v);
      const auto total = hn::MulAdd(cc, v, hn::Mul(energy, cavity));
      const auto own = hn::MulAdd(cc, hn::LoadU(d, spread + j), cavity);
      const auto below = hn::MulAdd(v, hn::LoadU(d, share_rho + j), own);
      const auto both = hn::Div(one, hn::Mul(energy, total));
      const auto inverse = hn::Div(one, below);

      const auto share = hn::Mul(hn::Mul(ww, ww), both);  // q w^2 / D
      const auto rho = hn::MulAdd(share, hn::Mul(share, total), hn::LoadU(d, to_rho + j));
      const auto tau = hn::MulAdd(share, hn::Mul(w, c), hn::LoadU(d, to_tau + j));
      hn::StoreU(rho, d, to_rho + j);
      hn::StoreU(tau, d, to_tau + j);

      const auto push = hn::Mul(v, hn::Mul(hn::LoadU(d, share_tau + j), c));
      auto new_v = hn::Mul(v, hn::Mul(own, inverse));
      auto new_w = hn::Mul(hn::MulAdd(w, own, push), inverse);
      if (j + lanes > n) {
        const auto here = hn::FirstN(d, n - j);
        new_v = hn::IfThenElse(here, new_v, v);
        new_w = hn::IfThenElse(here, new_w, w);
      }
      hn::StoreU(new_w, d, w_row + j);
      hn::StoreU(new_v, d, v_row + j);
      // If the cavity is positive, so is every divisor. A NaN is not.
      sound = hn::IfThenElseZero(hn::Gt(cavity, hn::Zero(d)), sound);
    }
  }
  return heard.sound && careful && all_positive(d, sound);
}

}  // namespace HWY_NAMESPACE
}  // namespace dma::kernels
HWY_AFTER_NAMESPACE();

#endif  // per target
