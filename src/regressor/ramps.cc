#include "regressor/ramps.h"

#include <algorithm>
#include <cmath>

namespace dma::detail {
namespace {

// Found on training rows held out from training (docs/classes.md).
constexpr std::size_t least_per_input = 4;
constexpr std::size_t few_rows_per_input = 16;
constexpr std::size_t most_per_input = 32;
constexpr std::size_t most_ramps = 512;

void drop_repeats(std::vector<double>& ascending) {
  ascending.erase(std::unique(ascending.begin(), ascending.end()), ascending.end());
}

// Every second of the places that divide these values into so many parts.
void put_quantiles(const std::vector<double>& ascending, std::size_t first, std::size_t parts,
                   std::vector<double>& knots) {
  for (std::size_t k = first; k <= parts; k += 2) {
    knots.push_back(ascending[k * (ascending.size() - 1) / parts]);
  }
}

// The least and the largest value are among them.
std::vector<double> knots_of(std::vector<double> ascending, std::size_t parts) {
  std::vector<double> knots{ascending.back()};
  put_quantiles(ascending, 0, parts, knots);
  drop_repeats(ascending);
  put_quantiles(ascending, 1, parts, knots);
  std::sort(knots.begin(), knots.end());
  drop_repeats(knots);
  return knots;
}

std::vector<double> sorted_column(std::span<const double> inputs, std::size_t width,
                                  std::size_t column) {
  std::vector<double> values;
  values.reserve(inputs.size() / width);
  for (std::size_t n = column; n < inputs.size(); n += width) values.push_back(inputs[n]);
  std::sort(values.begin(), values.end());
  return values;
}

// Two values are told apart by the input itself.
bool has_more_than_two_values(const std::vector<double>& ascending) {
  const auto second = std::upper_bound(ascending.begin(), ascending.end(), ascending.front());
  return second != ascending.end() && *second != ascending.back();
}

std::size_t ramps_per_input(std::size_t rows, std::size_t columns) {
  const auto by_rows = static_cast<std::size_t>(std::cbrt(static_cast<double>(rows)));
  const std::size_t wanted = std::clamp(by_rows, few_rows_per_input, most_per_input);
  return std::max(least_per_input, std::min(wanted, most_ramps / columns));
}

}  // namespace

std::vector<Ramp> ramps_of(std::span<const double> inputs, std::size_t width) {
  std::vector<std::size_t> columns;
  for (std::size_t input = 0; input < width; ++input) {
    if (has_more_than_two_values(sorted_column(inputs, width, input))) columns.push_back(input);
  }
  std::vector<Ramp> ramps;
  for (const std::size_t input : columns) {
    const std::size_t parts = ramps_per_input(inputs.size() / width, columns.size());
    const std::vector<double> knots = knots_of(sorted_column(inputs, width, input), parts);
    for (std::size_t k = 1; k < knots.size(); ++k) ramps.push_back({input, knots[k - 1], knots[k]});
  }
  return ramps;
}

}  // namespace dma::detail
