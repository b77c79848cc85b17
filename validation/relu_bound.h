// validation/relu_bound.h: Theorem dma-master at one leaky-ReLU setting, message to x.
#pragma once

#include <nlohmann/json.hpp>

#include <dma/messages/gaussian.h>

namespace dma::validation {

struct ReluSetting {
  double slope;
  Gaussian<double> y;         // arrives at the factor from y
  Gaussian<double> incoming;  // arrives at the factor from x
};

struct BoundCheck {
  double delta;        // KL(m || m_hat), m the exact message to x
  double marginal_kl;  // KL(incoming m / Z || incoming m_hat / Z_hat)
  double bound;        // |incoming|_inf / Z delta
  // The marginal's error by the exact decomposition of the proof (eq. proof:bregman):
  // (integral of incoming D(m, m_hat) - D(Z, Z_hat)) / Z
  double decomposition;

  double ratio() const { return marginal_kl / bound; }
};

BoundCheck check_master_theorem(const ReluSetting& setting);

nlohmann::json row_of(const ReluSetting& setting, const BoundCheck& check);

}  // namespace dma::validation
