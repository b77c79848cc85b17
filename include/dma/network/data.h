// network/data.h: rows of inputs and targets, as the network takes them.
#pragma once

#include <cstddef>
#include <span>

namespace dma {

// Row-major views: rows x inputs and rows x outputs.
struct Data {
  std::span<const double> inputs;
  std::span<const double> targets;
  std::size_t rows;

  // Throws NetworkError if a size does not fit or a value is not finite (naming row and column).
  void validate(std::size_t input_width, std::size_t output_width) const;
};

}  // namespace dma
