// paper/part.h: which rows to hold out so that a column has no values in some part of its range.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace dma::cli {

enum class Part { middle, low, high };
std::string_view name_of(Part part);

// With q(p) the quantiles of the values:
//
//   middle   q(1/3) < value < q(2/3)
//   low      value < q(1/3)
//   high     value > q(2/3)
//
// At most a third of the rows, rounded up; fewer if values are equal. An empty cell (NaN) is never held
// out and does not count in the quantiles.
std::vector<std::size_t> held_out_rows(std::span<const double> values, Part part);

// The rows of a table of `count` that are not among these.
std::vector<std::size_t> other_rows(std::span<const std::size_t> rows, std::size_t count);

}  // namespace dma::cli
