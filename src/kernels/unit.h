// kernels/unit.h: one unit, and one weight around a batch. The scalar kernel uses it, and so does the fast one for
// units that are not proper Gaussians (a point mass, a uniform message) and for the last few weights.
#pragma once

#include <array>
#include <cmath>

#include <dma/factors/leaky_relu.h>

#include "kernels/layer.h"

namespace dma::kernels {

// Multiplies by N(0, 1 / precision).
template <std::floating_point T>
void shrink(T precision, T& mean, T& variance) {
  const T factor = 1 / (1 + variance * precision);
  mean *= factor;
  variance *= factor;
}

// False if the sum is not finite or its variance negative: the weights' numbers broke down.
template <std::floating_point T>
bool activate_unit(const Units<T>& units, std::size_t i) {
  T mean = units.sum.mean[i];
  T variance = units.sum.variance[i];
  if (!std::isfinite(mean) || !std::isfinite(variance) || variance < 0) return false;
  shrink(units.prior_precision, mean, variance);
  units.z_mean[i] = mean;
  units.z_variance[i] = variance;
  const LeakyRelu relu{static_cast<double>(units.slope)};
  const auto y = relu.to_y(Gaussian<T>::from_moments(mean, variance));
  units.y_mean[i] = y.mean();
  units.y_variance[i] = y.variance();
  units.y_square[i] = y.mean() * y.mean() + y.variance();
  if (variance > 0) {
    const auto moments = special::leaky_relu_moments(mean / std::sqrt(variance), units.slope);
    units.gain[i] = moments.gain;
    units.residual[i] = variance * moments.residual;
  }
  return true;
}

template <std::floating_point T>
void hear_unit(const Units<T>& units, const InputMessages<T>& from_above, Rule rule,
               std::size_t i) {
  const LeakyRelu relu{static_cast<double>(units.slope)};
  const std::array in{Gaussian<T>{from_above.tau[i], from_above.rho[i]},
                      Gaussian<T>::from_moments(units.z_mean[i], units.z_variance[i])};
  const Gaussian<T> all = relu.message<T>(1, in, rule) * Gaussian<T>{0, units.prior_precision};
  units.back_mean[i] = all.mean();
  units.back_variance[i] = all.variance();
}

template <std::floating_point T>
void open_weight(const BatchBelief<T>& belief, std::size_t k) {
  belief.start_variance[k] = belief.variance[k] = 1 / belief.cavity_rho[k];
  belief.start_mean[k] = belief.mean[k] = belief.cavity_tau[k] * belief.variance[k];
}

template <std::floating_point T>
void close_weight(const BatchBelief<T>& belief, const InputMessages<T>& message,
                  const InputMessages<T>& new_belief, std::size_t k, Closed& closed) {
  const T mean = belief.mean[k];
  const T variance = belief.variance[k];
  const T product = belief.start_variance[k] * variance;
  if (!(product > 0)) {  // no digits are left
    message.rho[k] = message.tau[k] = new_belief.rho[k] = new_belief.tau[k] = 0;
    closed.proper = false;
    return;
  }
  const T inverse = 1 / product;
  const T narrower = belief.start_variance[k] - variance;
  const T tau = (mean * narrower + (mean - belief.start_mean[k]) * variance) * inverse;
  message.rho[k] = narrower * inverse;
  message.tau[k] = tau;
  new_belief.rho[k] = belief.cavity_rho[k] + message.rho[k];
  new_belief.tau[k] = belief.cavity_tau[k] + message.tau[k];
  const T rho = new_belief.rho[k];
  if (!(rho > 0) || !std::isfinite(rho) || !std::isfinite(new_belief.tau[k])) closed.proper = false;
  if (message.rho[k] < -rounding_of_precision<T> * rho) ++closed.negative;
}

}  // namespace dma::kernels
