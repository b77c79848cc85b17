#include <dma/data/table.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <dma/base/error.h>

#include "data/message.h"

namespace dma {
namespace {

void validate_row_weights(const Table& table) {
  const std::vector<double>& weights = table.weights;
  if (!weights.empty() && weights.size() != table.rows()) {
    throw DataError(table.source + ": has " + std::to_string(weights.size()) + " weights for " +
                    std::to_string(table.rows()) + " rows");
  }
  for (std::size_t row = 0; row < weights.size(); ++row) {
    if (weights[row] >= 0 && std::isfinite(weights[row])) continue;
    throw DataError(table.source + ", " + table.place(row) + ": the weight " +
                    std::to_string(weights[row]) + " is not a number from 0 on");
  }
}

}  // namespace

const Column* Table::find(std::string_view name) const {
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [&](const Column& column) { return column.name == name; });
  return found == columns.end() ? nullptr : &*found;
}

void ReadingNotes::add(const Table& piece) {
  numeric_header = piece.numeric_header;
  decimal_comma = piece.decimal_comma;
  if (!piece.encoding.empty()) encoding = piece.encoding;
  columns.resize(piece.columns.size());
  for (std::size_t k = 0; k < columns.size(); ++k) {
    const Column& column = piece.columns[k];
    columns[k].name = column.name;
    columns[k].is_text = column.is_text;
    for (std::size_t row = 0; row < column.rows(); ++row) {
      columns[k].filled += column.empty(row) ? 0 : 1;
    }
    columns[k].stray.add(column.stray);
    columns[k].marked.add(column.marked);
  }
}

std::size_t ReadingNotes::stray_cells() const {
  std::size_t sum = 0;
  for (const OfColumn& column : columns) sum += column.stray.count;
  return sum;
}

void Table::validate() const {
  std::unordered_map<std::string_view, std::size_t> positions;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    const Column& column = columns[k];
    const std::string position = std::to_string(k + 1);
    if (column.name.empty()) throw DataError(source + ": column " + position + " has no name");
    const auto [earlier, is_new] = positions.emplace(column.name, k + 1);
    if (!is_new) {
      throw DataError(source + ": columns " + std::to_string(earlier->second) + " and " + position +
                      " have the same name " + csv::shown(column.name));
    }
    if (column.rows() != rows()) {
      throw DataError(source + ", column " + csv::shown(column.name) + ": has " +
                      std::to_string(column.rows()) + " rows, but column " +
                      csv::shown(columns.front().name) + " has " + std::to_string(rows()));
    }
  }
  validate_row_weights(*this);
}

}  // namespace dma
