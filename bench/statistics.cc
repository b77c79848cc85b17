#include "bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace dma::bench {
namespace {

double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = place - static_cast<double>(below);
  // A neighbour may be infinite, and 0 times infinity, or infinity minus itself, is NaN.
  if (part == 0 || sorted[below] == sorted[above]) return sorted[below];
  return sorted[below] + part * (sorted[above] - sorted[below]);
}

}  // namespace

Spread spread(std::vector<double> values) {
  if (values.empty()) throw std::invalid_argument("there is no median of no values");
  std::sort(values.begin(), values.end());
  return {quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75)};
}

double fitted_exponent(std::span<const double> sizes, std::span<const double> costs) {
  const auto count = static_cast<double>(sizes.size());
  double x = 0;
  double y = 0;
  double xx = 0;
  double xy = 0;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const double size = std::log(sizes[k]);
    const double cost = std::log(costs[k]);
    x += size / count;
    y += cost / count;
    xx += size * size / count;
    xy += size * cost / count;
  }
  return (xy - x * y) / (xx - x * x);
}

std::vector<double> quotients(std::span<const double> top, std::span<const double> bottom) {
  std::vector<double> result;
  for (std::size_t k = 0; k < std::min(top.size(), bottom.size()); ++k) {
    result.push_back(top[k] / bottom[k]);
  }
  return result;
}

}  // namespace dma::bench
