// baselines/point_network.h: the network as a function of its weights, for all rows at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <dma/belief/posterior.h>
#include <dma/layers/architecture.h>

namespace dma::baselines {

// Holds its rows and its buffers: an object belongs to one thread.
class PointNetwork {
 public:
  // inputs: rows x inputs, targets: rows x outputs, both row-major.
  PointNetwork(const Architecture& architecture, std::span<const double> inputs,
               std::span<const double> targets, std::size_t rows);

  // Sum over rows and outputs of (f(x; w) - y)^2 / 2.
  double half_squared_error(std::span<const double> weights);
  // The same, and its gradient by the weights.
  double half_squared_error(std::span<const double> weights, std::span<double> gradient);

  // f(x; w), rows x outputs.
  void outputs(std::span<const double> weights, std::span<double> values);

 private:
  // Everything is stored unit by unit, the rows of a unit side by side, so that loops over rows are the
  // inner ones.
  struct Layer {
    Dense dense;
    double slope;                // 1: linear
    std::vector<double> inputs;  // inputs x rows; the last is 1 if the layer has a bias
    std::vector<double> slopes;  // width x rows: derivative of the unit at its sum
    std::vector<double> errors;  // width x rows: derivative of the loss by the sum
  };

  void forward(std::span<const double> weights);
  void backward(std::span<const double> weights, std::span<double> gradient);
  double subtract_targets();

  std::size_t rows_;
  std::vector<Layer> layers_;
  std::vector<double> targets_;  // outputs x rows
};

// f(x; w), rows x outputs.
std::vector<double> outputs(const Architecture& architecture, std::span<const double> weights,
                            std::span<const double> inputs, std::size_t rows);

// `count` draws from independent Gaussians: count x weights.
std::vector<double> draw_weights(std::span<const double> mean, std::span<const double> variance,
                                 std::size_t count, std::uint64_t seed);

// Mean and variance of f over many weight vectors (count x weights, count >= 2), each as likely as the
// others.
Prediction predict_by_samples(const Architecture& architecture, std::span<const double> weights,
                              std::span<const double> inputs, std::size_t rows,
                              double noise_variance);

}  // namespace dma::baselines
