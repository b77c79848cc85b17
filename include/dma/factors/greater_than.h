// factors/greater_than.h: f(x) = 1 if x > threshold, else 0 (TrueSkill's comparison)
//
//   The exact message is the indicator itself, which no Gaussian matches: there is no message that
//   ignores what arrives on its own edge. Both rules match the truncated marginal and divide, as
//   TrueSkill does. With t = (m - threshold) / s, M = phi(t) / Phi(t), w = M (M + t) in (0, 1):
//
//   marginal:  mean = m + s M,   variance = s^2 (1 - w)
//   to x:      rho = rho_x w / (1 - w),   tau = rho_x (m w + s M) / (1 - w)
//
//   Truncation by a half-line never widens a Gaussian, so the precision is never negative and the
//   division is written without a difference.
//
//   Domain    x proper: the uniform message comes back uniform. A point mass at or below the
//             threshold contradicts the factor: std::domain_error.
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>

#include <dma/factors/factor.h>
#include <dma/factors/normaliser.h>
#include <dma/special/normal.h>

namespace dma {

struct GreaterThan {
  double threshold = 0;

  static constexpr std::tuple parameters{Parameter{"threshold", &GreaterThan::threshold, false}};

  static const FactorInfo& info() {
    static constexpr std::array edges{
        EdgeInfo{.name = "x",
                 .proper = false,
                 .theorem = "none: truncated marginal, divided (EP)",
                 .own_edge_reason = "the exact message is an indicator, which no Gaussian matches "
                                    "without knowing where x is"}};
    static constexpr FactorInfo info{.name = "greater_than",
                                     .density = "1[x > threshold]",
                                     .domain = "x proper",
                                     .edges = edges};
    return info;
  }

  static constexpr std::size_t arity() { return 1; }

  void validate() const {
    if (!std::isfinite(threshold)) throw std::invalid_argument("the threshold is not finite");
  }

  template <std::floating_point T>
  Gaussian<T> message(std::size_t /*edge*/, Incoming<T> in, Rule /*rule*/) const {
    const Gaussian<T> x = in[0];
    if (x.rho == 0) return Gaussian<T>::uniform();
    if (x.is_point()) {
      if (x.tau > T(threshold)) return Gaussian<T>::uniform();
      throw std::domain_error("x is fixed at " + std::to_string(x.tau) +
                              ", which is not greater than " + std::to_string(threshold));
    }
    const T s = x.stddev();
    const T t = (x.mean() - T(threshold)) / s;
    const auto truncated = special::truncated_moments(t);
    const T mills = special::normal_mills(t);
    // w and m w + s M, each computed on the side where it is not a difference of nearly equal numbers.
    const T w = t < 0 ? 1 - truncated.variance : mills * (mills + t);
    const T shift = t < 0 ? T(threshold) + s * truncated.mean - x.mean() * truncated.variance
                          : x.mean() * w + s * mills;
    if (truncated.variance == 0) return Gaussian<T>::point(T(threshold));
    const T rho = x.rho * w / truncated.variance;
    const T tau = x.rho * shift / truncated.variance;
    if (!(rho > 0)) return Gaussian<T>::uniform();  // t so large that w rounds to zero
    if (!std::isfinite(rho)) return Gaussian<T>::point(T(threshold));
    return {tau, rho};
  }

  double log_density(std::span<const double> at) const {
    return at[0] > threshold ? 0 : -std::numeric_limits<double>::infinity();
  }

  double log_normaliser(Incoming<double> in) const {
    const auto x = detail::known(in[0]);
    if (x.is_point()) return log_density(std::array{x.mean()});
    return special::normal_log_cdf((x.mean() - threshold) / x.stddev());
  }

  Gaussian<double> marginal(std::size_t edge, Incoming<double> in) const {
    if (!in[0].is_proper()) {
      throw NoProjection("a truncated marginal needs a proper message, got precision " +
                         std::to_string(in[0].rho));
    }
    return in[0] * message(edge, in, Rule::direct);
  }
};

static_assert(Factor<GreaterThan>);

}  // namespace dma
