#include <dma/data/data.h>

#include <cmath>
#include <numeric>
#include <string>

#include <dma/base/error.h>

namespace dma {
namespace {

void check(std::span<const double> values, std::size_t rows, std::size_t width, const char* name) {
  if (values.size() != rows * width) {
    throw NetworkError(std::string(name) + " must hold " + std::to_string(rows) + " rows of " +
                       std::to_string(width) + " values, got " + std::to_string(values.size()) +
                       " values");
  }
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (!std::isfinite(values[k])) {
      throw NetworkError(std::string(name) + ", row " + std::to_string(k / width) + ", column " +
                         std::to_string(k % width) +
                         " is not finite: " + std::to_string(values[k]));
    }
  }
}

}  // namespace

double total_weight(std::span<const double> weights, std::size_t rows) {
  if (weights.empty()) return static_cast<double>(rows);
  return std::accumulate(weights.begin(), weights.end(), 0.0);
}

void Data::validate(std::size_t input_width, std::size_t output_width) const {
  if (rows == 0) throw NetworkError("the data has no rows");
  check(inputs, rows, input_width, "inputs");
  check(targets, rows, output_width, "targets");
  if (weights.empty()) return;
  check(weights, rows, 1, "weights");
  for (std::size_t row = 0; row < rows; ++row) {
    if (!(weights[row] > 0)) {
      throw NetworkError("weights, row " + std::to_string(row) +
                         " is not positive: " + std::to_string(weights[row]));
    }
  }
}

Data Data::part(std::size_t begin, std::size_t count) const {
  const std::size_t width = inputs.size() / rows;
  const std::size_t outputs = targets.size() / rows;
  return {inputs.subspan(begin * width, count * width),
          targets.subspan(begin * outputs, count * outputs), count,
          weights.empty() ? weights : weights.subspan(begin, count)};
}

void append_weights(std::span<const double> more, std::size_t more_rows, std::size_t rows,
                    std::vector<double>& weights) {
  if (more.empty() && weights.empty()) return;
  weights.resize(rows, 1);
  weights.insert(weights.end(), more.begin(), more.end());
  weights.resize(rows + more_rows, 1);
}

void Rows::append(const Data& more) {
  append_weights(more.weights, more.rows, rows, weights);
  inputs.insert(inputs.end(), more.inputs.begin(), more.inputs.end());
  targets.insert(targets.end(), more.targets.begin(), more.targets.end());
  rows += more.rows;
}

}  // namespace dma
