// data/csv.h: reads CSV, plain or compressed by gzip.
//
// The delimiter is one of , ; tab | and is found from the first lines unless given. Cells may be
// quoted ("a ""b"", c", also over several lines); lines end in LF or CRLF, a lone CR outside quotes is an
// error; a byte order mark is skipped; blank lines are skipped; space around a cell that is not quoted is
// not part of it. Empty: nothing at all, also between quotes, and NA, N/A, NaN, -NaN, null, None, ? (any
// case, not quoted). A number, quoted or not, is what std::from_chars reads, with an optional plus sign;
// infinite numbers and numbers beyond 1e300 in size are refused. A column of numbers with decimal commas
// is an error unless it is asked for as text. A column without a name is called c1, c2, ... by its place.
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
  detect,  // numbers if every cell is one, else text
  number,  // a cell that is not a number is an error
  text,
};

struct WantedColumn {
  std::string name;
  CellType type = CellType::detect;
};

struct CsvOptions {
  bool header = true;  // otherwise columns are called c1, c2, ...
  char delimiter = 0;  // 0: find it
  // Which columns to read, in which order to return them; one that is missing is an error. Empty: all.
  std::vector<WantedColumn> columns = {};
  // Read as text even if every cell is a number (used when columns is empty).
  std::vector<std::string> text = {};
  // Bytes read at a time; the result does not depend on it.
  std::size_t block = std::size_t{1} << 20U;
};

// The whole file; "-" is standard input. A column that turns out to be text only after cells that were
// numbers makes it read the file again: of standard input or a pipe this is an error that asks for the
// column's type.
Table read_csv(const std::filesystem::path& path, const CsvOptions& options = {});

// The same in pieces of at most `rows` rows, in memory that does not grow with the file; not for what cannot
// be read twice. `begin` comes before the first piece: again if a column turns out to be text only after cells
// that were numbers, for then the file is read from its first row once more. A column that is empty in the
// first pieces may be one of numbers there and of text later. Codes of text are those of the piece.
void read_csv_pieces(const std::filesystem::path& path, const CsvOptions& options, std::size_t rows,
                     const std::function<void()>& begin,
                     const std::function<void(const Table&)>& take);

// The names of all columns, in the order of the file; rows are not needed.
std::vector<std::string> csv_columns(const std::filesystem::path& path,
                                     const CsvOptions& options = {});

// The file in pieces, in memory that does not grow with it; "-" is standard input. Column types must be
// number or text; if options.columns is empty, all columns but those of options.text are numbers.
class CsvReader {
 public:
  CsvReader(const std::filesystem::path& path, const CsvOptions& options);
  ~CsvReader();
  CsvReader(CsvReader&&) noexcept;
  CsvReader& operator=(CsvReader&&) noexcept;

  // Replaces the table's content by the next rows, at most `rows`; false if there are none left, at once
  // if the file has a header only. Codes of text are those of the piece.
  bool read(Table& piece, std::size_t rows);
  // How much of the file has been read, from 0 to 1; 0 of standard input or a pipe.
  double share() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace dma
