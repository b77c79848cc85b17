#include "kernels/activation_constants.h"

namespace dma::kernels {
namespace {

template <class T>
constexpr ActivationConstants<T> repeated(const double* tail_1, const double* tail_2) {
  ActivationConstants<T> constants{};
  constexpr std::size_t repeats = ActivationConstants<T>::repeats;
  for (std::size_t k = 0; k < ActivationConstants<T>::tail_terms * repeats; ++k) {
    constants.tail_1[k] = T(tail_1[k / repeats]);
    constants.tail_2[k] = T(tail_2[k / repeats]);
  }
  double factorial = 2;
  for (std::size_t m = 0; m < ActivationConstants<T>::exp_terms; ++m) {
    for (std::size_t k = 0; k < repeats; ++k) constants.exp[m * repeats + k] = T(1 / factorial);
    factorial *= static_cast<double>(m + 3);
  }
  return constants;
}

constexpr auto in_float =
    repeated<float>(special::detail::tail_powers_1_float, special::detail::tail_powers_2_float);
constexpr auto in_double =
    repeated<double>(special::detail::tail_powers_1_double, special::detail::tail_powers_2_double);

}  // namespace

template <>
const ActivationConstants<float>& activation_constants() {
  return in_float;
}

template <>
const ActivationConstants<double>& activation_constants() {
  return in_double;
}

}  // namespace dma::kernels
