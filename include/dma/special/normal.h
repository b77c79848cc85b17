// special/normal.h: the standard normal distribution and the moments it has behind a kink.
//
//   phi(u) = exp(-u^2 / 2) / sqrt(2 pi),      Phi(u) = integral_{-inf}^{u} phi(t) dt
//   I_n(u) = integral_{-inf}^{u} (u - t)^n phi(t) dt,      I_0 = Phi
//
// With X ~ N(u, 1), I_n(u) = E[X^n; X > 0]. The textbook forms I_1 = u Phi + phi and
// I_2 = (1 + u^2) Phi + u phi cancel for u << 0. Here the scaled tails I_n(-x) / phi(x) are evaluated
// directly and everything else is built from sums of positive terms (docs/accuracy.md).
//
// Every function is compiled for float and double. Its accuracy contract is the constant of the
// same name in special/accuracy.h, which the tests read.
#pragma once

#include <concepts>

namespace dma::special {

inline constexpr double log_sqrt_two_pi = 0.918938533204672741780329736405617640;

template <std::floating_point T>
T normal_pdf(T u);

template <std::floating_point T>
T normal_cdf(T u);

template <std::floating_point T>
T normal_log_cdf(T u);

// M(u) = phi(u) / Phi(u), the paper's Mills ratio.
template <std::floating_point T>
T normal_mills(T u);

// The u with Phi(u) = p. p = 0 and 1 give -inf and +inf; std::domain_error outside [0, 1].
template <std::floating_point T>
T normal_quantile(T p);

// t - log(1 + t) >= 0 for t > -1, without cancellation at t = 0.
template <std::floating_point T>
T minus_log1p(T t);

// I_n(-x) / phi(x) for x >= 0. They decay like n! / x^(n+1) and obey 1 = i1 + x i0, i0 = i2 + x i1.
template <std::floating_point T>
struct ScaledTail {
  T i0, i1, i2;
};

template <std::floating_point T>
ScaledTail<T> normal_scaled_tail(T x);

template <std::floating_point T>
struct Moments {
  T mean, variance;
};

// Moments of X ~ N(u, 1) given X > 0.
template <std::floating_point T>
Moments<T> truncated_moments(T u);

// Moments of Y = r(X), X ~ N(u, 1), r(x) = max(0, x) + slope min(0, x), 0 <= slope
// (Proposition "ReLU Forward Message").
//
//   gain     = E[r'(X)] = Cov[X, Y]                     Stein's identity
//   residual = Var[Y] - gain^2 >= 0                     what no linear map of X explains
//   variance = gain^2 + residual
template <std::floating_point T>
struct LeakyReluMoments {
  T mean, variance, gain, residual;
};

template <std::floating_point T>
LeakyReluMoments<T> leaky_relu_moments(T u, T slope);

// Moments of the density proportional to N(r(x); v, 1), 0 < slope
// (Proposition "ReLU Backward Message").
template <std::floating_point T>
Moments<T> leaky_relu_inverse_moments(T v, T slope);

}  // namespace dma::special
