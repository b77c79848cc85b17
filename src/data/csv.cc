// Why no library: none of the project's dependencies reads CSV, and a parser of cells would be the smaller part: the
// rest is types, empty cells, line numbers, names, restarts, messages.
//
//   bytes.h         file, standard input, gzip      number.h      a cell as a number
//   text_source.h   their text as UTF-8             dictionary.h  a cell as text
//   scan.h          cells of a row in memory        evidence.h    whether texts are numbers
//   rows.h          rows of a file, the delimiter   this file     names, types, the table
#include <dma/data/csv.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "data/dictionary.h"
#include "data/evidence.h"
#include "data/message.h"
#include "data/number.h"
#include "data/rows.h"

namespace dma {
namespace {

using csv::Cell;
using csv::Reading;
using csv::RowReader;
using csv::shown;

using Positions = std::unordered_map<std::string_view, std::size_t>;

std::vector<std::string> numbered_names(std::size_t count) {
  std::vector<std::string> names(count);
  for (std::size_t k = 0; k < count; ++k) names[k] = "c" + std::to_string(k + 1);
  return names;
}

// pandas writes the index as a first column without a name: that must not be an error.
std::vector<std::string> header_names(std::span<const Cell> cells) {
  std::vector<std::string> names = numbered_names(cells.size());
  std::string scratch;
  for (std::size_t k = 0; k < cells.size(); ++k) {
    const std::string_view name = csv::content(cells[k], scratch);
    if (!csv::trimmed(name).empty()) names[k] = name;
  }
  return names;
}

// Goes to the file's first row and reads the names.
csv::RowOptions row_options(const CsvOptions& options) {
  return {options.header, options.delimiter, options.block};
}

std::vector<std::string> read_names(RowReader& rows, bool header) {
  if (!rows.next()) throw DataError(rows.name() + ": the file has only blank lines");
  return header ? header_names(rows.cells()) : numbered_names(rows.cells().size());
}

// Names may be whole numbers, such as years, but not all of them; a number with a fraction is hardly a name.
bool looks_like_data(std::span<const Cell> cells) {
  bool all = true;
  for (const Cell& cell : cells) {
    double value = 0;
    const bool number = csv::is_some_number(csv::read_number(cell, value));
    if (number && value != std::floor(value)) return true;
    all = all && number;
  }
  return all;
}

bool is_number(const std::string& text) {
  double value = 0;
  return csv::is_some_number(csv::read_number(text, value));
}

constexpr const char* header_hint =
    "; if the first line is data, use --no-header: columns are then called c1, c2, ...";

Positions find_positions(const RowReader& rows, std::span<const std::string> names) {
  Positions positions(names.size());
  for (std::size_t k = 0; k < names.size(); ++k) {
    const auto [earlier, is_new] = positions.emplace(names[k], k);
    if (is_new) continue;
    throw DataError(rows.place() + ", column " + shown(names[k]) + ": the name appears twice, at " +
                    std::to_string(earlier->second + 1) + " and " + std::to_string(k + 1) +
                    (is_number(names[k]) ? header_hint : "; rename one of the columns"));
  }
  return positions;
}

// The name without spaces and in lower case.
std::string core(std::string_view name) {
  std::string result;
  for (const char c : name) {
    if (c == ' ' || c == '\t') continue;
    result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return result;
}

std::string suggestion(std::string_view name, std::span<const std::string> names) {
  const std::string wanted = core(name);
  for (const std::string& other : names) {
    if (core(other) == wanted) return "; did you mean " + shown(other) + "?";
  }
  constexpr std::size_t most = 8;
  std::string list = "; the columns are ";
  for (std::size_t k = 0; k < std::min(most, names.size()); ++k) {
    list += (k == 0 ? "" : ", ") + shown(names[k]);
  }
  return list + (names.size() > most ? ", ..." : "");
}

// One column of the result.
struct Output {
  std::size_t cell = 0;  // its place in a row of the file
  CellType type = CellType::detect;
  bool comma = false;        // the decimal mark
  bool plain = false;        // CsvOptions::plain
  bool turned = false;       // detected as text: if after numbers, to be read again
  bool with_strays = false;  // detected as numbers, after having been read as text
  bool dates = false;        // text that is a date, or stray
  bool has_numbers = false;  // in the pieces before
  bool has_dash = false;     // a cell that is empty only among numbers
  csv::Dictionary dictionary = {};
  csv::Evidence evidence = {};
  CellNote first_comma = {};  // the cell that showed that the decimal mark is a comma
  // The first number that is not allowed, in a column that may still turn out to be text.
  Reading refused = Reading::number;
  std::size_t refused_line = 0;
  std::string refused_value = {};

  bool is_text() const { return type == CellType::text || turned; }
  bool is_detected() const { return type == CellType::detect && !with_strays; }
};

bool has_numbers(const Column& column) {
  return std::any_of(column.numbers.begin(), column.numbers.end(),
                     [](double value) { return !std::isnan(value); });
}

class TableReader {
 public:
  TableReader(const std::filesystem::path& path, const CsvOptions& options, CellType usual);

  // Empties the table and gives it the columns' names.
  void clear(Table& table);
  // Appends the next row; false if there is none.
  bool append(Table& table);
  // Like append, but only looks for columns that are text.
  bool check();
  // Reserves memory for the expected rows and returns their number.
  std::size_t reserve(Table& table) const;
  // Counts what the texts of a piece, or of the whole table, would be as numbers.
  void weigh(const Table& table);
  // Whether the columns are what they were read as; if not, the file is to be read again after restart(). The text of a
  // whole table is turned into numbers here.
  bool settle(Table* whole);
  // Throws DataError if the columns cannot be used as they are.
  void finish() const;
  std::string encoding() const { return rows_.encoding(); }
  // How much of the file has been read; 0 if unknown.
  double share() const { return rows_.share(); }

  bool any_turned() const { return any_turned_; }
  // Goes back to the first row and reads the columns that turned as text.
  void restart();
  std::size_t blocks() const { return rows_.blocks(); }

 private:
  void select(const CsvOptions& options, CellType usual);
  std::size_t position(const Positions& positions, const std::string& name) const;
  bool next_row();
  void append_unusual(Table& table, std::size_t k, const Cell& cell);
  void append_text(Table& table, std::size_t k, const Cell& cell);
  void turn(Table& table, std::size_t k, const Cell& cell);
  void refuse(Output& output, Reading reading, const Cell& cell);
  std::string place(std::size_t line, const Output& output) const;
  [[noreturn]] void fail(const Output& output, Reading reading, std::size_t line,
                         std::string_view value) const;
  void note_stray(Column& column, Output& output, const Cell& cell);
  void hold(Column& column, const Output& output, const Cell& cell);
  void check_held(const Column& column, const Output& output) const;
  bool finds_comma();
  void convert(Column& column, const Output& output, const Table& table) const;
  bool settle_dates(Table* whole, std::size_t k);
  [[noreturn]] void fail_stray(const Output& output, const csv::Evidence::Count& found,
                               std::string_view kind) const;
  void check_decimals() const;
  DataError two_decimals(const Output& one, const CellNote& with_comma, const Output& other,
                         const CellNote& with_point) const;

  RowReader rows_;
  bool header_;
  Decimal decimal_;
  bool strict_;
  bool numeric_header_ = false;
  bool is_first_ = true;  // the present row is the first of the file and has not been used
  std::size_t header_line_ = 0;
  std::size_t appended_ = 0;  // rows
  std::vector<std::string> names_;
  std::vector<Output> outputs_;
  bool any_turned_ = false;
  std::string scratch_;
};

TableReader::TableReader(const std::filesystem::path& path, const CsvOptions& options,
                         CellType usual)
    : rows_(path, row_options(options)),
      header_(options.header),
      decimal_(options.decimal),
      strict_(options.strict) {
  names_ = read_names(rows_, header_);
  header_line_ = rows_.line();
  numeric_header_ = header_ && looks_like_data(rows_.cells());
  is_first_ = !header_;
  select(options, usual);
}

void TableReader::select(const CsvOptions& options, CellType usual) {
  const Positions positions = find_positions(rows_, names_);
  for (const WantedColumn& wanted : options.columns) {
    if (wanted.optional && !positions.contains(wanted.name)) continue;
    const Decimal decimal = decimal_ == Decimal::detect ? wanted.decimal : decimal_;
    outputs_.push_back({.cell = position(positions, wanted.name),
                        .type = wanted.type,
                        .comma = decimal == Decimal::comma,
                        .dates = wanted.dates});
  }
  if (!options.columns.empty()) return;
  for (std::size_t k = 0; k < names_.size(); ++k) {
    const bool plain =
        std::find(options.plain.begin(), options.plain.end(), names_[k]) != options.plain.end();
    outputs_.push_back(
        {.cell = k, .type = usual, .comma = decimal_ == Decimal::comma, .plain = plain});
  }
  for (const std::string& name : options.text) {
    outputs_[position(positions, name)].type = CellType::text;
  }
}

std::size_t TableReader::position(const Positions& positions, const std::string& name) const {
  const auto found = positions.find(name);
  if (found != positions.end()) return found->second;
  throw DataError(rows_.name() + ": there is no column " + shown(name) + suggestion(name, names_) +
                  (std::any_of(names_.begin(), names_.end(), is_number) ? header_hint : ""));
}

void TableReader::clear(Table& table) {
  table.source = rows_.name();
  table.lines.clear();
  table.first_line = header_line_;
  table.numeric_header = numeric_header_;
  table.decimal_comma = std::any_of(outputs_.begin(), outputs_.end(),
                                    [](const Output& output) { return output.comma; });
  table.columns.resize(outputs_.size());
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    Column& column = table.columns[k];
    column.name = names_[outputs_[k].cell];
    if (!column.is_text && has_numbers(column)) outputs_[k].has_numbers = true;
    column.stray = column.marked = {};
    column.is_text = outputs_[k].is_text();
    column.numbers.clear();
    column.codes.clear();
    column.values.clear();
    outputs_[k].dictionary.clear();
  }
}

void TableReader::restart() {
  rows_.rewind();
  rows_.next();
  is_first_ = !header_;
  any_turned_ = false;
  appended_ = 0;
  for (Output& output : outputs_) {
    output.refused = Reading::number;
    output.has_numbers = output.has_dash = false;
    output.evidence = {};
  }
}

bool TableReader::next_row() {
  if (!std::exchange(is_first_, false) && !rows_.next()) return false;
  const std::size_t found = rows_.cells().size();
  if (found == names_.size()) return true;
  throw DataError(rows_.place() + ": expected " + std::to_string(names_.size()) +
                  " cells as in line " + std::to_string(header_line_) + ", found " +
                  std::to_string(found));
}

void note_line(Table& table, std::size_t line) {
  const std::size_t row = table.rows();
  if (row == 0) table.first_line = line;
  if (table.lines.empty()) {
    if (line == table.first_line + row) return;
    for (std::size_t r = 0; r < row; ++r) {
      table.lines.push_back(static_cast<std::uint32_t>(table.first_line + r));
    }
  }
  table.lines.push_back(static_cast<std::uint32_t>(line));
}

bool TableReader::append(Table& table) {
  if (!next_row()) return false;
  ++appended_;
  note_line(table, rows_.line());
  const std::span<const Cell> cells = rows_.cells();
  const std::span<Output> outputs = outputs_;
  const std::span<Column> columns = table.columns;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    Column& column = columns[k];
    const Cell& cell = cells[outputs[k].cell];
    double value = 0;
    if (column.is_text) {
      append_text(table, k, cell);
    } else if (!outputs[k].comma && (csv::is_short_number(cell.begin, cell.end, value) ||
                                     csv::is_plain_number(cell.begin, cell.end, value))) {
      column.numbers.push_back(value);
    } else {
      append_unusual(table, k, cell);
    }
  }
  return true;
}

void TableReader::append_text(Table& table, std::size_t k, const Cell& cell) {
  Column& column = table.columns[k];
  Output& output = outputs_[k];
  const std::string_view text = csv::content(cell, scratch_);
  const bool is_stray = output.dates && !csv::is_empty(cell) && !csv::is_date(csv::trimmed(text));
  if (is_stray && strict_)
    throw DataError(place(rows_.line(), output) + shown(text) + " is not a date");
  if (is_stray) column.stray.add(rows_.line(), text, 0);
  const bool is_empty = is_stray || csv::is_empty(cell);
  column.codes.push_back(is_empty ? Column::empty_cell
                                  : output.dictionary.code(text, column.values));
}

void TableReader::append_unusual(Table& table, std::size_t k, const Cell& cell) {
  Output& output = outputs_[k];
  double value = 0;
  Reading reading = csv::read_number(cell, value, output.comma);
  if (output.plain && reading == Reading::marked) reading = Reading::text;
  Column& column = table.columns[k];
  switch (reading) {
    case Reading::marked:
      column.marked.add(rows_.line(), csv::content(cell, scratch_), value);
      break;
    case Reading::empty_number:
      output.has_dash = true;
      [[fallthrough]];
    case Reading::empty:
      value = std::numeric_limits<double>::quiet_NaN();
      break;
    case Reading::text:
      if (output.is_detected()) return turn(table, k, cell);
      note_stray(column, output, cell);
      value = std::numeric_limits<double>::quiet_NaN();
      break;
    case Reading::infinite:
    case Reading::too_large:
      refuse(output, reading, cell);
      break;
    case Reading::number:
      break;
  }
  column.numbers.push_back(value);
}

// A number with the other decimal mark is no stray cell, unless the mark was asked for: others would be read wrongly.
void TableReader::note_stray(Column& column, Output& output, const Cell& cell) {
  const std::string_view text = csv::content(cell, scratch_);
  double value = 0;
  const bool other_mark =
      decimal_ == Decimal::detect &&
      csv::is_some_number(csv::read_number(csv::trimmed(text), value, !output.comma));
  if (strict_ || (other_mark && output.type == CellType::number)) {
    fail(output, Reading::text, rows_.line(), text);
  }
  column.stray.add(rows_.line(), text, value);
}

// Empty cells stay empty; the text of numbers is lost.
void TableReader::turn(Table& table, std::size_t k, const Cell& cell) {
  Column& column = table.columns[k];
  Output& output = outputs_[k];
  if (!output.has_numbers && !output.has_dash && !has_numbers(column)) {
    output.turned = true;
    column.is_text = true;
    column.codes.assign(column.numbers.size(), Column::empty_cell);
    column.numbers = {};
    append_text(table, k, cell);
    return;
  }
  if (!rows_.can_rewind()) return hold(column, output, cell);
  output.turned = any_turned_ = true;
  column.numbers.push_back(0);
}

// What cannot be read twice: settle() sees whether the cells are few.
void TableReader::hold(Column& column, const Output& output, const Cell& cell) {
  const std::string_view text = csv::content(cell, scratch_);
  double value = 0;
  const bool other_mark =
      decimal_ == Decimal::detect &&
      csv::is_some_number(csv::read_number(csv::trimmed(text), value, !output.comma));
  if (other_mark) fail(output, Reading::text, rows_.line(), text);
  column.stray.add(rows_.line(), text, 0);
  column.numbers.push_back(std::numeric_limits<double>::quiet_NaN());
}

void TableReader::check_held(const Column& column, const Output& output) const {
  const auto numbers = std::count_if(column.numbers.begin(), column.numbers.end(),
                                     [](double value) { return !std::isnan(value); });
  const bool few = are_strays(column.stray.count, static_cast<std::size_t>(numbers));
  if (few && !output.plain && !strict_) return;
  throw DataError(place(column.stray.line, output) + shown(column.stray.value) +
                  " is text after cells that are numbers; declare the column as text, or use a "
                  "file: this input cannot be read twice");
}

bool TableReader::check() {
  if (!next_row()) return false;
  const std::span<const Cell> cells = rows_.cells();
  for (Output& output : outputs_) {
    if (!output.is_detected() || output.turned) continue;
    double value = 0;
    const Reading reading = csv::read_number(cells[output.cell], value, output.comma);
    output.turned = reading == Reading::text || (output.plain && reading == Reading::marked);
  }
  return true;
}

void TableReader::refuse(Output& output, Reading reading, const Cell& cell) {
  const std::string_view value = csv::content(cell, scratch_);
  if (output.type == CellType::number) fail(output, reading, rows_.line(), value);
  if (output.refused != Reading::number) return;
  output.refused = reading;
  output.refused_line = rows_.line();
  output.refused_value = value;
}

std::string TableReader::place(std::size_t line, const Output& output) const {
  return rows_.place(line) + ", column " + shown(names_[output.cell]) + ": ";
}

void TableReader::fail(const Output& output, Reading reading, std::size_t line,
                       std::string_view value) const {
  const std::string what = place(line, output) + shown(value);
  double number = 0;
  const bool other_mark =
      reading == Reading::text &&
      csv::is_some_number(csv::read_number(csv::trimmed(value), number, !output.comma));
  if (!other_mark) throw DataError(what + csv::complaint(reading));
  throw DataError(what + (output.comma ? " has a decimal point, and the column has decimal commas; "
                                         "use --decimal ."
                                       : " has a decimal comma; use --decimal ,"));
}

void TableReader::weigh(const Table& table) {
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    Output& output = outputs_[k];
    if (!output.turned || output.plain) continue;
    csv::weigh(table, table.columns[k], output.evidence);
  }
}

// Whether some column has numbers only if the decimal mark is a comma.
bool TableReader::finds_comma() {
  if (decimal_ != Decimal::detect) return false;
  for (Output& output : outputs_) {
    const csv::Evidence& found = output.evidence;
    if (!output.turned) continue;
    if (found.is_mixed()) {
      throw two_decimals(output, found.comma.needed, output, found.point.needed);
    }
    if (!found.needs_comma()) continue;
    if (!rows_.can_rewind()) {
      throw DataError(place(found.comma.needed.line, output) + shown(found.comma.needed.value) +
                      " has a decimal comma; use --decimal , for an input that cannot be read "
                      "twice");
    }
    decimal_ = Decimal::comma;
    output.first_comma = found.comma.needed;
  }
  if (decimal_ == Decimal::detect) return false;
  for (Output& output : outputs_) {
    if (output.type != CellType::detect) continue;
    output.comma = true;
    output.turned = false;
  }
  return true;
}

bool TableReader::settle(Table* whole) {
  if (finds_comma()) return false;
  check_decimals();
  bool settled = true;
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    Output& output = outputs_[k];
    const csv::Evidence::Count& found = output.evidence.with(output.comma);
    const bool held = whole != nullptr && output.is_detected() && whole->columns[k].stray.count > 0;
    if (held) check_held(whole->columns[k], output);
    if (!output.turned || output.plain) continue;
    if (!found.enough()) {
      settled = settle_dates(whole, k) && settled;
      continue;
    }
    if (strict_ && found.strays > 0) fail_stray(output, found, "number");
    output.turned = false;
    output.with_strays = true;
    if (whole != nullptr) {
      convert(whole->columns[k], output, *whole);
    } else {
      settled = false;
    }
  }
  return settled;
}

// A column of text may be one of dates with a few stray cells.
bool TableReader::settle_dates(Table* whole, std::size_t k) {
  Output& output = outputs_[k];
  const csv::Evidence::Count& found = output.evidence.dates;
  if (found.strays == 0 || !found.enough()) return true;
  if (strict_) fail_stray(output, found, "date");
  output.dates = true;
  if (whole == nullptr) return false;
  csv::take_stray_dates(*whole, whole->columns[k]);
  return true;
}

// The decimal comma was found in another column.
void TableReader::check_decimals() const {
  const auto with_comma = std::find_if(outputs_.begin(), outputs_.end(), [](const Output& output) {
    return output.first_comma.count > 0;
  });
  if (with_comma == outputs_.end()) return;
  for (const Output& output : outputs_) {
    if (!output.turned || !output.evidence.needs_point()) continue;
    throw two_decimals(*with_comma, with_comma->first_comma, output, output.evidence.point.needed);
  }
}

DataError TableReader::two_decimals(const Output& one, const CellNote& with_comma,
                                    const Output& other, const CellNote& with_point) const {
  return DataError(place(with_comma.line, one) + shown(with_comma.value) +
                   " has a decimal comma, but " + shown(with_point.value) + " in line " +
                   std::to_string(with_point.line) + ", column " + shown(names_[other.cell]) +
                   ", a decimal point; say which with --decimal , or --decimal .");
}

void TableReader::fail_stray(const Output& output, const csv::Evidence::Count& found,
                             std::string_view kind) const {
  throw DataError(place(found.stray.line, output) + shown(found.stray.value) +
                  csv::stray_complaint(found, kind) + ", or leave out --strict");
}

// A column that was read as text.
void TableReader::convert(Column& column, const Output& output, const Table& table) const {
  const auto refused = csv::make_numbers(table, output.comma, column);
  if (refused) fail(output, refused->reading, table.line(refused->row), refused->text);
}

void TableReader::finish() const {
  if (appended_ == 0) throw DataError(rows_.name() + ": the file has a header but no rows");
  for (const Output& output : outputs_) {
    if (output.is_text() || output.refused == Reading::number) continue;
    fail(output, output.refused, output.refused_line, output.refused_value);
  }
}

// Without this the vectors would double, which takes up to three times the memory at the last step. Steps of at most
// eight allow for first rows that are much shorter than the others.
std::size_t TableReader::reserve(Table& table) const {
  const auto rows = static_cast<double>(std::max<std::size_t>(table.rows(), 16));
  const double expected = 1.02 * rows_.expected_rows(table.rows()) + 16;
  const auto capacity = static_cast<std::size_t>(std::clamp(expected, 1.25 * rows, 8 * rows));
  for (Column& column : table.columns) {
    column.is_text ? column.codes.reserve(capacity) : column.numbers.reserve(capacity);
  }
  if (!table.lines.empty()) table.lines.reserve(capacity);
  return capacity;
}

// The rest of the block shows other columns that turn to text; if that is not enough, the rest of the file does. So no
// file is read more than three times.
void read_on(TableReader& reader, bool to_the_end) {
  const std::size_t block = reader.blocks();
  while ((to_the_end || reader.blocks() == block) && reader.check()) {
  }
}

// False if columns turned out to be of another type: the table must be read again.
bool read_table(TableReader& reader, Table& table, bool is_first) {
  reader.clear(table);
  std::size_t capacity = 0;
  do {
    if (table.rows() >= capacity) capacity = reader.reserve(table);
    if (reader.append(table)) continue;
    reader.weigh(table);
    return reader.settle(&table);
  } while (!reader.any_turned());
  table = {};
  read_on(reader, !is_first);
  return false;
}

// Like read_table, but piece by piece.
bool read_pieces(TableReader& reader, std::size_t rows, const std::function<void()>& begin,
                 const std::function<void(const Table&)>& take, bool is_first) {
  begin();
  Table piece;
  for (bool more = true; more;) {
    reader.clear(piece);
    while (piece.rows() < rows && more && !reader.any_turned()) more = reader.append(piece);
    if (reader.any_turned()) {
      read_on(reader, !is_first);
      return false;
    }
    reader.weigh(piece);
    piece.encoding = reader.encoding();
    if (piece.rows() > 0) take(piece);
  }
  return reader.settle(nullptr);
}

void give_back(std::vector<double>& numbers) {
  if (numbers.capacity() > numbers.size() + numbers.size() / 4) numbers.shrink_to_fit();
}

void check_types(const std::filesystem::path& path, const CsvOptions& options) {
  for (const WantedColumn& wanted : options.columns) {
    if (wanted.type != CellType::detect) continue;
    throw DataError(
        csv::escaped(path.string()) + ", column " + shown(wanted.name) +
        ": declare it as numbers or text; in a file read in pieces this cannot be detected");
  }
}

}  // namespace

bool are_strays(std::size_t texts, std::size_t numbers) {
  constexpr std::size_t least = 10;
  constexpr std::size_t one_in = 20;
  const std::size_t cells = texts + numbers;
  return numbers > 0 && (one_in * texts <= cells || (texts == 1 && cells >= least));
}

Table read_csv(const std::filesystem::path& path, const CsvOptions& options) {
  TableReader reader(path, options, CellType::detect);
  Table table;
  for (bool is_first = true; !read_table(reader, table, is_first); is_first = false) {
    reader.restart();
  }
  reader.finish();
  table.encoding = reader.encoding();
  for (Column& column : table.columns) give_back(column.numbers);
  return table;
}

void read_csv_pieces(const std::filesystem::path& path, const CsvOptions& options, std::size_t rows,
                     const std::function<void()>& begin,
                     const std::function<void(const Table&)>& take) {
  TableReader reader(path, options, CellType::detect);
  for (bool is_first = true; !read_pieces(reader, rows, begin, take, is_first); is_first = false) {
    reader.restart();
  }
  reader.finish();
}

std::vector<std::string> csv_columns(const std::filesystem::path& path, const CsvOptions& options) {
  RowReader rows(path, row_options(options));
  std::vector<std::string> names = read_names(rows, options.header);
  find_positions(rows, names);
  return names;
}

class CsvReader::State : public TableReader {
 public:
  using TableReader::TableReader;
};

CsvReader::CsvReader(const std::filesystem::path& path, const CsvOptions& options) {
  check_types(path, options);
  state_ = std::make_unique<State>(path, options, CellType::number);
}

CsvReader::~CsvReader() = default;
CsvReader::CsvReader(CsvReader&&) noexcept = default;
CsvReader& CsvReader::operator=(CsvReader&&) noexcept = default;

double CsvReader::share() const { return state_->share(); }

bool CsvReader::read(Table& piece, std::size_t rows) {
  state_->clear(piece);
  std::size_t read = 0;
  while (read < rows && state_->append(piece)) ++read;
  piece.encoding = state_->encoding();
  return read > 0 || rows == 0;
}

}  // namespace dma
