#include "belief/independent_state.h"

#include <vector>

#include "base/require.h"
#include "kernels/layer.h"

namespace dma::detail {

template <std::floating_point T>
void IndependentState<T>::rebuild() {
  std::vector<double> tau(prior_tau.begin(), prior_tau.end());
  std::vector<double> rho(prior_rho.begin(), prior_rho.end());
  for (const auto& message : ledger.messages) {
    for (std::size_t k = 0; k < message.tau.size(); ++k) {
      tau[k] += static_cast<double>(message.tau[k]);
      rho[k] += static_cast<double>(message.rho[k]);
    }
  }
  bool proper = true;
  for (std::size_t k = 0; k < tau.size(); ++k) {
    posterior.tau[k] = T(tau[k]);
    posterior.rho[k] = T(rho[k]);
    proper = proper && is_proper(posterior.tau[k], posterior.rho[k]);
  }
  require(proper, "the prior and the messages do not make a proper Gaussian");
}

template <std::floating_point T>
bool IndependentState<T>::is_above_prior(const std::vector<T>& rho) const {
  for (std::size_t k = 0; k < prior_rho.size(); ++k) {
    if (rho[k] < prior_rho[k] - kernels::rounding_of_precision<T> * posterior.rho[k]) return false;
  }
  return true;
}

template struct IndependentState<float>;
template struct IndependentState<double>;

}  // namespace dma::detail
