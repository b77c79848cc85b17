#include "cli/weights.h"

namespace dma::cli {
namespace {

template <class T>
Weights weights_of(const Posterior<T>& posterior, const WeightPrior& prior) {
  Weights weights{{}, {}, prior.variance};
  for (std::size_t k = 0; k < posterior.tau.size(); ++k) {
    const auto rho = static_cast<double>(posterior.rho[k]);
    weights.mean.push_back(static_cast<double>(posterior.tau[k]) / rho);
    weights.variance.push_back(1 / rho);
  }
  return weights;
}

Weights weights_of(const JointPosterior& posterior) {
  Weights weights{posterior.mean, marginal_variances(posterior), {}};
  for (const double precision : posterior.prior_precision) {
    weights.prior_variance.push_back(1 / precision);
  }
  return weights;
}

std::vector<Weights> all_weights(const JointMembers& joint) {
  std::vector<Weights> all;
  for (const JointMember& member : joint.members) all.push_back(weights_of(member.function));
  return all;
}

template <class T>
std::vector<Weights> all_weights(const Members<T>& members) {
  std::vector<Weights> all;
  for (std::size_t m = 0; m < members.posteriors.size(); ++m) {
    all.push_back(weights_of(members.posteriors[m], members.priors[m]));
  }
  return all;
}

}  // namespace

std::vector<Weights> weights_of(const Model& model) {
  return std::visit([](const auto& members) { return all_weights(members); }, model.members);
}

}  // namespace dma::cli
