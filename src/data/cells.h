// data/cells.h: what the cells of a table mean to an encoder, and how an error names one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <dma/data/encoder.h>

namespace dma {

inline constexpr double nothing = std::numeric_limits<double>::quiet_NaN();  // an empty cell
// A cell that is an error.
inline constexpr double unreadable = std::numeric_limits<double>::infinity();
inline constexpr const char* target_expectation = "is text: the target must be a number";
inline constexpr const char* amount_expectation =
    "is not positive, and an amount must be; leave the row out, or use the kind number";
inline constexpr const char* count_expectation =
    "is not a whole number from 0 to 1e15, and a count must be; leave the row out, or use the kind "
    "number";
// Up to where a double tells whole numbers apart.
bool is_count(double number);

// A value, made fit for a message of one line.
std::string as_text(std::string_view text);
std::string as_text(double number);
std::string as_text(const Column& column, std::size_t row);

DataError error_in(const Table& table, const Column& column, const std::string& what);
DataError error_at(const Table& table, const Column& column, std::size_t row,
                   const std::string& what);

// Throws a DataError that suggests another name if there is no such column.
const Column& column_of(const Table& table, std::string_view name);

std::string lower(std::string_view text);
double read_boolean(std::string_view text);
// What an error says of a cell that is not of its column's kind.
std::string expectation(ColumnKind kind);

// The same cells as text; numbers become the shortest text that reads as them.
Column as_text(const Column& column);

// One column of a table as the encoder reads it: numbers, or the meaning of each distinct text (by its code), so that
// nothing is parsed or hashed twice.
struct Cells {
  const Column* column = nullptr;
  const double* numbers = nullptr;
  const std::uint32_t* codes = nullptr;
  std::vector<std::uint32_t> converted = {};  // the codes, if the table has numbers
  std::vector<double> meaning = {};           // not categorical
  std::vector<std::uint32_t> slots = {};      // categorical: which of the 0/1 columns
  std::uint32_t empty_slot = 0;
  std::vector<std::uint64_t> words = {};
  // Of a feature, by code: whether training had no such value, and if it is spelt otherwise there, how (else empty).
  std::vector<bool> unseen = {};
  std::vector<std::string> respelt = {};
};

Cells cells_of(const Column& column, const FeatureColumn& feature);
// A class as its place, one that is not known as unreadable.
Cells target_cells(const Table& table, const TargetColumn& target);

inline double number_at(const Cells& cells, std::size_t row) {
  if (cells.numbers != nullptr) return cells.numbers[row];
  const std::uint32_t code = cells.codes[row];
  return code == Column::empty_cell ? nothing : cells.meaning[code];
}

// Rows of a table that count: no target is empty, and the weight is not 0.
struct CountedRows {
  std::vector<std::size_t> rows = {};
  std::vector<double> weights = {};  // of all rows of the table; empty: each counts once
  std::size_t without_target = 0, without_weight = 0;

  double weight(std::size_t table_row) const { return weights.empty() ? 1 : weights[table_row]; }
};
CountedRows counted_rows(const std::vector<Cells>& targets, std::vector<double> weights,
                         std::size_t table_rows);

// The table's own weights, or those of this column, if it is named. Throws DataError if a cell is no weight.
std::vector<double> weights_of(const Table& table, const std::string& column);

}  // namespace dma
