// Networks and rows that the tests of the baselines share.
#pragma once

#include "baselines/problem.h"

#include <dma/special/random.h>

#include <Eigen/Dense>
#include <cstdint>
#include <vector>

namespace dma::baselines {

struct Example {
  Architecture network;
  std::vector<double> inputs, targets, weights;
  std::size_t rows;

  Problem problem(double noise_variance = 0.04) const {
    return {network, inputs, targets, rows, noise_variance};
  }
};

inline std::vector<double> normals(std::size_t count, special::Random& random) {
  std::vector<double> values;
  for (std::size_t k = 0; k < count; ++k) values.push_back(random.normal());
  return values;
}

inline Example example(const Architecture& network, std::size_t rows, std::uint64_t seed) {
  special::Random random(seed);
  return {network, normals(rows * network.inputs(), random),
          normals(rows * network.outputs(), random), normals(network.weight_count(), random), rows};
}

// Examples with and without bias and hidden layers, with one and several outputs, and an odd number of rows.
inline std::vector<Example> examples() {
  return {example({.widths = {8, 6, 5, 1}, .slopes = {0.4, 0.8}}, 200, 1),
          example({.widths = {3, 4, 2}, .slopes = {0.1}, .bias = {true}}, 7, 2),
          example({.widths = {2, 5, 3, 3}, .slopes = {0, 0.5}, .bias = {true, false, true}}, 31, 3),
          example({.widths = {1, 3}, .bias = {true}}, 1, 4)};
}

// Four weights, no hidden layer: everything about it is known exactly.
inline Example linear_example() { return example({.widths = {3, 1}, .bias = {true}}, 50, 5); }

inline Eigen::Map<const Eigen::VectorXd> vector(const std::vector<double>& values) {
  return {values.data(), static_cast<Eigen::Index>(values.size())};
}

// Inputs and the constant 1.
inline Eigen::MatrixXd design(const Example& linear) {
  const auto rows = static_cast<Eigen::Index>(linear.rows);
  const auto width = static_cast<Eigen::Index>(linear.network.inputs());
  Eigen::MatrixXd x = Eigen::MatrixXd::Ones(rows, width + 1);
  x.leftCols(width) =
      Eigen::Map<const Eigen::MatrixXd>(linear.inputs.data(), width, rows).transpose();
  return x;
}

}  // namespace dma::baselines
