#include "data/utf8.h"

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

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Form form = form_of(static_cast<unsigned char>(text.front()));
    if (form.length == 0 || form.length > text.size()) return false;
    if (form.length > 1 && !is_within(text[1], form.second_low, form.second_high)) return false;
    for (std::size_t k = 2; k < form.length; ++k) {
      if (!is_within(text[k], 0x80, 0xbf)) return false;
    }
    text.remove_prefix(form.length);
  }
  return true;
}

}  // namespace dma::csv
