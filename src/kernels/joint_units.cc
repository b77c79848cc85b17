#include "kernels/joint_units.h"

#include "kernels/instruction_sets.h"
// It must come before any header of Highway.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/joint_units.cc"
#include <hwy/foreach_target.h>
// foreach_target.h must come first.
#include <hwy/highway.h>

#include "kernels/activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dma::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Numbers = hn::ScalableTag<double>;
using Lanes = hn::Vec<Numbers>;

struct Unit {
  Lanes value, derivative;
};

struct Tails {
  Lanes density, i0, i1;
};

// phi, i0 and i1 of |z|. Beyond 64 all three are 0, which they are there anyway, so intermediate results stay finite.
HWY_INLINE Tails tails_of(Lanes z) {
  const Numbers d;
  using Constants = ActivationConstants<double>;
  const Constants& constants = activation_constants<double>();
  const auto x = hn::Min(hn::Abs(z), hn::Set(d, 64.0));
  const auto one = hn::Set(d, 1.0);
  const auto t = tail_argument(d, x);
  const auto s = hn::Div(one, hn::Add(one, x));
  const auto ss = hn::Mul(s, s);
  const auto scaled_1 = hn::Mul(polynomial<Constants::tail_terms>(d, constants.tail_1, t), ss);
  const auto scaled_2 =
      hn::Mul(polynomial<Constants::tail_terms>(d, constants.tail_2, t), hn::Mul(ss, s));
  const auto phi = density(d, constants, x);
  return {phi, hn::Mul(phi, hn::MulAdd(x, scaled_1, scaled_2)), hn::Mul(phi, scaled_1)};
}

struct LeakyReluUnit {
  double slope;

  HWY_INLINE Unit at(Lanes z) const {
    const Numbers d;
    const Tails tails = tails_of(z);
    const auto one = hn::Set(d, 1.0);
    const auto low = hn::Set(d, slope);
    const auto kink = hn::Sub(one, low);
    const auto negative = hn::Lt(z, hn::Zero(d));
    const auto bend = hn::Mul(kink, tails.i0);
    const auto line = hn::IfThenElse(negative, low, one);
    return {hn::MulAdd(kink, tails.i1, hn::Mul(line, z)),
            hn::IfThenElse(negative, hn::Add(low, bend), hn::Sub(one, bend))};
  }
};

struct StepUnit {
  HWY_INLINE Unit at(Lanes z) const {
    const Numbers d;
    const Tails tails = tails_of(z);
    const auto height = hn::NegMulAdd(hn::Set(d, 2.0), tails.i0, hn::Set(d, 1.0));
    return {hn::CopySign(height, z), hn::Add(tails.density, tails.density)};
  }
};

template <class Kind>
void each(Kind kind, std::size_t count, const double* z, double* value, double* derivative) {
  const Numbers d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  // Two vectors at a time: one alone is a long chain of operations that wait for each other.
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const Unit one = kind.at(hn::LoadU(d, z + i));
    const Unit two = kind.at(hn::LoadU(d, z + i + lanes));
    hn::StoreU(one.value, d, value + i);
    hn::StoreU(one.derivative, d, derivative + i);
    hn::StoreU(two.value, d, value + i + lanes);
    hn::StoreU(two.derivative, d, derivative + i + lanes);
  }
  for (; i + lanes <= count; i += lanes) {
    const Unit unit = kind.at(hn::LoadU(d, z + i));
    hn::StoreU(unit.value, d, value + i);
    hn::StoreU(unit.derivative, d, derivative + i);
  }
  if (i == count) return;
  HWY_ALIGN double last[3][hn::MaxLanes(d)] = {};
  std::copy(z + i, z + count, last[0]);
  const Unit unit = kind.at(hn::Load(d, last[0]));
  hn::Store(unit.value, d, last[1]);
  hn::Store(unit.derivative, d, last[2]);
  std::copy_n(last[1], count - i, value + i);
  std::copy_n(last[2], count - i, derivative + i);
}

void leaky_relu(std::size_t count, const double* z, double slope, double* value,
                double* derivative) {
  each(LeakyReluUnit{slope}, count, z, value, derivative);
}

void step(std::size_t count, const double* z, double* value, double* derivative) {
  each(StepUnit{}, count, z, value, derivative);
}

}  // namespace HWY_NAMESPACE
}  // namespace dma::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dma::kernels {

HWY_EXPORT(leaky_relu);
HWY_EXPORT(step);

void leaky_relu_units(std::size_t count, const double* z, double slope, double* value,
                      double* derivative) {
  HWY_DYNAMIC_DISPATCH(leaky_relu)(count, z, slope, value, derivative);
}

void step_units(std::size_t count, const double* z, double* value, double* derivative) {
  HWY_DYNAMIC_DISPATCH(step)(count, z, value, derivative);
}

}  // namespace dma::kernels
#endif
