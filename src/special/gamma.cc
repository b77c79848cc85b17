#include <dma/special/gamma.h>

#include <array>
#include <cmath>
#include <stdexcept>
#include <string>

namespace dma::special {
namespace {

// B_2, B_4, ..., B_14: the Bernoulli numbers of the asymptotic series.
constexpr std::array<double, 7> bernoulli{1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                          5.0 / 66, -691.0 / 2730, 7.0 / 6};
// From here on the series is exact to rounding; below, psi(x) = psi(x + 1) - 1 / x leads there.
constexpr double least_for_series = 10;

template <class T>
void require_positive(T x, const char* name) {
  if (!(x > 0)) {
    throw std::domain_error(std::string(name) + ": the argument must be positive, got " +
                            std::to_string(x));
  }
}

}  // namespace

// psi(x) = log x - 1 / (2 x) - sum_k B_2k / (2 k x^2k)
template <std::floating_point T>
T digamma(T x) {
  require_positive(x, "digamma");
  T below = 0;
  for (; x < T(least_for_series); x += 1) below += 1 / x;
  const T square = 1 / (x * x);
  T series = 0;
  for (std::size_t k = bernoulli.size(); k > 0; --k) {
    series = square * (T(bernoulli[k - 1] / (2.0 * static_cast<double>(k))) + series);
  }
  return std::log(x) - (1 / (2 * x) + series) - below;
}

// psi'(x) = 1 / x + 1 / (2 x^2) + sum_k B_2k / x^(2k + 1)
template <std::floating_point T>
T trigamma(T x) {
  require_positive(x, "trigamma");
  T below = 0;
  for (; x < T(least_for_series); x += 1) below += 1 / (x * x);
  const T square = 1 / (x * x);
  T series = 0;
  for (std::size_t k = bernoulli.size(); k > 0; --k) {
    series = square * (T(bernoulli[k - 1]) + series);
  }
  return (1 + 1 / (2 * x) + series) / x + below;
}

template <std::floating_point T>
T exp_beyond_tangent(T x) {
  constexpr T small = T(0.5);
  if (std::abs(x) > small) return std::expm1(x) - x;
  T term = x * x / 2;
  T sum = 0;
  for (int n = 3; n <= 18; ++n) {
    sum += term;
    term *= x / T(n);
  }
  return sum;
}

template float digamma(float);
template double digamma(double);
template float trigamma(float);
template double trigamma(double);
template float exp_beyond_tangent(float);
template double exp_beyond_tangent(double);

}  // namespace dma::special
