// data/utf8.h: whether text is UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace dma::csv {

// Whether text is well-formed by table 3-7 of the Unicode standard: no surrogates, no overlong forms.
bool is_utf8(std::string_view text);

// Bytes of the character that the text begins with; 0 if it is not UTF-8. More than the text has if it may be, but ends too
// early.
std::size_t character_length(std::string_view text);

}  // namespace dma::csv
