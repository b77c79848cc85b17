// bench/statistics.h: medians, quartiles, and how a cost grows with a size.
#pragma once

#include <span>
#include <vector>

namespace dma::bench {

struct Spread {
  double low, median, high;  // quartiles
};

// Takes at least one value; between two values a quartile is interpolated.
Spread spread(std::vector<double> values);

// The slope of log cost over log size by least squares: 1 if the cost is proportional to the size. At least two
// different sizes, all positive.
double fitted_exponent(std::span<const double> sizes, std::span<const double> costs);

// top[k] / bottom[k], as far as both go: the k-th repetitions are close in time.
std::vector<double> quotients(std::span<const double> top, std::span<const double> bottom);

}  // namespace dma::bench
