#include "baselines/laplace.h"

namespace dma::baselines {

Laplace laplace(std::span<const double> map, std::span<const double> hessian_diagonal,
                std::span<const double> prior_precision) {
  Laplace result{.mean = {map.begin(), map.end()}, .variance = {}};
  for (std::size_t k = 0; k < map.size(); ++k) {
    const bool positive = hessian_diagonal[k] > 0;
    if (!positive) ++result.negative_curvatures;
    result.variance.push_back(1 / (positive ? hessian_diagonal[k] : prior_precision[k]));
  }
  return result;
}

}  // namespace dma::baselines
