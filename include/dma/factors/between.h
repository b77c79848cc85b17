// factors/between.h: f(x) = 1 if lower < x < upper, else 0 (TrueSkill's draw)
//
//   direct to x: the exact message is the uniform density of the interval, whatever arrives
//     mean = (lower + upper) / 2,   variance = (upper - lower)^2 / 12                 exact moments
//     refused if an end is infinite: there are no moments
//   linear to x: "x is inside" has the slope 0 on an x in the middle, so that its regression would say nothing there; the
//     truncated marginal is divided, as under GreaterThan
//   EP: the truncated marginal.   VMP: none
//
//   With x ~ N(m, s^2), an m that is not above the middle (else everything is reflected), a = (lower - m) / s,
//   b = (upper - m) / s and t ~ N(0, 1) given a < t < b:
//
//     marginal:  mean = m + s E[t] = lower + s E[t - a],   variance = s^2 Var[t]
//     to x:      rho = rho_x (1 - Var[t]) / Var[t],   tau = rho_x (mean - m Var[t]) / Var[t]
//
//   a < -1: E[t] = (phi(a) - phi(b)) / Z,   1 - Var[t] = E[t]^2 + (b phi(b) - a phi(a)) / Z,   Z = Phi(b) - Phi(a)
//   else:   moments of u = t - a, whose density is exp(-a u - u^2 / 2), by quadrature: the closed form cancels
//
//   Truncation by an interval never widens a Gaussian, so no precision is negative.
//
//   Domain    lower < upper; one of them may be infinite. Where what arrives is read: a point mass that is not inside contradicts the factor:
//             std::domain_error.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>

#include <dma/factors/factor.h>
#include <dma/factors/normaliser.h>
#include <dma/factors/tilted.h>
#include <dma/special/normal.h>
#include <dma/special/quadrature.h>

namespace dma {

namespace detail {

// Of t ~ N(0, 1) given a < t < a + length: E[t], E[t - a], Var[t], 1 - Var[t].
struct Truncated {
  double mean, from_lower, kept, cut;
};

// a < -1 and a + length > 1: every term of 1 - Var[t] is positive.
inline Truncated truncate_tails(double a, double length) {
  // The argument may be infinite.
  const auto times_density = [](double t) { return t < 40 ? t * special::normal_pdf(t) : 0; };
  const double b = a + length;
  const double mass = 1 - special::normal_cdf(a) - special::normal_cdf(-b);
  const double mean = (special::normal_pdf(a) - special::normal_pdf(b)) / mass;
  const double cut = mean * mean + (times_density(b) + times_density(-a)) / mass;
  return {mean, mean - a, 1 - cut, cut};
}

// a >= -1: what is beyond the end weighs exp(-40) of the peak or less.
inline Truncated truncate_most(double a, double length) {
  static const special::QuadratureRule rule = special::gauss_legendre(32);
  const double reach = std::sqrt(80.0);  // a u + u^2 / 2 = 40 at the end
  const double end = std::min(length, reach / (a + std::hypot(a, reach)) * reach);
  double mass = 0;
  double first = 0;
  std::array<double, 32> at{}, weight{};
  for (std::size_t i = 0; i < at.size(); ++i) {
    at[i] = end * (1 + rule.nodes[i]) / 2;
    weight[i] = rule.weights[i] * std::exp(-at[i] * (a + at[i] / 2));
    mass += weight[i];
    first += weight[i] * at[i];
  }
  const double mean = first / mass;
  double variance = 0;
  for (std::size_t i = 0; i < at.size(); ++i)
    variance += weight[i] / mass * (at[i] - mean) * (at[i] - mean);
  return {a + mean, mean, variance, 1 - variance};
}

inline Truncated truncate(double a, double length) {
  return a < -1 ? truncate_tails(a, length) : truncate_most(a, length);
}

}  // namespace detail

struct Between {
  double lower = -1;
  double upper = 1;

  static constexpr std::tuple parameters{Parameter{"lower", &Between::lower},
                                         Parameter{"upper", &Between::upper}};

  static const FactorInfo& info() {
    static constexpr std::array edges{
        EdgeInfo{.name = "x", .theorem = "Def. 1: the exact message's moments; no bound"}};
    static constexpr FactorInfo info{.name = "between",
                                     .density = "1[lower < x < upper]",
                                     .domain = "lower < upper, at most one infinite",
                                     .edges = edges};
    return info;
  }

  static constexpr std::size_t arity() { return 1; }

  void validate() const {
    const bool representable = std::isfinite(upper - lower) || has_one_end();
    if (lower < upper && representable) return;
    throw std::invalid_argument(
        "the lower end must be below the upper, and at most one infinite, got " +
        std::to_string(lower) + " and " + std::to_string(upper));
  }

  std::string_view refusal(std::size_t /*edge*/, Rule rule) const {
    if (rule == Rule::linear || !has_one_end()) return {};
    return "an infinite end leaves no direct message: the exact message is constant beyond the "
           "other end and cannot be normalised; use the linear rule, EP, or greater_than";
  }

  template <std::floating_point T>
  Gaussian<T> message(std::size_t /*edge*/, Incoming<T> in, Rule rule) const {
    const Gaussian<double> x{double(in[0].tau), double(in[0].rho)};
    if (rule == Rule::direct || x.rho == 0) return narrowed<T>(uniform_inside());
    return narrowed<T>(divided(x));
  }

  double log_density(std::span<const double> at) const {
    return lower < at[0] && at[0] < upper ? 0 : -std::numeric_limits<double>::infinity();
  }

  double log_normaliser(Incoming<double> in) const {
    if (in[0].is_uniform()) {
      if (has_one_end()) throw NoEvidence("nothing is known about a variable");
      return std::log(upper - lower);
    }
    const auto x = detail::known(in[0]);
    if (x.is_point()) return log_density(std::array{x.mean()});
    const double a = (lower - x.mean()) / x.stddev();
    const double b = (upper - x.mean()) / x.stddev();
    if (std::isinf(lower)) return special::normal_log_cdf(b);
    return std::isinf(upper) ? special::normal_log_cdf(-a) : detail::log_normal_mass(a, b);
  }

  Gaussian<double> marginal(std::size_t /*edge*/, Incoming<double> in) const {
    if (in[0].rho == 0) return uniform_inside();
    detail::require_proper(in[0]);
    const Inside inside = truncated(in[0]);
    return Gaussian<double>::from_moments(inside.mean, in[0].variance() * inside.kept);
  }

 private:
  bool has_one_end() const { return std::isinf(lower) != std::isinf(upper); }

  // What is left of x ~ N(m, v): the mean; Var / v, and what that lacks to 1; mean - m Var / v.
  struct Inside {
    double mean, kept, cut, pull;
  };

  Gaussian<double> uniform_inside() const {
    if (has_one_end()) return Gaussian<double>::uniform();
    const double length = upper - lower;
    return Gaussian<double>::from_moments(lower + length / 2, length * length / 12);
  }

  Inside truncated(Gaussian<double> x) const {
    const double m = x.mean();
    const double s = x.stddev();
    const bool reflected = std::isinf(lower) || m > lower + (upper - lower) / 2;
    const double side = reflected ? -1 : 1;
    const double near = reflected ? upper : lower;
    const double a = side * (near - m) / s;
    // So far away that the square of a is no number.
    if (a > 1e150) return {near, 0, 1, near};
    const auto [mean, from_near, kept, cut] = detail::truncate(a, (upper - lower) / s);
    if (a < -1) return {m + side * s * mean, kept, cut, m * cut + side * s * mean};
    const double inside = near + side * s * from_near;
    return {inside, kept, cut, inside - m * kept};
  }

  Gaussian<double> divided(Gaussian<double> x) const {
    if (x.is_point()) {
      if (lower < x.tau && x.tau < upper) return Gaussian<double>::uniform();
      throw std::domain_error("x is fixed at " + std::to_string(x.tau) + ", which is not between " +
                              std::to_string(lower) + " and " + std::to_string(upper));
    }
    const Inside inside = truncated(x);
    if (inside.kept == 0) return Gaussian<double>::point(inside.mean);
    const double rho = x.rho * inside.cut / inside.kept;
    const double tau = x.rho * inside.pull / inside.kept;
    if (!(rho > 0)) return Gaussian<double>::uniform();  // so wide that the cut rounds to zero
    if (!std::isfinite(rho) || !std::isfinite(tau)) return Gaussian<double>::point(inside.mean);
    return {tau, rho};
  }
};

static_assert(Factor<Between>);

}  // namespace dma
