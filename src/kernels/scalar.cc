// The readable kernel: App. D written with the factor library's own messages.
#include <array>
#include <cmath>

#include <dma/factors/product.h>

#include "kernels/layer.h"

namespace dma::kernels {
namespace {

template <std::floating_point T>
void forward(const DenseLayer<T>& layer, const LayerInput<T>& input, T* mean, T* variance) {
  for (std::size_t i = 0; i < layer.outputs; ++i) {
    mean[i] = 0;
    variance[i] = 0;
    for (std::size_t j = 0; j < layer.inputs; ++j) {
      const std::size_t k = i * layer.stride + j;
      const auto weight = Gaussian<T>::from_moments(layer.mean[k], layer.variance[k]);
      const auto part =
          Product::to_z(weight, Gaussian<T>::from_moments(input.mean[j], input.variance[j]));
      mean[i] += part.mean();
      variance[i] += part.variance();
    }
  }
}

template <std::floating_point T, Rule rule>
bool backward(const DenseLayer<T>& layer, const LayerInput<T>& input, const UnitMessages<T>& units,
              const InputMessages<T>& to_input, const Scratch<T>& /*scratch*/) {
  bool positive = true;
  for (std::size_t i = 0; i < layer.outputs; ++i) {
    if (std::isinf(units.back_variance[i])) continue;
    for (std::size_t j = 0; j < layer.inputs; ++j) {
      const std::size_t k = i * layer.stride + j;
      const auto weight = Gaussian<T>::from_moments(layer.mean[k], layer.variance[k]);
      const auto a = Gaussian<T>::from_moments(input.mean[j], input.variance[j]);
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

}  // namespace

template <std::floating_point T>
const LayerKernels<T>& scalar() {
  static constexpr LayerKernels<T> kernels{forward<T>, backward<T, Rule::direct>,
                                           backward<T, Rule::linear>};
  return kernels;
}

template const LayerKernels<float>& scalar();
template const LayerKernels<double>& scalar();

}  // namespace dma::kernels
