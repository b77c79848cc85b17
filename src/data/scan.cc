#include "data/scan.h"

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace dma::csv {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t block_bytes = 64;

// Bit k is set if byte k may be special: the delimiter, a quote, a line end, NUL. A loop over bytes would mispredict
// the length of every number; this looks at a vector at once.
std::uint64_t find_marks(const char* block, char delimiter) {
  const hn::CappedTag<std::uint8_t, block_bytes> bytes;
  const auto delimiters = hn::Set(bytes, static_cast<std::uint8_t>(delimiter));
  const auto quotes = hn::Set(bytes, std::uint8_t{'"'});
  const auto line_feeds = hn::Set(bytes, std::uint8_t{'\n'});
  const auto returns = hn::Set(bytes, std::uint8_t{'\r'});
  const auto nuls = hn::Zero(bytes);
  const std::size_t lanes = hn::Lanes(bytes);
  std::uint64_t marks = 0;
  for (std::size_t k = 0; k < block_bytes; k += lanes) {
    const auto text = hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(block + k));
    const auto cell_end = hn::Or(hn::Eq(text, delimiters), hn::Eq(text, line_feeds));
    const auto rare = hn::Or(hn::Eq(text, returns), hn::Eq(text, nuls));
    std::uint64_t bits = 0;
    hn::StoreMaskBits(bytes, hn::Or(hn::Or(cell_end, rare), hn::Eq(text, quotes)),
                      reinterpret_cast<std::uint8_t*>(&bits));
    marks |= bits << k;
  }
  return marks;
}

}  // namespace
}  // namespace dma::csv
HWY_AFTER_NAMESPACE();

namespace dma::csv {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t'; }

bool same_word(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view content(const Cell& cell, std::string& scratch) {
  if (!cell.quoted) return trimmed(cell.raw());
  if (!cell.doubled) return cell.raw();
  scratch.clear();
  for (const char* c = cell.begin; c != cell.end; ++c) {
    scratch += *c;
    if (*c == '"') ++c;
  }
  return scratch;
}

bool is_empty(const Cell& cell) {
  return cell.quoted ? cell.begin == cell.end : is_empty(trimmed(cell.raw()));
}

bool is_empty(std::string_view text) {
  switch (text.size()) {
    case 0:
      return true;
    case 1:
      return text[0] == '?';
    case 2:
      return same_word(text, "na");
    case 3:
      return same_word(text, "nan") || same_word(text, "n/a") || same_word(text, "#na") ||
             same_word(text, "n.a");
    case 4:
      return same_word(text, "null") || same_word(text, "none") || same_word(text, "-nan") ||
             same_word(text, "#n/a") || same_word(text, "n.a.") || same_word(text, "<na>");
    default:
      return false;
  }
}

bool is_empty_number(std::string_view text) {
  return text == "-" || text == "--" || text == "." || same_word(text, "missing");
}

void Scanner::set_text(const char* begin, const char* end, bool complete) {
  position_ = begin;
  end_ = end;
  complete_ = complete;
  begin_marks(begin);
}

void Scanner::begin_marks(const char* at) {
  block_ = at;
  marks_ = 0;
  if (at >= end_) return;
  marks_ = find_marks(at, delimiter_);
  const auto left = static_cast<std::size_t>(end_ - at);
  if (left < block_bytes) marks_ &= (std::uint64_t{1} << left) - 1;
}

// The next byte that may be special, or end_.
inline const char* Scanner::next_mark() {
  while (marks_ == 0) {
    if (static_cast<std::size_t>(end_ - block_) <= block_bytes) return end_;
    begin_marks(block_ + block_bytes);
  }
  const char* at = block_ + std::countr_zero(marks_);
  marks_ &= marks_ - 1;
  return at;
}

// The usual case, in registers: unquoted cells that end in the current block, up to another mark.
inline void Scanner::take_plain_cells() {
  if (cells_.size() < count_ + block_bytes) cells_.resize(2 * count_ + block_bytes);
  const char delimiter = delimiter_;
  const char* const block = block_;
  const char* begin = cell_.begin;
  std::uint64_t marks = marks_;
  Cell* cell = cells_.data() + count_;
  for (; marks != 0; marks &= marks - 1) {
    const char* at = block + std::countr_zero(marks);
    if (*at != delimiter) break;
    *cell++ = {.begin = begin, .end = at};
    begin = at + 1;
  }
  count_ = static_cast<std::size_t>(cell - cells_.data());
  cell_.begin = begin;
  marks_ = marks;
}

Scanner::Found Scanner::next_row() {
  count_ = 0;
  inner_lines_ = 0;
  cell_ = {.begin = position_};
  if (position_ == end_) return complete_ ? Found::end : Found::more;
  for (;;) {
    if (!cell_.quoted) take_plain_cells();
    const char* at = next_mark();
    if (at != end_ && *at == delimiter_) {
      if (!close_cell(at)) return Found::text_after_quote;
    } else if (at == end_ || *at == '\n') {
      if (at == end_ && !complete_) return Found::more;
      if (!close_cell(at)) return Found::text_after_quote;
      position_ = at == end_ ? at : at + 1;
      return Found::row;
    } else if (const Found found = mark(at); found != Found::row) {
      return found;
    }
  }
}

// Handles a quote, a carriage return or NUL outside quotes; Found::row: the row continues.
Scanner::Found Scanner::mark(const char* at) {
  if (*at == '\0') return Found::nul;
  if (*at == '"') {
    const std::string_view before(cell_.begin, static_cast<std::size_t>(at - cell_.begin));
    const bool opens = cell_.end == nullptr && trimmed(before).empty();
    return opens ? open_quote(at) : Found::row;
  }
  return at + 1 == end_ || at[1] == '\n' ? Found::row : Found::lone_return;
}

Scanner::Found Scanner::open_quote(const char* opening) {
  cell_.quoted = true;
  cell_.begin = opening + 1;
  const std::size_t lines_before = inner_lines_;
  for (;;) {
    const char* at = next_mark();
    if (at == end_ && complete_) inner_lines_ = lines_before;
    if (at == end_) return complete_ ? Found::open_quote : Found::more;
    if (*at == '\0') return Found::nul;
    if (*at == '\n') ++inner_lines_;
    if (*at != '"') continue;
    // If the text ends here, the next mark is its end, and the row is read again with the text that follows.
    if (at + 1 == end_ || at[1] != '"') {
      cell_.end = at;
      return Found::row;
    }
    cell_.doubled = true;
    next_mark();
  }
}

// False if something follows the closing quote.
inline bool Scanner::close_cell(const char* at) {
  const bool at_line_end = at == end_ || *at == '\n';
  const char* last = at_line_end && at > cell_.begin && at[-1] == '\r' ? at - 1 : at;
  if (!cell_.quoted) {
    cell_.end = last;
  } else if (const char* after = cell_.end + 1; after < last) {
    if (!trimmed({after, static_cast<std::size_t>(last - after)}).empty()) return false;
  }
  if (count_ == cells_.size()) cells_.resize(2 * count_ + block_bytes);
  cells_[count_++] = cell_;
  cell_ = {.begin = at + 1};
  return true;
}

}  // namespace dma::csv
