// factors/normaliser.h: what a factor and the messages that arrive at it integrate to, for the evidence of a graph.
//
//   Z_f = integral of f(x_0, ..., x_n) m_0(x_0) ... m_n(x_n)
//
// A proper message is a density here, a point mass a Dirac, and the uniform message the constant 1. A message of a Gamma
// variable is x^tau exp(-rho x), not normalised.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include <dma/factors/factor.h>
#include <dma/special/normal.h>

namespace dma {

// An integral is infinite or does not exist.
struct NoEvidence : std::domain_error {
  using std::domain_error::domain_error;
};

// log of the integral of a b: N(m_a; m_b, v_a + v_b), or 1 if one is uniform and the other a distribution.
inline double log_overlap(Gaussian<double> a, Gaussian<double> b) {
  const auto known = [](Gaussian<double> one) { return one.is_uniform() || one.is_distribution(); };
  if (!known(a) || !known(b)) throw NoEvidence("a message has negative precision");
  if (a.is_uniform() && b.is_uniform()) throw NoEvidence("nothing is known about a variable");
  if (a.is_uniform() || b.is_uniform()) return 0;
  const double variance = a.variance() + b.variance();
  if (variance == 0) throw NoEvidence("two point masses meet, where a density is infinite");
  const double gap = a.mean() - b.mean();
  return -(gap * gap / variance + std::log(variance)) / 2 - special::log_sqrt_two_pi;
}

// log of the integral of x^(shape - 1) exp(-rate x), of a point mass 0.
inline double log_integral(const Gamma& gamma) {
  if (!gamma.is_distribution()) {
    throw NoEvidence("a precision's belief is no distribution, shape " +
                     std::to_string(gamma.shape) + " and rate " + std::to_string(gamma.rate));
  }
  if (gamma.is_point()) return 0;
  return std::lgamma(gamma.shape) - gamma.shape * std::log(gamma.rate);
}

namespace detail {

// The moments of a message that must be a distribution.
inline Gaussian<double> known(Gaussian<double> message) {
  if (message.is_distribution()) return message;
  throw NoEvidence(message.is_uniform() ? "nothing is known about a variable"
                                        : "a message has negative precision");
}

// log(exp(a) + exp(b))
inline double log_add(double a, double b) {
  const double larger = std::max(a, b);
  return larger == -std::numeric_limits<double>::infinity()
             ? larger
             : larger + std::log1p(std::exp(std::min(a, b) - larger));
}

// log(Phi(b) - Phi(a)), a < b, as a ratio on the side where neither is close to 1.
inline double log_normal_mass(double a, double b) {
  if (a > 0) return log_normal_mass(-b, -a);
  const double log_b = special::normal_log_cdf(b);
  return log_b + std::log1p(-std::exp(special::normal_log_cdf(a) - log_b));
}

}  // namespace detail
}  // namespace dma
