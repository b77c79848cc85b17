// data/csv.h: reads CSV files, plain or gzipped.
//
// The delimiter is one of , ; tab | and is detected from the first lines unless given. Cells may be
// quoted ("a ""b"", c", even over several lines); lines end in LF or CRLF, a lone CR outside quotes is an
// error; a byte order mark is skipped; blank lines are skipped; space around an unquoted cell is not part of it. UTF-16
// is decoded; bytes that are not UTF-8 are read as Windows-1252. A column without a name is called c1, c2, ... by its
// position.
//
// Empty cells are: nothing at all, even between quotes, and NA, #N/A, <NA>, N/A, N.A., NaN, -NaN, null, None, missing, ?,
// -, -- (any case, not quoted).
//
// A number, quoted or not, is what std::from_chars reads, with an optional plus sign; infinite numbers and those larger
// than 1e300 are refused. It may have marks: separators of thousands (1,234 1 234 1'234), a sign of currency before or
// after it, a percent sign after it (12% is 12). The decimal mark is a point, unless some column of numbers has a cell that
// is a number only with a comma (3,14 1.234,5 0,125): then it is a comma in the whole file, and an error if another
// column has numbers that need a point.
//
// A column holds numbers if at most one in twenty of its cells that are not empty is something else, or a single one of
// at least ten. These stray cells count as empty: Column::stray. The same holds of text that is dates.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <dma/base/error.h>
#include <dma/data/table.h>

namespace dma {

enum class CellType {
  detect,  // numbers or text
  number,  // any cell that is not a number is stray
  text,
};

enum class Decimal { detect, point, comma };

struct WantedColumn {
  std::string name;
  CellType type = CellType::detect;
  bool optional = false;  // left out if the file does not have it
  // Where it is known and CsvOptions does not say. If both detect, a column of the type number has points.
  Decimal decimal = Decimal::detect;
  bool dates = false;  // of the type text: a cell that is no date is stray
};

struct CsvOptions {
  bool header = true;  // otherwise columns are called c1, c2, ...
  char delimiter = 0;  // 0: find it
  // Columns to read, in the order to return them; a missing one is an error, unless it is optional. Empty: all.
  std::vector<WantedColumn> columns = {};
  // Columns to read as text even if every cell is a number (used when columns is empty).
  std::vector<std::string> text = {};
  // Columns that are text as soon as one cell is no plain number.
  std::vector<std::string> plain = {};
  Decimal decimal = Decimal::detect;
  bool strict = false;  // a stray cell is an error
  // Bytes read at a time; the result does not depend on it.
  std::size_t block = std::size_t{1} << 20U;
};

// Reads the whole file; "-" is standard input. If a column turns out to be text only after cells that were numbers, the
// file is read again; for standard input or a pipe this is an error that asks for the column's type.
Table read_csv(const std::filesystem::path& path, const CsvOptions& options = {});

// The same in pieces of at most `rows` rows, in memory that does not grow with the file. The input must be readable
// twice. `begin` is called before the first piece, and again if a column turns out to be text only after cells that
// were numbers, or if a few stray cells or decimal commas had made it text: the file is then read again from its first row. A column that is empty in the first pieces may be
// numbers there and text later. Codes of text are those of the piece.
void read_csv_pieces(const std::filesystem::path& path, const CsvOptions& options, std::size_t rows,
                     const std::function<void()>& begin,
                     const std::function<void(const Table&)>& take);

// Whether so many cells of text may be strays in a column that has so many numbers.
bool are_strays(std::size_t texts, std::size_t numbers);

// The names of all columns, in the order of the file; the file need not have rows.
std::vector<std::string> csv_columns(const std::filesystem::path& path,
                                     const CsvOptions& options = {});

// Reads the file in pieces, in memory that does not grow with it; "-" is standard input. Column types must be
// number or text; if options.columns is empty, all columns but those of options.text are numbers.
class CsvReader {
 public:
  CsvReader(const std::filesystem::path& path, const CsvOptions& options);
  ~CsvReader();
  CsvReader(CsvReader&&) noexcept;
  CsvReader& operator=(CsvReader&&) noexcept;

  // Replaces the table's content by the next rows, at most `rows`; false if there are none left, or if the file has
  // only a header. Codes of text are those of the piece.
  bool read(Table& piece, std::size_t rows);
  // How much of the file has been read, from 0 to 1; 0 for standard input or a pipe.
  double share() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace dma
