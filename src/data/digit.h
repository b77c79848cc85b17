// data/digit.h: which characters are digits, whatever the locale.
#pragma once

namespace dma::csv {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace dma::csv
