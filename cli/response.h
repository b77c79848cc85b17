// cli/response.h: what a model predicts while one column varies and the others stand at a typical row.
#pragma once

#include <dma/regressor/regressor.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace dma::cli {

struct Response {
  std::string column;
  ColumnKind kind;
  std::vector<nlohmann::json> x;     // in the column's own unit: numbers, dates, categories
  std::vector<Predicted> predicted;  // points x targets
};

// One per column. Typical are the means and the most frequent category of training or, if rows are given,
// their medians and their most frequent category. Numbers and dates run over the mean +- 2 deviations of
// training, no further than the rows seen as far as these are known; categories over all there are.
std::vector<Response> responses(const Regressor& model, const Table* rows);

// The `count` whose mean varies most, in deviations of a target; in the order of the columns.
std::vector<Response> widest(std::vector<Response> all, const Encoder& encoder, std::size_t count);

}  // namespace dma::cli
