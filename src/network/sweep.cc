#include "network/sweep.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace dma::detail {

template <std::floating_point T>
Sweep<T>::Sweep(const Architecture& architecture, Rule rule,
                const kernels::LayerKernels<T>& kernels)
    : rule_(rule), kernels_(&kernels) {
  for (std::size_t l = 0; l < architecture.layers(); ++l) {
    const std::size_t outputs = architecture.width(l);
    const std::size_t inputs = architecture.fan_in(l);
    const std::size_t stride = kernels::padded(inputs);
    const bool last = l + 1 == architecture.layers();
    Layer layer{.outputs = outputs,
                .inputs = inputs,
                .stride = stride,
                .flat_offset = architecture.offset(l),
                .first = l == 0,
                .slope = T(last ? 1 : architecture.slope(l)),
                .prior_precision = T(1 / architecture.prior_variance_of_sum(l)),
                .mean = std::vector<T>(outputs * stride),
                .variance = std::vector<T>(outputs * stride),
                .input_mean = std::vector<T>(stride),
                .input_variance = std::vector<T>(stride),
                .sum_mean = std::vector<T>(outputs),
                .sum_variance = std::vector<T>(outputs),
                .z_mean = std::vector<T>(outputs),
                .z_variance = std::vector<T>(outputs),
                .back_mean = std::vector<T>(outputs),
                .back_variance = std::vector<T>(outputs),
                .to_input_tau = std::vector<T>(stride),
                .to_input_rho = std::vector<T>(stride)};
    if (architecture.has_bias(l)) layer.input_mean[inputs - 1] = 1;
    layers_.push_back(std::move(layer));
    widest_ = std::max(widest_, stride);
  }
  scratch_.resize(3 * widest_);
}

template <std::floating_point T>
void Sweep<T>::load(std::span<const T> tau, std::span<const T> rho) {
  each_weight([&](std::size_t k, T& mean, T& variance) {
    variance = 1 / rho[k];
    mean = tau[k] * variance;
  });
}

template <std::floating_point T>
std::optional<std::size_t> Sweep<T>::forward(std::span<const T> row) {
  std::copy(row.begin(), row.end(), layers_.front().input_mean.begin());
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    if (!propagate(l)) return l;
  }
  return std::nullopt;
}

// False if a moment is not finite.
template <std::floating_point T>
bool Sweep<T>::propagate(std::size_t l) {
  Layer& layer = layers_[l];
  kernels_->forward(layer.view(), layer.input(), layer.sum_mean.data(), layer.sum_variance.data());
  for (std::size_t i = 0; i < layer.outputs; ++i) {
    if (!std::isfinite(layer.sum_mean[i]) || !std::isfinite(layer.sum_variance[i])) return false;
  }
  layer.z_mean = layer.sum_mean;
  layer.z_variance = layer.sum_variance;
  if (layer.prior_precision > 0) {
    for (std::size_t i = 0; i < layer.outputs; ++i) {
      const T shrink = 1 / (1 + layer.sum_variance[i] * layer.prior_precision);
      layer.z_mean[i] *= shrink;
      layer.z_variance[i] *= shrink;
    }
  }
  if (l + 1 == layers_.size()) return true;
  Layer& above = layers_[l + 1];
  const LeakyRelu relu{static_cast<double>(layer.slope)};
  for (std::size_t i = 0; i < layer.outputs; ++i) {
    const auto x = Gaussian<T>::from_moments(layer.z_mean[i], layer.z_variance[i]);
    const auto y = relu.message<T>(0, std::array{Gaussian<T>::uniform(), x}, rule_);
    above.input_mean[i] = y.mean();
    above.input_variance[i] = y.variance();
  }
  return true;
}

template <std::floating_point T>
void Sweep<T>::set_back(Layer& layer, std::size_t unit, Gaussian<T> message) const {
  const Gaussian<T> all = message * Gaussian<T>{0, layer.prior_precision};
  layer.back_mean[unit] = all.mean();
  layer.back_variance[unit] = all.variance();
}

template class Sweep<float>;
template class Sweep<double>;

}  // namespace dma::detail
