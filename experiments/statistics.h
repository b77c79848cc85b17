// experiments/statistics.h: medians, quartiles and ranks.
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

// Place of each value, 1 is the largest; equal values share the mean of their places.
inline std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<double> places;
  for (const double value : values) {
    double larger = 0;
    double equal = 0;
    for (const double other : values) {
      larger += other > value ? 1 : 0;
      equal += other == value ? 1 : 0;
    }
    places.push_back(larger + (equal + 1) / 2);
  }
  return places;
}

// Spearman's: Pearson's correlation of the places; 1 if both lists have the same order.
inline double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto places_a = ranks(a);
  const auto places_b = ranks(b);
  const double middle = (static_cast<double>(a.size()) + 1) / 2;
  double both = 0;
  double square_a = 0;
  double square_b = 0;
  for (std::size_t n = 0; n < a.size(); ++n) {
    const double away_a = places_a[n] - middle;
    const double away_b = places_b[n] - middle;
    both += away_a * away_b;
    square_a += away_a * away_a;
    square_b += away_b * away_b;
  }
  return both / std::sqrt(square_a * square_b);
}

}  // namespace dma::experiments
