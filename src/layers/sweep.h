// layers/sweep.h: one example through the network, forward and backward (Algorithm 1, App. D).
//
// Holds the weights' working moments, in the flat order, and all the room a sweep needs: nothing is allocated
// per example. Arrays have kernels::slack entries more than they need, see kernels/layer.h.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <dma/layers/architecture.h>

#include "kernels/layer.h"

namespace dma::detail {

template <std::floating_point T>
class Sweep {
 public:
  Sweep(const Architecture& architecture, Rule rule, const kernels::LayerKernels<T>& kernels);
  // Layers point into the weights.
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;
  ~Sweep() = default;

  // The working moments of every weight.
  std::span<T> mean() { return std::span(mean_).first(weights()); }
  std::span<T> variance() { return std::span(variance_).first(weights()); }
  std::size_t weights() const { return mean_.size() - kernels::slack; }
  // Sets them from natural parameters.
  void load(std::span<const T> tau, std::span<const T> rho);

  // Forward: the moments of every unit. The row has the architecture's inputs, without bias. Returns
  // the layer in which a moment is not finite, if any; the rest of the sweep is then void.
  std::optional<std::size_t> forward(std::span<const T> row);
  // Moments of the outputs, after forward().
  std::span<const T> output_mean() const { return std::span(top().z_mean).first(top().outputs); }
  std::span<const T> output_variance() const {
    return std::span(top().z_variance).first(top().outputs);
  }

  // Backward from the likelihood's message N(mean, variance) to each output: the weights take their messages. Before a
  // layer's kernel runs, observe(layer index, layer) is called. Returns the layer in which the
  // numbers broke down, if any.
  template <class Observe>
  std::optional<std::size_t> backward(std::span<const T> mean, std::span<const T> variance,
                                      const Observe& observe) {
    hear_above(mean, variance);
    for (std::size_t l = layers_.size(); l-- > 0;) {
      observe(l, layers_[l]);
      if (!(l > 0 ? backward_layer(l) : update())) return l;
    }
    return std::nullopt;
  }

  // backward(), then forward() of the next row, with one pass over the first layer's weights instead of two.
  // If the numbers break down it says in which of the two.
  struct Broken {
    std::size_t layer;
    bool in_next;
  };
  std::optional<Broken> advance(std::span<const T> mean, std::span<const T> variance,
                                std::span<const T> next_row);

  struct Layer {
    std::size_t outputs, inputs;
    T slope, prior_precision;
    T* mean;  // weights
    T* variance;
    std::vector<T> input_mean, input_variance, input_square;  // the bias is the last input
    std::vector<T> sum_mean, sum_variance;                    // z_i as its parts add up
    std::vector<T> z_mean, z_variance;                        // times the prior on z_i
    std::vector<T> gain, residual;
    std::vector<T> back_mean, back_variance;    // all that z_i hears but from its sum
    std::vector<T> to_input_tau, to_input_rho;  // not of the first layer
  };

 private:
  const Layer& top() const { return layers_.back(); }
  kernels::DenseLayer<T> view(std::size_t l) const {
    return {layers_[l].outputs, layers_[l].inputs, layers_[l].mean, layers_[l].variance};
  }
  kernels::LayerInput<T> input(std::size_t l) const {
    return {layers_[l].input_mean.data(), l > 0 ? layers_[l].input_variance.data() : nullptr,
            layers_[l].input_square.data()};
  }
  kernels::UnitMessages<T> messages(std::size_t l) const {
    return {layers_[l].back_mean.data(), layers_[l].back_variance.data(),
            layers_[l].sum_mean.data(), layers_[l].sum_variance.data()};
  }
  kernels::Units<T> units(std::size_t l);
  void set_row(std::span<const T> row, std::vector<T>& mean, std::vector<T>& square) const;
  std::optional<std::size_t> forward_above();
  bool finish_outputs();
  void hear_above(std::span<const T> mean, std::span<const T> variance);
  // All weights of layer l learn, and the units below hear.
  bool backward_layer(std::size_t l);
  bool update() { return kernels_->update(view(0), input(0), messages(0), scratch()); }
  kernels::Scratch<T> scratch();

  Rule rule_;
  const kernels::LayerKernels<T>* kernels_;
  std::vector<T> mean_, variance_;
  std::vector<Layer> layers_;
  // Inputs and sums of the first layer for the next example, while the weights learn from this one.
  std::vector<T> next_mean_, next_square_, next_sum_mean_, next_sum_variance_;
  std::vector<T> scratch_of_inputs_[3], scratch_of_units_[4];
};

}  // namespace dma::detail
