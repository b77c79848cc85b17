#include "data/message.h"

#include <cstddef>

namespace dma::csv {
namespace {

constexpr std::size_t longest_shown = 60;

// Never cuts inside a multi-byte character, which would make the message invalid UTF-8.
std::string_view beginning(std::string_view text, std::size_t bytes) {
  const auto continues = [&] { return (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U; };
  while (bytes > 0 && continues()) --bytes;
  return text.substr(0, bytes);
}

void append_escaped(std::string& result, char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x20U && byte != 0x7FU) {
    result += c;
  } else if (c == '\n') {
    result += "\\n";
  } else if (c == '\r') {
    result += "\\r";
  } else if (c == '\t') {
    result += "\\t";
  } else {
    result += "\\x";
    result += digits[byte >> 4U];
    result += digits[byte & 0xFU];
  }
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) append_escaped(result, c);
  return result;
}

std::string shown(std::string_view text) {
  if (text.size() <= longest_shown) return "'" + escaped(text) + "'";
  return "'" + escaped(beginning(text, longest_shown)) + "...'";
}

}  // namespace dma::csv
