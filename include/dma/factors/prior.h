// factors/prior.h: f(x) = N(x; mean, variance)
//
//   to x: N(mean, variance)                                    exact, whatever arrives
//
//   Domain    variance >= 0 (0 pins x to the mean), mean finite.
#pragma once

#include <array>
#include <tuple>

#include <dma/factors/factor.h>
#include <dma/factors/normaliser.h>

namespace dma {

struct Prior {
  double mean = 0;
  double variance = 1;

  static constexpr std::tuple parameters{Parameter{"mean", &Prior::mean},
                                         Parameter{"variance", &Prior::variance}};

  static const FactorInfo& info() {
    static constexpr std::array edges{EdgeInfo{.name = "x", .theorem = "Cor. dirac-exact (exact)"}};
    static constexpr FactorInfo info{.name = "prior",
                                     .density = "N(x; mean, variance)",
                                     .domain = "variance >= 0",
                                     .edges = edges,
                                     .conjugate = true};
    return info;
  }

  static constexpr std::size_t arity() { return 1; }

  void validate() const { (void)Gaussian<double>::from_moments(mean, variance); }

  template <std::floating_point T>
  Gaussian<T> message(std::size_t /*edge*/, Incoming<T> /*in*/, Rule /*rule*/) const {
    return Gaussian<T>::from_moments(T(mean), T(variance));
  }

  double log_density(std::span<const double> at) const {
    return Gaussian<double>::from_moments(mean, variance).log_density(at[0]);
  }

  double log_normaliser(Incoming<double> in) const {
    return log_overlap(message(0, in, Rule::direct), in[0]);
  }

  Gaussian<double> variational(std::size_t edge, Incoming<double> in) const {
    return message(edge, in, Rule::direct);
  }
};

static_assert(Factor<Prior>);

}  // namespace dma
