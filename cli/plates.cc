#include "cli/plates.h"

#include <dma/base/error.h>
#include <dma/data/csv.h>

#include <nlohmann/json.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <set>

#include "cli/bad_input.h"

namespace dma::cli {

void fail(const std::string& where, const std::string& what) {
  throw BadInput(where + ": " + what);
}

namespace {

using nlohmann::json;

// Of a plate that no table limits: a few bytes of a file must not take all memory.
constexpr std::size_t most_elements = 1'000'000;

// Columns by what they are for.
struct Wanted {
  std::set<std::string> labels;  // of plates
  std::set<std::string> numbers;
  std::set<std::string> indices;
};

void want_strings(const json& value, std::set<std::string>& names) {
  if (value.is_string()) names.insert(value.get<std::string>());
  if (!value.is_array()) return;
  for (const json& one : value) want_strings(one, names);
}

// What is wrong with the model's form is reported where it is read.
Wanted wanted_columns(const json& model) {
  Wanted wanted;
  const json none = json::array();
  const auto list = [&](const json& object, const char* key) -> const json& {
    const auto found = object.find(key);
    return found == object.end() ? none : *found;
  };
  for (const auto& [name, plate] : list(model, "plates").items()) {
    if (plate.is_object()) want_strings(list(plate, "values"), wanted.labels);
  }
  for (const json& factor : list(model, "factors")) {
    if (!factor.is_object() || !factor.contains("plate")) continue;
    for (const auto& [key, value] : factor.items()) {
      if (key == "factor" || key == "plate" || key == "name") continue;
      if (key != "edges") {
        want_strings(value, wanted.numbers);
        continue;
      }
      std::set<std::string> edges;
      want_strings(value, edges);
      for (const std::string& edge : edges) {
        if (const auto parts = bracketed(edge)) wanted.indices.insert(parts->inside);
      }
    }
  }
  return wanted;
}

Table read_table(const std::string& path, const Wanted& wanted) {
  CsvOptions options{.strict = true};
  for (const std::string& name : wanted.numbers)
    options.columns.push_back({name, CellType::number});
  std::set<std::string> others = wanted.labels;
  others.insert(wanted.indices.begin(), wanted.indices.end());
  for (const std::string& name : others) {
    if (!wanted.numbers.contains(name)) options.columns.push_back({.name = name});
  }
  return read_csv(path, options);
}

// The shortest text of the same number: 17 for 17.0.
std::string text_of(double number) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.begin(), text.end(), number).ptr};
}

bool is_over_rows(const json& plate) { return plate.is_string() && plate == "rows"; }

bool needs_table(const json& plates) {
  for (const auto& [name, plate] : plates.items()) {
    if (is_over_rows(plate) || plate.is_object()) return true;
  }
  return false;
}

}  // namespace

std::optional<EdgeName> bracketed(const std::string& edge) {
  const auto bracket = edge.find('[');
  if (bracket == std::string::npos || edge.back() != ']') return std::nullopt;
  return EdgeName{edge.substr(0, bracket), edge.substr(bracket + 1, edge.size() - bracket - 2)};
}

PlateData::PlateData(const json& model, const std::string& model_path, const std::string& data_path)
    : model_path_(model_path), path_(data_path) {
  const auto plates = model.find("plates");
  const std::string where = model_path + ": \"plates\"";
  if (plates == model.end()) {
    if (!data_path.empty()) fail(model_path, "has no \"plates\", so --data has no effect");
    return;
  }
  if (!plates->is_object()) fail(where, "must be an object, got " + plates->dump());
  if (needs_table(*plates) == data_path.empty()) {
    fail(where, data_path.empty() ? "range over a table: give it with --data FILE"
                                  : "do not range over a table, so --data has no effect");
  }
  if (!data_path.empty()) {
    try {
      table_ = read_table(data_path, wanted_columns(model));
    } catch (const DataError& error) {
      fail(where, error.what());
    }
  }
  for (const auto& [name, description] : plates->items())
    add(name, description, where + ": \"" + name + "\"");
}

void PlateData::add(const std::string& name, const json& description, const std::string& where) {
  Plate plate{.name = name};
  if (is_over_rows(description)) {
    plate.over_rows = true;
    plate.size = table_.rows();
  } else if (description.is_number_unsigned()) {
    plate.size = description.get<std::size_t>();
  } else if (description.is_object() && description.size() == 1 && description.contains("values")) {
    std::vector<std::string> columns;
    for (const json& column : description["values"]) {
      if (!column.is_string()) fail(where, "\"values\" must be names of columns");
      columns.push_back(column.get<std::string>());
    }
    collect_labels(plate, columns, where);
  } else {
    fail(where,
         "must be \"rows\", {\"values\": [columns]} or a whole number, got " + description.dump());
  }
  if (plate.size == 0) fail(where, "has no elements");
  if (description.is_number() && plate.size > most_elements)
    fail(where, "must have at most " + std::to_string(most_elements) + " elements");
  plates_.emplace(name, std::move(plate));
}

void PlateData::collect_labels(Plate& plate, const std::vector<std::string>& columns,
                               const std::string& where) const {
  std::vector<const Column*> found;
  for (const std::string& name : columns) found.push_back(&column(name, where));
  for (std::size_t row = 0; row < table_.rows(); ++row) {
    for (const Column* const one : found) {
      const std::string text = label(plate, *one, row);
      const auto next = static_cast<std::int64_t>(plate.labels.size());
      if (plate.row.emplace(text, next).second) plate.labels.push_back(text);
    }
  }
  plate.size = plate.labels.size();
}

const Plate* PlateData::find(const std::string& name) const {
  const auto found = plates_.find(name);
  return found == plates_.end() ? nullptr : &found->second;
}

const Column& PlateData::column(const std::string& name, const std::string& where) const {
  const Column* const found = table_.find(name);
  if (found == nullptr) fail(where, "the table has no column \"" + name + "\"");
  return *found;
}

std::string PlateData::place(const Plate& plate, const Column& column, std::size_t row) const {
  return place(plate, row) + ", column '" + column.name + "'";
}

std::string PlateData::place(const Plate& plate, std::size_t row) const {
  return "plate '" + plate.name + "', " + table_.place(row);
}

void PlateData::fail_cell(const Plate& plate, const Column& column, std::size_t row,
                          const std::string& what) const {
  fail(model_path_, path_ + ", " + place(plate, column, row) + ": " + what);
}

std::string PlateData::label(const Plate& plate, const Column& column, std::size_t row) const {
  if (column.empty(row)) fail_cell(plate, column, row, "the cell is empty");
  return column.is_text ? column.values[column.codes[row]] : text_of(column.numbers[row]);
}

double PlateData::number(const Plate& plate, const Column& column, std::size_t row) const {
  if (column.empty(row)) fail_cell(plate, column, row, "the cell is empty");
  return column.numbers[row];
}

std::vector<std::int64_t> PlateData::indices(const Plate& plate, const Column& column,
                                             const Plate& target, const std::string& where) const {
  std::vector<std::int64_t> result(table_.rows());
  for (std::size_t row = 0; row < result.size(); ++row) {
    const std::string text = label(plate, column, row);
    if (!target.labels.empty()) {
      const auto found = target.row.find(text);
      if (found == target.row.end()) {
        fail(where, path_ + ", " + place(plate, column, row) + ": '" + text +
                        "' is not in plate '" + target.name + "'");
      }
      result[row] = found->second;
      continue;
    }
    const double number = column.is_text ? std::nan("") : column.numbers[row];
    if (!(number >= 0 && number < static_cast<double>(target.size)) ||
        number != std::floor(number)) {
      fail(where, path_ + ", " + place(plate, column, row) + ": '" + text +
                      "' is not a whole number from 0 to " + std::to_string(target.size - 1) +
                      ", an element of plate '" + target.name + "'");
    }
    result[row] = static_cast<std::int64_t>(number);
  }
  return result;
}

}  // namespace dma::cli
