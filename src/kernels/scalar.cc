// The scalar kernel: App. D written with the factor library's own messages.
#include <algorithm>
#include <array>
#include <cmath>

#include <dma/factors/product.h>

#include "kernels/layer.h"
#include "kernels/unit.h"

namespace dma::kernels {
namespace {

template <std::floating_point T>
Gaussian<T> input_belief(const LayerInput<T>& input, std::size_t j) {
  return Gaussian<T>::from_moments(input.mean[j],
                                   input.variance == nullptr ? 0 : input.variance[j]);
}

template <std::floating_point T>
void forward(const DenseLayer<T>& layer, const LayerInput<T>& input, const UnitSums<T>& sums) {
  for (std::size_t i = 0; i < layer.outputs; ++i) {
    sums.mean[i] = 0;
    sums.variance[i] = 0;
    for (std::size_t j = 0; j < layer.inputs; ++j) {
      const std::size_t k = i * layer.inputs + j;
      const auto weight = Gaussian<T>::from_moments(layer.mean[k], layer.variance[k]);
      const auto part = Product::to_z(weight, input_belief(input, j));
      sums.mean[i] += part.mean();
      sums.variance[i] += part.variance();
    }
  }
}

template <std::floating_point T, Rule rule>
bool backward(const DenseLayer<T>& layer, const LayerInput<T>& input, const UnitMessages<T>& units,
              const InputMessages<T>& to_input, const Scratch<T>& /*scratch*/) {
  bool positive = true;
  if (to_input.tau != nullptr) {
    std::fill_n(to_input.tau, layer.inputs, T(0));
    std::fill_n(to_input.rho, layer.inputs, T(0));
  }
  for (std::size_t i = 0; i < layer.outputs; ++i) {
    if (std::isinf(units.back_variance[i])) continue;
    for (std::size_t j = 0; j < layer.inputs; ++j) {
      const std::size_t k = i * layer.inputs + j;
      const auto weight = Gaussian<T>::from_moments(layer.mean[k], layer.variance[k]);
      const auto a = input_belief(input, j);
      const auto part = Product::to_z(weight, a);
      const auto cavity = Gaussian<T>::from_moments(
          units.back_mean[i] - units.forward_mean[i] + part.mean(),
          units.back_variance[i] + units.forward_variance[i] - part.variance());
      const std::array in{cavity, weight, a};
      const Gaussian<T> to_weight = Product{}.message<T>(1, in, rule);
      if (to_input.tau != nullptr) {
        const Gaussian<T> to_a = Product{}.message<T>(2, in, rule);
        to_input.tau[j] += to_a.tau;
        to_input.rho[j] += to_a.rho;
      }
      const Gaussian<T> belief = weight * to_weight;
      layer.mean[k] = belief.mean();
      layer.variance[k] = belief.variance();
      positive = positive && layer.variance[k] > 0;
    }
  }
  return positive;
}

template <std::floating_point T>
bool update(const DenseLayer<T>& layer, const LayerInput<T>& input, const UnitMessages<T>& units,
            const Scratch<T>& scratch) {
  return backward<T, Rule::direct>(layer, input, units, {nullptr, nullptr}, scratch);
}

template <std::floating_point T>
bool update_then_forward(const DenseLayer<T>& layer, const LayerInput<T>& input,
                         const UnitMessages<T>& units, const Scratch<T>& scratch,
                         const LayerInput<T>& next, const UnitSums<T>& next_sums) {
  const bool positive = update(layer, input, units, scratch);
  forward(layer, next, next_sums);
  return positive;
}

template <std::floating_point T>
bool activate(const Units<T>& units) {
  bool finite = true;
  for (std::size_t i = 0; i < units.count; ++i) finite = activate_unit(units, i) && finite;
  return finite;
}

template <std::floating_point T, Rule rule>
void hear(const Units<T>& units, const InputMessages<T>& from_above) {
  for (std::size_t i = 0; i < units.count; ++i) hear_unit(units, from_above, rule, i);
}

template <std::floating_point T>
void open_batch(const BatchBelief<T>& belief) {
  for (std::size_t k = 0; k < belief.weights; ++k) open_weight(belief, k);
}

template <std::floating_point T>
Closed close_batch(const BatchBelief<T>& belief, const InputMessages<T>& message,
                   const InputMessages<T>& new_belief) {
  Closed closed;
  for (std::size_t k = 0; k < belief.weights; ++k) {
    close_weight(belief, message, new_belief, k, closed);
  }
  return closed;
}

}  // namespace

template <std::floating_point T>
const LayerKernels<T>& scalar() {
  static constexpr LayerKernels<T> kernels{.forward = forward<T>,
                                           .forward_exact = forward<T>,
                                           .backward_direct = backward<T, Rule::direct>,
                                           .backward_linear = backward<T, Rule::linear>,
                                           .update = update<T>,
                                           .update_then_forward = update_then_forward<T>,
                                           .activate = activate<T>,
                                           .hear_direct = hear<T, Rule::direct>,
                                           .hear_linear = hear<T, Rule::linear>,
                                           .open_batch = open_batch<T>,
                                           .close_batch = close_batch<T>};
  return kernels;
}

template const LayerKernels<float>& scalar();
template const LayerKernels<double>& scalar();

}  // namespace dma::kernels
