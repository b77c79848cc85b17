// web/page_text.h: the built page, in pieces that compilers accept. The results go between the two parts. Both are
// empty if the page was not built.
#pragma once

#include <span>
#include <string_view>

namespace dma::web {

std::span<const std::string_view> page_before();
std::span<const std::string_view> page_after();

}  // namespace dma::web
