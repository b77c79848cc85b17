// copies.h: rows with whole weights, and the same rows as often as their weights say.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <dma/data/data.h>
#include <dma/special/random.h>

namespace dma::test {

// From 1 to 3, some of each.
inline std::vector<double> whole_weights(std::size_t rows, std::uint64_t seed) {
  special::Random random(seed);
  std::vector<double> weights;
  for (std::size_t n = 0; n < rows; ++n) {
    weights.push_back(1 + static_cast<double>(static_cast<int>(3 * random.uniform())));
  }
  return weights;
}

// Each of so many numbers per row as often as the row's weight says, copies beside each other.
template <class T>
std::vector<T> repeated(const std::vector<T>& values, std::span<const double> weights) {
  const std::size_t width = values.size() / weights.size();
  std::vector<T> all;
  for (std::size_t n = 0; n < weights.size(); ++n) {
    for (double k = 0; k < weights[n]; ++k) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(n * width);
      all.insert(all.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
    }
  }
  return all;
}

inline Rows repeated(const Rows& rows) {
  Rows all{0, repeated(rows.inputs, rows.weights), repeated(rows.targets, rows.weights)};
  for (const double weight : rows.weights) all.rows += static_cast<std::size_t>(weight);
  return all;
}

}  // namespace dma::test
