// belief/independent_state.h: what a belief of independent weights is made of.
#pragma once

#include <cmath>
#include <concepts>
#include <memory>
#include <vector>

#include <dma/belief/independent.h>

#include "belief/batches.h"

namespace dma::detail {

template <std::floating_point T>
bool is_proper(T tau, T rho) {
  return rho > 0 && std::isfinite(rho) && std::isfinite(tau);
}

template <std::floating_point T>
struct IndependentState {
  TrainingOptions options;
  IndependentOptions own;
  WeightPrior prior;
  std::vector<T> prior_tau, prior_rho;
  std::unique_ptr<Likelihood> likelihood;  // as far as it is learnt; the posterior gets a copy
  Posterior<T> posterior;
  Ledger<T> ledger;
  Batches<T> batches;
  bool heard_all = true;    // no rows but those of the batches
  bool above_prior = true;  // a belief that was restored from an odd file may not be

  const Architecture& architecture() const { return posterior.architecture; }
  std::size_t outputs() const { return posterior.architecture.outputs(); }
  std::size_t weights() const { return prior_rho.size(); }

  // The posterior from the prior and all messages: every exchange of a message has rounded it a little.
  void rebuild();
  void show_likelihood() { posterior.likelihood = likelihood->clone(); }
  // Whether every precision is at least the prior's, up to rounding.
  bool is_above_prior(const std::vector<T>& rho) const;
};

}  // namespace dma::detail
