#include "data/cells.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "data/datetime.h"
#include "data/row_hash.h"

namespace dma {
namespace {

std::string suggestion(const Table& table, std::string_view name) {
  for (const Column& column : table.columns) {
    if (lower(column.name) == lower(name)) return "; did you mean '" + column.name + "'?";
  }
  constexpr std::size_t most = 10;
  std::string list;
  for (std::size_t k = 0; k < std::min(most, table.columns.size()); ++k) {
    list += (k == 0 ? "; the columns are '" : ", '") + as_text(table.columns[k].name) + "'";
  }
  if (table.columns.size() > most) list += ", ...";
  return table.numeric_header ? list +
                                    "; if the first line is data, use --no-header: columns are "
                                    "then called c1, c2, ..."
                              : list;
}

double read_number(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(value) ? value : unreadable;
}

double read(std::string_view text, const FeatureColumn& feature) {
  if (text.empty()) return nothing;
  if (feature.kind == ColumnKind::numeric) return read_number(text);
  if (feature.kind == ColumnKind::boolean) {
    const double meaning = read_boolean(text);
    return meaning == unreadable ? nothing : meaning;
  }
  return parse_datetime(text, feature.dates).value_or(unreadable);
}

// A number in a column whose categories were numbers; 3.0 is the category 3.
std::string category_of(const std::string& text, const FeatureColumn& feature) {
  if (feature.text) return text;
  const double number = read_number(text);
  return number == unreadable ? text : as_text(number);
}

// Without the case of its letters and outer spaces.
std::string folded(std::string_view text) {
  constexpr std::string_view spaces = " \t\r\n";
  const auto begin = std::min(text.find_first_not_of(spaces), text.size());
  return lower(text.substr(begin, text.find_last_not_of(spaces) + 1 - begin));
}

// The categories by their folded text; an index that is none if two are alike.
class Spellings {
 public:
  explicit Spellings(const std::vector<std::string>& categories) : none_(categories.size()) {
    for (std::size_t k = 0; k < categories.size(); ++k) {
      const auto [entry, is_new] = places_.emplace(folded(categories[k]), k);
      if (!is_new) entry->second = none_;
    }
  }
  // Which category this can only be; their number if there is none.
  std::size_t find(std::string_view text) const {
    const std::string key = folded(text);
    const auto entry = places_.find(key);
    return key.empty() || entry == places_.end() ? none_ : entry->second;
  }

 private:
  std::size_t none_;
  std::unordered_map<std::string, std::size_t> places_;
};

// Finds the values that are not among the categories.
void mark_unseen(const std::vector<std::string>& values, const FeatureColumn& feature,
                 Cells& cells) {
  const std::size_t other = feature.categories.size();
  cells.unseen.assign(values.size(), false);
  cells.respelt.resize(values.size());
  std::optional<Spellings> spellings;
  for (std::size_t code = 0; code < values.size(); ++code) {
    if (cells.slots[code] != other || values[code].empty()) continue;
    if (!spellings) spellings.emplace(feature.categories);
    const std::size_t known = spellings->find(values[code]);
    if (known < other) {
      cells.slots[code] = static_cast<std::uint32_t>(known);
      cells.respelt[code] = feature.categories[known];
    } else {
      cells.unseen[code] = !feature.others;
    }
  }
}

void read_categories(const std::vector<std::string>& values, const FeatureColumn& feature,
                     Cells& cells) {
  const auto other = static_cast<std::uint32_t>(feature.categories.size());
  std::unordered_map<std::string_view, std::uint32_t> slot_of;
  for (std::uint32_t k = 0; k < other; ++k) slot_of.emplace(feature.categories[k], k);
  const auto find = [&](std::string_view category) {
    const auto entry = slot_of.find(category);
    return entry == slot_of.end() ? other : entry->second;
  };
  cells.empty_slot = find("");
  for (const std::string& value : values) {
    const std::string category = category_of(value, feature);
    cells.slots.push_back(find(category));
    cells.words.push_back(category.empty() ? empty_word : word_of(category));
  }
}

void read_meanings(const std::vector<std::string>& values, const FeatureColumn& feature,
                   Cells& cells) {
  for (const std::string& value : values) {
    cells.meaning.push_back(read(value, feature));
    const bool number = feature.kind == ColumnKind::numeric || value.empty();
    cells.words.push_back(number ? word_of(cells.meaning.back()) : word_of(value));
    if (feature.kind == ColumnKind::boolean) {
      cells.unseen.push_back(!value.empty() && std::isnan(cells.meaning.back()));
    }
  }
}

}  // namespace

std::string as_text(std::string_view text) {
  constexpr std::size_t most = 60;
  std::size_t end = std::min(text.size(), most);
  const auto continues = [&](std::size_t k) { return (text[k] & 0xc0) == 0x80; };  // of UTF-8
  while (end < text.size() && end > 0 && continues(end)) --end;
  std::string result(text.substr(0, end));
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
  std::replace_if(result.begin(), result.end(), control, ' ');
  return end < text.size() ? result + "..." : result;
}

std::string as_text(double number) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number + 0.0).ptr;
  return {buffer.data(), end};
}

std::string as_text(const Column& column, std::size_t row) {
  if (column.empty(row)) return "";
  return column.is_text ? as_text(column.values[column.codes[row]]) : as_text(column.numbers[row]);
}

DataError error_in(const Table& table, const Column& column, const std::string& what) {
  return DataError(table.source + ", column '" + column.name + "': " + what);
}

DataError error_at(const Table& table, const Column& column, std::size_t row,
                   const std::string& what) {
  return DataError(table.source + ", " + table.place(row) + ", column '" + column.name + "': '" +
                   as_text(column, row) + "' " + what);
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

const Column& column_of(const Table& table, std::string_view name) {
  const Column* column = table.find(name);
  if (column != nullptr) return *column;
  throw DataError(table.source + ": no column '" + std::string(name) + "'" +
                  suggestion(table, name));
}

double read_boolean(std::string_view text) {
  constexpr std::array<std::string_view, 5> yes{"true", "yes", "t", "y", "on"};
  constexpr std::array<std::string_view, 5> no{"false", "no", "f", "n", "off"};
  const std::string word = lower(text);
  if (std::find(yes.begin(), yes.end(), word) != yes.end()) return 1;
  return std::find(no.begin(), no.end(), word) != no.end() ? 0 : unreadable;
}

std::string expectation(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::numeric:
      return "is text, but in training this column held numbers";
    case ColumnKind::datetime:
      return "is not a date in a format used in training; write it as YYYY-MM-DD";
    case ColumnKind::boolean:
    case ColumnKind::categorical:
      break;
  }
  return "cannot be used";
}

Column as_text(const Column& column) {
  Column text{.name = column.name, .is_text = true};
  text.codes.reserve(column.rows());
  std::unordered_map<std::uint64_t, std::uint32_t> known;
  for (const double number : column.numbers) {
    if (number != number) {
      text.codes.push_back(Column::empty_cell);
      continue;
    }
    const auto next = static_cast<std::uint32_t>(text.values.size());
    const auto [entry, is_new] = known.try_emplace(word_of(number), next);
    if (is_new) text.values.push_back(as_text(number));
    text.codes.push_back(entry->second);
  }
  return text;
}

namespace {

Cells read_cells(const Column& column, const FeatureColumn& feature, bool is_feature) {
  Cells cells{.column = &column};
  if (!column.is_text && feature.kind == ColumnKind::numeric) {
    cells.numbers = column.numbers.data();
    return cells;
  }
  Column text;
  if (!column.is_text) {
    text = as_text(column);
    cells.converted = std::move(text.codes);
  }
  cells.codes = column.is_text ? column.codes.data() : cells.converted.data();
  const auto& values = column.is_text ? column.values : text.values;
  if (feature.kind == ColumnKind::categorical) {
    read_categories(values, feature, cells);
    if (is_feature) mark_unseen(values, feature, cells);
  } else {
    read_meanings(values, feature, cells);
  }
  return cells;
}

}  // namespace

Cells cells_of(const Column& column, const FeatureColumn& feature) {
  return read_cells(column, feature, true);
}

bool is_count(double number) {
  return number >= 0 && number <= 1e15 && number == std::floor(number);
}

Cells target_cells(const Table& table, const TargetColumn& target) {
  const Column& column = column_of(table, target.name);
  if (target.kind != TargetKind::classes) return cells_of(column, {.name = target.name});
  Cells cells = read_cells(column,
                           {.name = target.name,
                            .kind = ColumnKind::categorical,
                            .text = target.text,
                            .categories = target.classes},
                           false);
  for (std::size_t code = 0; code < cells.slots.size(); ++code) {
    const std::uint32_t place = cells.slots[code];
    const double other = cells.words[code] == empty_word ? nothing : unreadable;
    cells.meaning.push_back(place < target.classes.size() ? place : other);
  }
  return cells;
}

CountedRows counted_rows(const std::vector<Cells>& targets, std::vector<double> weights,
                         std::size_t table_rows) {
  CountedRows counted;
  counted.weights = std::move(weights);
  counted.rows.reserve(table_rows);
  for (std::size_t row = 0; row < table_rows; ++row) {
    bool complete = true;
    for (const Cells& target : targets) complete = complete && !std::isnan(number_at(target, row));
    if (!complete) {
      ++counted.without_target;
    } else if (counted.weight(row) == 0) {
      ++counted.without_weight;
    } else {
      counted.rows.push_back(row);
    }
  }
  return counted;
}

std::vector<double> weights_of(const Table& table, const std::string& column) {
  if (!table.weights.empty() || column.empty()) return table.weights;
  const Column& own = column_of(table, column);
  const Cells cells = cells_of(own, {.name = column, .kind = ColumnKind::numeric});
  std::vector<double> weights;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const double weight = number_at(cells, row);
    if (std::isnan(weight)) {
      throw error_at(table, own, row, "is no weight: every row needs one, and 0 leaves it out");
    }
    if (!(weight >= 0 && std::isfinite(weight))) {
      throw error_at(table, own, row, "is no weight: it must be a number from 0 on");
    }
    weights.push_back(weight);
  }
  return weights;
}

}  // namespace dma
