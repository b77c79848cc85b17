// paper/adam.h: the usual network, as a baseline: point weights trained by Adam, and one number for the noise.
//
//   f(x) = b + sum_j v_j max(0, c_j + sum_k W_kj x_k),      y ~ N(f(x), s^2)
//
// One hidden layer of 50 units. Weights start as N(0, 2 / inputs of the unit) (He et al. 2015), biases as 0.
// Adam descends the mean squared error over batches of 32 rows, for 200 epochs.
//
// A tenth of the rows is held out from Adam. The weights are those after the epoch with the smallest mean squared error
// on these rows, and s^2 is that error: the training error would be too small and would make the baseline
// overconfident.
//
// Written by hand, because a command for any CSV file must not need a framework of hundreds of megabytes.
#pragma once

#include <dma/data/encoder.h>
#include <dma/special/random.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace dma::cli {

// Kingma and Ba (2015), Algorithm 1, with their decays and epsilon. At step t, with gradient g:
//
//   m = 0.9 m + 0.1 g,    v = 0.999 v + 0.001 g^2
//   w = w - learning rate * m / (1 - 0.9^t) / (sqrt(v / (1 - 0.999^t)) + 1e-8)
class Adam {
 public:
  Adam(std::size_t weights, double learning_rate)
      : learning_rate_(learning_rate), mean_(weights, 0), square_(weights, 0) {}

  void step(std::span<const double> gradient, std::span<double> weights);

 private:
  double learning_rate_;
  std::vector<double> mean_, square_;                 // m, v
  double mean_remainder_ = 1, square_remainder_ = 1;  // 0.9^t, 0.999^t
};

struct PointNetwork {
  static constexpr std::size_t units = 50;
  std::size_t inputs = 0;
  // W (W_kj at k * units + j), c, v, b.
  std::vector<double> weights = {};

  static PointNetwork draw(std::size_t inputs, special::Random& random);
  double predict(std::span<const double> input) const;
};

// Mean of (f(x) - y)^2 over these rows.
double squared_error(const PointNetwork& network, const EncodedRows& examples,
                     std::span<const std::size_t> rows);
// Its derivative by each weight.
std::vector<double> squared_error_gradient(const PointNetwork& network, const EncodedRows& examples,
                                           std::span<const std::size_t> rows);

struct AdamFit {
  PointNetwork network;
  double variance = 0;  // s^2
};

// Fits examples with one target, at least two rows. The callback is called before every epoch; false stops the fit.
AdamFit fit_adam(
    const EncodedRows& examples, std::uint64_t seed,
    const std::function<bool()>& go_on = [] { return true; });

}  // namespace dma::cli
