#include <dma/special/normal.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <string>

#include "special/tail_coefficients.h"

namespace dma::special {
namespace {

template <std::floating_point T>
struct Pair {
  T first, second;
};

// Two Chebyshev series at t in [-1, 1] by Clenshaw's recurrence, side by side: each step waits for the last
// one, and the two do not wait for each other.
template <std::floating_point T>
Pair<T> chebyshev(const double* first, const double* second, T t) {
  constexpr int terms = sizeof(T) == sizeof(float) ? detail::tail_terms_float  //
                                                   : detail::tail_terms_double;
  const T twice = 2 * t;
  Pair<T> next{0, 0};
  Pair<T> last{0, 0};
  for (int m = terms - 1; m > 0; --m) {
    const Pair<T> current{twice * next.first - last.first + T(first[m]),
                          twice * next.second - last.second + T(second[m])};
    last = next;
    next = current;
  }
  return {t * next.first - last.first + T(first[0]), t * next.second - last.second + T(second[0])};
}

// I_n(-x) / phi(x) = h_n s^(n+1), s = 1 / (1 + x). h_n stays between 0.5 and 2 for every x >= 0.
template <std::floating_point T>
struct TailSeries {
  T h1, h2, s;
};

template <std::floating_point T>
TailSeries<T> tail_series(T x) {
  const T t = x < T(1e6) ? (x - 5) / (x + 5) : 1 - 10 / (x + 5);
  const auto [h1, h2] = chebyshev(detail::tail_series_1, detail::tail_series_2, t);
  return {h1, h2, 1 / (1 + x)};
}

// Phi(-x), I_1(-x), I_2(-x) for x >= 0.
template <std::floating_point T>
ScaledTail<T> lower_tail(T x) {
  const T density = normal_pdf(x);
  if (density == 0) return {0, 0, 0};
  const ScaledTail<T> tail = normal_scaled_tail(x);
  return {density * tail.i0, density * tail.i1, density * tail.i2};
}

// Newton's iteration with Halley's correction on log Phi(u) = log p, for p at most 0.1.
template <std::floating_point T>
T quantile_in_tail(T p) {
  const T target = std::log(p);
  T u = -std::sqrt(-2 * (target + T(log_sqrt_two_pi)));
  for (int iteration = 0; iteration < 12; ++iteration) {
    const T mills = normal_mills(u);
    const T error = normal_log_cdf(u) - target;
    const T step = error / (mills + error * (u + mills) / 2);
    u -= step;
    if (std::abs(step) <= std::numeric_limits<T>::epsilon() * std::abs(u)) break;
  }
  return u;
}

// Halley's iteration on erf(u / sqrt 2) / 2 = q, |q| <= 0.4.
template <std::floating_point T>
T quantile_in_centre(T q) {
  T u = q * std::numbers::sqrt2_v<T> / std::numbers::inv_sqrtpi_v<T>;
  for (int iteration = 0; iteration < 12; ++iteration) {
    const T error = (std::erf(u / std::numbers::sqrt2_v<T>) / 2 - q) / normal_pdf(u);
    const T step = error / (1 + u * error / 2);
    u -= step;
    if (std::abs(step) <= std::numeric_limits<T>::epsilon() * std::abs(u)) break;
  }
  return u;
}

}  // namespace

template <std::floating_point T>
T normal_pdf(T u) {
  const T square = u * u;
  if (square > 2000) return 0;
  // exp amplifies the rounding of u^2 by u^2 / 2, so the rounding is carried along.
  const T rounding = std::fma(u, u, -square);
  constexpr T inv_sqrt_two_pi = T(0.398942280401432677939946059934381868L);
  return inv_sqrt_two_pi * std::exp(-square / 2) * (1 - rounding / 2);
}

template <std::floating_point T>
ScaledTail<T> normal_scaled_tail(T x) {
  const auto [h1, h2, s] = tail_series(x);
  const T i1 = h1 * s * s;
  const T i2 = h2 * s * s * s;
  return {i2 + x * i1, i1, i2};
}

template <std::floating_point T>
T normal_cdf(T u) {
  if (std::abs(u) < 1) return std::erfc(-u / std::numbers::sqrt2_v<T>) / 2;
  const T lower = lower_tail(std::abs(u)).i0;
  return u < 0 ? lower : 1 - lower;
}

template <std::floating_point T>
T normal_log_cdf(T u) {
  if (u >= 0) return std::log1p(-lower_tail(u).i0);
  return -u * u / 2 - T(log_sqrt_two_pi) + std::log(normal_scaled_tail(-u).i0);
}

template <std::floating_point T>
T normal_mills(T u) {
  return u < 0 ? 1 / normal_scaled_tail(-u).i0 : normal_pdf(u) / normal_cdf(u);
}

template <std::floating_point T>
T normal_quantile(T p) {
  if (!(p >= 0 && p <= 1)) {
    throw std::domain_error("normal_quantile: the probability must be in [0, 1], got " +
                            std::to_string(p));
  }
  if (p == 0) return -std::numeric_limits<T>::infinity();
  if (p == 1) return std::numeric_limits<T>::infinity();
  if (p < T(0.1)) return quantile_in_tail(p);
  if (p > T(0.9)) return -quantile_in_tail(1 - p);  // 1 - p is exact here
  return quantile_in_centre(p - T(0.5));
}

template <std::floating_point T>
T minus_log1p(T t) {
  if (std::abs(t) > T(0.25)) return t - std::log1p(t);
  // log(1 + t) = 2 artanh(r) with r = t / (2 + t), and t - 2 r = t r:
  // t - log(1 + t) = r (t - 2 r^2 (1/3 + r^2/5 + r^4/7 + ...)), |r| <= 1/7.
  const T r = t / (2 + t);
  const T square = r * r;
  T sum = 0;
  for (int k = 10; k >= 0; --k) sum = sum * square + 1 / T(2 * k + 3);
  return r * (t - 2 * square * sum);
}

template <std::floating_point T>
Moments<T> truncated_moments(T u) {
  if (u >= 0) {
    const T mills = normal_mills(u);
    return {u + mills, 1 - mills * (u + mills)};
  }
  // I_1 / I_0 and I_2 / I_0 - (I_1 / I_0)^2, with the common powers of s divided out.
  const auto [h1, h2, s] = tail_series(-u);
  const T scaled_i0 = h2 * s - u * h1;
  const T mean = h1 / scaled_i0;
  return {mean, h2 * s / scaled_i0 - mean * mean};
}

template <std::floating_point T>
LeakyReluMoments<T> leaky_relu_moments(T u, T slope) {
  const ScaledTail<T> lower = lower_tail(std::abs(u));
  const T kink = 1 - slope;
  const T mean = u < 0 ? slope * u + kink * lower.i1 : u + kink * lower.i1;
  const T gain = u < 0 ? slope + kink * lower.i0 : 1 - kink * lower.i0;
  // max(0, x) = (x + |x|) / 2, so its residual is that of |x| / 2: even in u. On the side where
  // the tail is small, I_2 - I_1^2 - I_0^2 does not cancel.
  const T even = lower.i2 - lower.i1 * lower.i1 - lower.i0 * lower.i0;
  const T residual = kink * kink * even;
  return {mean, gain * gain + residual, gain, residual};
}

template <std::floating_point T>
Moments<T> leaky_relu_inverse_moments(T v, T slope) {
  // N(r(x); v, 1) is a mixture of two truncated Gaussians: N(v, 1) on x > 0 with mass Phi(v), and
  // N(v, 1) stretched by 1 / slope on x < 0 with mass Phi(-v) / slope.
  const Moments<T> right = truncated_moments(v);
  const Moments<T> left = truncated_moments(-v);
  const T mass_right = slope * normal_cdf(v);
  const T mass_left = normal_cdf(-v);
  const T share_right = mass_right / (mass_right + mass_left);
  const T share_left = mass_left / (mass_right + mass_left);
  const T left_mean = left.mean / slope;
  const T gap = right.mean + left_mean;
  return {share_right * right.mean - share_left * left_mean,
          share_right * right.variance + share_left * left.variance / (slope * slope) +
              share_right * share_left * gap * gap};
}

#define DMA_INSTANTIATE(T)                               \
  template T normal_pdf(T);                              \
  template T normal_cdf(T);                              \
  template T normal_log_cdf(T);                          \
  template T normal_mills(T);                            \
  template T normal_quantile(T);                         \
  template T minus_log1p(T);                             \
  template ScaledTail<T> normal_scaled_tail(T);          \
  template Moments<T> truncated_moments(T);              \
  template LeakyReluMoments<T> leaky_relu_moments(T, T); \
  template Moments<T> leaky_relu_inverse_moments(T, T);

DMA_INSTANTIATE(float)
DMA_INSTANTIATE(double)

#undef DMA_INSTANTIATE

}  // namespace dma::special
