// cli/fit_page.h: the data of the page about a fit (web/README.md).
#pragma once

#include <dma/regressor/regressor.h>
#include <nlohmann/json.hpp>

#include <string>

namespace dma::cli {

// Rows other than the training rows.
struct NamedRows {
  std::string name;
  Table table;
};

// {kind, version, model, facts, figures}; `rows` may be null. Lists have `target` too if there are several,
// and a response has its column's `kind`: x is a number, a date as text, or a category.
nlohmann::json fit_page(const Regressor& model, const std::string& name, const NamedRows* rows);

}  // namespace dma::cli
