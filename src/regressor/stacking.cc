#include "regressor/stacking.h"

#include <algorithm>
#include <cmath>

namespace dma::detail {
namespace {

constexpr double pseudo_rows = 0.5;
constexpr int most_steps = 1000;
constexpr double settled = 1e-7;

}  // namespace

// Expectation maximisation: a row is divided among the parts by w_k p_k(y), and a weight is its share of all rows.
std::vector<double> stacking_weights(const std::vector<std::vector<double>>& log_densities,
                                     std::span<const double> row_weights) {
  const std::size_t parts = log_densities.size();
  const std::size_t rows = log_densities.front().size();
  std::vector<double> weights(parts, 1 / static_cast<double>(parts));
  std::vector<double> share(parts);
  for (int step = 0; step < most_steps; ++step) {
    std::vector<double> sums(parts, pseudo_rows);
    for (std::size_t n = 0; n < rows; ++n) {
      double largest = -HUGE_VAL;
      for (std::size_t k = 0; k < parts; ++k) largest = std::max(largest, log_densities[k][n]);
      if (!std::isfinite(largest)) continue;  // no part can tell
      double all = 0;
      for (std::size_t k = 0; k < parts; ++k) {
        share[k] = weights[k] * std::exp(log_densities[k][n] - largest);
        all += share[k];
      }
      const double weight = row_weights.empty() ? 1 : row_weights[n];
      for (std::size_t k = 0; k < parts; ++k) sums[k] += weight * share[k] / all;
    }
    double sum = 0;
    for (const double own : sums) sum += own;
    double moved = 0;
    for (std::size_t k = 0; k < parts; ++k) {
      moved = std::max(moved, std::abs(sums[k] / sum - weights[k]));
      weights[k] = sums[k] / sum;
    }
    if (moved < settled) break;
  }
  return weights;
}

}  // namespace dma::detail
