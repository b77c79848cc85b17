// cli/response.h: predictions while one column varies and the others are those of a typical row.
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
  bool few_whole;                    // x are a few whole numbers, each of which has a point
};

// One per column. The other columns are those of the typical row (cli/typical.h). Numbers and dates run over the mean +- 2
// deviations of training, but not beyond the rows as far as their range is known; categories take all values of training, or
// with effects the 20 most frequent ones and a new one, "(new)".
// "(other)" is there if rows were counted as such.
std::vector<Response> responses(const Regressor& model, const Table* rows);

// The row at which the other columns stand, encoded: typical of these rows, or of those of training.
std::vector<double> typical_row(const Regressor& model, const Table* rows);

// The `count` responses whose mean varies most, in deviations of a target; in the order of the columns.
std::vector<Response> widest(std::vector<Response> all, const Encoder& encoder, std::size_t count);

}  // namespace dma::cli
