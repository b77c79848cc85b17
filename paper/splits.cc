#include "paper/splits.h"

#include <nlohmann/json.hpp>

#include "cli/bad_input.h"

namespace dma::cli {
namespace {

using nlohmann::json;

constexpr int deepest = 32;

json parse(const std::string& text, const std::string& source) {
  const auto inspect = [&](int depth, json::parse_event_t, json&) {
    if (depth <= deepest) return true;
    throw BadInput(source + ": nested deeper than " + std::to_string(deepest) + " levels");
  };
  try {
    return json::parse(text, inspect);
  } catch (const json::exception& error) {
    throw BadInput(source + ": not a list of splits: " + error.what());
  }
}

// nlohmann::json would take 1.5 and true for 1.
std::size_t row_at(const json& value, const std::string& where, std::size_t rows) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= rows) {
    throw BadInput(where + ": " + value.dump(-1, ' ', true) + " is not a row of a table of " +
                   std::to_string(rows) + ", counted from 0");
  }
  return value.get<std::size_t>();
}

std::vector<std::size_t> split_at(const json& list, const std::string& where, std::size_t rows) {
  if (!list.is_array()) throw BadInput(where + ": must be an array of rows");
  std::vector<std::size_t> split;
  std::vector<bool> taken(rows);
  for (const json& value : list) {
    const std::size_t row = row_at(value, where, rows);
    if (taken[row]) throw BadInput(where + ": row " + std::to_string(row) + " appears twice");
    taken[row] = true;
    split.push_back(row);
  }
  if (split.empty()) throw BadInput(where + ": no rows to test on");
  if (split.size() + 2 > rows) throw BadInput(where + ": fewer than two rows to train on");
  return split;
}

}  // namespace

std::vector<std::vector<std::size_t>> parse_splits(const std::string& text,
                                                   const std::string& source, std::size_t rows) {
  const json file = parse(text, source);
  if (!file.is_object() || !file.contains("test") || !file["test"].is_array() ||
      file["test"].empty()) {
    throw BadInput(source + ": not a list of splits: must be {\"test\": [[rows], ...]}");
  }
  std::vector<std::vector<std::size_t>> splits;
  for (const json& list : file["test"]) {
    const std::string where = source + ": split " + std::to_string(splits.size());
    splits.push_back(split_at(list, where, rows));
  }
  return splits;
}

}  // namespace dma::cli
