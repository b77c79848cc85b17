// baselines/laplace.h: the diagonal Laplace approximation (MacKay 1992; the paper's App. E): a Gaussian per
// weight around the MAP estimate, with the inverse of the Hessian's diagonal as its variance.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace dma::baselines {

struct Laplace {
  std::vector<double> mean, variance;
  // Weights at which the diagonal is not positive, so that no Gaussian fits; they have the prior's variance.
  std::size_t negative_curvatures = 0;
};

// hessian_diagonal: that of -log p(targets, w) at w = map, prior included (torch_baselines.h computes it).
Laplace laplace(std::span<const double> map, std::span<const double> hessian_diagonal,
                std::span<const double> prior_precision);

}  // namespace dma::baselines
