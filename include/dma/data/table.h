// data/table.h: named columns of numbers or of text.
//
//   dma::Table table{.columns = {{.name = "x", .numbers = {1, 2, 3}}, {.name = "y", .numbers = {2, 4, 6}}}};
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dma {

// A column holds numbers if every cell that is not empty reads as one, otherwise text.
struct Column {
  static constexpr std::uint32_t empty_cell = std::numeric_limits<std::uint32_t>::max();

  std::string name;
  std::vector<double> numbers = {};       // of a column of numbers; NaN where the cell is empty
  std::vector<std::uint32_t> codes = {};  // of a column of text: index into values, or empty_cell
  std::vector<std::string> values = {};   // distinct, in the order of their first appearance
  bool is_text = false;

  std::size_t rows() const { return is_text ? codes.size() : numbers.size(); }
  bool empty(std::size_t row) const {
    return is_text ? codes[row] == empty_cell : numbers[row] != numbers[row];
  }
};

struct Table {
  std::string source = "the table";  // how messages call it: the file's name
  std::vector<Column> columns = {};
  // How much each row counts, if a column of the table does not say so (EncoderOptions::weight); empty: once.
  std::vector<double> weights = {};
  // Line of each row's first character; empty if row r is in line first_line + r.
  std::vector<std::uint32_t> lines = {};
  std::size_t first_line = 1;
  std::string_view row_word = "line";  // how messages count rows; for an array "row"
  // The first line was read as names although every cell is a number: perhaps the file has no header.
  bool numeric_header = false;

  std::size_t rows() const { return columns.empty() ? 0 : columns.front().rows(); }
  std::size_t line(std::size_t row) const { return lines.empty() ? first_line + row : lines[row]; }
  std::string place(std::size_t row) const {
    return std::string(row_word) + " " + std::to_string(line(row));
  }
  // The column with this name, or null. Linear search.
  const Column* find(std::string_view name) const;
  // Throws DataError if columns have different lengths, no name, or the same name twice, or a weight is not a number from
  // 0 on.
  void validate() const;
};

// These rows, in this order.
Table select_rows(const Table& table, std::span<const std::size_t> rows);
// Adds the rows of a table that has the same columns, in the same order, numbers where it has numbers.
void append_rows(Table& table, const Table& more);

}  // namespace dma
