// factors/negative_binomial.h: a count whose mean is exp(x) and whose variance is exp(x) + exp(2 x) / shape
//
//   f(x) = Gamma(count + shape) / (Gamma(shape) count!) q^count (1 - q)^shape,   q = exp(x) / (shape + exp(x))
//
//   direct to x, count > 0: under the exact message q is Beta(count, shape), whatever arrives
//     mean = log shape + psi(count) - psi(shape),   variance = psi'(count) + psi'(shape)     exact moments
//   direct to x, count = 0: (1 - q)^shape has no moments; the tilted marginal is divided (factors/tilted.h)
//   linear to x: the count's best linear regression on x ~ N(m, v); mu = exp(m + v / 2)
//     rho = 1 / (1 / mu + exp(v) / shape + exp(v) - 1 - v),   mean = m + count / mu - 1
//   EP: the tilted marginal.   VMP: by quadrature
//
//   Domain    count a whole number, not negative; shape > 0 (infinite: Poisson). A uniform x gets the uniform message
//             where what arrives is read.
#pragma once

#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <tuple>

#include <dma/factors/factor.h>
#include <dma/factors/normaliser.h>
#include <dma/factors/poisson.h>
#include <dma/factors/tilted.h>
#include <dma/special/gamma.h>

namespace dma {

struct NegativeBinomial {
  double count = 0;
  double shape = 1;

  static constexpr std::tuple parameters{Parameter{"count", &NegativeBinomial::count},
                                         Parameter{"shape", &NegativeBinomial::shape}};

  const FactorInfo& info() const {
    static constexpr std::array some{detail::edge_of_a_count}, none{detail::edge_of_no_count};
    static constexpr FactorInfo of_some{
        .name = "negative_binomial",
        .density =
            "Gamma(count + shape) / (Gamma(shape) count!) q^count (1 - q)^shape, "
            "q = exp(x) / (shape + exp(x))",
        .domain = "count 0, 1, ...; shape > 0",
        .edges = some};
    static constexpr FactorInfo of_none{
        .name = of_some.name, .density = of_some.density, .domain = of_some.domain, .edges = none};
    return count > 0 ? of_some : of_none;
  }

  static constexpr std::size_t arity() { return 1; }

  void validate() const {
    detail::validate_count(count);
    if (!(shape > 0) || !std::isfinite(shape)) {
      throw std::invalid_argument("the shape of a negative binomial must be positive, got " +
                                  std::to_string(shape));
    }
  }

  template <std::floating_point T>
  Gaussian<T> message(std::size_t /*edge*/, Incoming<T> in, Rule rule) const {
    if (rule == Rule::direct && count > 0) {
      return Gaussian<T>::from_moments(
          T(std::log(shape) + special::digamma(count) - special::digamma(shape)),
          T(special::trigamma(count) + special::trigamma(shape)));
    }
    if (in[0].rho == 0) return Gaussian<T>::uniform();
    const Gaussian<double> x{double(in[0].tau), double(in[0].rho)};
    // Where x is known, the tilted marginal says nothing.
    if (rule == Rule::linear || x.is_point())
      return narrowed<T>(detail::linear_message_of_count(count, 1 / shape, x));
    return narrowed<T>(tilted_message(x, tilt(*this, x)));
  }

  // log(shape + exp(x)) = log shape + log(1 + exp(y)), y = x - log shape
  double log_density(double x) const {
    const double y = x - std::log(shape);
    return std::lgamma(count + shape) - std::lgamma(shape) - std::lgamma(count + 1) + count * y -
           (count + shape) * (std::max(y, 0.0) + std::log1p(std::exp(-std::abs(y))));
  }
  double log_density(std::span<const double> at) const { return log_density(at[0]); }
  double slope(double x) const { return count - (count + shape) * odds(x).above; }
  double curvature(double x) const {
    const auto [above, below] = odds(x);
    return (count + shape) * above * below;
  }
  std::array<Corner, 1> corners() const { return {{{std::log(shape), 1}}}; }

  double log_normaliser(Incoming<double> in) const {
    const auto x = detail::known(in[0]);
    return x.is_point() ? log_density(x.mean()) : TiltedDensity(*this, x).log_mass();
  }

  Gaussian<double> marginal(std::size_t /*edge*/, Incoming<double> in) const {
    detail::require_proper(in[0]);
    return tilted_marginal(in[0], tilt(*this, in[0]));
  }

  Gaussian<double> variational(std::size_t /*edge*/, Incoming<double> in) const {
    return variational_message(*this, in[0]);
  }

 private:
  // q and 1 - q
  struct Odds {
    double above, below;
  };
  Odds odds(double x) const {
    const double y = x - std::log(shape);
    return {1 / (1 + std::exp(-y)), 1 / (1 + std::exp(y))};
  }
};

static_assert(Factor<NegativeBinomial>);

}  // namespace dma
