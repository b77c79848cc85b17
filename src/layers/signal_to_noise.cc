#include "layers/signal_to_noise.h"

#include <cmath>
#include <limits>

namespace dma::detail {
namespace {

// Signal-to-noise ratio, squared. That of a value known exactly is infinite, but an input that is exactly zero
// says nothing about its weight: 0 / 0 counts as 0.
template <std::floating_point T>
T squared_ratio(T signal, T noise) {
  const T square = signal * signal;
  if (noise == 0) return square > 0 ? std::numeric_limits<T>::infinity() : 0;
  return square / noise;
}

// The smaller of two squared ratios; 0 if one is not a number.
template <std::floating_point T>
T smaller_ratio(T signal_above, T noise_above, T signal, T noise) {
  const T above = squared_ratio(signal_above, noise_above);
  const T own = squared_ratio(signal, noise);
  return own < above ? own : own >= above ? above : 0;
}

}  // namespace

template <std::floating_point T>
std::size_t append_signal_to_noise(const typename Sweep<T>::Layer& layer, bool to_inputs,
                                   std::vector<float>& squares) {
  const std::size_t messages_of_unit = layer.inputs * (to_inputs ? 2 : 1);
  std::size_t uniform = 0;
  for (std::size_t i = 0; i < layer.outputs; ++i) {
    if (std::isinf(layer.back_variance[i])) {
      uniform += messages_of_unit;
      continue;
    }
    const std::size_t before = squares.size();
    squares.resize(before + messages_of_unit);
    float* of_weights = squares.data() + before;
    float* of_inputs = of_weights + layer.inputs;
    const T total = layer.back_variance[i] + layer.sum_variance[i];
    const T innovation = layer.back_mean[i] - layer.sum_mean[i];
    const T* mean = layer.mean + i * layer.inputs;
    const T* variance = layer.variance + i * layer.inputs;
    for (std::size_t j = 0; j < layer.inputs; ++j) {
      const T w = mean[j];
      const T v = variance[j];
      const T a = layer.input_mean[j];
      const T va = layer.input_variance[j];
      const T cavity_variance = total - v * (a * a + va) - va * w * w;
      const T signal = innovation + w * a;
      of_weights[j] = static_cast<float>(smaller_ratio(signal, cavity_variance, a, va));
      if (to_inputs)
        of_inputs[j] = static_cast<float>(smaller_ratio(signal, cavity_variance, w, v));
    }
  }
  return uniform;
}

template std::size_t append_signal_to_noise<float>(const Sweep<float>::Layer&, bool,
                                                   std::vector<float>&);
template std::size_t append_signal_to_noise<double>(const Sweep<double>::Layer&, bool,
                                                    std::vector<float>&);

}  // namespace dma::detail
