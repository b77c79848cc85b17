#include "cli/page.h"

#include <stdexcept>

#include "page_text.h"

namespace dma::cli {
namespace {

// JSON that can stand inside <script>: no text in it can end the element.
std::string embedded(const nlohmann::json& data) {
  std::string result;
  for (const char c : data.dump()) {
    if (c == '<') {
      result += "\\u003c";
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace

bool has_page() { return !web::page_before().empty(); }

std::string page_with(const nlohmann::json& data) {
  if (!has_page()) {
    throw std::runtime_error(
        "this dma was built without HTML pages; ./dev build makes one with them, if npm is there");
  }
  std::string page;
  for (const std::string_view piece : web::page_before()) page += piece;
  page += embedded(data);
  for (const std::string_view piece : web::page_after()) page += piece;
  return page;
}

}  // namespace dma::cli
