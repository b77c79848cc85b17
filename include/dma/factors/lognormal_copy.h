// factors/lognormal_copy.h: the same variable w seen by two families, Gaussian and log-normal
//
//   f(x, l) = delta(x - sign exp(l))                                  edges x, l
//
//   The message on l is a Gaussian over log |w|: the parameters of a log-normal over w (the paper's
//   copy factor, App. C, and Lemma gauss-ln-kl). Both directions match mean and variance of w.
//
//   to x: m = sign exp(mu + s / 2),  v = m^2 (exp(s) - 1)                          "step 1"
//   to l: s = log(1 + v / m^2),  mu = log |m| - s / 2                              "step 2"
//
//   Step 2 carries the distribution of w over, Jacobian included: it is a change of family, not the
//   sum-product message to log |w|. The error of either is KL = 3/4 / r^2 + O(1/r^4), r = |m| / sqrt v.
//
//   Domain    to l: sign m > 0; no log-normal has a mean on the other side of zero, and the message
//             is uniform there.
#pragma once

#include <array>
#include <cmath>
#include <stdexcept>
#include <tuple>

#include <dma/factors/factor.h>
#include <dma/messages/lognormal.h>

namespace dma {

struct LogNormalCopy {
  int sign = 1;

  static constexpr std::tuple parameters{Parameter{"sign", &LogNormalCopy::sign, false}};

  static const FactorInfo& info() {
    static constexpr std::array edges{EdgeInfo{.name = "x", .theorem = "Lem. gauss-ln-kl"},
                                      EdgeInfo{.name = "l", .theorem = "Lem. gauss-ln-kl"}};
    static constexpr FactorInfo info{.name = "lognormal_copy",
                                     .density = "delta(x - sign exp(l))",
                                     .domain = "to l: sign * mean > 0, else uniform",
                                     .edges = edges};
    return info;
  }

  static constexpr std::size_t arity() { return 2; }

  void validate() const {
    if (sign != 1 && sign != -1) {
      throw std::invalid_argument("the sign of a log-normal copy must be 1 or -1, got " +
                                  std::to_string(sign));
    }
  }

  double relation(std::span<const double> inputs) const { return sign * std::exp(inputs[0]); }

  template <std::floating_point T>
  Gaussian<T> message(std::size_t edge, Incoming<T> in, Rule /*rule*/) const {
    if (edge == 0) {
      if (in[1].rho == 0) return Gaussian<T>::uniform();
      return to_gaussian(LogNormal<T>{in[1], sign});
    }
    if (in[0].rho == 0 || !(T(sign) * in[0].mean() > 0)) return Gaussian<T>::uniform();
    return to_lognormal(in[0]).log;
  }
};

static_assert(DeterministicFactor<LogNormalCopy>);

}  // namespace dma
