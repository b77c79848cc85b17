// cli/page.h: the page of results (web/), filled with results.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace dma::cli {

// False if the command was built without npm.
bool has_page();

// One HTML file; `data` is what web/README.md describes. Throws std::runtime_error without a page.
std::string page_with(const nlohmann::json& data);

}  // namespace dma::cli
