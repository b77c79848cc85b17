// messages/lognormal.h: sign * exp(L) with L ~ N(mu, sigma^2), and its moment-matched copies.
//
//   E[W] = sign exp(mu + sigma^2 / 2),   Var[W] = E[W]^2 (exp(sigma^2) - 1)
//
// The log-normal family is closed under products, quotients and powers of independent variables,
// which is what the paper's product-backward message is built on.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <stdexcept>
#include <string>

#include <dma/messages/gaussian.h>

namespace dma {

template <std::floating_point T>
struct LogNormal {
  Gaussian<T> log;  // the distribution of log |W|
  int sign = 1;     // +1 or -1

  T mean() const { return T(sign) * std::exp(log.mean() + log.variance() / 2); }

  T variance() const {
    const T m = mean();
    return m * m * std::expm1(log.variance());
  }

  // log density at w; -inf on the wrong side of zero.
  T log_density(T w) const {
    if (!(T(sign) * w > 0)) return -std::numeric_limits<T>::infinity();
    const T l = std::log(std::abs(w));
    return log.log_density(l) - l;
  }

  // Distribution of the product and of the quotient of two independent variables.
  friend LogNormal product(LogNormal a, LogNormal b) {
    return {
        Gaussian<T>::from_moments(a.log.mean() + b.log.mean(), a.log.variance() + b.log.variance()),
        a.sign * b.sign};
  }
  friend LogNormal quotient(LogNormal a, LogNormal b) {
    return {
        Gaussian<T>::from_moments(a.log.mean() - b.log.mean(), a.log.variance() + b.log.variance()),
        a.sign * b.sign};
  }

  friend bool operator==(LogNormal, LogNormal) = default;
};

// Gaussian to log-normal with the same mean and variance (Lemma "Gaussian-log-normal KL bound"):
//   sigma_l^2 = log(1 + 1/r^2),  mu_l = log |mu_w| - sigma_l^2 / 2,  r = |mu_w| / sigma_w
// A mean of zero has no matching log-normal: std::domain_error.
template <std::floating_point T>
LogNormal<T> to_lognormal(Gaussian<T> w) {
  const T mean = w.mean();
  if (!w.is_distribution() || mean == 0) {
    throw std::domain_error(
        "to_lognormal: a log-normal matches only a distribution whose mean is not 0, got mean " +
        std::to_string(mean) + ", precision " + std::to_string(w.rho));
  }
  const T noise_to_signal = w.stddev() / std::abs(mean);
  const T log_variance = std::log1p(noise_to_signal * noise_to_signal);
  return {Gaussian<T>::from_moments(std::log(std::abs(mean)) - log_variance / 2, log_variance),
          mean > 0 ? 1 : -1};
}

// Log-normal to Gaussian with the same mean and variance. If these overflow, the message is uniform: a Gaussian cannot
// represent a log-normal that wide.
template <std::floating_point T>
Gaussian<T> to_gaussian(LogNormal<T> w) {
  const T mean = w.mean();
  const T variance = w.variance();
  if (!std::isfinite(mean) || !std::isfinite(variance)) return Gaussian<T>::uniform();
  return Gaussian<T>::from_moments(mean, variance);
}

// KL(LN || N) of a moment-matched pair, s = sigma_l^2 (the lemma's closed form, rearranged so that
// nothing cancels and the coefficient 3/4 of 1/r^2 is visible):
//
//   KL = log((e^s - 1) / s) / 2 + s / 2 = 3/4 s + log(sinh(h) / h) / 2,   h = s / 2
template <std::floating_point T>
T matched_kl(LogNormal<T> w) {
  const T s = w.log.variance();
  const T h = s / 2;
  T log_sinhc = h + std::log1p(-std::exp(-2 * h)) - std::log(2 * h);
  if (h < T(0.5)) {
    // sinh(h) / h - 1 = h^2/6 (1 + h^2/20 (1 + h^2/42 (1 + ...))), factors 2k (2k + 1)
    T sum = 1;
    for (int k = 7; k > 1; --k) sum = 1 + sum * h * h / T(2 * k * (2 * k + 1));
    log_sinhc = std::log1p(sum * h * h / 6);
  }
  return 3 * s / 4 + log_sinhc / 2;
}

}  // namespace dma
