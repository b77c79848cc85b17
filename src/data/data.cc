#include <dma/data/data.h>

#include <cmath>
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

void Data::validate(std::size_t input_width, std::size_t output_width) const {
  if (rows == 0) throw NetworkError("the data has no rows");
  check(inputs, rows, input_width, "inputs");
  check(targets, rows, output_width, "targets");
}

Data Data::part(std::size_t begin, std::size_t count) const {
  const std::size_t width = inputs.size() / rows;
  const std::size_t outputs = targets.size() / rows;
  return {inputs.subspan(begin * width, count * width),
          targets.subspan(begin * outputs, count * outputs), count};
}

void Rows::append(const Data& more) {
  inputs.insert(inputs.end(), more.inputs.begin(), more.inputs.end());
  targets.insert(targets.end(), more.targets.begin(), more.targets.end());
  rows += more.rows;
}

}  // namespace dma
