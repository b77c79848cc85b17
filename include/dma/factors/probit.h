// factors/probit.h: f(x) = Phi(sign (x - threshold) / sqrt(variance)): x, seen through Gaussian noise, is above the
// threshold (sign 1) or below it (sign -1)
//
//   With s^2 = v + variance, t = sign (m - threshold) / s and M(t) = phi(t) / Phi(t), in the words of factors/tilted.h:
//
//   direct:  the exact message is Phi itself, which has no moments; the tilted marginal is divided
//            g = sign M(t) / s,   k = M(t) (M(t) + t) / s^2
//   linear:  "above" is 1 with probability Phi, with its best linear regression on x
//            g = sign M(t) / s,   k = M(t) M(-t) / s^2
//   EP:      the tilted marginal.   VMP: by quadrature
//
//   Domain    variance > 0 (GreaterThan has none). A uniform x gets the uniform message.
#pragma once

#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <tuple>

#include <dma/factors/factor.h>
#include <dma/factors/normaliser.h>
#include <dma/factors/tilted.h>
#include <dma/special/normal.h>

namespace dma {

struct Probit {
  int sign = 1;
  double threshold = 0;
  double variance = 1;

  static constexpr std::tuple parameters{Parameter{"sign", &Probit::sign, false},
                                         Parameter{"threshold", &Probit::threshold, false},
                                         Parameter{"variance", &Probit::variance, false}};

  static const FactorInfo& info() {
    static constexpr std::array edges{
        EdgeInfo{.name = "x",
                 .proper = false,
                 .theorem = "none: truncated marginal, divided (EP)",
                 .own_edge_reason = "the exact message does not vanish on one side, which no "
                                    "Gaussian matches without knowing where x is"}};
    static constexpr FactorInfo info{.name = "probit",
                                     .density = "Phi(sign (x - threshold) / sqrt(variance))",
                                     .domain = "variance > 0",
                                     .edges = edges};
    return info;
  }

  static constexpr std::size_t arity() { return 1; }

  void validate() const {
    if (sign != 1 && sign != -1) {
      throw std::invalid_argument("the sign of a probit must be 1 or -1, got " +
                                  std::to_string(sign));
    }
    if (!std::isfinite(threshold)) throw std::invalid_argument("the threshold is not finite");
    if (!(variance > 0) || !std::isfinite(variance)) {
      throw std::invalid_argument("the variance of a probit must be positive, got " +
                                  std::to_string(variance));
    }
  }

  template <std::floating_point T>
  Tilted<T> tilted(Gaussian<T> x, Rule rule) const {
    const T v = x.variance();
    const T s = std::sqrt(v + T(variance));
    const T t = T(sign) * (x.mean() - T(threshold)) / s;
    const T mills = special::normal_mills(t);
    const T slope = T(sign) * mills / s;
    if (rule == Rule::linear) {
      const T w = mills * special::normal_mills(-t);
      return {slope, w / s / s, 1 - w * (v / s) / s};
    }
    const T truncated = special::truncated_moments(t).variance;
    const T w = t < 0 ? 1 - truncated : mills * (mills + t);
    return {slope, w / s / s, (T(variance) / s + truncated * (v / s)) / s};
  }

  template <std::floating_point T>
  Gaussian<T> message(std::size_t /*edge*/, Incoming<T> in, Rule rule) const {
    if (in[0].rho == 0) return Gaussian<T>::uniform();
    return tilted_message(in[0], tilted(in[0], rule));
  }

  double log_density(std::span<const double> at) const {
    return special::normal_log_cdf(argument(at[0]));
  }
  double slope(double x) const {
    return sign * special::normal_mills(argument(x)) / std::sqrt(variance);
  }
  double curvature(double x) const {
    const double t = argument(x);
    return (1 - special::truncated_moments(t).variance) / variance;
  }

  double log_normaliser(Incoming<double> in) const {
    const auto x = detail::known(in[0]);
    return special::normal_log_cdf(sign * (x.mean() - threshold) /
                                   std::sqrt(x.variance() + variance));
  }

  Gaussian<double> marginal(std::size_t /*edge*/, Incoming<double> in) const {
    detail::require_proper(in[0]);
    return tilted_marginal(in[0], tilted(in[0], Rule::direct));
  }

  Gaussian<double> variational(std::size_t /*edge*/, Incoming<double> in) const {
    return variational_message(*this, in[0]);
  }

 private:
  double argument(double x) const { return sign * (x - threshold) / std::sqrt(variance); }
};

static_assert(Factor<Probit>);

}  // namespace dma
