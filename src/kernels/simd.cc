// The fast kernel: the same messages as scalar.cc, several weights at a time (Google Highway), for
// whichever instruction set the machine has. A weight is loaded once forward and once backward.
//
// With S = s + v_i and e = m - z_i for a unit (message N(m, s), forward N(z_i, v_i)):
//
// linear (d_w = S - v a^2 and d_a = S - va w^2, see factors/product.h with the cavity put in):
//   to a_j:  rho += w^2 / d_a,  tau += w (e + w a) / d_a
//   weight:  k = v a / S,  w += k e,  v *= 1 - k a                    no division
//
// direct (Prop. product-bwd; mc = e + w a, vc = S - v (a^2 + va) - va w^2):
//   to w_ij: q = a^2 / (a^2 + va), d = vc + mc^2 (1 - q):  rho = q^3 a^2 / d, tau = q^2 a mc / d
//   to a_j:  the same with (w, v) in place of (a, va)
//   weight:  v' = v / (1 + v rho),  w' = (w + v tau) / (1 + v rho)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd.cc"
#include <hwy/foreach_target.h>
// foreach_target.h must come first.
#include <hwy/highway.h>

#include <cmath>

#include "kernels/layer.h"

HWY_BEFORE_NAMESPACE();
namespace dma::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// At most row_multiple lanes, so that rows are whole vectors on every machine.
template <class T>
using Lanes = hn::CappedTag<T, row_multiple>;

template <class T>
void forward(const DenseLayer<T>& layer, const LayerInput<T>& input, T* mean, T* variance) {
  const Lanes<T> d;
  const std::size_t step = hn::Lanes(d);
  for (std::size_t i = 0; i < layer.outputs; ++i) {
    const T* w_row = layer.mean + i * layer.stride;
    const T* v_row = layer.variance + i * layer.stride;
    auto sum = hn::Zero(d);
    auto spread = hn::Zero(d);
    if (input.exact) {
      for (std::size_t j = 0; j < layer.stride; j += step) {
        const auto a = hn::LoadU(d, input.mean + j);
        sum = hn::MulAdd(hn::LoadU(d, w_row + j), a, sum);
        spread = hn::MulAdd(hn::LoadU(d, v_row + j), hn::Mul(a, a), spread);
      }
    } else {
      for (std::size_t j = 0; j < layer.stride; j += step) {
        const auto a = hn::LoadU(d, input.mean + j);
        const auto va = hn::LoadU(d, input.variance + j);
        const auto w = hn::LoadU(d, w_row + j);
        sum = hn::MulAdd(w, a, sum);
        spread = hn::MulAdd(hn::LoadU(d, v_row + j), hn::MulAdd(a, a, va), spread);
        spread = hn::MulAdd(va, hn::Mul(w, w), spread);
      }
    }
    mean[i] = hn::GetLane(hn::SumOfLanes(d, sum));
    variance[i] = hn::GetLane(hn::SumOfLanes(d, spread));
  }
}

template <class T>
bool backward_linear(const DenseLayer<T>& layer, const LayerInput<T>& input,
                     const UnitMessages<T>& units, const InputMessages<T>& to_input,
                     const Scratch<T>& /*scratch*/) {
  const Lanes<T> d;
  const std::size_t step = hn::Lanes(d);
  const auto one = hn::Set(d, T(1));
  const auto zero = hn::Zero(d);
  auto smallest = one;
  for (std::size_t i = 0; i < layer.outputs; ++i) {
    if (std::isinf(units.back_variance[i])) continue;
    T* w_row = layer.mean + i * layer.stride;
    T* v_row = layer.variance + i * layer.stride;
    const T total = units.back_variance[i] + units.forward_variance[i];
    const auto inverse = hn::Set(d, 1 / total);
    const auto s = hn::Set(d, total);
    const auto e = hn::Set(d, units.back_mean[i] - units.forward_mean[i]);
    for (std::size_t j = 0; j < layer.stride; j += step) {
      const auto a = hn::LoadU(d, input.mean + j);
      const auto w = hn::LoadU(d, w_row + j);
      const auto v = hn::LoadU(d, v_row + j);
      if (to_input.tau != nullptr) {
        const auto va = hn::LoadU(d, input.variance + j);
        const auto ratio = hn::Div(w, hn::NegMulAdd(va, hn::Mul(w, w), s));
        const auto rho = hn::LoadU(d, to_input.rho + j);
        const auto tau = hn::LoadU(d, to_input.tau + j);
        hn::StoreU(hn::MulAdd(ratio, w, rho), d, to_input.rho + j);
        hn::StoreU(hn::MulAdd(ratio, hn::MulAdd(w, a, e), tau), d, to_input.tau + j);
      }
      const auto k = hn::Mul(hn::Mul(v, a), inverse);
      const auto shrink = hn::NegMulAdd(k, a, one);
      hn::StoreU(hn::MulAdd(k, e, w), d, w_row + j);
      hn::StoreU(hn::Mul(v, shrink), d, v_row + j);
      // A NaN must not pass for a large number.
      smallest = hn::IfThenElse(hn::Gt(shrink, zero), hn::Min(smallest, shrink), zero);
    }
  }
  return hn::GetLane(hn::MinOfLanes(d, smallest)) > T(0);
}

// 1 / (m^2 + v), or 1 where m = v = 0 (padding): q = m^2 / (m^2 + v) is then 0, as it should be.
// Vectors are returned, never passed by reference: GCC 12 cannot compile address-taken SVE vectors
// under the address sanitizer.
template <class D, class V>
V inverse_energy(D d, V mean, V variance) {
  const auto one = hn::Set(d, hn::TFromD<D>(1));
  const auto energy = hn::MulAdd(mean, mean, variance);
  return hn::Div(one, hn::IfThenElse(hn::Gt(energy, hn::Zero(d)), energy, one));
}

template <class T>
bool backward_direct(const DenseLayer<T>& layer, const LayerInput<T>& input,
                     const UnitMessages<T>& units, const InputMessages<T>& to_input,
                     const Scratch<T>& scratch) {
  const Lanes<T> d;
  const std::size_t step = hn::Lanes(d);
  const auto one = hn::Set(d, T(1));
  const auto zero = hn::Zero(d);
  auto smallest = one;
  for (std::size_t j = 0; j < layer.stride; j += step) {
    const auto a = hn::LoadU(d, input.mean + j);
    const auto va = hn::LoadU(d, input.variance + j);
    const auto inverse = inverse_energy(d, a, va);
    const auto q = hn::Mul(hn::Mul(a, a), inverse);
    const auto tau = hn::Mul(hn::Mul(q, q), a);
    hn::StoreU(hn::Mul(hn::Mul(tau, q), a), d, scratch.rows[0] + j);
    hn::StoreU(tau, d, scratch.rows[1] + j);
    hn::StoreU(hn::Mul(va, inverse), d, scratch.rows[2] + j);
  }
  for (std::size_t i = 0; i < layer.outputs; ++i) {
    if (std::isinf(units.back_variance[i])) continue;
    T* w_row = layer.mean + i * layer.stride;
    T* v_row = layer.variance + i * layer.stride;
    const auto s = hn::Set(d, units.back_variance[i] + units.forward_variance[i]);
    const auto e = hn::Set(d, units.back_mean[i] - units.forward_mean[i]);
    for (std::size_t j = 0; j < layer.stride; j += step) {
      const auto a = hn::LoadU(d, input.mean + j);
      const auto va = hn::LoadU(d, input.variance + j);
      const auto w = hn::LoadU(d, w_row + j);
      const auto v = hn::LoadU(d, v_row + j);
      const auto cavity_mean = hn::MulAdd(w, a, e);
      const auto own = hn::MulAdd(v, hn::MulAdd(a, a, va), hn::Mul(va, hn::Mul(w, w)));
      const auto cavity_variance = hn::Sub(s, own);
      const auto square = hn::Mul(cavity_mean, cavity_mean);
      if (to_input.tau != nullptr) {
        const auto inverse_w = inverse_energy(d, w, v);
        const auto q = hn::Mul(hn::Mul(w, w), inverse_w);
        const auto noise = hn::Mul(v, inverse_w);
        const auto signal_tau = hn::Mul(hn::Mul(q, q), w);
        const auto signal_rho = hn::Mul(hn::Mul(signal_tau, q), w);
        const auto inverse = hn::Div(one, hn::MulAdd(square, noise, cavity_variance));
        const auto rho = hn::LoadU(d, to_input.rho + j);
        const auto tau = hn::LoadU(d, to_input.tau + j);
        hn::StoreU(hn::MulAdd(signal_rho, inverse, rho), d, to_input.rho + j);
        hn::StoreU(hn::MulAdd(hn::Mul(signal_tau, cavity_mean), inverse, tau), d, to_input.tau + j);
      }
      const auto spread = hn::MulAdd(square, hn::LoadU(d, scratch.rows[2] + j), cavity_variance);
      const auto inverse = hn::Div(one, spread);
      const auto rho = hn::Mul(hn::LoadU(d, scratch.rows[0] + j), inverse);
      const auto tau = hn::Mul(hn::Mul(hn::LoadU(d, scratch.rows[1] + j), cavity_mean), inverse);
      const auto shrink = hn::Div(one, hn::MulAdd(v, rho, one));
      hn::StoreU(hn::Mul(hn::MulAdd(v, tau, w), shrink), d, w_row + j);
      hn::StoreU(hn::Mul(v, shrink), d, v_row + j);
      const auto sound = hn::And(hn::Gt(shrink, zero), hn::Gt(spread, zero));
      smallest = hn::IfThenElse(sound, hn::Min(smallest, shrink), zero);
    }
  }
  return hn::GetLane(hn::MinOfLanes(d, smallest)) > T(0);
}

void forward_float(const DenseLayer<float>& layer, const LayerInput<float>& input, float* mean,
                   float* variance) {
  forward(layer, input, mean, variance);
}
void forward_double(const DenseLayer<double>& layer, const LayerInput<double>& input, double* mean,
                    double* variance) {
  forward(layer, input, mean, variance);
}
bool direct_float(const DenseLayer<float>& layer, const LayerInput<float>& input,
                  const UnitMessages<float>& units, const InputMessages<float>& to_input,
                  const Scratch<float>& scratch) {
  return backward_direct(layer, input, units, to_input, scratch);
}
bool direct_double(const DenseLayer<double>& layer, const LayerInput<double>& input,
                   const UnitMessages<double>& units, const InputMessages<double>& to_input,
                   const Scratch<double>& scratch) {
  return backward_direct(layer, input, units, to_input, scratch);
}
bool linear_float(const DenseLayer<float>& layer, const LayerInput<float>& input,
                  const UnitMessages<float>& units, const InputMessages<float>& to_input,
                  const Scratch<float>& scratch) {
  return backward_linear(layer, input, units, to_input, scratch);
}
bool linear_double(const DenseLayer<double>& layer, const LayerInput<double>& input,
                   const UnitMessages<double>& units, const InputMessages<double>& to_input,
                   const Scratch<double>& scratch) {
  return backward_linear(layer, input, units, to_input, scratch);
}

}  // namespace HWY_NAMESPACE
}  // namespace dma::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dma::kernels {

HWY_EXPORT(forward_float);
HWY_EXPORT(forward_double);
HWY_EXPORT(direct_float);
HWY_EXPORT(direct_double);
HWY_EXPORT(linear_float);
HWY_EXPORT(linear_double);

template <>
const LayerKernels<float>& simd() {
  static constexpr LayerKernels<float> kernels{
      [](const DenseLayer<float>& layer, const LayerInput<float>& input, float* mean,
         float* variance) {
        HWY_DYNAMIC_DISPATCH(forward_float)
        (layer, input, mean, variance);
      },
      [](const DenseLayer<float>& layer, const LayerInput<float>& input,
         const UnitMessages<float>& units, const InputMessages<float>& to_input,
         const Scratch<float>& scratch) {
        return HWY_DYNAMIC_DISPATCH(direct_float)(layer, input, units, to_input, scratch);
      },
      [](const DenseLayer<float>& layer, const LayerInput<float>& input,
         const UnitMessages<float>& units, const InputMessages<float>& to_input,
         const Scratch<float>& scratch) {
        return HWY_DYNAMIC_DISPATCH(linear_float)(layer, input, units, to_input, scratch);
      }};
  return kernels;
}

template <>
const LayerKernels<double>& simd() {
  static constexpr LayerKernels<double> kernels{
      [](const DenseLayer<double>& layer, const LayerInput<double>& input, double* mean,
         double* variance) {
        HWY_DYNAMIC_DISPATCH(forward_double)
        (layer, input, mean, variance);
      },
      [](const DenseLayer<double>& layer, const LayerInput<double>& input,
         const UnitMessages<double>& units, const InputMessages<double>& to_input,
         const Scratch<double>& scratch) {
        return HWY_DYNAMIC_DISPATCH(direct_double)(layer, input, units, to_input, scratch);
      },
      [](const DenseLayer<double>& layer, const LayerInput<double>& input,
         const UnitMessages<double>& units, const InputMessages<double>& to_input,
         const Scratch<double>& scratch) {
        return HWY_DYNAMIC_DISPATCH(linear_double)(layer, input, units, to_input, scratch);
      }};
  return kernels;
}

}  // namespace dma::kernels
#endif
