// select_rows and append_rows of data/table.h.
#include <unordered_map>

#include <dma/base/error.h>
#include <dma/data/data.h>
#include <dma/data/table.h>

namespace dma {
namespace {

template <class T>
std::vector<T> selected(const std::vector<T>& values, std::span<const std::size_t> rows) {
  std::vector<T> result;
  result.reserve(rows.size());
  for (const std::size_t row : rows) result.push_back(values[row]);
  return result;
}

// The codes of another column's values; new values are appended to this column's.
void append_text(Column& column, const Column& more) {
  std::unordered_map<std::string_view, std::uint32_t> known;
  column.values.reserve(column.values.size() + more.values.size());  // the keys point into it
  for (const std::string& value : column.values) {
    known.emplace(value, static_cast<std::uint32_t>(known.size()));
  }
  std::vector<std::uint32_t> translated;
  for (const std::string& value : more.values) {
    const auto next = static_cast<std::uint32_t>(column.values.size());
    const auto found = known.find(value);
    translated.push_back(found == known.end() ? next : found->second);
    if (found != known.end()) continue;
    column.values.push_back(value);
    known.emplace(column.values.back(), next);
  }
  for (const std::uint32_t code : more.codes) {
    column.codes.push_back(code == Column::empty_cell ? code : translated[code]);
  }
}

}  // namespace

Table select_rows(const Table& table, std::span<const std::size_t> rows) {
  Table result;
  result.source = table.source;
  result.row_word = table.row_word;
  result.numeric_header = table.numeric_header;
  for (const Column& column : table.columns) {
    Column part{.name = column.name, .values = column.values, .is_text = column.is_text};
    if (column.is_text) {
      part.codes = selected(column.codes, rows);
    } else {
      part.numbers = selected(column.numbers, rows);
    }
    result.columns.push_back(std::move(part));
  }
  if (!table.weights.empty()) result.weights = selected(table.weights, rows);
  for (const std::size_t row : rows) {
    result.lines.push_back(static_cast<std::uint32_t>(table.line(row)));
  }
  return result;
}

void append_rows(Table& table, const Table& more) {
  const std::size_t old_rows = table.rows();
  if (table.columns.size() != more.columns.size()) {
    throw DataError(more.source + ": has " + std::to_string(more.columns.size()) + " columns, " +
                    table.source + " has " + std::to_string(table.columns.size()));
  }
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    Column& column = table.columns[c];
    const Column& other = more.columns[c];
    if (column.name != other.name || column.is_text != other.is_text) {
      throw DataError(more.source + ", column '" + other.name + "': does not match column '" +
                      column.name + "' of " + table.source);
    }
    if (column.is_text) {
      append_text(column, other);
    } else {
      column.numbers.insert(column.numbers.end(), other.numbers.begin(), other.numbers.end());
      column.stray.add(other.stray);
      column.marked.add(other.marked);
    }
  }
  append_weights(more.weights, more.rows(), old_rows, table.weights);
  // Each row keeps the line of its own file.
  if (table.lines.empty()) {
    for (std::size_t row = 0; row < old_rows; ++row) {
      table.lines.push_back(static_cast<std::uint32_t>(table.first_line + row));
    }
  }
  for (std::size_t row = 0; row < more.rows(); ++row) {
    table.lines.push_back(static_cast<std::uint32_t>(more.line(row)));
  }
  table.source += " and " + more.source;
}

}  // namespace dma
