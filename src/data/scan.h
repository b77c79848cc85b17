// data/scan.h: finds the cells of rows in memory, row by row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dma::csv {

// The characters of a cell as in the file, without the quotes around them.
struct Cell {
  const char* begin = nullptr;
  const char* end = nullptr;
  bool quoted = false;
  bool doubled = false;  // has doubled quotes in it

  std::string_view raw() const { return {begin, static_cast<std::size_t>(end - begin)}; }
};

// Space and tab.
std::string_view trimmed(std::string_view text);
// The cell's text: without surrounding space unless quoted, and with doubled quotes made single. May use `scratch` to
// hold it.
std::string_view content(const Cell& cell, std::string& scratch);
// Whether the cell is empty: nothing at all, or NA, #NA, <NA>, N/A, #N/A, N.A., NaN, -NaN, null, None, ? in any case and
// not quoted.
bool is_empty(const Cell& cell);
bool is_empty(std::string_view text);
// Whether the text says that there is no number: -, --, . and missing. In a column of text it may be a value.
bool is_empty_number(std::string_view text);

class Scanner {
 public:
  // Readable bytes that must follow the text, which is read in blocks of 64.
  static constexpr std::size_t padding = 64;

  enum class Found {
    row,
    end,               // no more rows
    more,              // the text ends inside a row, and it is not the end of the file
    nul,               // a NUL byte
    lone_return,       // a carriage return without a line feed, not quoted
    open_quote,        // a quote that is never closed
    text_after_quote,  // between a closing quote and the next delimiter
  };

  explicit Scanner(char delimiter) : delimiter_(delimiter) {}

  // The text to scan; complete: the file ends with it.
  void set_text(const char* begin, const char* end, bool complete);
  // Finds the cells of the next row. After `more` the row begins again at position().
  Found next_row();

  std::span<const Cell> cells() const { return {cells_.data(), count_}; }
  // Line ends inside the row, all in quotes; after a failure, those before the failure.
  std::size_t inner_lines() const { return inner_lines_; }
  const char* position() const { return position_; }

 private:
  void take_plain_cells();
  const char* next_mark();
  void begin_marks(const char* at);
  Found mark(const char* at);
  Found open_quote(const char* opening);
  bool close_cell(const char* at);

  char delimiter_;
  const char* position_ = nullptr;  // the row's first character
  const char* end_ = nullptr;
  bool complete_ = false;
  const char* block_ = nullptr;  // the 64 bytes that marks_ describes
  std::uint64_t marks_ = 0;      // one bit per special byte that was not seen yet
  Cell cell_;                    // the one being read; end is null unless it was quoted
  std::vector<Cell> cells_;
  std::size_t count_ = 0;
  std::size_t inner_lines_ = 0;
};

}  // namespace dma::csv
