#include <dma/data/encoder.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <unordered_map>

#include "data/datetime.h"
#include "data/digit.h"
#include "data/row_hash.h"
#include "data/scale.h"
#include "data/value_counts.h"

namespace dma {
namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();    // an empty cell
constexpr double unreadable = std::numeric_limits<double>::infinity();  // a cell that is an error
constexpr double largest = std::numeric_limits<double>::max();
// In deviations from the mean. Training rows lie within the root of their number. Beyond this limit not even the square
// fits into single precision, let alone the network's output.
constexpr double farthest = 1e15;
// Smallest deviation of a target: noise and intervals are small fractions of it and must be representable too.
constexpr double least_deviation = 1e-300;

// ---------------------------------------------------------------------------------------- messages

// Makes a value fit for a message of one line.
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

// ------------------------------------------------------------------------------------- named columns

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string suggestion(const Table& table, std::string_view name) {
  for (const Column& column : table.columns) {
    if (lower(column.name) == lower(name)) return "; did you mean '" + column.name + "'?";
  }
  constexpr std::size_t most = 10;
  std::string list;
  for (std::size_t k = 0; k < std::min(most, table.columns.size()); ++k) {
    list += (k == 0 ? "; the columns are '" : ", '") + as_text(table.columns[k].name) + "'";
  }
  return table.columns.size() > most ? list + ", ..." : list;
}

const Column& column_of(const Table& table, std::string_view name) {
  const Column* column = table.find(name);
  if (column != nullptr) return *column;
  throw DataError(table.source + ": no column '" + std::string(name) + "'" +
                  suggestion(table, name));
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void refuse_common(const Table& table, const std::vector<std::string>& one,
                   const std::vector<std::string>& two, const std::string& what) {
  for (const std::string& name : one) {
    if (contains(two, name)) throw error_in(table, column_of(table, name), what);
  }
}

void refuse_repeated(const Table& table, const std::vector<std::string>& names,
                     const std::string& what) {
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (std::find(names.begin(), name, *name) != name) {
      throw error_in(table, column_of(table, *name), what);
    }
  }
}

void validate(const Table& table, const EncoderOptions& options) {
  table.validate();
  for (const auto* names :
       {&options.targets, &options.features, &options.drop, &options.categorical}) {
    for (const std::string& name : *names) column_of(table, name);
  }
  if (options.targets.empty()) throw DataError(table.source + ": no target was given");
  if (options.most_categories == 0) throw DataError("most_categories must be at least 1");
  refuse_repeated(table, options.targets, "named twice as a target");
  refuse_repeated(table, options.features, "named twice as a feature");
  refuse_common(table, options.targets, options.features, "both a target and a feature");
  refuse_common(table, options.targets, options.drop, "both a target and dropped");
  refuse_common(table, options.features, options.drop, "both a feature and dropped");
  refuse_common(table, options.targets, options.categorical,
                "is categorical: the target must be a number");
}

// Removes the leading digits from the text and returns them without leading zeros.
std::string_view take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), csv::is_digit);
  std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

// Digits compare as numbers: c2 before c10.
bool natural_order(std::string_view one, std::string_view two) {
  std::string_view a = one;
  std::string_view b = two;
  while (!a.empty() && !b.empty()) {
    if (csv::is_digit(a.front()) && csv::is_digit(b.front())) {
      const std::string_view x = take_digits(a);
      const std::string_view y = take_digits(b);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      continue;
    }
    if (a.front() != b.front()) return a.substr(0, 1) < b.substr(0, 1);
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.empty() && b.empty() ? one < two : a.empty();
}

// Sorted by name: a network's first weights are drawn input by input, and must not depend on a column's position in the
// file.
std::vector<std::string> feature_names(const Table& table, const EncoderOptions& options) {
  std::vector<std::string> names = options.features;
  for (const Column& column : table.columns) {
    if (!options.features.empty()) break;
    if (!contains(options.targets, column.name) && !contains(options.drop, column.name)) {
      names.push_back(column.name);
    }
  }
  std::sort(names.begin(), names.end(), natural_order);
  return names;
}

// ------------------------------------------------------------------------------- what a text stands for

double read_number(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(value) ? value : unreadable;
}

double read_boolean(std::string_view text) {
  constexpr std::array<std::string_view, 5> yes{"true", "yes", "t", "y", "on"};
  constexpr std::array<std::string_view, 5> no{"false", "no", "f", "n", "off"};
  const std::string word = lower(text);
  if (std::find(yes.begin(), yes.end(), word) != yes.end()) return 1;
  return std::find(no.begin(), no.end(), word) != no.end() ? 0 : unreadable;
}

double read(std::string_view text, const FeatureColumn& feature) {
  if (text.empty()) return nothing;
  if (feature.kind == ColumnKind::numeric) return read_number(text);
  if (feature.kind == ColumnKind::boolean) return read_boolean(text);
  return parse_datetime(text, feature.dates).value_or(unreadable);
}

std::string expectation(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::numeric:
      return "is text, but in training this column held numbers";
    case ColumnKind::boolean:
      return "is neither true nor false, but in training every value of this column was";
    case ColumnKind::datetime:
      return "is not a date in a format used in training; write it as YYYY-MM-DD";
    case ColumnKind::categorical:
      break;
  }
  return "cannot be used";
}

// The same cells as text; numbers become the shortest text that reads as them.
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

// ------------------------------------------------------------------------------------ cells to encode

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
};

// A number in a column whose categories were numbers; 3.0 is the category 3.
std::string category_of(const std::string& text, const FeatureColumn& feature) {
  if (feature.text) return text;
  const double number = read_number(text);
  return number == unreadable ? text : as_text(number);
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
  }
}

Cells cells_of(const Column& column, const FeatureColumn& feature) {
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
  } else {
    read_meanings(values, feature, cells);
  }
  return cells;
}

Cells target_cells(const Table& table, const std::string& name) {
  return cells_of(column_of(table, name), {.name = name, .kind = ColumnKind::numeric});
}

double number_at(const Cells& cells, std::size_t row) {
  if (cells.numbers != nullptr) return cells.numbers[row];
  const std::uint32_t code = cells.codes[row];
  return code == Column::empty_cell ? nothing : cells.meaning[code];
}

// Rows without an empty target.
std::vector<std::size_t> rows_with(const std::vector<Cells>& targets, std::size_t table_rows) {
  std::vector<std::size_t> rows;
  rows.reserve(table_rows);
  for (std::size_t row = 0; row < table_rows; ++row) {
    bool complete = true;
    for (const Cells& target : targets) complete = complete && !std::isnan(number_at(target, row));
    if (complete) rows.push_back(row);
  }
  return rows;
}

// --------------------------------------------------------------------------------------------- fit

constexpr const char* target_expectation = "is text: the target must be a number";

// What is known so far about a column of numbers.
struct Numbers {
  ScaleBuilder scale = {};
  std::string first = {};  // that is not empty, as it stands there
  bool any_empty = false;
  std::optional<DataError> error = {};  // the first
};

// Sets an error if a cell is text, infinite or too large for the scales. It is not thrown at once, because an error in
// another column may have to be reported first.
void take_numbers(const Table& piece, const Cells& cells, std::span<const std::size_t> rows,
                  const std::string& expected, Numbers& known) {
  for (const std::size_t row : rows) {
    const double x = number_at(cells, row);
    if (std::abs(x) <= 1e300) {
      if (known.scale.count() == 0) known.first = as_text(*cells.column, row);
      known.scale.add(x);
    } else if (x != x) {
      known.any_empty = true;
    } else if (!known.error) {
      const bool is_text = cells.codes != nullptr && x == unreadable;
      known.error =
          error_at(piece, *cells.column, row, is_text ? expected : "is larger than 1e300");
    }
  }
}

// Whether the values are a word for true, a word for false, or both.
struct Booleans {
  bool possible = true;
  std::array<std::string, 2> words = {};
  ScaleBuilder scale = {};
};

double take_boolean(const std::string& value, Booleans& known) {
  const double meaning = read_boolean(value);
  known.possible = known.possible && meaning != unreadable;
  if (!known.possible) return nothing;
  std::string& word = known.words[static_cast<std::size_t>(meaning)];
  if (word.empty()) word = lower(value);
  known.possible = word == lower(value);
  return meaning;
}

// Which orders of day and month the values allow, and the scale for each.
struct Dates {
  bool month_first = true, day_first = true;
  ScaleBuilder by_month = {}, by_day = {};
  std::optional<DataError> unclear = {};  // of the first cell that the order matters to

  bool possible() const { return month_first || day_first; }
};

// The meaning of a text of a piece, and where it is counted.
struct Meaning {
  std::size_t generation = std::numeric_limits<std::size_t>::max();
  std::size_t place = 0;
  double boolean = nothing, by_month = nothing, by_day = nothing;
};

void take_date(const Table& piece, const Column& column, std::size_t row, Dates& known,
               Meaning& meaning) {
  const std::string& value = column.values[column.codes[row]];
  if (const auto date = parse_datetime(value, SlashDates::none)) {
    meaning.by_month = meaning.by_day = *date;
    return;
  }
  const auto by_month = parse_datetime(value, SlashDates::month_first);
  const auto by_day = parse_datetime(value, SlashDates::day_first);
  known.month_first = known.month_first && by_month;
  known.day_first = known.day_first && by_day;
  meaning.by_month = by_month.value_or(nothing);
  meaning.by_day = by_day.value_or(nothing);
  if (known.unclear || !known.possible()) return;
  known.unclear =
      error_at(piece, column, row,
               "may be day/month or month/day, and no date in the column shows which; write dates "
               "as YYYY-MM-DD, drop the column, or declare it categorical");
}

// What is known so far about a text column.
struct Texts {
  ValueCounts counts = ValueCounts();
  std::size_t filled = 0, empty = 0;
  std::string first = {};  // that is not empty
  Booleans booleans = {};
  Dates dates = {};
};

Meaning meaning_of(const Table& piece, const Column& column, std::size_t row, Texts& known) {
  Meaning meaning;
  const std::string& value = column.values[column.codes[row]];
  meaning.place = known.counts.place(value);
  meaning.generation = known.counts.generation();
  if (known.booleans.possible) meaning.boolean = take_boolean(value, known.booleans);
  if (known.dates.possible()) take_date(piece, column, row, known.dates, meaning);
  return meaning;
}

void take_texts(const Table& piece, const Column& column, std::span<const std::size_t> rows,
                Texts& known) {
  std::vector<Meaning> meanings(column.values.size());
  for (const std::size_t row : rows) {
    const std::uint32_t code = column.codes[row];
    if (code == Column::empty_cell || column.values[code].empty()) {
      ++known.empty;
      continue;
    }
    if (known.filled++ == 0) known.first = as_text(column, row);
    Meaning& meaning = meanings[code];
    if (meaning.generation != known.counts.generation()) {
      meaning = meaning_of(piece, column, row, known);
    }
    known.counts.count(meaning.place);
    if (known.booleans.possible) known.booleans.scale.add(meaning.boolean);
    if (known.dates.month_first) known.dates.by_month.add(meaning.by_month);
    if (known.dates.day_first) known.dates.by_day.add(meaning.by_day);
  }
}

// What is known so far about a feature's column.
struct KnownColumn {
  std::string name;
  bool forced = false;  // to be categorical
  bool is_text = false;
  std::size_t rows = 0;
  Numbers numbers = {};
  Texts texts = {};
};

// A column of a CSV file may be empty in the first pieces, as if it held numbers, and hold text later.
void accept_type(const Table& piece, const Column& column, KnownColumn& known) {
  if (column.is_text == known.is_text) return;
  const bool was_empty = known.numbers.scale.count() + known.texts.filled == 0;
  if (known.is_text || !was_empty || known.numbers.error) {
    throw error_in(piece, column, "is text in one piece of the table and numbers in another");
  }
  known.is_text = true;
  known.texts.empty = known.rows;
}

void take_feature(const Table& piece, const Column& column, std::span<const std::size_t> rows,
                  KnownColumn& known) {
  accept_type(piece, column, known);
  known.rows += rows.size();
  if (column.is_text) return take_texts(piece, column, rows, known.texts);
  if (known.forced) return take_texts(piece, as_text(column), rows, known.texts);
  const FeatureColumn feature{.name = known.name, .kind = ColumnKind::numeric};
  take_numbers(piece, cells_of(column, feature), rows, expectation(feature.kind), known.numbers);
}

// A feature, or the reason why it is left out.
struct Fitted {
  FeatureColumn feature = {};
  std::string dropped = {};
};

std::string constant(const std::string& value) { return "constant: " + value; }

Fitted fit_numbers(FeatureColumn feature, const ScaleBuilder& numbers, bool any_empty,
                   const std::string& first) {
  const Scale scale = numbers.finish();
  feature.indicator = any_empty;
  feature.mean = scale.mean;
  feature.deviation = scale.deviation;
  if (scale.deviation > 0) {
    if (feature.kind == ColumnKind::boolean) feature.deviation = 1;
    return {std::move(feature)};
  }
  if (numbers.count() == 0) return {.dropped = "empty"};
  if (!any_empty) return {.dropped = constant(first)};
  return {std::move(feature)};
}

Fitted fit_categories(FeatureColumn feature, const KnownColumn& known,
                      const EncoderOptions& options) {
  feature.kind = ColumnKind::categorical;
  const Texts& texts = known.texts;
  const std::size_t distinct = texts.counts.distinct();
  if (!known.forced && distinct > options.most_categories && 2 * distinct > texts.filled) {
    return {.dropped =
                "text that differs in almost every row, like a name or an id; "
                "declare it categorical to keep it"};
  }
  feature.categories = texts.counts.most_frequent(options.most_categories);
  if (texts.empty > 0) feature.categories.emplace_back();
  return {std::move(feature)};
}

Fitted fit_dates(FeatureColumn feature, const Texts& texts) {
  const Dates& dates = texts.dates;
  feature.kind = ColumnKind::datetime;
  if (dates.unclear && dates.month_first && dates.day_first) throw DataError(*dates.unclear);
  if (dates.unclear) {
    feature.dates = dates.month_first ? SlashDates::month_first : SlashDates::day_first;
  }
  const ScaleBuilder& scale = dates.month_first ? dates.by_month : dates.by_day;
  return fit_numbers(std::move(feature), scale, texts.empty > 0, texts.first);
}

Fitted fit_feature(const KnownColumn& known, const EncoderOptions& options) {
  FeatureColumn feature{.name = known.name, .text = known.is_text};
  if (!known.is_text && !known.forced) {
    if (known.numbers.error) throw DataError(*known.numbers.error);
    return fit_numbers(std::move(feature), known.numbers.scale, known.numbers.any_empty,
                       known.numbers.first);
  }
  const Texts& texts = known.texts;
  if (texts.filled == 0) return {.dropped = "empty"};
  if (texts.counts.distinct() == 1 && texts.empty == 0) return {.dropped = constant(texts.first)};
  if (known.forced) return fit_categories(std::move(feature), known, options);
  if (texts.booleans.possible) {
    feature.kind = ColumnKind::boolean;
    return fit_numbers(std::move(feature), texts.booleans.scale, texts.empty > 0, texts.first);
  }
  if (texts.dates.possible()) return fit_dates(std::move(feature), texts);
  return fit_categories(std::move(feature), known, options);
}

DataError no_feature(const std::string& source, const std::vector<DroppedColumn>& dropped) {
  std::string reasons;
  for (const DroppedColumn& column : dropped) {
    reasons += (reasons.empty() ? ": '" : ", '") + column.name + "' (" + column.reason + ")";
  }
  return DataError(source + ": no feature is left" + reasons);
}

// ------------------------------------------------------------------------------------------- encode

// Rows are encoded in blocks, column by column, so that a block of the row-major result stays in the
// cache while its columns are written.
struct Block {
  const Table* table;
  std::span<const std::size_t> rows;  // of the table
  double* out;                        // of the block's first row
  std::size_t stride;
};

std::size_t block_rows(std::size_t width) {
  constexpr std::size_t cache_numbers = 1 << 14;
  return std::clamp<std::size_t>(cache_numbers / std::max<std::size_t>(width, 1), 16, 1024);
}

// The rows' numbers: in place if the rows are consecutive, else copied to the buffer.
std::span<const double> numbers_in(const Cells& cells, std::span<const std::size_t> rows,
                                   std::vector<double>& buffer) {
  if (rows.empty()) return {};
  const bool together = rows.back() - rows.front() + 1 == rows.size();
  if (together && cells.numbers != nullptr) return {cells.numbers + rows.front(), rows.size()};
  buffer.resize(rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k) buffer[k] = number_at(cells, rows[k]);
  return buffer;
}

// Names the first cell of a block that cannot be encoded.
[[noreturn]] void report(const Block& block, const Cells& cells, const std::string& expected) {
  const auto too_large = [](double x) { return std::abs(x) > largest; };
  std::size_t k = 0;
  const auto too_far = [](double x) { return std::abs(x) > farthest; };
  while (!too_large(number_at(cells, block.rows[k])) && !too_far(block.out[k * block.stride])) ++k;
  const bool is_number = !too_large(number_at(cells, block.rows[k]));
  throw error_at(*block.table, *cells.column, block.rows[k],
                 is_number ? "is more than 1e15 standard deviations away from the training rows"
                 : cells.codes != nullptr ? expected
                                          : "is not finite");
}

// (x - shift) / unit, and `fill` where x is empty. False if a number is not finite or too far out.
bool standardise(std::span<const double> numbers, double shift, double unit, double fill,
                 double* out, std::size_t stride) {
  bool finite = true;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    const double x = numbers[k];
    const double value = (x - shift) / unit;
    out[k * stride] = x != x ? fill : value;
    finite &= !(std::abs(value) > farthest);
  }
  return finite;
}

bool mark_empty(std::span<const double> numbers, double* out, std::size_t stride) {
  bool finite = true;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    out[k * stride] = numbers[k] != numbers[k] ? 1 : 0;
    finite &= !(std::abs(numbers[k]) > largest);
  }
  return finite;
}

void encode_numbers(const FeatureColumn& feature, const Cells& cells, const Block& block,
                    std::vector<double>& buffer) {
  const auto numbers = numbers_in(cells, block.rows, buffer);
  const bool boolean = feature.kind == ColumnKind::boolean;
  const double shift = boolean ? 0 : feature.mean;
  const double fill = boolean ? feature.mean : 0;
  double* out = block.out;
  bool finite = true;
  if (feature.deviation != 0) {
    finite = standardise(numbers, shift, feature.deviation, fill, out++, block.stride);
  }
  if (feature.indicator) finite = mark_empty(numbers, out, block.stride) && finite;
  if (!finite) report(block, cells, expectation(feature.kind));
}

void encode_categories(const Cells& cells, const Block& block) {
  for (std::size_t k = 0; k < block.rows.size(); ++k) {
    const std::uint32_t code = cells.codes[block.rows[k]];
    const std::uint32_t slot = code == Column::empty_cell ? cells.empty_slot : cells.slots[code];
    block.out[k * block.stride + slot] = 1;
  }
}

void hash_cells(const Cells& cells, std::span<const std::size_t> rows, std::uint64_t* hashes,
                std::vector<double>& buffer) {
  if (cells.numbers != nullptr) {
    const auto numbers = numbers_in(cells, rows, buffer);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      hashes[k] = combine(hashes[k], word_of(numbers[k]));
    }
    return;
  }
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const std::uint32_t code = cells.codes[rows[k]];
    hashes[k] = combine(hashes[k], code == Column::empty_cell ? empty_word : cells.words[code]);
  }
}

std::vector<Cells> feature_cells(const Encoder& encoder, const Table& table) {
  std::vector<Cells> cells;
  for (const FeatureColumn& feature : encoder.features) {
    cells.push_back(cells_of(column_of(table, feature.name), feature));
  }
  return cells;
}

void encode_features(const Encoder& encoder, const Table& table, const std::vector<Cells>& cells,
                     EncodedRows& encoded) {
  const std::size_t width = encoder.width();
  encoded.inputs.resize(encoded.rows * width);
  const std::size_t step = block_rows(width);
  std::vector<double> buffer;
  for (std::size_t first = 0; first < encoded.rows; first += step) {
    const std::size_t rows = std::min(step, encoded.rows - first);
    Block block{&table, std::span(encoded.table_rows).subspan(first, rows),
                encoded.inputs.data() + first * width, width};
    for (std::size_t k = 0; k < cells.size(); ++k) {
      const FeatureColumn& feature = encoder.features[k];
      if (feature.kind == ColumnKind::categorical) {
        encode_categories(cells[k], block);
      } else {
        encode_numbers(feature, cells[k], block, buffer);
      }
      if (!encoded.hashes.empty()) {
        hash_cells(cells[k], block.rows, encoded.hashes.data() + first, buffer);
      }
      block.out += feature.width();
    }
  }
}

void encode_targets(const Encoder& encoder, const Table& table, const std::vector<Cells>& cells,
                    EncodedRows& encoded) {
  const std::size_t width = encoder.targets.size();
  encoded.targets.resize(encoded.rows * width);
  std::vector<double> buffer;
  for (std::size_t k = 0; k < width; ++k) {
    const TargetColumn& target = encoder.targets[k];
    const Block block{&table, encoded.table_rows, encoded.targets.data() + k, width};
    const auto numbers = numbers_in(cells[k], block.rows, buffer);
    if (!standardise(numbers, target.mean, target.deviation, 0, block.out, width)) {
      report(block, cells[k], target_expectation);
    }
    hash_cells(cells[k], block.rows, encoded.hashes.data(), buffer);
  }
}

}  // namespace

std::string_view name_of(ColumnKind kind) {
  constexpr std::array<std::string_view, 4> names{"numeric", "boolean", "categorical", "datetime"};
  return names[static_cast<std::size_t>(kind)];
}

std::size_t FeatureColumn::width() const {
  if (kind == ColumnKind::categorical) return categories.size() + 1;
  return (deviation != 0 ? 1 : 0) + (indicator ? 1 : 0);
}

class EncoderBuilder::State {
 public:
  explicit State(EncoderOptions options) : options_(std::move(options)) {}

  void add(const Table& piece) {
    if (!begun_) begin(piece);
    piece.validate();
    std::vector<Cells> targets;
    for (const std::string& name : options_.targets) targets.push_back(target_cells(piece, name));
    const auto rows = rows_with(targets, piece.rows());
    rows_ += piece.rows();
    rows_with_target_ += rows.size();
    for (std::size_t k = 0; k < targets.size(); ++k) {
      take_numbers(piece, targets[k], rows, target_expectation, targets_[k]);
    }
    for (KnownColumn& known : features_) {
      take_feature(piece, column_of(piece, known.name), rows, known);
    }
  }

  Encoder finish() const {
    if (rows_with_target_ < 2) {
      throw DataError(source_ + ": " + std::to_string(rows_with_target_) + " of " +
                      std::to_string(rows_) + " rows have a target; at least two are needed");
    }
    Encoder encoder;
    for (std::size_t k = 0; k < targets_.size(); ++k) {
      encoder.targets.push_back(fit_target(options_.targets[k], targets_[k]));
    }
    const std::string named = options_.features.empty() ? "" : "named, but ";
    for (const KnownColumn& known : features_) {
      Fitted fitted = fit_feature(known, options_);
      if (fitted.dropped.empty()) {
        encoder.features.push_back(std::move(fitted.feature));
      } else {
        encoder.dropped.push_back({known.name, named + fitted.dropped});
      }
    }
    if (encoder.features.empty()) throw no_feature(source_, encoder.dropped);
    return encoder;
  }

  std::size_t rows() const { return rows_; }
  std::size_t rows_with_target() const { return rows_with_target_; }

 private:
  void begin(const Table& piece) {
    validate(piece, options_);
    source_ = piece.source;
    targets_.resize(options_.targets.size());
    for (const std::string& name : feature_names(piece, options_)) {
      features_.push_back({.name = name, .forced = contains(options_.categorical, name)});
    }
    begun_ = true;
  }

  TargetColumn fit_target(const std::string& name, const Numbers& numbers) const {
    if (numbers.error) throw DataError(*numbers.error);
    const Scale scale = numbers.scale.finish();
    if (scale.deviation == 0) {
      throw DataError(source_ + ", column '" + name + "': the target is " + as_text(scale.mean) +
                      " in every row: there is nothing to learn");
    }
    if (scale.deviation < least_deviation) {
      throw DataError(source_ + ", column '" + name + "': the target's standard deviation is " +
                      as_text(scale.deviation) + ", too small to compute with; use a smaller unit");
    }
    return {name, scale.mean, scale.deviation};
  }

  EncoderOptions options_;
  bool begun_ = false;
  std::string source_ = Table().source;
  std::size_t rows_ = 0, rows_with_target_ = 0;
  std::vector<Numbers> targets_;
  std::vector<KnownColumn> features_;
};

EncoderBuilder::EncoderBuilder(EncoderOptions options)
    : state_(std::make_unique<State>(std::move(options))) {}
EncoderBuilder::~EncoderBuilder() = default;
EncoderBuilder::EncoderBuilder(EncoderBuilder&&) noexcept = default;
EncoderBuilder& EncoderBuilder::operator=(EncoderBuilder&&) noexcept = default;

void EncoderBuilder::add(const Table& piece) { state_->add(piece); }
Encoder EncoderBuilder::finish() const { return state_->finish(); }
std::size_t EncoderBuilder::rows() const { return state_->rows(); }
std::size_t EncoderBuilder::rows_with_target() const { return state_->rows_with_target(); }

Encoder Encoder::fit(const Table& table, const EncoderOptions& options) {
  EncoderBuilder builder(options);
  builder.add(table);
  return builder.finish();
}

std::size_t Encoder::width() const {
  std::size_t sum = 0;
  for (const FeatureColumn& feature : features) sum += feature.width();
  return sum;
}

std::vector<std::string> Encoder::input_names() const {
  std::vector<std::string> names;
  for (const FeatureColumn& feature : features) {
    if (feature.kind == ColumnKind::categorical) {
      for (const std::string& category : feature.categories) {
        names.push_back(feature.name + " = " + (category.empty() ? "(empty)" : category));
      }
      names.push_back(feature.name + " = (other)");
      continue;
    }
    if (feature.deviation != 0) names.push_back(feature.name);
    if (feature.indicator) names.push_back(feature.name + " is empty");
  }
  return names;
}

std::vector<WantedColumn> Encoder::wanted(bool with_targets) const {
  std::vector<WantedColumn> columns;
  for (const FeatureColumn& feature : features) {
    columns.push_back({feature.name, feature.text ? CellType::text : CellType::number});
  }
  if (!with_targets) return columns;
  for (const TargetColumn& target : targets) columns.push_back({target.name, CellType::number});
  return columns;
}

EncodedRows Encoder::encode(const Table& table) const {
  table.validate();
  std::vector<Cells> target_columns;
  for (const TargetColumn& target : targets) {
    target_columns.push_back(target_cells(table, target.name));
  }
  const auto cells = feature_cells(*this, table);
  EncodedRows encoded{.table_rows = rows_with(target_columns, table.rows())};
  encoded.rows = encoded.table_rows.size();
  encoded.without_target = table.rows() - encoded.rows;
  encoded.hashes.assign(encoded.rows, hash_start);
  encode_features(*this, table, cells, encoded);
  encode_targets(*this, table, target_columns, encoded);
  return encoded;
}

EncodedRows Encoder::encode_inputs(const Table& table) const {
  table.validate();
  EncodedRows encoded{.rows = table.rows()};
  encoded.table_rows.resize(encoded.rows);
  std::iota(encoded.table_rows.begin(), encoded.table_rows.end(), std::size_t{0});
  encode_features(*this, table, feature_cells(*this, table), encoded);
  return encoded;
}

}  // namespace dma
