#include "layers/sweep.h"

#include <algorithm>
#include <cmath>

#include <dma/messages/gaussian.h>

#include "kernels/unit.h"

namespace dma::detail {

template <std::floating_point T>
Sweep<T>::Sweep(const Architecture& architecture, Rule rule,
                const kernels::LayerKernels<T>& kernels)
    : rule_(rule), kernels_(&kernels) {
  constexpr std::size_t slack = kernels::slack;
  mean_.resize(architecture.weight_count() + slack);
  variance_.resize(architecture.weight_count() + slack, T(1));
  std::size_t widest = 0;
  for (std::size_t l = 0; l < architecture.layers(); ++l) {
    const auto [first, outputs, inputs, bias] = architecture.layer(l);
    const bool last = l + 1 == architecture.layers();
    const std::vector<T> of_units(outputs + slack);
    const std::vector<T> of_inputs(inputs + slack);
    Layer layer{.outputs = outputs,
                .inputs = inputs,
                .slope = T(last ? 1 : architecture.slope(l)),
                .prior_precision = T(1 / architecture.prior_variance_of_sum(l)),
                .mean = mean_.data() + first,
                .variance = variance_.data() + first,
                .input_mean = of_inputs,
                .input_variance = of_inputs,
                .input_square = of_inputs,
                .sum_mean = of_units,
                .sum_variance = of_units,
                .z_mean = of_units,
                .z_variance = of_units,
                .gain = of_units,
                .residual = of_units,
                .back_mean = of_units,
                .back_variance = of_units,
                .to_input_tau = of_inputs,
                .to_input_rho = of_inputs};
    if (bias) {
      layer.input_mean[inputs - 1] = 1;
      layer.input_square[inputs - 1] = 1;
    }
    layers_.push_back(std::move(layer));
    widest = std::max({widest, inputs, outputs});
  }
  next_mean_ = layers_.front().input_mean;
  next_square_ = layers_.front().input_square;
  next_sum_mean_ = layers_.front().sum_mean;
  next_sum_variance_ = layers_.front().sum_variance;
  for (auto& row : scratch_of_inputs_) row.resize(widest + slack);
  for (auto& row : scratch_of_units_) row.resize(widest + slack);
}

template <std::floating_point T>
kernels::Scratch<T> Sweep<T>::scratch() {
  auto& inputs = scratch_of_inputs_;
  auto& units = scratch_of_units_;
  return {{inputs[0].data(), inputs[1].data(), inputs[2].data()},
          {units[0].data(), units[1].data(), units[2].data(), units[3].data()}};
}

template <std::floating_point T>
void Sweep<T>::load(std::span<const T> tau, std::span<const T> rho) {
  for (std::size_t k = 0; k < tau.size(); ++k) {
    variance_[k] = 1 / rho[k];
    mean_[k] = tau[k] * variance_[k];
  }
}

template <std::floating_point T>
kernels::Units<T> Sweep<T>::units(std::size_t l) {
  Layer& layer = layers_[l];
  Layer& above = layers_[l + 1];
  return {.count = layer.outputs,
          .slope = layer.slope,
          .prior_precision = layer.prior_precision,
          .sum = {layer.sum_mean.data(), layer.sum_variance.data()},
          .z_mean = layer.z_mean.data(),
          .z_variance = layer.z_variance.data(),
          .y_mean = above.input_mean.data(),
          .y_variance = above.input_variance.data(),
          .y_square = above.input_square.data(),
          .gain = layer.gain.data(),
          .residual = layer.residual.data(),
          .back_mean = layer.back_mean.data(),
          .back_variance = layer.back_variance.data()};
}

template <std::floating_point T>
void Sweep<T>::set_row(std::span<const T> row, std::vector<T>& mean, std::vector<T>& square) const {
  for (std::size_t j = 0; j < row.size(); ++j) {
    mean[j] = row[j];
    square[j] = row[j] * row[j];
  }
}

template <std::floating_point T>
std::optional<std::size_t> Sweep<T>::forward(std::span<const T> row) {
  Layer& first = layers_.front();
  set_row(row, first.input_mean, first.input_square);
  kernels_->forward_exact(view(0), input(0), {first.sum_mean.data(), first.sum_variance.data()});
  return forward_above();
}

// Goes on from the first layer's sums.
template <std::floating_point T>
std::optional<std::size_t> Sweep<T>::forward_above() {
  for (std::size_t l = 0; l + 1 < layers_.size(); ++l) {
    if (!kernels_->activate(units(l))) return l;
    Layer& above = layers_[l + 1];
    kernels_->forward(view(l + 1), input(l + 1),
                      {above.sum_mean.data(), above.sum_variance.data()});
  }
  if (!finish_outputs()) return layers_.size() - 1;
  return std::nullopt;
}

// False if an output is not finite.
template <std::floating_point T>
bool Sweep<T>::finish_outputs() {
  Layer& last = layers_.back();
  for (std::size_t i = 0; i < last.outputs; ++i) {
    last.z_mean[i] = last.sum_mean[i];
    last.z_variance[i] = last.sum_variance[i];
    if (!std::isfinite(last.z_mean[i]) || !std::isfinite(last.z_variance[i])) return false;
    if (last.prior_precision > 0) {
      kernels::shrink(last.prior_precision, last.z_mean[i], last.z_variance[i]);
    }
  }
  return true;
}

template <std::floating_point T>
void Sweep<T>::hear_above(std::span<const T> mean, std::span<const T> variance) {
  Layer& last = layers_.back();
  for (std::size_t i = 0; i < last.outputs; ++i) {
    last.back_mean[i] = mean[i];
    last.back_variance[i] = variance[i];
    if (last.prior_precision > 0) {
      kernels::shrink(last.prior_precision, last.back_mean[i], last.back_variance[i]);
    }
  }
}

template <std::floating_point T>
bool Sweep<T>::backward_layer(std::size_t l) {
  Layer& layer = layers_[l];
  const bool direct = rule_ == Rule::direct;
  const kernels::InputMessages<T> to_input{layer.to_input_tau.data(), layer.to_input_rho.data()};
  const auto kernel = direct ? kernels_->backward_direct : kernels_->backward_linear;
  if (!kernel(view(l), input(l), messages(l), to_input, scratch())) return false;
  (direct ? kernels_->hear_direct : kernels_->hear_linear)(units(l - 1), to_input);
  return true;
}

template <std::floating_point T>
auto Sweep<T>::advance(std::span<const T> mean, std::span<const T> variance,
                       std::span<const T> next_row) -> std::optional<Broken> {
  hear_above(mean, variance);
  for (std::size_t l = layers_.size(); l-- > 1;) {
    if (!backward_layer(l)) return Broken{l, false};
  }
  Layer& first = layers_.front();
  set_row(next_row, next_mean_, next_square_);
  const kernels::LayerInput<T> next{next_mean_.data(), nullptr, next_square_.data()};
  if (!kernels_->update_then_forward(view(0), input(0), messages(0), scratch(), next,
                                     {next_sum_mean_.data(), next_sum_variance_.data()})) {
    return Broken{0, false};
  }
  first.input_mean.swap(next_mean_);
  first.input_square.swap(next_square_);
  first.sum_mean.swap(next_sum_mean_);
  first.sum_variance.swap(next_sum_variance_);
  if (const auto broken = forward_above()) return Broken{*broken, true};
  return std::nullopt;
}

template class Sweep<float>;
template class Sweep<double>;

}  // namespace dma::detail
