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

// Cells of a column that are not plain numbers: how many, and the first.
struct CellNote {
  std::size_t count = 0;
  std::size_t line = 0;
  std::string value = {};
  double number = 0;  // what it was read as

  void add(std::size_t at, std::string_view text, double as_number) {
    if (count++ == 0) *this = {1, at, std::string(text), as_number};
  }
  // Those of later rows.
  void add(const CellNote& later) {
    if (count == 0) {
      *this = later;
    } else {
      count += later.count;
    }
  }
};

// A column holds numbers or text (data/csv.h says which).
struct Column {
  static constexpr std::uint32_t empty_cell = std::numeric_limits<std::uint32_t>::max();

  std::string name;
  std::vector<double> numbers = {};       // of a column of numbers; NaN where the cell is empty
  std::vector<std::uint32_t> codes = {};  // of a column of text: index into values, or empty_cell
  std::vector<std::string> values = {};   // distinct, in the order of their first appearance
  bool is_text = false;
  // Of a column of numbers in a file: cells of text, which count as empty, and numbers with marks, such as $7,413. Of one of
  // dates: cells that are none, which count as empty.
  CellNote stray = {}, marked = {};

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
  // The first line was read as names although they look like data: perhaps the file has no header.
  bool numeric_header = false;
  bool decimal_comma = false;  // numbers were read as 1.234,5
  std::string encoding = {};   // of a file that is not UTF-8

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

// What was assumed of a file's cells. All pieces of a table have the same columns.
struct ReadingNotes {
  struct OfColumn {
    std::string name;
    bool is_text = false;
    std::size_t filled = 0;  // numbers, or cells of text
    CellNote stray = {}, marked = {};
  };
  std::vector<OfColumn> columns = {};
  bool numeric_header = false, decimal_comma = false;
  std::string encoding = {};

  void add(const Table& piece);
  // Cells of text in columns of numbers.
  std::size_t stray_cells() const;
};

// These rows, in this order.
Table select_rows(const Table& table, std::span<const std::size_t> rows);
// Adds the rows of a table that has the same columns, in the same order, numbers where it has numbers.
void append_rows(Table& table, const Table& more);

}  // namespace dma
