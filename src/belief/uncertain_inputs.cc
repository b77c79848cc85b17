#include "belief/uncertain_inputs.h"

#include <map>
#include <utility>

#include <dma/special/random.h>

namespace dma::detail {
namespace {

// The values where an uncertain input is so many deviations from its mean.
std::vector<double> values_beside(const UncertainInput& uncertain, double deviations,
                                  const ValuesOf& values, std::span<const double> inputs,
                                  std::size_t rows) {
  const std::size_t width = inputs.size() / rows;
  std::vector<double> moved(inputs.begin(), inputs.end());
  for (std::size_t n = 0; n < rows; ++n) {
    double* row = moved.data() + n * width;
    row[uncertain.mean] += deviations * row[uncertain.deviation];
  }
  return values(moved, rows);
}

ValuesOf values_of(const NetworkAt& network) {
  return [&network](std::span<const double> at, std::size_t rows) {
    return cpu_backend().values(network, at, rows);
  };
}

// Which of the different pairs of an input and its deviation each row has.
std::vector<std::size_t> pairs_of(const UncertainInput& uncertain, std::span<const double> inputs,
                                  std::size_t rows) {
  const std::size_t width = inputs.size() / rows;
  std::map<std::pair<double, double>, std::size_t> known;
  std::vector<std::size_t> pairs;
  for (std::size_t n = 0; n < rows; ++n) {
    const double* row = inputs.data() + n * width;
    const std::pair own{row[uncertain.mean], row[uncertain.deviation]};
    pairs.push_back(known.emplace(own, known.size()).first->second);
  }
  return pairs;
}

}  // namespace

std::vector<std::vector<double>> moves_by_inputs(const Architecture& architecture,
                                                 const ValuesOf& values,
                                                 std::span<const double> inputs, std::size_t rows) {
  std::vector<std::vector<double>> moves;
  for (const UncertainInput& uncertain : architecture.uncertain) {
    if (rows == 0) break;
    std::vector<double> move = values_beside(uncertain, 1, values, inputs, rows);
    const std::vector<double> below = values_beside(uncertain, -1, values, inputs, rows);
    for (std::size_t n = 0; n < move.size(); ++n) move[n] = (move[n] - below[n]) / 2;
    moves.push_back(std::move(move));
  }
  return moves;
}

void add_input_variance(const NetworkAt& network, std::span<const double> inputs, std::size_t rows,
                        OutputMoments& moments) {
  const std::size_t outputs = network.architecture.outputs();
  for (const auto& move : moves_by_inputs(network.architecture, values_of(network), inputs, rows)) {
    for (std::size_t n = 0; n < move.size(); ++n) {
      moments.variance[n] += move[n] * move[n];
      const std::size_t row = n / outputs * outputs;
      for (std::size_t k = 0; outputs > 1 && k < outputs; ++k) {
        moments.covariance[n * outputs + k] += move[n] * move[row + k];
      }
    }
  }
}

void add_drawn_inputs(const NetworkAt& network, std::span<const double> inputs, std::size_t rows,
                      std::uint64_t seed, std::vector<double>& functions) {
  const std::vector<UncertainInput>& uncertain = network.architecture.uncertain;
  const auto moves = moves_by_inputs(network.architecture, values_of(network), inputs, rows);
  const std::size_t outputs = network.architecture.outputs();
  special::Random random(seed);
  for (std::size_t j = 0; j < moves.size(); ++j) {
    const std::vector<std::size_t> pairs = pairs_of(uncertain[j], inputs, rows);
    for (std::size_t first = 0; first < functions.size(); first += rows * outputs) {
      std::vector<double> drawn(rows);
      for (double& one : drawn) one = random.normal();
      for (std::size_t n = 0; n < rows * outputs; ++n) {
        functions[first + n] += drawn[pairs[n / outputs]] * moves[j][n];
      }
    }
  }
}

void add_input_variance(const Architecture& architecture, const ValuesOf& values,
                        std::span<const double> inputs, std::vector<double>& noise) {
  for (const auto& move : moves_by_inputs(architecture, values, inputs, noise.size())) {
    for (std::size_t n = 0; n < noise.size(); ++n) noise[n] += move[n] * move[n];
  }
}

}  // namespace dma::detail
