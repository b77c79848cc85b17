// The belief around a batch, several weights at a time; included once per instruction set by simd.cc. Gives the same
// bits as one at a time.
#include <hwy/highway.h>

#include "kernels/layer.h"
#include "kernels/unit.h"

#if defined(DMA_KERNELS_BELIEF_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMA_KERNELS_BELIEF_INL_H_
#undef DMA_KERNELS_BELIEF_INL_H_
#else
#define DMA_KERNELS_BELIEF_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace dma::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
void open_batch(const BatchBelief<T>& belief) {
  const hn::CappedTag<T, slack> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto one = hn::Set(d, T(1));
  std::size_t k = 0;
  for (; k + lanes <= belief.weights; k += lanes) {
    const auto variance = hn::Div(one, hn::LoadU(d, belief.cavity_rho + k));
    const auto mean = hn::Mul(hn::LoadU(d, belief.cavity_tau + k), variance);
    hn::StoreU(variance, d, belief.variance + k);
    hn::StoreU(variance, d, belief.start_variance + k);
    hn::StoreU(mean, d, belief.mean + k);
    hn::StoreU(mean, d, belief.start_mean + k);
  }
  for (; k < belief.weights; ++k) open_weight(belief, k);
}

template <class T>
Closed close_batch(const BatchBelief<T>& belief, const InputMessages<T>& message,
                   const InputMessages<T>& new_belief) {
  const hn::CappedTag<T, slack> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto one = hn::Set(d, T(1));
  const auto rounding = hn::Set(d, rounding_of_precision<T>);
  auto not_finite = hn::Zero(d);  // 0 times a number is 0, unless the number is not finite
  auto least_precision = one;
  auto least_message = hn::Zero(d);  // with the rounding that it may have
  std::size_t k = 0;
  for (; k + lanes <= belief.weights; k += lanes) {
    const auto mean = hn::LoadU(d, belief.mean + k);
    const auto variance = hn::LoadU(d, belief.variance + k);
    const auto start_variance = hn::LoadU(d, belief.start_variance + k);
    const auto inverse = hn::Div(one, hn::Mul(start_variance, variance));
    const auto narrower = hn::Sub(start_variance, variance);
    const auto moved = hn::Sub(mean, hn::LoadU(d, belief.start_mean + k));
    const auto gained = hn::Add(hn::Mul(mean, narrower), hn::Mul(moved, variance));
    const auto rho = hn::Mul(narrower, inverse);
    const auto tau = hn::Mul(gained, inverse);
    hn::StoreU(rho, d, message.rho + k);
    hn::StoreU(tau, d, message.tau + k);
    const auto new_rho = hn::Add(hn::LoadU(d, belief.cavity_rho + k), rho);
    const auto new_tau = hn::Add(hn::LoadU(d, belief.cavity_tau + k), tau);
    hn::StoreU(new_rho, d, new_belief.rho + k);
    hn::StoreU(new_tau, d, new_belief.tau + k);
    not_finite = hn::MulAdd(hn::Zero(d), new_rho, not_finite);
    not_finite = hn::MulAdd(hn::Zero(d), new_tau, not_finite);
    least_precision = hn::Min(least_precision, new_rho);
    least_message = hn::Min(least_message, hn::Add(rho, hn::Mul(rounding, new_rho)));
  }
  const auto proper =
      hn::And(hn::Eq(not_finite, hn::Zero(d)), hn::Gt(least_precision, hn::Zero(d)));
  Closed closed{.proper = hn::AllTrue(d, proper)};
  if (!hn::AllTrue(d, hn::Eq(least_message, hn::Zero(d)))) {  // seldom
    for (std::size_t j = 0; j < k; ++j) {
      if (message.rho[j] < -rounding_of_precision<T> * new_belief.rho[j]) ++closed.negative;
    }
  }
  for (; k < belief.weights; ++k) close_weight(belief, message, new_belief, k, closed);
  return closed;
}

}  // namespace HWY_NAMESPACE
}  // namespace dma::kernels
HWY_AFTER_NAMESPACE();

#endif  // per target
