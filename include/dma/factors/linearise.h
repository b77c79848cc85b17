// factors/linearise.h: the linear rule (statistical linearisation), for any factor y = g(x, ...).
//
// Under the incoming messages, replace y by its best linear regression on the one input x:
//
//   y = E[y] + gain (x - m) + noise,   gain = Cov[x, y] / Var[x],   residual = Var[y] - gain^2 Var[x]
//
// With y's message N(m_y, v_y) the message to x is Gaussian:
//
//   rho = gain^2 / (v_y + residual),   mean = m + (m_y - E[y]) / gain
//
// gain = 0 gives the uniform message; the precision is never negative.
#pragma once

#include <concepts>

#include <dma/factors/factor.h>

namespace dma {

template <std::floating_point T>
struct Linearisation {
  T input_mean;
  T output_mean;
  T gain;
  T residual;
};

template <std::floating_point T>
Gaussian<T> linear_message(const Linearisation<T>& at, Gaussian<T> output) {
  if (at.gain == 0 || output.rho == 0) return Gaussian<T>::uniform();
  const T innovation = output.mean() - at.output_mean;
  const T noise = output.variance() + at.residual;
  return message_from_moments(at.input_mean + innovation / at.gain, noise / at.gain / at.gain);
}

}  // namespace dma
