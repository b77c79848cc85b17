// The fast kernel: the same messages as scalar.cc, several weights at a time (Google Highway), for the machine's
// instruction set.
#include "kernels/instruction_sets.h"
// It must come first.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd.cc"
#include <hwy/foreach_target.h>
// foreach_target.h must come first.
#include <hwy/highway.h>

#include "kernels/activation-inl.h"
#include "kernels/belief-inl.h"
#include "kernels/layer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dma::kernels {
namespace HWY_NAMESPACE {

template <class T>
const LayerKernels<T>& table() {
  static constexpr LayerKernels<T> kernels{.forward = forward<T>,
                                           .forward_exact = forward_exact<T>,
                                           .backward_direct = backward_direct<T>,
                                           .backward_linear = backward_linear<T>,
                                           .update = update<T>,
                                           .update_then_forward = update_then_forward<T>,
                                           .activate = activate<T>,
                                           .hear_direct = hear_direct<T>,
                                           .hear_linear = hear_linear<T>,
                                           .open_batch = open_batch<T>,
                                           .close_batch = close_batch<T>};
  return kernels;
}

const LayerKernels<float>& table_float() { return table<float>(); }
const LayerKernels<double>& table_double() { return table<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace dma::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dma::kernels {

HWY_EXPORT(table_float);
HWY_EXPORT(table_double);

template <>
const LayerKernels<float>& simd() {
  return HWY_DYNAMIC_DISPATCH(table_float)();
}

template <>
const LayerKernels<double>& simd() {
  return HWY_DYNAMIC_DISPATCH(table_double)();
}

}  // namespace dma::kernels
#endif
