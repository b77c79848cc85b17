// cli/weights.h: what is believed of every weight on its own, whatever the belief.
#pragma once

#include <dma/regressor/model.h>

#include <vector>

namespace dma::cli {

// Posterior moments of every weight of a network, and its prior variance, in the flat order.
struct Weights {
  std::vector<double> mean, variance, prior_variance;
};

// One per network: per member, and of a joint belief per member and target (member * targets + target).
std::vector<Weights> weights_of(const Model& model);

}  // namespace dma::cli
