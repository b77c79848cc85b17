// kernels/activation_constants.h: coefficients of the activation's polynomials, each repeated over 16 bytes, so
// that a vector of it is one load at a known distance from the first.
#pragma once

#include <cstddef>

#include "special/tail_coefficients.h"

namespace dma::kernels {

template <class T>
struct ActivationConstants {
  static constexpr std::size_t repeats = 16 / sizeof(T);
  static constexpr bool is_double = sizeof(T) == sizeof(double);
  static constexpr std::size_t tail_terms =
      is_double ? special::detail::tail_terms_double : special::detail::tail_powers_float;
  // (exp(r) - 1 - r) / r^2 = 1/2! + r/3! + ...; the error is below 2^-56 (2^-27) for |r| <= log(2) / 2.
  static constexpr std::size_t exp_terms = is_double ? 12 : 6;

  alignas(16) T tail_1[tail_terms * repeats];
  alignas(16) T tail_2[tail_terms * repeats];
  alignas(16) T exp[exp_terms * repeats];
};

// Defined in another file; otherwise the compiler would load every coefficient separately.
template <class T>
const ActivationConstants<T>& activation_constants();

}  // namespace dma::kernels
