// regressor/stacking.h: how much each part of a mixture counts.
#pragma once

#include <span>
#include <vector>

namespace dma::detail {

// Weights that sum to 1 and make the rows most likely under the mixture sum_k w_k p_k(y). log_densities[k][n] is that of
// row n under part k, which had not seen it. Every part counts as half a row more, so that a handful of rows does not
// rule one out. The rows may have weights.
std::vector<double> stacking_weights(const std::vector<std::vector<double>>& log_densities,
                                     std::span<const double> row_weights = {});

}  // namespace dma::detail
