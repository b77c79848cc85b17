// Why no library: none of the project's dependencies reads CSV, and a parser of cells would be the smaller part: the
// rest is types, empty cells, line numbers, names, restarts, messages.
//
//   bytes.h   file, standard input, gzip            number.h      a cell as a number
//   scan.h    cells of a row in memory              dictionary.h  a cell as text
//   rows.h    rows of a file, the delimiter         this file     names, types, the table
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

// This many distinct numbers with a comma make a column of numbers, whatever follows.
constexpr std::size_t enough_commas = 1000;

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

Positions find_positions(const RowReader& rows, std::span<const std::string> names) {
  Positions positions(names.size());
  for (std::size_t k = 0; k < names.size(); ++k) {
    const auto [earlier, is_new] = positions.emplace(names[k], k);
    if (is_new) continue;
    throw DataError(rows.place() + ", column " + shown(names[k]) + ": the name appears twice, at " +
                    std::to_string(earlier->second + 1) + " and " + std::to_string(k + 1) +
                    "; rename one of the columns");
  }
  return positions;
}

bool all_numbers(std::span<const Cell> cells) {
  return std::all_of(cells.begin(), cells.end(), [](const Cell& cell) {
    double value = 0;
    return csv::read_number(cell, value) == Reading::number;
  });
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

bool is_number(std::string_view text) {
  double value = 0;
  const Cell cell{.begin = text.data(), .end = text.data() + text.size(), .quoted = true};
  return csv::read_number(cell, value) != Reading::text;
}

// Whether the values of a text column are all numbers, some with a decimal comma.
struct Commas {
  bool possible = true;
  std::size_t first_line = 0;  // 0: no comma so far
  std::string first_value = {};
  // Distinct values; emptied once there are so many that an answer was due.
  std::unordered_set<std::string> values = {};
  bool answered = false;
};

// One column of the result.
struct Output {
  std::size_t cell = 0;  // its place in a row of the file
  CellType type = CellType::detect;
  bool turned = false;       // detected as text: if after numbers, to be read again
  bool has_numbers = false;  // in the pieces before
  csv::Dictionary dictionary = {};
  Commas commas = {};
  // The first number that is not allowed, in a column that may still turn out to be text.
  Reading refused = Reading::number;
  std::size_t refused_line = 0;
  std::string refused_value = {};

  bool is_text() const { return type == CellType::text || turned; }
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
  // Throws DataError if the columns cannot be used as they are.
  void finish() const;
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
  void note_value(Output& output, const std::string& value);
  void check_commas(const Output& output) const;

  RowReader rows_;
  bool header_;
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
    : rows_(path, row_options(options)), header_(options.header) {
  names_ = read_names(rows_, header_);
  header_line_ = rows_.line();
  numeric_header_ = header_ && all_numbers(rows_.cells());
  is_first_ = !header_;
  select(options, usual);
}

void TableReader::select(const CsvOptions& options, CellType usual) {
  const Positions positions = find_positions(rows_, names_);
  for (const WantedColumn& wanted : options.columns) {
    if (wanted.optional && !positions.contains(wanted.name)) continue;
    outputs_.push_back({.cell = position(positions, wanted.name), .type = wanted.type});
  }
  if (!options.columns.empty()) return;
  for (std::size_t k = 0; k < names_.size(); ++k) {
    outputs_.push_back({.cell = k, .type = usual});
  }
  for (const std::string& name : options.text) {
    outputs_[position(positions, name)].type = CellType::text;
  }
}

std::size_t TableReader::position(const Positions& positions, const std::string& name) const {
  const auto found = positions.find(name);
  if (found != positions.end()) return found->second;
  throw DataError(rows_.name() + ": there is no column " + shown(name) + suggestion(name, names_));
}

void TableReader::clear(Table& table) {
  table.source = rows_.name();
  table.lines.clear();
  table.first_line = header_line_;
  table.numeric_header = numeric_header_;
  table.columns.resize(outputs_.size());
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    Column& column = table.columns[k];
    column.name = names_[outputs_[k].cell];
    if (!column.is_text && has_numbers(column)) outputs_[k].has_numbers = true;
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
    output.has_numbers = false;
    output.commas = {};
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
    } else if (csv::is_short_number(cell.begin, cell.end, value) ||
               csv::is_plain_number(cell.begin, cell.end, value)) {
      column.numbers.push_back(value);
    } else {
      append_unusual(table, k, cell);
    }
  }
  return true;
}

void TableReader::append_text(Table& table, std::size_t k, const Cell& cell) {
  Column& column = table.columns[k];
  if (csv::is_empty(cell)) {
    column.codes.push_back(Column::empty_cell);
    return;
  }
  const std::size_t known = column.values.size();
  column.codes.push_back(outputs_[k].dictionary.code(csv::content(cell, scratch_), column.values));
  if (column.values.size() > known) note_value(outputs_[k], column.values.back());
}

void TableReader::append_unusual(Table& table, std::size_t k, const Cell& cell) {
  Output& output = outputs_[k];
  double value = 0;
  const Reading reading = csv::read_number(cell, value);
  if (reading == Reading::empty) value = std::numeric_limits<double>::quiet_NaN();
  if (reading == Reading::text && output.type == CellType::detect) {
    turn(table, k, cell);
    return;
  }
  if (reading != Reading::empty && reading != Reading::number) refuse(output, reading, cell);
  table.columns[k].numbers.push_back(value);
}

// Empty cells stay empty; the text of numbers is lost.
void TableReader::turn(Table& table, std::size_t k, const Cell& cell) {
  Column& column = table.columns[k];
  Output& output = outputs_[k];
  if (!output.has_numbers && !has_numbers(column)) {
    output.turned = true;
    column.is_text = true;
    column.codes.assign(column.numbers.size(), Column::empty_cell);
    column.numbers = {};
    append_text(table, k, cell);
    return;
  }
  if (!rows_.can_rewind()) {
    throw DataError(place(rows_.line(), output) + shown(csv::content(cell, scratch_)) +
                    " is text after cells that are numbers; declare the column as text, or use " +
                    "a file: this input cannot be read twice");
  }
  output.turned = any_turned_ = true;
  column.numbers.push_back(0);
}

bool TableReader::check() {
  if (!next_row()) return false;
  const std::span<const Cell> cells = rows_.cells();
  for (Output& output : outputs_) {
    if (output.type != CellType::detect || output.turned) continue;
    double value = 0;
    output.turned = csv::read_number(cells[output.cell], value) == Reading::text;
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
  if (reading == Reading::infinite) {
    throw DataError(what + " is not finite; leave the cell empty if the number is unknown");
  }
  if (reading == Reading::too_large) {
    throw DataError(what + " is larger than 1e300; rescale the column");
  }
  if (csv::has_decimal_comma(value)) {
    throw DataError(what + " has a comma; write numbers with a decimal point and no other mark");
  }
  throw DataError(what + " is not a number");
}

// A text column of numbers with decimal commas is a mistake, and an expensive one if read as categories.
void TableReader::note_value(Output& output, const std::string& value) {
  Commas& commas = output.commas;
  if (output.type == CellType::text || !commas.possible) return;
  const bool comma = csv::has_decimal_comma(value);
  if (!comma && !is_number(value)) {
    commas = {.possible = false};
    return;
  }
  if (comma && commas.first_line == 0) {
    commas.first_line = rows_.line();
    commas.first_value = value;
  }
  if (commas.answered) return;
  commas.values.insert(value);
  if (commas.values.size() < enough_commas) return;
  check_commas(output);
  commas.values = {};
  commas.answered = true;
}

void TableReader::check_commas(const Output& output) const {
  const Commas& commas = output.commas;
  if (!output.is_text() || !commas.possible || commas.first_line == 0) return;
  throw DataError(place(commas.first_line, output) + shown(commas.first_value) +
                  " has a decimal comma; write numbers with a decimal point, " +
                  "or declare the column as text");
}

void TableReader::finish() const {
  if (appended_ == 0) throw DataError(rows_.name() + ": the file has a header but no rows");
  for (const Output& output : outputs_) {
    check_commas(output);
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

// False if columns turned out to be text: the table must be read again.
bool read_table(TableReader& reader, Table& table, bool is_first) {
  reader.clear(table);
  std::size_t capacity = 0;
  do {
    if (table.rows() >= capacity) capacity = reader.reserve(table);
    if (!reader.append(table)) return true;
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
    if (piece.rows() > 0) take(piece);
  }
  return true;
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

Table read_csv(const std::filesystem::path& path, const CsvOptions& options) {
  TableReader reader(path, options, CellType::detect);
  Table table;
  for (bool is_first = true; !read_table(reader, table, is_first); is_first = false) {
    reader.restart();
  }
  reader.finish();
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
  for (std::size_t r = 0; r < rows; ++r) {
    if (!state_->append(piece)) return r > 0;
  }
  return true;
}

}  // namespace dma
