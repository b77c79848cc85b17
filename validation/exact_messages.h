// validation/exact_messages.h: the messages that DMA replaces by a Gaussian.
//
// Each has its log density and, for validation/divergence.h, the panels that resolve it together with a given Gaussian.
#pragma once

#include <vector>

#include <dma/factors/leaky_relu.h>
#include <dma/messages/gaussian.h>

#include "validation/divergence.h"

namespace dma::validation {

// y = r(x), to x: N(r(x); y), two Gaussian pieces, normalised by Phi(v) + Phi(-v) / slope,
// v = m_y / s_y (Prop. relu-bwd).
class ReluToX {
 public:
  ReluToX(LeakyRelu relu, Gaussian<double> y);
  double log_density(double x) const { return y_.log_density(relu_.apply(x)) - log_mass_; }
  std::vector<double> breaks(Gaussian<double> beside) const;

 private:
  LeakyRelu relu_;
  Gaussian<double> y_;
  double log_mass_;
};

// y = r(x), to y: the distribution of r(x).
struct ReluToY {
  LeakyRelu relu;
  Gaussian<double> x;

  double log_density(double y) const;
  std::vector<double> breaks(Gaussian<double> beside) const;
};

// z = x y, to z: the distribution of the product, by quadrature.
struct ProductToZ {
  Gaussian<double> x, y;

  double log_density(double z) const;
  std::vector<double> breaks(Gaussian<double> beside) const;
};

// z = x y, to x: integral of N(x y; z) N(y) dy = N(m_z; x m_y, v_z + x^2 v_y), which has no finite
// mass (eq. product-exact-bwd).
double product_to_x_log_density(double x, Gaussian<double> z, Gaussian<double> y);

// The same restricted to |y| >= |m_y| / 2, up to a constant (eq. product-bwd-trunc).
struct TruncatedProductToX {
  Gaussian<double> z, y;

  double log_density(double x) const;
  std::vector<double> breaks(Gaussian<double> beside) const;
};

// KL(exact message || approximation)
template <class Exact>
double message_kl(const Exact& exact, Gaussian<double> approximation) {
  return kl_divergence([&](double at) { return exact.log_density(at); },
                       [&](double at) { return approximation.log_density(at); },
                       exact.breaks(approximation));
}

// KL(incoming times exact message || incoming times approximation): the error of the marginal.
// Incoming messages are Gaussian and proper, and so are these marginals.
template <class Exact>
double marginal_kl(const Exact& log_exact, Gaussian<double> approximation,
                   Gaussian<double> incoming, const std::vector<double>& breaks) {
  return kl_divergence(
      [&](double at) { return incoming.log_density(at) + log_exact(at); },
      [&](double at) { return incoming.log_density(at) + approximation.log_density(at); }, breaks);
}

// Panels of half a standard deviation, 16 deviations to either side: exp(-16^2 / 2) = 3e-56.
std::vector<double> breaks_of(Gaussian<double> message);

}  // namespace dma::validation
