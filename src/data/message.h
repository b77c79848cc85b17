// data/message.h: how messages show text from a file: on one line, and not too much of it.
#pragma once

#include <string>
#include <string_view>

namespace dma::csv {

// Control characters written as \n, \r, \t or \x1f.
std::string escaped(std::string_view text);

// 'text', escaped; for a long text only the beginning.
std::string shown(std::string_view text);

}  // namespace dma::csv
