#include "data/utf8.h"

#include <algorithm>
#include <cstddef>

namespace dma::csv {
namespace {

struct Form {
  std::size_t length;        // 0: no character begins so
  unsigned char second_low;  // what the second byte may be; those after it are 80 to bf
  unsigned char second_high;
};

// Length and second byte of the character that begins with this byte.
Form form_of(unsigned char lead) {
  if (lead < 0x80) return {1, 0, 0};
  if (lead < 0xc2) return {0, 0, 0};
  if (lead < 0xe0) return {2, 0x80, 0xbf};
  if (lead == 0xe0) return {3, 0xa0, 0xbf};  // below: two bytes would do
  if (lead == 0xed) return {3, 0x80, 0x9f};  // above: surrogates
  if (lead < 0xf0) return {3, 0x80, 0xbf};
  if (lead == 0xf0) return {4, 0x90, 0xbf};  // below: three bytes would do
  if (lead < 0xf4) return {4, 0x80, 0xbf};
  if (lead == 0xf4) return {4, 0x80, 0x8f};  // above: beyond the last character
  return {0, 0, 0};
}

bool is_within(char byte, unsigned char low, unsigned char high) {
  const auto value = static_cast<unsigned char>(byte);
  return low <= value && value <= high;
}

}  // namespace

std::size_t character_length(std::string_view text) {
  const Form form = form_of(static_cast<unsigned char>(text.front()));
  const std::size_t there = std::min(form.length, text.size());
  if (there > 1 && !is_within(text[1], form.second_low, form.second_high)) return 0;
  for (std::size_t k = 2; k < there; ++k) {
    if (!is_within(text[k], 0x80, 0xbf)) return 0;
  }
  return form.length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0 || length > text.size()) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace dma::csv
