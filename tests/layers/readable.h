// A network's value and gradient, one row and one unit at a time: the readable version of layers/block.h.
#pragma once

#include <dma/layers/architecture.h>
#include <dma/special/normal.h>

#include <Eigen/Core>
#include <span>
#include <vector>

namespace dma {

struct UnitValue {
  double value, derivative;
};

inline UnitValue unit_at(JointUnit unit, double z, double slope) {
  const double below = special::normal_cdf(z);
  const double density = special::normal_pdf(z);
  if (unit == JointUnit::step) return {2 * below - 1, 2 * density};
  const auto moments = special::leaky_relu_moments(z, slope);
  return {moments.mean, moments.gain};
}

inline double row_value(const Architecture& network, JointUnit unit, const Eigen::VectorXd& weights,
                        std::span<const double> row, double* gradient) {
  const std::size_t layers = network.layers();
  std::vector<std::vector<double>> units(layers);        // inputs of each layer, with the bias
  std::vector<std::vector<double>> derivatives(layers);  // of the units below it
  units[0].assign(row.begin(), row.end());
  for (const auto& [input, from, to] : network.ramps) {
    const double x = row[input];
    units[0].push_back(x <= from ? 0 : x >= to ? 1 : (x - from) / (to - from));
  }
  double value = 0;
  for (std::size_t l = 0; l < layers; ++l) {
    units[l].push_back(1);
    const double* w = weights.data() + network.layer(l).first;
    for (std::size_t i = 0; i < network.layer(l).units; ++i, w += units[l].size()) {
      double z = 0;
      for (std::size_t j = 0; j < units[l].size(); ++j) z += w[j] * units[l][j];
      value = z;
      if (l + 1 == layers) continue;
      const UnitValue one = unit_at(unit, z, network.slope(l));
      units[l + 1].push_back(one.value);
      derivatives[l + 1].push_back(one.derivative);
    }
  }
  std::vector<double> back{1};
  for (std::size_t l = layers; l-- > 0;) {
    const std::size_t fan_in = units[l].size();
    const double* w = weights.data() + network.layer(l).first;
    std::vector<double> below(fan_in, 0);
    for (std::size_t i = 0; i < back.size(); ++i) {
      for (std::size_t j = 0; j < fan_in; ++j) {
        gradient[network.layer(l).weight(i, j)] = back[i] * units[l][j];
        below[j] += back[i] * w[i * fan_in + j];
      }
    }
    if (l == 0) break;
    below.pop_back();
    for (std::size_t j = 0; j < below.size(); ++j) below[j] *= derivatives[l][j];
    back = below;
  }
  return value;
}

}  // namespace dma
