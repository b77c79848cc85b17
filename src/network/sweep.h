// network/sweep.h: one example through the network, forward and backward (Algorithm 1, App. D).
//
// Holds the weights' working moments and all the room a sweep needs: nothing is allocated per example.
// Weights and inputs of layer l are padded to stride(l), see kernels/layer.h.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <dma/factors/leaky_relu.h>
#include <dma/network/architecture.h>

#include "kernels/layer.h"

namespace dma::detail {

template <std::floating_point T>
class Sweep {
 public:
  Sweep(const Architecture& architecture, Rule rule, const kernels::LayerKernels<T>& kernels);

  // Sets the working moments from natural parameters in the flat order.
  void load(std::span<const T> tau, std::span<const T> rho);
  // Visits every weight's working mean and variance: visit(flat index, T& mean, T& variance).
  template <class Visit>
  void each_weight(const Visit& visit);

  // Forward: the moments of every unit. The row has the architecture's inputs, without bias. Returns
  // the layer in which a moment is not finite, if any; the rest of the sweep is then void.
  std::optional<std::size_t> forward(std::span<const T> row);
  // Of the outputs, after forward().
  std::span<const T> output_mean() const { return {layers_.back().z_mean}; }
  std::span<const T> output_variance() const { return {layers_.back().z_variance}; }

  // Backward from the likelihood N(target, noise variance): the weights take their messages. Before a
  // layer's kernel runs, observe(layer index, layer) is called. Returns the layer in which the
  // numbers broke down, if any.
  template <class Observe>
  std::optional<std::size_t> backward(std::span<const T> target, std::span<const T> noise_variance,
                                      const Observe& observe);

  struct Layer {
    std::size_t outputs, inputs, stride, flat_offset;
    bool first;
    T slope, prior_precision;
    std::vector<T> mean, variance;              // weights, padded rows
    std::vector<T> input_mean, input_variance;  // padded; the bias is the last input
    std::vector<T> sum_mean, sum_variance;      // z_i as its parts add up
    std::vector<T> z_mean, z_variance;          // times the prior on z_i
    std::vector<T> back_mean, back_variance;    // all that z_i hears but from its sum
    std::vector<T> to_input_tau, to_input_rho;  // padded

    kernels::DenseLayer<T> view() {
      return {outputs, inputs, stride, mean.data(), variance.data()};
    }
    kernels::LayerInput<T> input() const {
      return {input_mean.data(), input_variance.data(), first};
    }
  };
  const std::vector<Layer>& layers() const { return layers_; }

 private:
  bool propagate(std::size_t l);
  void set_back(Layer& layer, std::size_t unit, Gaussian<T> message) const;

  Rule rule_;
  const kernels::LayerKernels<T>* kernels_;
  std::vector<Layer> layers_;
  std::vector<T> scratch_;
  std::size_t widest_ = 0;
};

template <std::floating_point T>
template <class Visit>
void Sweep<T>::each_weight(const Visit& visit) {
  for (Layer& layer : layers_) {
    for (std::size_t i = 0; i < layer.outputs; ++i) {
      const std::size_t flat = layer.flat_offset + i * layer.inputs;
      const std::size_t row = i * layer.stride;
      for (std::size_t j = 0; j < layer.inputs; ++j) {
        visit(flat + j, layer.mean[row + j], layer.variance[row + j]);
      }
    }
  }
}

template <std::floating_point T>
template <class Observe>
std::optional<std::size_t> Sweep<T>::backward(std::span<const T> target,
                                              std::span<const T> noise_variance,
                                              const Observe& observe) {
  for (std::size_t i = 0; i < target.size(); ++i) {
    set_back(layers_.back(), i, Gaussian<T>::from_moments(target[i], noise_variance[i]));
  }
  const kernels::Scratch<T> scratch{
      {scratch_.data(), scratch_.data() + widest_, scratch_.data() + 2 * widest_}};
  for (std::size_t l = layers_.size(); l-- > 0;) {
    Layer& layer = layers_[l];
    observe(l, layer);
    kernels::InputMessages<T> to_input{nullptr, nullptr};
    if (!layer.first) {
      std::fill(layer.to_input_tau.begin(), layer.to_input_tau.end(), T(0));
      std::fill(layer.to_input_rho.begin(), layer.to_input_rho.end(), T(0));
      to_input = {layer.to_input_tau.data(), layer.to_input_rho.data()};
    }
    const kernels::UnitMessages<T> units{layer.back_mean.data(), layer.back_variance.data(),
                                         layer.sum_mean.data(), layer.sum_variance.data()};
    const auto kernel =
        rule_ == Rule::direct ? kernels_->backward_direct : kernels_->backward_linear;
    if (!kernel(layer.view(), layer.input(), units, to_input, scratch)) return l;
    if (layer.first) break;
    Layer& below = layers_[l - 1];
    const LeakyRelu relu{static_cast<double>(below.slope)};
    for (std::size_t i = 0; i < below.outputs; ++i) {
      const std::array in{Gaussian<T>{layer.to_input_tau[i], layer.to_input_rho[i]},
                          Gaussian<T>::from_moments(below.z_mean[i], below.z_variance[i])};
      set_back(below, i, relu.message<T>(1, in, rule_));
    }
  }
  return std::nullopt;
}

}  // namespace dma::detail
