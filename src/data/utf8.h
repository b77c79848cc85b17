// data/utf8.h: whether text is UTF-8.
#pragma once

#include <string_view>

namespace dma::csv {

// Whether text is well-formed by table 3-7 of the Unicode standard: no surrogates, no overlong forms.
bool is_utf8(std::string_view text);

}  // namespace dma::csv
