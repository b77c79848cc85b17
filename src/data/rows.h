// data/rows.h: the rows of a CSV file, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/scan.h"
#include "data/text_source.h"

namespace dma::csv {

struct RowOptions {
  bool header;
  char delimiter;     // 0: find it
  std::size_t block;  // bytes read at a time
};

class RowReader {
 public:
  RowReader(const std::filesystem::path& path, const RowOptions& options);

  // Goes to the next row that is not blank; false at the end. Throws DataError if the text is not valid CSV.
  bool next();
  // Valid until the next call of next().
  std::span<const Cell> cells() const { return scanner_.cells(); }
  std::size_t line() const { return line_; }

  const std::string& name() const { return source_.name(); }
  // "FILE, line L" of the present row.
  std::string place() const { return place(line_); }
  std::string place(std::size_t line) const;

  // Number of blocks read so far.
  std::size_t blocks() const { return blocks_; }
  // Estimate of the file's rows after `rows` of them were read; 0: unknown.
  double expected_rows(std::size_t rows) const;
  bool can_rewind() const { return source_.can_rewind(); }
  double share() const { return source_.share(); }
  std::string encoding() const { return source_.encoding(); }
  void rewind();

 private:
  void begin();
  void skip_mark();
  bool add_text();
  void continue_row();
  std::string_view sample() const;
  char find_delimiter(bool header);
  [[noreturn]] void fail(Scanner::Found found) const;

  TextSource source_;
  std::size_t block_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // of the text in the buffer that was not yet taken
  std::size_t end_ = 0;
  bool complete_ = false;     // the text reaches to the end of the file
  std::uint64_t before_ = 0;  // bytes of the file before the buffer's first
  Scanner scanner_;
  std::size_t line_ = 0;
  std::size_t next_line_ = 1;
  std::size_t blocks_ = 0;
};

}  // namespace dma::csv
