#include "data/rows.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <string_view>

#include <dma/base/error.h>

#include "data/message.h"
#include "data/number.h"

namespace dma::csv {
namespace {

// An unclosed quote must not read the rest of a large file into memory.
constexpr std::size_t longest_row = std::size_t{1} << 28U;

// The delimiter is detected from this many lines, or from those that begin in this many bytes if lines are longer, but
// at least from this few.
constexpr std::size_t sample_lines = 100;
constexpr std::size_t sample_bytes = std::size_t{1} << 20U;
constexpr std::size_t fewest_lines = 3;
constexpr std::array<char, 4> delimiters = {',', ';', '\t', '|'};

bool is_blank(std::span<const Cell> cells) {
  return cells.size() == 1 && !cells[0].quoted && trimmed(cells[0].raw()).empty();
}

// How well a delimiter explains the first lines.
struct Explanation {
  std::size_t columns = 0;   // in the first row
  std::size_t agreeing = 0;  // rows that have as many
  std::size_t rows = 0;
  std::size_t cells = 0;
  std::size_t numbers = 0;  // cells that are numbers or empty, with whatever decimal mark
  bool valid = true;

  bool consistent() const { return valid && columns > 1 && agreeing == rows; }
  double number_share() const {
    return static_cast<double>(numbers) / static_cast<double>(std::max<std::size_t>(cells, 1));
  }
};

bool looks_like_number(const Cell& cell) {
  double value = 0;
  return read_number(cell, value) != Reading::text ||
         read_number(cell, value, true) != Reading::text;
}

void count_row(Explanation& result, std::span<const Cell> cells, bool is_header) {
  if (result.rows == 0) result.columns = cells.size();
  ++result.rows;
  result.agreeing += cells.size() == result.columns;
  if (is_header) return;
  result.cells += cells.size();
  result.numbers +=
      static_cast<std::size_t>(std::count_if(cells.begin(), cells.end(), looks_like_number));
}

Explanation explain(Scanner scanner, bool header) {
  Explanation result;
  while (result.rows < sample_lines) {
    const Scanner::Found found = scanner.next_row();
    if (found == Scanner::Found::end || found == Scanner::Found::more) return result;
    result.valid = found == Scanner::Found::row;
    if (!result.valid) return result;
    if (is_blank(scanner.cells())) continue;
    count_row(result, scanner.cells(), header && result.rows == 0);
  }
  return result;
}

// 1,5;2,5 has the same number of cells in each line with either delimiter; then the one that leaves more numbers wins.
bool is_better(const Explanation& a, const Explanation& b) {
  if (a.consistent() != b.consistent()) return a.consistent();
  if (a.consistent()) {
    if (a.number_share() != b.number_share()) return a.number_share() > b.number_share();
    return a.columns > b.columns;
  }
  const auto agreeing = [](const Explanation& e) { return e.columns > 1 ? e.agreeing : 0; };
  return agreeing(a) > agreeing(b);
}

// Length of the text up to the end of this many lines that are not blank; npos if it has fewer.
std::size_t length_of_lines(std::string_view text, std::size_t lines) {
  std::size_t length = 0;
  while (lines > 0) {
    const std::size_t end = text.find('\n', length);
    if (end == std::string_view::npos) return end;
    const std::string_view line = text.substr(length, end - length);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) --lines;
    length = end + 1;
  }
  return length;
}

bool can_delimit(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (c == '\t' || c == ' ') return true;
  return byte < 0x80U && std::ispunct(byte) != 0 && std::strchr("\"+-.", c) == nullptr;
}

}  // namespace

RowReader::RowReader(const std::filesystem::path& path, const RowOptions& options)
    : source_(path, std::max<std::size_t>(options.block, 1)),
      block_(std::max<std::size_t>(options.block, 1)),
      scanner_(options.delimiter) {
  if (options.delimiter != 0 && !can_delimit(options.delimiter)) {
    throw DataError(name() + ": " + shown({&options.delimiter, 1}) +
                    " cannot be the delimiter; use a comma, semicolon, tab or |");
  }
  begin();
  if (options.delimiter == 0) scanner_ = Scanner(find_delimiter(options.header));
  scanner_.set_text(buffer_.data() + begin_, buffer_.data() + end_, complete_);
}

void RowReader::rewind() {
  source_.rewind();
  begin_ = end_ = 0;
  before_ = 0;
  complete_ = false;
  next_line_ = 1;
  begin();
  scanner_.set_text(buffer_.data() + begin_, buffer_.data() + end_, complete_);
}

void RowReader::begin() {
  constexpr std::size_t longest_mark = 4;
  while (end_ < longest_mark && add_text()) {
  }
  if (end_ == 0) throw DataError(name() + ": the file is empty");
  skip_mark();
}

void RowReader::skip_mark() {
  const std::string_view text(buffer_.data(), end_);
  if (text.starts_with("\xEF\xBB\xBF")) begin_ = 3;
  if (text.starts_with("PK\x03\x04")) {
    throw DataError(name() + ": is a zip file or a spreadsheet, not a CSV file; save it as CSV");
  }
}

// Reads one more block after the unread text; false at the end of the file.
bool RowReader::add_text() {
  if (complete_) return false;
  if (begin_ > 0) std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  before_ += begin_;
  end_ -= begin_;
  begin_ = 0;
  if (buffer_.size() < end_ + block_ + Scanner::padding) {
    buffer_.resize(std::max(end_ + block_, 2 * end_) + Scanner::padding);
  }
  const std::size_t got = source_.read(buffer_.data() + end_, block_);
  end_ += got;
  complete_ = got == 0;
  ++blocks_;
  return got > 0;
}

// The first lines of the text, the same whatever the block size; empty if more text is needed.
std::string_view RowReader::sample() const {
  const std::string_view text(buffer_.data() + begin_, end_ - begin_);
  const std::size_t usual = length_of_lines(text.substr(0, sample_bytes), sample_lines);
  if (usual != std::string_view::npos) return text.substr(0, usual);
  const std::size_t fewest = length_of_lines(text, fewest_lines);
  if (text.size() < sample_bytes || fewest == std::string_view::npos) return {};
  return text.substr(0, std::max(fewest, sample_bytes));
}

char RowReader::find_delimiter(bool header) {
  std::string_view text;
  std::size_t looked_at = 0;
  while (text.empty() && end_ < longest_row) {
    // Looking again only after doubling keeps this linear for any block size.
    if (end_ >= 2 * looked_at) {
      looked_at = end_;
      text = sample();
    }
    if (text.empty() && !add_text()) break;
  }
  if (text.empty()) text = sample();
  const bool whole = text.empty();
  if (whole) text = {buffer_.data() + begin_, end_ - begin_};
  char best = delimiters[0];
  Explanation best_explanation{.valid = false};
  for (const char delimiter : delimiters) {
    Scanner scanner(delimiter);
    scanner.set_text(text.data(), text.data() + text.size(), whole && complete_);
    const Explanation explanation = explain(scanner, header);
    if (!is_better(explanation, best_explanation)) continue;
    best = delimiter;
    best_explanation = explanation;
  }
  return best;
}

bool RowReader::next() {
  for (;;) {
    const Scanner::Found found = scanner_.next_row();
    if (found == Scanner::Found::end) return false;
    if (found == Scanner::Found::more) {
      begin_ = static_cast<std::size_t>(scanner_.position() - buffer_.data());
      continue_row();
      scanner_.set_text(buffer_.data() + begin_, buffer_.data() + end_, complete_);
      continue;
    }
    if (found != Scanner::Found::row) fail(found);
    line_ = next_line_;
    next_line_ += 1 + scanner_.inner_lines();
    if (!is_blank(scanner_.cells())) return true;
  }
}

void RowReader::continue_row() {
  const std::size_t row = end_ - begin_;
  if (row > longest_row) fail(Scanner::Found::more);
  // The row is scanned again from its beginning; doubling keeps that linear for a very long row.
  const std::size_t wanted = row > sample_bytes ? 2 * row : row + 1;
  while (end_ - begin_ < wanted && add_text()) {
  }
}

void RowReader::fail(Scanner::Found found) const {
  const std::string where = place(next_line_ + scanner_.inner_lines()) + ": ";
  switch (found) {
    case Scanner::Found::nul:
      throw DataError(where + "a NUL byte: this is binary data, not a CSV file");
    case Scanner::Found::lone_return:
      throw DataError(where +
                      "a carriage return without a line feed; lines must end in LF or CRLF");
    case Scanner::Found::open_quote:
      throw DataError(where + "the quote that begins here is never closed");
    case Scanner::Found::text_after_quote:
      throw DataError(where + "text between a closing quote and the next delimiter; " +
                      "double a quote inside quotes");
    default:
      throw DataError(place(next_line_) + ": a row of more than " +
                      std::to_string(longest_row >> 20U) + " MB; is a closing quote missing?");
  }
}

std::string RowReader::place(std::size_t line) const {
  return name() + ", line " + std::to_string(line);
}

double RowReader::expected_rows(std::size_t rows) const {
  const auto taken = static_cast<double>(
      before_ + static_cast<std::uint64_t>(scanner_.position() - buffer_.data()));
  if (taken == 0) return 0;
  return static_cast<double>(rows) * source_.expected_bytes() / taken;
}

}  // namespace dma::csv
