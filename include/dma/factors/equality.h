// factors/equality.h: f = delta(x_0 - x_1) delta(x_0 - x_2) ..., all edges carry the same variable
//
//   to x_j: the product of the messages on the other edges     exact
//
//   variational (VMP): an average of point masses at the other beliefs' means, since each
//   delta(x_j - x_k) weighs the same: it collapses.
//
//   Domain    any. Two different point masses contradict each other: std::domain_error.
#pragma once

#include <array>
#include <stdexcept>
#include <tuple>

#include <dma/factors/factor.h>
#include <dma/factors/normaliser.h>

namespace dma {

struct Equality {
  std::size_t edges = 2;

  static constexpr std::tuple<> parameters{};

  static const FactorInfo& info() {
    static constexpr std::array rows{EdgeInfo{.name = "x", .theorem = "Cor. dirac-exact"}};
    static constexpr FactorInfo info{.name = "equality",
                                     .density = "delta(x_0 - x_1) ... delta(x_0 - x_n)",
                                     .domain = "any",
                                     .edges = rows,
                                     .conjugate = true};
    return info;
  }

  constexpr std::size_t arity() const { return edges; }

  void validate() const {
    if (edges < 2) throw std::invalid_argument("an equality needs at least two variables");
  }

  double relation(std::span<const double> inputs) const { return inputs[0]; }

  template <std::floating_point T>
  Gaussian<T> message(std::size_t edge, Incoming<T> in, Rule /*rule*/) const {
    auto result = Gaussian<T>::uniform();
    for (std::size_t k = 0; k < in.size(); ++k) {
      if (k != edge) result *= in[k];
    }
    return result;
  }

  static double log_normaliser(Incoming<double> in) {
    double log = 0;
    auto before = Gaussian<double>::uniform();
    for (const Gaussian<double> one : in) {
      if (one.is_uniform()) continue;
      log += log_overlap(before, one);
      before *= one;
    }
    (void)detail::known(before);
    return log;
  }

  Gaussian<double> variational(std::size_t edge, Incoming<double> in) const {
    double sum = 0;
    double known = 0;
    for (std::size_t k = 0; k < in.size(); ++k) {
      if (k == edge || in[k].rho == 0) continue;
      sum += in[k].mean();
      ++known;
    }
    return known == 0 ? Gaussian<double>::uniform() : Gaussian<double>::point(sum / known);
  }
};

static_assert(Factor<Equality>);

}  // namespace dma
