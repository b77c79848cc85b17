// layers/architecture.h: a network as a list of layers, and the prior of its weights.
//
// Weights lie in one flat array, layer by layer; where those of a layer stand, the layer knows (layers/dense.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <dma/base/error.h>
#include <dma/factors/factor.h>
#include <dma/layers/dense.h>

namespace dma {

// The units of a joint network. Each is the mean of a forward message whose input has variance 1, so that kinks are round:
//   leaky_relu   slope z + (1 - slope) (z Phi(z) + phi(z))
//   step         2 Phi(z) - 1, from -1 to 1, for functions that must not grow without bound
enum class JointUnit { leaky_relu, step };

// 0 up to `from`, 1 from `to` on, and straight between. The ramps of an input, one after the other, are the steps of a
// function of it that need not be straight; with weights that are independent and alike it is a random walk.
struct Ramp {
  std::size_t input;
  double from, to;

  double at(double x) const { return std::clamp((x - from) / (to - from), 0.0, 1.0); }
  bool operator==(const Ramp&) const = default;
};

// An input that is not known exactly: it is the mean of a normal variable, and another input is its standard deviation.
struct UncertainInput {
  std::size_t mean, deviation;

  bool operator==(const UncertainInput&) const = default;
};

struct Architecture {
  std::vector<std::size_t> widths;     // inputs, hidden units, ..., outputs
  std::vector<double> slopes = {0.1};  // of the leaky ReLU, one per hidden layer or one for all
  std::vector<bool> bias = {false};    // one per layer of weights or one for all
  // Variance of the zero-mean prior on each sum z, one per layer of weights or one for all.
  std::vector<double> activation_variance = {std::numeric_limits<double>::infinity()};

  // What the first layer sees beside the inputs, after them: input by input, each ramp where the last one ends.
  std::vector<Ramp> ramps = {};
  // Joint networks only: what is not known of them is part of a prediction (src/belief/uncertain_inputs.h).
  std::vector<UncertainInput> uncertain = {};

  std::size_t layers() const { return widths.size() - 1; }
  std::size_t inputs() const { return widths.front(); }
  std::size_t outputs() const { return widths.back(); }
  double slope(std::size_t layer) const { return slopes[slopes.size() == 1 ? 0 : layer]; }
  double prior_variance_of_sum(std::size_t layer) const {
    return activation_variance[activation_variance.size() == 1 ? 0 : layer];
  }
  Dense layer(std::size_t index) const;
  std::size_t weight_count() const;
  bool has_shape_of(const Architecture& other) const {
    return widths == other.widths && ramps == other.ramps;
  }
  std::size_t layer_of(std::size_t weight) const;

  // Throws NetworkError if something is wrong, or if the rule has no message for a slope.
  void validate(Rule rule) const;
};

// Independent Gaussians over the weights, in the flat order.
struct WeightPrior {
  std::vector<double> mean, variance;

  void validate(const Architecture& architecture) const;
};

// The paper's prior (App. E): mean drawn from N(0, 1 / inputs), variance scale / (layers inputs), by layer. Each
// seed is one draw of the means.
WeightPrior draw_prior(const Architecture& architecture, std::uint64_t seed, double scale = 1);

// Where the fit of a joint network starts: N(0, gain^2 / inputs), biases N(0, gain^2 / 4); in the last layer
// N(0, 0.01 / inputs), biases 0. A bias does not count as an input.
std::vector<double> draw_start(const Architecture& architecture, std::uint64_t seed, double gain);

// The group with which each weight shares a prior precision: input columns (one by one or together), their ramps (those of
// an input, or all), bias, then weights and bias of every further layer. The last group is the output's bias. Every layer
// must have a bias.
std::vector<std::size_t> weight_groups(const Architecture& architecture, bool by_column);

// The network as a plain function: values holds one row of inputs and becomes the outputs.
void evaluate(const Architecture& architecture, std::span<const double> weights,
              std::vector<double>& values);

}  // namespace dma
