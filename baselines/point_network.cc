#include "baselines/point_network.h"

#include <dma/special/random.h>

#include <Eigen/Core>
#include <cmath>

namespace dma::baselines {
namespace {

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using View = Eigen::Map<RowMatrix>;
using ConstView = Eigen::Map<const RowMatrix>;

Eigen::Index index(std::size_t n) { return static_cast<Eigen::Index>(n); }

View writable(std::span<double> values, std::size_t rows, std::size_t columns) {
  return {values.data(), index(rows), index(columns)};
}

ConstView matrix(std::span<const double> values, std::size_t rows, std::size_t columns) {
  return {values.data(), index(rows), index(columns)};
}

}  // namespace

PointNetwork::PointNetwork(const Architecture& architecture, std::span<const double> inputs,
                           std::span<const double> targets, std::size_t rows)
    : rows_(rows), targets_(targets.size()) {
  for (std::size_t l = 0; l < architecture.layers(); ++l) {
    const Dense dense = architecture.layer(l);
    const bool hidden = l + 1 < architecture.layers();
    layers_.push_back(
        {dense, hidden ? architecture.slope(l) : 1, std::vector<double>(dense.inputs * rows, 1.0),
         std::vector<double>(dense.units * rows), std::vector<double>(dense.units * rows)});
  }
  writable(layers_[0].inputs, architecture.inputs(), rows) =
      matrix(inputs, rows, architecture.inputs()).transpose();
  writable(targets_, targets.size() / rows, rows) =
      matrix(targets, rows, targets.size() / rows).transpose();
}

// a_{l+1} = s(z) z,  z = W_l a_l,  s(z) = 1 if z > 0, else the slope. The last sums are in `errors`.
void PointNetwork::forward(std::span<const double> weights) {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    Layer& layer = layers_[l];
    auto sums = writable(layer.errors, layer.dense.units, rows_);
    sums.noalias() = matrix(layer.dense.part(weights), layer.dense.units, layer.dense.inputs) *
                     matrix(layer.inputs, layer.dense.inputs, rows_);
    if (l + 1 == layers_.size()) return;
    const std::size_t count = layer.dense.units * rows_;
    std::vector<double>& outputs = layers_[l + 1].inputs;
    for (std::size_t k = 0; k < count; ++k) {
      layer.slopes[k] = layer.errors[k] > 0 ? 1 : layer.slope;
      outputs[k] = layer.errors[k] * layer.slopes[k];
    }
  }
}

// e_L = f - y,  dW_l = e_l a_l',  e_{l-1} = s(z_{l-1}) W_l' e_l
void PointNetwork::backward(std::span<const double> weights, std::span<double> gradient) {
  for (std::size_t l = layers_.size(); l-- > 0;) {
    const Layer& layer = layers_[l];
    const auto errors = matrix(layer.errors, layer.dense.units, rows_);
    writable(layer.dense.part(gradient), layer.dense.units, layer.dense.inputs).noalias() =
        errors * matrix(layer.inputs, layer.dense.inputs, rows_).transpose();
    if (l == 0) return;
    Layer& below = layers_[l - 1];
    auto errors_below = writable(below.errors, below.dense.units, rows_);
    errors_below.noalias() =
        matrix(layer.dense.part(weights), layer.dense.units, layer.dense.inputs)
            .leftCols(index(below.dense.units))
            .transpose() *
        errors;
    errors_below.array() *= matrix(below.slopes, below.dense.units, rows_).array();
  }
}

double PointNetwork::subtract_targets() {
  std::vector<double>& errors = layers_.back().errors;
  double sum = 0;
  for (std::size_t k = 0; k < errors.size(); ++k) {
    errors[k] -= targets_[k];
    sum += errors[k] * errors[k];
  }
  return sum / 2;
}

double PointNetwork::half_squared_error(std::span<const double> weights) {
  forward(weights);
  return subtract_targets();
}

double PointNetwork::half_squared_error(std::span<const double> weights,
                                        std::span<double> gradient) {
  const double value = half_squared_error(weights);
  backward(weights, gradient);
  return value;
}

void PointNetwork::outputs(std::span<const double> weights, std::span<double> values) {
  forward(weights);
  const Layer& last = layers_.back();
  writable(values, rows_, last.dense.units) =
      matrix(last.errors, last.dense.units, rows_).transpose();
}

std::vector<double> outputs(const Architecture& architecture, std::span<const double> weights,
                            std::span<const double> inputs, std::size_t rows) {
  std::vector<double> values(rows * architecture.outputs());
  PointNetwork(architecture, inputs, values, rows).outputs(weights, values);
  return values;
}

std::vector<double> draw_weights(std::span<const double> mean, std::span<const double> variance,
                                 std::size_t count, std::uint64_t seed) {
  special::Random random(seed);
  std::vector<double> weights;
  weights.reserve(count * mean.size());
  for (std::size_t n = 0; n < count; ++n) {
    for (std::size_t k = 0; k < mean.size(); ++k) {
      weights.push_back(mean[k] + std::sqrt(variance[k]) * random.normal());
    }
  }
  return weights;
}

Prediction predict_by_samples(const Architecture& architecture, std::span<const double> weights,
                              std::span<const double> inputs, std::size_t rows,
                              double noise_variance) {
  std::vector<double> values(rows * architecture.outputs());
  PointNetwork network(architecture, inputs, values, rows);
  Prediction result{.mean = std::vector<double>(values.size()),
                    .epistemic_variance = std::vector<double>(values.size()),
                    .noise_variance = std::vector<double>(values.size(), noise_variance)};
  const std::size_t dimension = architecture.weight_count();
  const std::size_t count = weights.size() / dimension;
  for (std::size_t n = 0; n < count; ++n) {
    network.outputs(weights.subspan(n * dimension, dimension), values);
    // Welford's update: mean += d / n, sum of squares += d (value - new mean)
    for (std::size_t k = 0; k < values.size(); ++k) {
      const double difference = values[k] - result.mean[k];
      result.mean[k] += difference / static_cast<double>(n + 1);
      result.epistemic_variance[k] += difference * (values[k] - result.mean[k]);
    }
  }
  for (double& v : result.epistemic_variance) v /= static_cast<double>(count);
  return result;
}

}  // namespace dma::baselines
