// layers/architecture.h: a dense network, and the prior of its weights.
//
// Weights lie in one flat array, layer by layer, unit by unit: weight j of unit i of layer l is at
// offset(l) + i * fan_in(l) + j. A bias is a constant input 1, the last one of its layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <dma/base/error.h>
#include <dma/factors/factor.h>

namespace dma {

// Of a joint network, each the mean of a forward message whose input has variance 1, so that kinks are round:
//   leaky_relu   slope z + (1 - slope) (z Phi(z) + phi(z))
//   step         2 Phi(z) - 1, from -1 to 1, for functions that must not grow without bound
enum class JointUnit { leaky_relu, step };

struct Architecture {
  std::vector<std::size_t> widths;     // inputs, hidden units, ..., outputs
  std::vector<double> slopes = {0.1};  // of the leaky ReLU, one per hidden layer or one for all
  std::vector<bool> bias = {false};    // one per layer of weights or one for all
  // Variance of the zero-mean prior on each sum z, one per layer of weights or one for all.
  std::vector<double> activation_variance = {std::numeric_limits<double>::infinity()};

  std::size_t layers() const { return widths.size() - 1; }
  std::size_t inputs() const { return widths.front(); }
  std::size_t outputs() const { return widths.back(); }
  std::size_t width(std::size_t layer) const { return widths[layer + 1]; }
  double slope(std::size_t layer) const { return slopes[slopes.size() == 1 ? 0 : layer]; }
  bool has_bias(std::size_t layer) const { return bias[bias.size() == 1 ? 0 : layer]; }
  double prior_variance_of_sum(std::size_t layer) const {
    return activation_variance[activation_variance.size() == 1 ? 0 : layer];
  }
  std::size_t fan_in(std::size_t layer) const { return widths[layer] + (has_bias(layer) ? 1 : 0); }
  std::size_t offset(std::size_t layer) const;
  std::size_t weight_count() const { return offset(layers()); }
  std::size_t layer_of(std::size_t weight) const;

  // Throws NetworkError if something is wrong, or if the rule has no message for a slope.
  void validate(Rule rule) const;
};

// Independent Gaussians over the weights, in the flat order.
struct WeightPrior {
  std::vector<double> mean, variance;

  void validate(const Architecture& architecture) const;
};

// The paper's prior (App. E): mean drawn from N(0, 1 / fan_in), variance scale / (layers fan_in). Each
// seed is one draw of the means.
WeightPrior draw_prior(const Architecture& architecture, std::uint64_t seed, double scale = 1);

// The network as a plain function: values holds one row of inputs and becomes the outputs.
void evaluate(const Architecture& architecture, std::span<const double> weights,
              std::vector<double>& values);

}  // namespace dma
