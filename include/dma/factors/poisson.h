// factors/poisson.h: f(x) = exp(count x - exp(x)) / count!, a count whose mean is exp(x)
//
//   direct to x, count > 0: under the exact message exp(x) is Gamma(count, 1), whatever arrives
//     mean = psi(count),   variance = psi'(count)                                     exact moments
//   direct to x, count = 0: exp(-exp(x)) has no moments; the tilted marginal is divided (factors/tilted.h)
//   linear to x: count = exp(x) + N(0, exp(x)), with its best linear regression on x ~ N(m, v); mu = exp(m + v / 2)
//     rho = 1 / (1 / mu + exp(v) - 1 - v),   mean = m + count / mu - 1
//   EP: the tilted marginal.   VMP: rho = mu, mean as under linear
//
//   Domain    count a whole number, not negative. Where what arrives is read: exp(x) must be a number, so the mean of x
//             is at most 700; a uniform x gets the uniform message.
#pragma once

#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <tuple>

#include <dma/factors/factor.h>
#include <dma/factors/normaliser.h>
#include <dma/factors/tilted.h>
#include <dma/special/gamma.h>

namespace dma {

namespace detail {

inline constexpr EdgeInfo edge_of_a_count{
    .name = "x", .theorem = "Def. 1: the exact message's moments; no bound"};
inline constexpr EdgeInfo edge_of_no_count{
    .name = "x",
    .proper = false,
    .theorem = "none: tilted marginal, divided (EP)",
    .own_edge_reason =
        "the exact message of the count 0 does not vanish for small x, which no "
        "Gaussian matches without knowing where x is"};

inline void validate_count(double count) {
  if (!(count >= 0) || !std::isfinite(count) || count != std::floor(count)) {
    throw std::invalid_argument("a count must be a whole number from 0 on, got " +
                                std::to_string(count));
  }
}

// The best linear regression of a count of mean exp(x) and variance exp(x) + exp(2 x) / shape on x ~ N(m, v).
inline Gaussian<double> linear_message_of_count(double count, double inverse_shape,
                                                Gaussian<double> x) {
  const double m = x.mean();
  const double v = x.variance();
  const double beyond = inverse_shape * std::exp(v) + special::exp_beyond_tangent(v);
  const double mu = std::exp(m + v / 2);
  // With mu (m + count / mu - 1) rho / mu, so that a mu of almost nothing does no harm.
  const double denominator = 1 + mu * beyond;
  const double rho = mu / denominator;
  const double tau = (m - 1) * rho + count / denominator;
  if (!(rho > 0) || !std::isfinite(rho) || !std::isfinite(tau)) return Gaussian<double>::uniform();
  return {tau, rho};
}

}  // namespace detail

struct Poisson {
  double count = 0;

  static constexpr std::tuple parameters{Parameter{"count", &Poisson::count}};

  const FactorInfo& info() const {
    static constexpr std::array some{detail::edge_of_a_count}, none{detail::edge_of_no_count};
    static constexpr FactorInfo of_some{.name = "poisson",
                                        .density = "exp(count x - exp(x)) / count!",
                                        .domain = "count 0, 1, ...; mean of x at most 700",
                                        .edges = some};
    static constexpr FactorInfo of_none{
        .name = of_some.name, .density = of_some.density, .domain = of_some.domain, .edges = none};
    return count > 0 ? of_some : of_none;
  }

  static constexpr std::size_t arity() { return 1; }

  void validate() const { detail::validate_count(count); }

  template <std::floating_point T>
  Gaussian<T> message(std::size_t /*edge*/, Incoming<T> in, Rule rule) const {
    if (rule == Rule::direct && count > 0) {
      return Gaussian<T>::from_moments(T(special::digamma(count)), T(special::trigamma(count)));
    }
    if (in[0].rho == 0) return Gaussian<T>::uniform();
    const Gaussian<double> x{double(in[0].tau), double(in[0].rho)};
    require_number(x);
    // Where x is known, the tilted marginal says nothing.
    if (rule == Rule::linear || x.is_point())
      return narrowed<T>(detail::linear_message_of_count(count, 0, x));
    return narrowed<T>(tilted_message(x, tilt(*this, x)));
  }

  double log_density(double x) const { return count * x - std::exp(x) - std::lgamma(count + 1); }
  double log_density(std::span<const double> at) const { return log_density(at[0]); }
  double slope(double x) const { return count - std::exp(x); }
  static double curvature(double x) { return std::exp(x); }
  static std::array<Corner, 1> corners() { return {{{0, 1}}}; }

  double log_normaliser(Incoming<double> in) const {
    const auto x = detail::known(in[0]);
    return x.is_point() ? log_density(x.mean()) : TiltedDensity(*this, x).log_mass();
  }

  Gaussian<double> marginal(std::size_t /*edge*/, Incoming<double> in) const {
    detail::require_proper(in[0]);
    require_number(in[0]);
    return tilted_marginal(in[0], tilt(*this, in[0]));
  }

  Gaussian<double> variational(std::size_t /*edge*/, Incoming<double> in) const {
    if (in[0].rho == 0) return Gaussian<double>::uniform();
    const double m = in[0].mean();
    const double mu = std::exp(m + in[0].variance() / 2);
    if (!std::isfinite(mu)) refuse(m);
    if (mu == 0) return Gaussian<double>::uniform();
    return {(m - 1) * mu + count, mu};
  }

 private:
  static void require_number(Gaussian<double> x) {
    if (x.mean() > 700) refuse(x.mean());
  }
  [[noreturn]] static void refuse(double x) {
    throw std::domain_error("x is about " + std::to_string(x) + ", and exp(x) is too large");
  }
};

static_assert(Factor<Poisson>);

}  // namespace dma
