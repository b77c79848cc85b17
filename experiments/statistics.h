// experiments/statistics.h: medians and quartiles over tasks.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace dma::experiments {

// Linear interpolation between order statistics.
inline double quantile(std::vector<double> values, double p) {
  std::sort(values.begin(), values.end());
  const double at = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], at - static_cast<double>(below));
}

inline double median(const std::vector<double>& values) { return quantile(values, 0.5); }

inline double interquartile_range(const std::vector<double>& values) {
  return quantile(values, 0.75) - quantile(values, 0.25);
}

}  // namespace dma::experiments
