// graph/arrays.h: arrays of variables and of factors. They are ranges of numbers: nothing is stored per element.
//
//   auto skill = g.variables("skill", players, dma::Prior{25, 70});          // skill[0], skill[1], ...
//   auto lead = g.variables("lead", matches);
//   g.add(dma::WeightedSum{{1, -1}, 0, 35}, {lead, skill.at(first), skill.at(second)});   // one factor per match
//   g.add([&](std::size_t match) { return dma::Observation{goals[match], 1}; }, {lead});
//   auto beliefs = g.sweep();
//   beliefs.marginals(skill)[3].mean();
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace dma {

// Something is wrong with the graph, the schedule or the request; the text names the place.
struct GraphError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The same of one row.
struct RowError : GraphError {
  RowError(const std::string& text, std::size_t at) : GraphError(text), row(at) {}
  std::size_t row;
};

// Inference moves the marginals further in every ten sweeps than in the ten before.
struct Diverged : GraphError {
  using GraphError::GraphError;
};

struct Variable {
  std::uint32_t index;
};

struct FactorId {
  std::uint32_t index;
};

class EdgeRows;

// Rows of one variable each, or of a vector of variables each: name[row] or name[row,column].
struct VariableArray {
  std::uint32_t first = 0;
  std::uint32_t rows = 0;
  std::uint32_t columns = 1;

  std::size_t size() const { return std::size_t{rows} * columns; }
  // Throws GraphError if there is no such element.
  Variable operator[](std::size_t row) const { return (*this)(row, 0); }
  Variable operator()(std::size_t row, std::size_t column) const;
  // Rows begin, ..., end - 1.
  VariableArray slice(std::size_t begin, std::size_t end) const;
  VariableArray slice(std::size_t begin) const { return slice(begin, rows); }
  // All variables, one per row.
  VariableArray flat() const { return {first, rows * columns, 1}; }

  // The rows that these indices name; they must outlive the call that uses them.
  template <std::integral Index>
  EdgeRows at(std::span<const Index> indices) const;
  template <std::integral Index>
  EdgeRows at(const std::vector<Index>& indices) const;
};

// Consecutive factors of one type.
struct FactorArray {
  std::uint32_t first = 0;
  std::uint32_t rows = 0;

  // Throws GraphError if there is no such element.
  FactorId operator[](std::size_t row) const;
  // Rows begin, ..., end - 1.
  FactorArray slice(std::size_t begin, std::size_t end) const;
  FactorArray slice(std::size_t begin) const { return slice(begin, rows); }
};

// What an edge is connected to in each row: the same variable, the rows of an array in order, or those that indices
// name. A vector of variables stands for as many edges. Variables and arrays convert to it: add(factor, {x, skill}).
class EdgeRows {
 public:
  EdgeRows(Variable variable) : array_{variable.index, 1, 1}, kind_(Kind::same) {}
  // So many times; for factors whose other edges do not say how many rows there are.
  EdgeRows(Variable variable, std::size_t rows) : EdgeRows(variable) { rows_ = rows; }
  EdgeRows(VariableArray array) : array_(array), kind_(Kind::in_order), rows_(array.rows) {}
  template <std::integral Index>
  EdgeRows(VariableArray array, std::span<const Index> indices)
      : array_(array),
        kind_(Kind::named),
        rows_(indices.size()),
        indices_(indices.data()),
        read_([](const void* data, std::size_t row) {
          return static_cast<std::int64_t>(static_cast<const Index*>(data)[row]);
        }) {}

  // Nothing if it is the same variable in any number of rows.
  std::optional<std::size_t> rows() const { return rows_; }
  std::uint32_t width() const { return array_.columns; }
  bool is_named() const { return kind_ == Kind::named; }
  // How many variables further on the next row is, unless rows are named.
  std::uint32_t stride() const { return kind_ == Kind::in_order ? array_.columns : 0; }
  const VariableArray& array() const { return array_; }

  // The row of the array; it may not exist.
  std::int64_t index(std::size_t row) const {
    if (kind_ == Kind::named) return read_(indices_, row);
    return kind_ == Kind::same ? 0 : static_cast<std::int64_t>(row);
  }
  bool exists(std::size_t row) const {
    return static_cast<std::uint64_t>(index(row)) < array_.rows;
  }
  std::uint32_t variable(std::size_t row) const {
    return array_.first + static_cast<std::uint32_t>(index(row)) * array_.columns;
  }

 private:
  enum class Kind { same, in_order, named };

  VariableArray array_;
  Kind kind_;
  std::optional<std::size_t> rows_ = {};
  const void* indices_ = nullptr;
  std::int64_t (*read_)(const void* data, std::size_t row) = nullptr;
};

inline Variable VariableArray::operator()(std::size_t row, std::size_t column) const {
  if (row >= rows || column >= columns) {
    throw GraphError("an array of " + std::to_string(rows) + " rows and " +
                     std::to_string(columns) + " columns has no element " + std::to_string(row) +
                     "," + std::to_string(column));
  }
  return {first + static_cast<std::uint32_t>(row * columns + column)};
}

inline VariableArray VariableArray::slice(std::size_t begin, std::size_t end) const {
  if (begin > end || end > rows) {
    throw GraphError("an array of " + std::to_string(rows) + " rows has no rows " +
                     std::to_string(begin) + " to " + std::to_string(end));
  }
  return {first + static_cast<std::uint32_t>(begin * columns),
          static_cast<std::uint32_t>(end - begin), columns};
}

template <std::integral Index>
EdgeRows VariableArray::at(std::span<const Index> indices) const {
  return {*this, indices};
}

template <std::integral Index>
EdgeRows VariableArray::at(const std::vector<Index>& indices) const {
  return at(std::span<const Index>(indices));
}

inline FactorId FactorArray::operator[](std::size_t row) const {
  if (row >= rows) {
    throw GraphError("an array of " + std::to_string(rows) + " factors has no row " +
                     std::to_string(row));
  }
  return {first + static_cast<std::uint32_t>(row)};
}

inline FactorArray FactorArray::slice(std::size_t begin, std::size_t end) const {
  if (begin > end || end > rows) {
    throw GraphError("an array of " + std::to_string(rows) + " factors has no rows " +
                     std::to_string(begin) + " to " + std::to_string(end));
  }
  return {first + static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end - begin)};
}

}  // namespace dma
