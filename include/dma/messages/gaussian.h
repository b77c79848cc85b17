// messages/gaussian.h: exp(tau x - rho x^2 / 2), a Gaussian up to a constant, in natural parameters.
//
//   tau = mean / variance,   rho = 1 / variance
//
// Four states, each explicit:
//   uniform      rho = 0, tau = 0        no information
//   proper       0 < rho < inf           a distribution
//   point mass   rho = inf, tau = mean   infinite precision, held by its mean
//   improper     anything else           rho < 0 or rho = 0 != tau: possible as a quotient only
//
// Products add natural parameters and quotients subtract them; a point mass absorbs anything it is multiplied by.
// Two point masses at different places have no product: std::domain_error.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <string>

#include <dma/special/normal.h>

namespace dma {

// 1 / x, and infinite at 0, for a variance or a precision of 0.
template <std::floating_point T>
constexpr T reciprocal(T x) {
  return x == 0 ? std::numeric_limits<T>::infinity() : 1 / x;
}

template <std::floating_point T>
struct Gaussian {
  T tau{};
  T rho{};

  static constexpr Gaussian uniform() { return {}; }

  static constexpr Gaussian point(T mean) { return {mean, std::numeric_limits<T>::infinity()}; }

  // variance = 0 (or so small that tau or rho overflows) is the point mass, variance = inf the uniform
  // message. Throws std::invalid_argument if mean or variance is NaN, the variance is negative or the
  // mean is infinite.
  static constexpr Gaussian from_moments(T mean, T variance) {
    if (!(variance >= 0) || !(std::abs(mean) <= std::numeric_limits<T>::max())) {
      refuse_moments(mean, variance);
    }
    const T rho = reciprocal(variance);
    const T tau = mean * rho;
    if (!(rho <= std::numeric_limits<T>::max() && std::abs(tau) <= std::numeric_limits<T>::max())) {
      return point(mean);
    }
    return {tau, rho};
  }

  constexpr bool is_uniform() const { return rho == 0 && tau == 0; }
  constexpr bool is_point() const { return rho == std::numeric_limits<T>::infinity(); }
  constexpr bool is_proper() const { return rho > 0 && !is_point(); }
  constexpr bool is_distribution() const { return rho > 0; }
  // What a factor may send: uniform, proper or a point mass, and no NaN.
  constexpr bool is_valid() const { return is_uniform() || (rho > 0 && std::isfinite(tau)); }

  // The mean of the uniform message is 0 by convention: its variance is infinite.
  constexpr T mean() const { return is_point() ? tau : rho == 0 ? T(0) : tau / rho; }
  constexpr T variance() const { return reciprocal(rho); }
  constexpr T stddev() const { return reciprocal(std::sqrt(rho)); }

  // log N(x; mean, variance) of a proper Gaussian.
  T log_density(T x) const {
    const T z = (x - mean()) * std::sqrt(rho);
    return (std::log(rho / (2 * std::numbers::pi_v<T>)) - z * z) / 2;
  }

  friend constexpr bool operator==(Gaussian, Gaussian) = default;

  friend constexpr Gaussian operator*(Gaussian a, Gaussian b) {
    if (a.is_point() || b.is_point()) return point_product(a, b);
    return {a.tau + b.tau, a.rho + b.rho};
  }

  friend constexpr Gaussian operator/(Gaussian a, Gaussian b) {
    if (a.is_point() || b.is_point()) return point_quotient(a, b);
    return {a.tau - b.tau, a.rho - b.rho};
  }

  constexpr Gaussian& operator*=(Gaussian b) { return *this = *this * b; }
  constexpr Gaussian& operator/=(Gaussian b) { return *this = *this / b; }

 private:
  [[noreturn]] static void refuse_moments(T mean, T variance) {
    throw std::invalid_argument(
        "Gaussian::from_moments: the mean must be finite and the variance not negative, got mean " +
        std::to_string(mean) + ", variance " + std::to_string(variance));
  }

  // Not part of the operators, which are to be compiled into their callers.
  [[noreturn]] static void refuse_product(Gaussian a, Gaussian b) {
    throw std::domain_error("product of two different point masses, at " + std::to_string(a.tau) +
                            " and " + std::to_string(b.tau));
  }

  [[noreturn]] static void refuse_quotient(Gaussian b) {
    throw std::domain_error("quotient by a point mass at " + std::to_string(b.tau) +
                            " that the numerator does not contain");
  }

  static constexpr Gaussian point_product(Gaussian a, Gaussian b) {
    if (a.is_point() && b.is_point() && a.tau != b.tau) refuse_product(a, b);
    return a.is_point() ? a : b;
  }

  static constexpr Gaussian point_quotient(Gaussian a, Gaussian b) {
    if (!b.is_point()) return a;
    if (a != b) refuse_quotient(b);
    return uniform();
  }
};

// The message raised to a power, as in damping and power EP. The power 0 is the uniform message.
template <std::floating_point T>
constexpr Gaussian<T> power(Gaussian<T> message, T exponent) {
  if (exponent == 0) return Gaussian<T>::uniform();
  if (message.is_point()) return message;
  return {exponent * message.tau, exponent * message.rho};
}

// KL(p || q) of two distributions: 0 if they are the same, infinite if only one is a point mass.
//
//   KL = (t - log(1 + t) + rho_q (m_p - m_q)^2) / 2,   t = rho_q / rho_p - 1
template <std::floating_point T>
T kl_divergence(Gaussian<T> p, Gaussian<T> q) {
  if (!p.is_distribution() || !q.is_distribution()) {
    throw std::domain_error("kl_divergence: both arguments must have positive precision, got " +
                            std::to_string(p.rho) + " and " + std::to_string(q.rho));
  }
  if (p == q) return 0;
  if (p.is_point() || q.is_point()) return std::numeric_limits<T>::infinity();
  const T z = (p.mean() - q.mean()) * std::sqrt(q.rho);
  return (special::minus_log1p((q.rho - p.rho) / p.rho) + z * z) / 2;
}

// The largest difference of the two natural parameters; 0 for equal point masses, inf for a point mass and anything
// else.
template <std::floating_point T>
T max_difference(Gaussian<T> a, Gaussian<T> b) {
  if (a == b) return 0;
  if (a.is_point() || b.is_point()) return std::numeric_limits<T>::infinity();
  return std::max(std::abs(a.tau - b.tau), std::abs(a.rho - b.rho));
}

}  // namespace dma
