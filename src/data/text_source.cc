#include "data/text_source.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "data/utf8.h"

namespace dma::csv {
namespace {

// The characters of Windows-1252 from 80 to 9f; those it does not have are control characters, as in Latin-1.
constexpr std::array<char32_t, 32> windows_characters = {
    0x20ac, 0x81,   0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x8d,   0x017d, 0x8f,   0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
    0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d,   0x017e, 0x0178};
constexpr char32_t replacement = 0xfffd;  // of half a surrogate pair

char32_t windows_character(unsigned char byte) {
  return byte >= 0x80 && byte < 0xa0 ? windows_characters[byte - 0x80U] : byte;
}

void append_utf8(std::string& text, char32_t character) {
  const auto tail = [&](unsigned shift) {
    text += static_cast<char>(0x80U | ((character >> shift) & 0x3fU));
  };
  if (character < 0x80) {
    text += static_cast<char>(character);
  } else if (character < 0x800) {
    text += static_cast<char>(0xc0U | (character >> 6U));
    tail(0);
  } else if (character < 0x10000) {
    text += static_cast<char>(0xe0U | (character >> 12U));
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xf0U | (character >> 18U));
    tail(12);
    tail(6);
    tail(0);
  }
}

// Eight bytes at a time.
std::size_t ascii_length(std::string_view text) {
  std::size_t length = 0;
  for (; length + 8 <= text.size(); length += 8) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text.data() + length, sizeof(bytes));
    if ((bytes & 0x8080808080808080U) != 0) break;
  }
  while (length < text.size() && static_cast<unsigned char>(text[length]) < 0x80) ++length;
  return length;
}

}  // namespace

TextSource::TextSource(const std::filesystem::path& path, std::size_t block)
    : source_(path, block) {
  begin();
}

void TextSource::begin() {
  raw_.resize(4);
  std::size_t size = 0;
  while (size < raw_.size()) {
    const std::size_t got = source_.read(raw_.data() + size, raw_.size() - size);
    if (got == 0) break;
    size += got;
  }
  raw_.resize(size);
  const auto zero = [&](std::size_t k) { return raw_[k] == '\0'; };
  const bool whole = size == 4;
  if (raw_.starts_with("\xFF\xFE") || (whole && !zero(0) && zero(1) && !zero(2) && zero(3))) {
    form_ = Form::little_endian;
  } else if (raw_.starts_with("\xFE\xFF") ||
             (whole && zero(0) && !zero(1) && zero(2) && !zero(3))) {
    form_ = Form::big_endian;
  } else {
    form_ = Form::utf8;
  }
  if (raw_.starts_with("\xFF\xFE") || raw_.starts_with("\xFE\xFF")) raw_.erase(0, 2);
}

void TextSource::rewind() {
  source_.rewind();
  has_other_bytes_ = at_end_ = false;
  text_.clear();
  given_ = 0;
  begin();
}

std::string TextSource::encoding() const {
  if (form_ != Form::utf8) return "UTF-16";
  return has_other_bytes_ ? "Windows-1252" : "";
}

std::size_t TextSource::give(char* into, std::size_t size) {
  const std::size_t count = std::min(size, text_.size() - given_);
  std::memcpy(into, text_.data() + given_, count);
  given_ += count;
  return count;
}

std::size_t TextSource::read(char* into, std::size_t size) {
  while (given_ == text_.size()) {
    if (at_end_ && raw_.empty()) return 0;
    const std::size_t kept = raw_.size();
    if (!at_end_ && kept == 0 && form_ == Form::utf8) {
      // The usual case: nothing to decode.
      const std::size_t got = source_.read(into, size);
      at_end_ = got == 0;
      if (ascii_length({into, got}) == got) return got;
      raw_.assign(into, got);
    } else if (!at_end_) {
      raw_.resize(kept + size);
      const std::size_t got = source_.read(raw_.data() + kept, size);
      at_end_ = got == 0;
      raw_.resize(kept + got);
    }
    text_.clear();
    given_ = 0;
    decode(at_end_);
  }
  return give(into, size);
}

// Moves from raw_ to text_ what can be decoded.
void TextSource::decode(bool is_end) {
  raw_.erase(0, form_ == Form::utf8 ? decode_bytes(is_end) : decode_pairs(is_end));
}

std::size_t TextSource::decode_bytes(bool is_end) {
  std::string_view rest = raw_;
  while (!rest.empty()) {
    std::size_t length = ascii_length(rest);
    if (length == 0) length = character_length(rest);
    if (length > rest.size() && !is_end) break;  // the next bytes say what it is
    if (length == 0 || length > rest.size()) {
      has_other_bytes_ = true;
      append_utf8(text_, windows_character(static_cast<unsigned char>(rest.front())));
      length = 1;
    } else {
      text_ += rest.substr(0, length);
    }
    rest.remove_prefix(length);
  }
  return raw_.size() - rest.size();
}

std::size_t TextSource::decode_pairs(bool is_end) {
  const auto unit = [&](std::size_t k) -> char32_t {
    const char32_t first = static_cast<unsigned char>(raw_[k]);
    const char32_t second = static_cast<unsigned char>(raw_[k + 1]);
    return form_ == Form::little_endian ? first | second << 8U : first << 8U | second;
  };
  const auto is_high = [](char32_t u) { return u >= 0xd800 && u < 0xdc00; };
  const auto is_low = [](char32_t u) { return u >= 0xdc00 && u < 0xe000; };
  std::size_t k = 0;
  while (k + 2 <= raw_.size()) {
    const char32_t first = unit(k);
    if (is_high(first) && k + 4 > raw_.size() && !is_end) break;
    if (is_high(first) && k + 4 <= raw_.size() && is_low(unit(k + 2))) {
      append_utf8(text_, 0x10000 + ((first - 0xd800) << 10U) + (unit(k + 2) - 0xdc00));
      k += 4;
    } else {
      append_utf8(text_, is_high(first) || is_low(first) ? replacement : first);
      k += 2;
    }
  }
  if (is_end && k < raw_.size()) {  // half a unit
    append_utf8(text_, replacement);
    k = raw_.size();
  }
  return k;
}

}  // namespace dma::csv
