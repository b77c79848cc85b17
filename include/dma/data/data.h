// data/data.h: rows of inputs and targets, as a network takes them.
//
// A row can have a weight: one of weight 2 counts as two rows, one of 0.5 as half a row. Whatever is a sum or a mean over
// rows is a weighted one.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

namespace dma {

// How much the rows count together. No weights: each counts once.
double total_weight(std::span<const double> weights, std::size_t rows);

// Targets of rows, and what each row counts.
struct Targets {
  std::span<const double> values;        // row-major
  std::span<const double> weights = {};  // one per row; empty: each counts once

  template <class Values>
  requires std::convertible_to<const Values&, std::span<const double>> Targets(const Values& all)
      : values(all) {}  // NOLINT: meant to convert
  Targets(std::span<const double> all, std::span<const double> of_rows)
      : values(all), weights(of_rows) {}

  double weight(std::size_t row) const { return weights.empty() ? 1 : weights[row]; }
  // With one target per row.
  std::size_t rows() const { return values.size(); }
  double weight() const { return total_weight(weights, rows()); }
};

// Row-major views: rows x inputs and rows x outputs.
struct Data {
  std::span<const double> inputs;
  std::span<const double> targets;
  std::size_t rows;
  std::span<const double> weights = {};  // one per row; empty: each counts once

  Targets weighted_targets() const { return {targets, weights}; }

  // Throws NetworkError if a size is wrong, a value is not finite (naming row and column) or a weight is not positive.
  void validate(std::size_t input_width, std::size_t output_width) const;

  // Rows [begin, begin + count).
  Data part(std::size_t begin, std::size_t count) const;
};

// Rows that own their numbers.
struct Rows {
  std::size_t rows = 0;
  std::vector<double> inputs = {}, targets = {};
  std::vector<double> weights = {};  // empty: each counts once

  Data data() const { return {inputs, targets, rows, weights}; }
  void append(const Data& more);
};

// Adds the weights of more rows to those of `rows` rows; either may be empty.
void append_weights(std::span<const double> more, std::size_t more_rows, std::size_t rows,
                    std::vector<double>& weights);

}  // namespace dma
