// factors/lognormal_observation.h: f(x) = N(log value; x, variance) / value, an observed amount whose log is x and noise
//
//   to x: N(log value, variance)                               exact, whatever arrives
//
//   Domain    value > 0 and finite, variance >= 0 (0: observed without noise).
#pragma once

#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <tuple>

#include <dma/factors/factor.h>
#include <dma/factors/normaliser.h>

namespace dma {

struct LogNormalObservation {
  double value = 1;
  double variance = 1;

  static constexpr std::tuple parameters{Parameter{"value", &LogNormalObservation::value},
                                         Parameter{"variance", &LogNormalObservation::variance}};

  static const FactorInfo& info() {
    static constexpr std::array edges{EdgeInfo{.name = "x", .theorem = "exact (conjugate)"}};
    static constexpr FactorInfo info{.name = "lognormal_observation",
                                     .density = "N(log value; x, variance) / value",
                                     .domain = "value > 0, variance >= 0",
                                     .edges = edges,
                                     .conjugate = true};
    return info;
  }

  static constexpr std::size_t arity() { return 1; }

  void validate() const {
    if (!(value > 0) || !std::isfinite(value)) {
      throw std::invalid_argument("an observed amount must be positive, got " +
                                  std::to_string(value));
    }
    (void)Gaussian<double>::from_moments(value, variance);
  }

  template <std::floating_point T>
  Gaussian<T> message(std::size_t /*edge*/, Incoming<T> /*in*/, Rule /*rule*/) const {
    return Gaussian<T>::from_moments(T(std::log(value)), T(variance));
  }

  double log_density(std::span<const double> at) const {
    return Gaussian<double>::from_moments(std::log(value), variance).log_density(at[0]) -
           std::log(value);
  }

  double log_normaliser(Incoming<double> in) const {
    return log_overlap(message(0, in, Rule::direct), in[0]) - std::log(value);
  }

  Gaussian<double> variational(std::size_t edge, Incoming<double> in) const {
    return message(edge, in, Rule::direct);
  }
};

static_assert(Factor<LogNormalObservation>);

}  // namespace dma
