#include <dma/data/table.h>

#include <algorithm>
#include <unordered_map>

#include <dma/base/error.h>

#include "data/message.h"

namespace dma {

const Column* Table::find(std::string_view name) const {
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [&](const Column& column) { return column.name == name; });
  return found == columns.end() ? nullptr : &*found;
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
}

}  // namespace dma
