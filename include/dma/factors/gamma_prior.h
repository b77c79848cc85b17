// factors/gamma_prior.h: f(precision) = Gamma(precision; shape, rate), of mean shape / rate
//
//   to precision: Gamma(shape, rate)                           exact, whatever arrives
//
//   Domain    shape > 0, rate > 0.
#pragma once

#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <tuple>

#include <dma/factors/factor.h>
#include <dma/factors/normaliser.h>

namespace dma {

struct GammaPrior {
  double shape = 2;
  double rate = 1;

  static constexpr std::tuple parameters{Parameter{"shape", &GammaPrior::shape},
                                         Parameter{"rate", &GammaPrior::rate}};

  static const FactorInfo& info() {
    static constexpr std::array edges{EdgeInfo{
        .name = "precision", .theorem = "exact (conjugate)", .family = MessageFamily::gamma}};
    static constexpr FactorInfo info{.name = "gamma_prior",
                                     .density = "Gamma(precision; shape, rate)",
                                     .domain = "shape > 0, rate > 0",
                                     .edges = edges,
                                     .conjugate = true};
    return info;
  }

  static constexpr std::size_t arity() { return 1; }

  void validate() const {
    for (const double one : {shape, rate}) {
      if (one > 0 && std::isfinite(one)) continue;
      throw std::invalid_argument("the shape and the rate of a Gamma must be positive, got " +
                                  std::to_string(shape) + " and " + std::to_string(rate));
    }
  }

  Gaussian<double> message(std::size_t /*edge*/, Incoming<double> /*in*/, Rule /*rule*/) const {
    return Gamma{shape, rate}.message();
  }

  double log_density(std::span<const double> at) const {
    if (!(at[0] > 0)) return -std::numeric_limits<double>::infinity();
    return (shape - 1) * std::log(at[0]) - rate * at[0] - log_integral(Gamma{shape, rate});
  }

  double log_normaliser(Incoming<double> in) const {
    const Gamma prior{shape, rate};
    return log_integral(Gamma::from_message(prior.message() * in[0])) - log_integral(prior);
  }

  Gaussian<double> variational(std::size_t edge, Incoming<double> in) const {
    return message(edge, in, Rule::direct);
  }
};

static_assert(Factor<GammaPrior>);

}  // namespace dma
