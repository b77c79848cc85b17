// data/data.h: rows of inputs and targets, as a network takes them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace dma {

// Row-major views: rows x inputs and rows x outputs.
struct Data {
  std::span<const double> inputs;
  std::span<const double> targets;
  std::size_t rows;

  // Throws NetworkError if a size is wrong or a value is not finite (naming row and column).
  void validate(std::size_t input_width, std::size_t output_width) const;

  // Rows [begin, begin + count).
  Data part(std::size_t begin, std::size_t count) const;
};

// Rows that own their numbers.
struct Rows {
  std::size_t rows = 0;
  std::vector<double> inputs = {}, targets = {};

  Data data() const { return {inputs, targets, rows}; }
  void append(const Data& more);
};

}  // namespace dma
