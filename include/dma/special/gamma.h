// special/gamma.h: the derivatives of log Gamma, the incomplete beta function, and what exp leaves beyond its tangent.
//
// Templates are compiled for float and double. The accuracy contract is the constant of the same name in special/accuracy.h.
#pragma once

#include <concepts>

namespace dma::special {

// psi(x) = d/dx log Gamma(x), for x > 0: the mean of log g, g ~ Gamma(x, 1).
template <std::floating_point T>
T digamma(T x);

// psi'(x), for x > 0: the variance of log g, g ~ Gamma(x, 1).
template <std::floating_point T>
T trigamma(T x);

// The x > 0 whose psi'(x) is this, for y > 0.
double inverse_trigamma(double y);

// I_x(a, b), for a, b > 0 and 0 <= x <= 1: the probability that a Beta(a, b) variable is at most x.
double incomplete_beta(double a, double b, double x);

// exp(x) - 1 - x >= 0, without cancellation at x = 0.
template <std::floating_point T>
T exp_beyond_tangent(T x);

}  // namespace dma::special
