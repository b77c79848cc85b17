// The units' activation, several at a time; included once per instruction set by simd.cc. The formulas of
// special/normal.cc (leaky_relu_moments, leaky_relu_inverse_moments), to the same accuracy.
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/activation_constants.h"
#include "kernels/layer.h"
#include "kernels/unit.h"

#if defined(DMA_KERNELS_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMA_KERNELS_ACTIVATION_INL_H_
#undef DMA_KERNELS_ACTIVATION_INL_H_
#else
#define DMA_KERNELS_ACTIVATION_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace dma::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Horner's rule in t^4 (t^2 for short ones), with four (two) sums side by side: each step waits for the last one,
// and the sums do not wait for each other.
template <std::size_t terms, class D, class V>
HWY_INLINE V polynomial(D d, const hn::TFromD<D>* coefficients, V t) {
  constexpr std::size_t one = ActivationConstants<hn::TFromD<D>>::repeats;
  const auto tt = hn::Mul(t, t);
  const hn::TFromD<D>* c = coefficients + (terms - 4) * one;
  if constexpr (terms % 4 == 0) {
    const auto step = hn::Mul(tt, tt);
    auto s0 = hn::LoadDup128(d, c), s1 = hn::LoadDup128(d, c + one);
    auto s2 = hn::LoadDup128(d, c + 2 * one), s3 = hn::LoadDup128(d, c + 3 * one);
    for (std::size_t m = 4; m < terms; m += 4) {
      c -= 4 * one;
      s0 = hn::MulAdd(s0, step, hn::LoadDup128(d, c));
      s1 = hn::MulAdd(s1, step, hn::LoadDup128(d, c + one));
      s2 = hn::MulAdd(s2, step, hn::LoadDup128(d, c + 2 * one));
      s3 = hn::MulAdd(s3, step, hn::LoadDup128(d, c + 3 * one));
    }
    return hn::MulAdd(hn::MulAdd(s3, t, s2), tt, hn::MulAdd(s1, t, s0));
  } else {
    static_assert(terms % 2 == 0);
    c += 2 * one;
    auto s0 = hn::LoadDup128(d, c), s1 = hn::LoadDup128(d, c + one);
    for (std::size_t m = 2; m < terms; m += 2) {
      c -= 2 * one;
      s0 = hn::MulAdd(s0, tt, hn::LoadDup128(d, c));
      s1 = hn::MulAdd(s1, tt, hn::LoadDup128(d, c + one));
    }
    return hn::MulAdd(s1, t, s0);
  }
}

template <class D, class V>
HWY_INLINE V tail_argument(D d, V x) {
  const auto five = hn::Set(d, hn::TFromD<D>(5));
  return hn::Div(hn::Sub(x, five), hn::Add(x, five));
}

// exp(y) for y <= 0; 0 where it would not be a normal number. y = n log 2 + r, exp(y) = 2^n exp(r).
template <class D, class V, class C>
HWY_INLINE V exp_of_negative(D d, const C& constants, V y) {
  using T = hn::TFromD<D>;
  constexpr bool is_double = C::is_double;
  const hn::RebindToSigned<D> di;
  const auto least = hn::Set(d, is_double ? T(-708.25) : T(-87.25));
  const auto n = hn::Round(hn::Mul(hn::Max(y, least), hn::Set(d, T(1.44269504088896340736L))));
  // log 2 in two parts; n times the first is exact.
  const auto high = hn::Set(d, is_double ? T(0x1.62e42feep-1) : T(0x1.62ep-1));
  const auto low = hn::Set(d, is_double ? T(0x1.a39ef35793c76p-33L) : T(0x1.0bfbe8p-15L));
  const auto r = hn::NegMulAdd(n, low, hn::NegMulAdd(n, high, y));
  const auto rest = polynomial<C::exp_terms>(d, constants.exp, r);
  const auto exp_r = hn::Add(hn::MulAdd(hn::Mul(r, r), rest, r), hn::Set(d, T(1)));
  constexpr int mantissa = is_double ? 52 : 23;
  const auto bias =
      hn::Set(di, is_double ? hn::TFromD<decltype(di)>(1023) : hn::TFromD<decltype(di)>(127));
  const auto power = hn::BitCast(d, hn::ShiftLeft<mantissa>(hn::Add(hn::ConvertTo(di, n), bias)));
  return hn::IfThenElseZero(hn::Gt(y, least), hn::Mul(exp_r, power));
}

// x^2 - square, exactly, where square is x^2 rounded.
template <class D, class V>
HWY_INLINE V square_rounding(D d, V x, V square) {
#if HWY_NATIVE_FMA
  (void)d;
  return hn::MulSub(x, x, square);
#else
  // x in two halves, whose products are exact (Dekker).
  const hn::RebindToUnsigned<D> du;
  using U = hn::TFromD<decltype(du)>;
  constexpr int low_bits = sizeof(U) == 8 ? 27 : 12;
  const auto mask = hn::BitCast(d, hn::Set(du, static_cast<U>(~U{0} << low_bits)));
  const auto high = hn::And(x, mask);
  const auto low = hn::Sub(x, high);
  const auto cross = hn::Mul(hn::Add(high, high), low);
  return hn::Add(hn::Add(hn::Sub(hn::Mul(high, high), square), cross), hn::Mul(low, low));
#endif
}

// phi(x); exp amplifies the rounding of x^2 by x^2 / 2, so that the rounding is carried along.
template <class D, class V, class C>
HWY_INLINE V density(D d, const C& constants, V x) {
  using T = hn::TFromD<D>;
  const auto minus_half = hn::Set(d, T(-0.5));
  const auto square = hn::Mul(x, x);
  const auto rounding = square_rounding(d, x, square);
  const auto scale = hn::Set(d, T(0.398942280401432677939946059934381868L));
  const auto correction = hn::MulAdd(rounding, minus_half, hn::Set(d, T(1)));
  return hn::Mul(hn::Mul(scale, correction),
                 exp_of_negative(d, constants, hn::Mul(square, minus_half)));
}

// Whether both are finite: 0 times anything not finite is NaN.
template <class D, class V>
HWY_INLINE auto both_finite(D d, V a, V b) {
  const auto zero = hn::Zero(d);
  return hn::Eq(hn::MulAdd(a, zero, hn::Mul(b, zero)), zero);
}

// A whole vector of units, or the first `count` lanes of one; the lanes after them must not be touched.
struct AllLanes {
  template <class D, class V>
  HWY_INLINE void store(D d, V v, hn::TFromD<D>* to) const {
    hn::StoreU(v, d, to);
  }
  template <class D, class M>
  HWY_INLINE bool all_true(D d, M mask) const {
    return hn::AllTrue(d, mask);
  }
};

struct FirstLanes {
  std::size_t count;
  template <class D, class V>
  HWY_INLINE void store(D d, V v, hn::TFromD<D>* to) const {
    hn::BlendedStore(v, hn::FirstN(d, count), d, to);
  }
  template <class D, class M>
  HWY_INLINE bool all_true(D d, M mask) const {
    return hn::AllTrue(d, hn::Or(mask, hn::Not(hn::FirstN(d, count))));
  }
};

template <class D, class V, class T>
HWY_INLINE V prior_shrink(D d, V variance, const Units<T>& units) {
  const auto one = hn::Set(d, T(1));
  return hn::Div(one, hn::MulAdd(variance, hn::Set(d, units.prior_precision), one));
}

// Units i, i + 1, ... with these moments of z.
template <class D, class C, class V, class T, class Lanes>
HWY_INLINE void activate_vector(D d, const C& constants, const Units<T>& units, std::size_t i,
                                V mean, V variance, V u, V deviation, Lanes lanes) {
  const auto one = hn::Set(d, T(1));
  const auto x = hn::Abs(u);
  const auto t = tail_argument(d, x);
  const auto s = hn::Div(one, hn::Add(one, x));
  // I_n(-x) / phi(x) = h_n / (1 + x)^(n+1), see special/normal.cc.
  const auto ss = hn::Mul(s, s);
  const auto scaled_1 = hn::Mul(polynomial<C::tail_terms>(d, constants.tail_1, t), ss);
  const auto scaled_2 = hn::Mul(polynomial<C::tail_terms>(d, constants.tail_2, t), hn::Mul(ss, s));
  const auto phi = density(d, constants, x);
  const auto i0 = hn::Mul(phi, hn::MulAdd(x, scaled_1, scaled_2));
  const auto i1 = hn::Mul(phi, scaled_1);
  const auto i2 = hn::Mul(phi, scaled_2);

  const auto slope = hn::Set(d, units.slope);
  const auto kink = hn::Sub(one, slope);
  const auto negative = hn::Lt(mean, hn::Zero(d));
  const auto line = hn::IfThenElse(negative, slope, one);
  const auto bend = hn::Mul(kink, i0);
  const auto gain = hn::IfThenElse(negative, hn::Add(slope, bend), hn::Sub(one, bend));
  const auto even = hn::NegMulAdd(i0, i0, hn::NegMulAdd(i1, i1, i2));
  const auto residual = hn::Mul(hn::Mul(kink, kink), even);
  const auto y_mean = hn::MulAdd(hn::Mul(kink, deviation), i1, hn::Mul(line, mean));
  const auto y_variance = hn::Mul(variance, hn::MulAdd(gain, gain, residual));
  // After y there may be a bias; after the others anything may be written.
  hn::StoreU(mean, d, units.z_mean + i);
  hn::StoreU(variance, d, units.z_variance + i);
  hn::StoreU(gain, d, units.gain + i);
  hn::StoreU(hn::Mul(variance, residual), d, units.residual + i);
  lanes.store(d, y_mean, units.y_mean + i);
  lanes.store(d, y_variance, units.y_variance + i);
  lanes.store(d, hn::MulAdd(y_mean, y_mean, y_variance), units.y_square + i);
}

// A unit whose sum is a point mass or not finite is left to activate_unit(). Two vectors at a time: one alone
// is a long chain of operations that wait for each other.
template <class T>
bool activate(const Units<T>& units) {
  const hn::CappedTag<T, slack> d;
  const std::size_t lanes = hn::Lanes(d);
  const ActivationConstants<T>& constants = activation_constants<T>();
  bool finite = true;
  const auto one_by_one = [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) finite = activate_unit(units, k) && finite;
  };
  const bool limited = units.prior_precision > 0;
  std::size_t i = 0;
  for (; i + 2 * lanes <= units.count; i += 2 * lanes) {
    auto mean0 = hn::LoadU(d, units.sum.mean + i);
    auto mean1 = hn::LoadU(d, units.sum.mean + i + lanes);
    auto variance0 = hn::LoadU(d, units.sum.variance + i);
    auto variance1 = hn::LoadU(d, units.sum.variance + i + lanes);
    if (limited) {
      const auto shrink0 = prior_shrink(d, variance0, units);
      const auto shrink1 = prior_shrink(d, variance1, units);
      mean0 = hn::Mul(mean0, shrink0);
      mean1 = hn::Mul(mean1, shrink1);
      variance0 = hn::Mul(variance0, shrink0);
      variance1 = hn::Mul(variance1, shrink1);
    }
    const auto deviation0 = hn::Sqrt(variance0);
    const auto deviation1 = hn::Sqrt(variance1);
    const auto u0 = hn::Div(mean0, deviation0);
    const auto u1 = hn::Div(mean1, deviation1);
    const auto regular0 = both_finite(d, u0, variance0);
    const auto regular1 = both_finite(d, u1, variance1);
    if (!hn::AllTrue(d, hn::And(regular0, regular1))) {
      one_by_one(i, i + 2 * lanes);
      continue;
    }
    activate_vector(d, constants, units, i, mean0, variance0, u0, deviation0, AllLanes{});
    activate_vector(d, constants, units, i + lanes, mean1, variance1, u1, deviation1, AllLanes{});
  }
  for (; i < units.count; i += lanes) {
    const FirstLanes ours{std::min(lanes, units.count - i)};
    auto mean = hn::LoadU(d, units.sum.mean + i);
    auto variance = hn::LoadU(d, units.sum.variance + i);
    if (limited) {
      const auto shrink = prior_shrink(d, variance, units);
      mean = hn::Mul(mean, shrink);
      variance = hn::Mul(variance, shrink);
    }
    const auto deviation = hn::Sqrt(variance);
    const auto u = hn::Div(mean, deviation);
    if (!ours.all_true(d, both_finite(d, u, variance))) {
      one_by_one(i, i + ours.count);
      continue;
    }
    activate_vector(d, constants, units, i, mean, variance, u, deviation, ours);
  }
  return finite;
}

// Multiplies by the prior on z.
template <class D, class V, class T>
HWY_INLINE void store_back(D d, V mean, V variance, const Units<T>& units, std::size_t i) {
  if (units.prior_precision > 0) {
    const auto shrink = prior_shrink(d, variance, units);
    mean = hn::Mul(mean, shrink);
    variance = hn::Mul(variance, shrink);
  }
  hn::StoreU(mean, d, units.back_mean + i);
  hn::StoreU(variance, d, units.back_variance + i);
}

// False if a unit must be computed by hear_unit(): a message is uniform, or its unit is a point mass.
template <class D, class T, class Lanes>
HWY_INLINE bool hear_linear_vector(D d, const Units<T>& units, const InputMessages<T>& from_above,
                                   std::size_t i, Lanes lanes) {
  const auto one = hn::Set(d, T(1));
  const auto variance_above = hn::Div(one, hn::LoadU(d, from_above.rho + i));
  const auto mean_above = hn::Mul(hn::LoadU(d, from_above.tau + i), variance_above);
  const auto inverse_gain = hn::Div(one, hn::LoadU(d, units.gain + i));
  const auto innovation = hn::Sub(mean_above, hn::LoadU(d, units.y_mean + i));
  const auto mean = hn::MulAdd(innovation, inverse_gain, hn::LoadU(d, units.z_mean + i));
  const auto noise = hn::Add(variance_above, hn::LoadU(d, units.residual + i));
  const auto variance = hn::Mul(noise, hn::Mul(inverse_gain, inverse_gain));
  const auto proper = hn::Gt(hn::LoadU(d, units.z_variance + i), hn::Zero(d));
  const auto regular = hn::And(proper, both_finite(d, mean, variance));
  if (!lanes.all_true(d, regular)) return false;
  store_back(d, mean, variance, units, i);
  return true;
}

template <class D, class C, class T, class Lanes>
HWY_INLINE bool hear_direct_vector(D d, const C& constants, const Units<T>& units,
                                   const InputMessages<T>& from_above, std::size_t i, Lanes lanes) {
  const auto one = hn::Set(d, T(1));
  const auto deviation = hn::Div(one, hn::Sqrt(hn::LoadU(d, from_above.rho + i)));
  const auto v = hn::Mul(hn::LoadU(d, from_above.tau + i), deviation);
  const auto x = hn::Abs(v);
  const auto t = tail_argument(d, x);
  const auto s = hn::Div(one, hn::Add(one, x));
  const auto h1 = polynomial<C::tail_terms>(d, constants.tail_1, t);
  const auto h2s = hn::Mul(polynomial<C::tail_terms>(d, constants.tail_2, t), s);
  const auto h0 = hn::MulAdd(x, h1, h2s);  // I_0(-x) / phi(x) = h0 s^2
  const auto phi = density(d, constants, x);

  // Moments of N(x, 1) and of N(-x, 1), given that they are positive, and the two masses.
  const auto small_mass = hn::Mul(phi, hn::Mul(h0, hn::Mul(s, s)));
  const auto large_mass = hn::Sub(one, small_mass);
  const auto mills = hn::Div(phi, large_mass);
  const auto large_mean = hn::Add(x, mills);
  const auto large_variance = hn::NegMulAdd(mills, large_mean, one);
  const auto inverse = hn::Div(one, h0);
  const auto small_mean = hn::Mul(h1, inverse);
  const auto small_variance = hn::NegMulAdd(small_mean, small_mean, hn::Mul(h2s, inverse));

  const auto slope = hn::Set(d, units.slope);
  const auto stretch = hn::Div(one, slope);
  const auto negative = hn::Lt(v, hn::Zero(d));
  const auto right_mean = hn::IfThenElse(negative, small_mean, large_mean);
  const auto left_mean = hn::Mul(hn::IfThenElse(negative, large_mean, small_mean), stretch);
  const auto right_variance = hn::IfThenElse(negative, small_variance, large_variance);
  const auto left_variance = hn::IfThenElse(negative, large_variance, small_variance);
  const auto right_mass = hn::Mul(slope, hn::IfThenElse(negative, small_mass, large_mass));
  const auto left_mass = hn::IfThenElse(negative, large_mass, small_mass);
  const auto inverse_mass = hn::Div(one, hn::Add(right_mass, left_mass));
  const auto right = hn::Mul(right_mass, inverse_mass);
  const auto left = hn::Mul(left_mass, inverse_mass);
  const auto gap = hn::Add(right_mean, left_mean);
  const auto mean = hn::MulSub(right, right_mean, hn::Mul(left, left_mean));
  const auto within = hn::MulAdd(right, right_variance,
                                 hn::Mul(left, hn::Mul(left_variance, hn::Mul(stretch, stretch))));
  const auto variance = hn::MulAdd(hn::Mul(right, left), hn::Mul(gap, gap), within);

  const auto own_mean = hn::Mul(deviation, mean);
  const auto own_variance = hn::Mul(hn::Mul(deviation, deviation), variance);
  const auto regular = both_finite(d, own_mean, own_variance);
  if (!lanes.all_true(d, regular)) return false;
  store_back(d, own_mean, own_variance, units, i);
  return true;
}

template <class T>
void hear_one_by_one(const Units<T>& units, const InputMessages<T>& from_above, Rule rule,
                     std::size_t begin, std::size_t end) {
  for (std::size_t k = begin; k < end; ++k) hear_unit(units, from_above, rule, k);
}

template <class T>
void hear_linear(const Units<T>& units, const InputMessages<T>& from_above) {
  const hn::CappedTag<T, slack> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= units.count; i += lanes) {
    if (hear_linear_vector(d, units, from_above, i, AllLanes{})) continue;
    hear_one_by_one(units, from_above, Rule::linear, i, i + lanes);
  }
  if (i == units.count) return;
  if (hear_linear_vector(d, units, from_above, i, FirstLanes{units.count - i})) return;
  hear_one_by_one(units, from_above, Rule::linear, i, units.count);
}

template <class T>
void hear_direct(const Units<T>& units, const InputMessages<T>& from_above) {
  const hn::CappedTag<T, slack> d;
  const std::size_t lanes = hn::Lanes(d);
  const ActivationConstants<T>& constants = activation_constants<T>();
  std::size_t i = 0;
  for (; i + lanes <= units.count; i += lanes) {
    if (hear_direct_vector(d, constants, units, from_above, i, AllLanes{})) continue;
    hear_one_by_one(units, from_above, Rule::direct, i, i + lanes);
  }
  if (i == units.count) return;
  if (hear_direct_vector(d, constants, units, from_above, i, FirstLanes{units.count - i})) return;
  hear_one_by_one(units, from_above, Rule::direct, i, units.count);
}

}  // namespace HWY_NAMESPACE
}  // namespace dma::kernels
HWY_AFTER_NAMESPACE();

#endif  // per target
