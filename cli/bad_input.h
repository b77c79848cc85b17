// cli/bad_input.h: the user's input cannot be used; the text says what and where.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace dma::cli {

// Messages quote files, whose text must not break the line or control the terminal.
inline std::string on_one_line(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      line += c;
    } else {
      line += {'\\', 'x', digits[byte >> 4U], digits[byte & 15U]};
    }
  }
  return line;
}

struct BadInput : std::runtime_error {
  explicit BadInput(const std::string& text) : std::runtime_error(on_one_line(text)) {}
};

}  // namespace dma::cli
