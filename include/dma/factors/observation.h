// factors/observation.h: f(z) = N(value; z, variance), the Gaussian likelihood of an observed value
//
//   to z: N(value, variance)                                   exact, whatever arrives
//
//   Domain    variance >= 0 (0: observed without noise), value finite.
#pragma once

#include <array>
#include <tuple>

#include <dma/factors/factor.h>
#include <dma/factors/normaliser.h>

namespace dma {

struct Observation {
  double value = 0;
  double variance = 1;

  static constexpr std::tuple parameters{Parameter{"value", &Observation::value},
                                         Parameter{"variance", &Observation::variance}};

  static const FactorInfo& info() {
    static constexpr std::array edges{EdgeInfo{.name = "z", .theorem = "exact (conjugate)"}};
    static constexpr FactorInfo info{.name = "observation",
                                     .density = "N(value; z, variance)",
                                     .domain = "variance >= 0",
                                     .edges = edges,
                                     .conjugate = true};
    return info;
  }

  static constexpr std::size_t arity() { return 1; }

  void validate() const { (void)Gaussian<double>::from_moments(value, variance); }

  template <std::floating_point T>
  Gaussian<T> message(std::size_t /*edge*/, Incoming<T> /*in*/, Rule /*rule*/) const {
    return Gaussian<T>::from_moments(T(value), T(variance));
  }

  double log_density(std::span<const double> at) const {
    return Gaussian<double>::from_moments(value, variance).log_density(at[0]);
  }

  double log_normaliser(Incoming<double> in) const {
    return log_overlap(message(0, in, Rule::direct), in[0]);
  }

  Gaussian<double> variational(std::size_t edge, Incoming<double> in) const {
    return message(edge, in, Rule::direct);
  }
};

static_assert(Factor<Observation>);

}  // namespace dma
