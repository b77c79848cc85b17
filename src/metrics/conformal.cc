#include <dma/metrics/conformal.h>

#include <algorithm>
#include <cmath>

namespace dma {
namespace {

// (n + 1) (1 - level) / 2, where rounding must not turn 2 into 1.9999.
std::size_t rank(std::size_t rows, double level) {
  constexpr double rounding = 1e-9;
  const double exact = static_cast<double>(rows + 1) * (1 - level) / 2;
  return static_cast<std::size_t>(std::floor(exact + rounding));
}

}  // namespace

std::optional<Tails> calibrated_tails(std::span<const double> probabilities_below, double level) {
  const std::size_t k = rank(probabilities_below.size(), level);
  if (k == 0) return std::nullopt;
  return Tails{probabilities_below[k - 1], probabilities_below[probabilities_below.size() - k]};
}

std::size_t rows_to_calibrate(double level) {
  auto rows = static_cast<std::size_t>(std::max(0.0, std::floor(2 / (1 - level)) - 2));
  while (rank(rows, level) == 0) ++rows;
  return rows;
}

}  // namespace dma
