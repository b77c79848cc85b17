#include "paper/part.h"

#include <array>
#include <cmath>
#include <limits>

#include "experiments/statistics.h"

namespace dma::cli {
namespace {

// An open interval.
struct Interval {
  double low, high;
};

Interval interval_of(const std::vector<double>& values, Part part) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double lower = experiments::quantile(values, 1.0 / 3);
  const double upper = experiments::quantile(values, 2.0 / 3);
  switch (part) {
    case Part::low:
      return {-infinity, lower};
    case Part::high:
      return {upper, infinity};
    case Part::middle:
      break;
  }
  return {lower, upper};
}

}  // namespace

std::string_view name_of(Part part) {
  constexpr std::array<std::string_view, 3> names{"middle", "low", "high"};
  return names[static_cast<std::size_t>(part)];
}

std::vector<std::size_t> held_out_rows(std::span<const double> values, Part part) {
  std::vector<double> filled(values.begin(), values.end());
  std::erase_if(filled, [](double value) { return std::isnan(value); });
  if (filled.empty()) return {};
  const auto [low, high] = interval_of(filled, part);
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < values.size(); ++row) {
    if (low < values[row] && values[row] < high) rows.push_back(row);
  }
  return rows;
}

std::vector<std::size_t> other_rows(std::span<const std::size_t> rows, std::size_t count) {
  std::vector<bool> taken(count);
  for (const std::size_t row : rows) taken[row] = true;
  std::vector<std::size_t> others;
  for (std::size_t row = 0; row < count; ++row) {
    if (!taken[row]) others.push_back(row);
  }
  return others;
}

}  // namespace dma::cli
