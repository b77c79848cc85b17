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

namespace {

// psi''(x) = -1 / x^2 - 1 / x^3 - sum_k (2 k + 1) B_2k / x^(2k + 2)
double tetragamma(double x) {
  double below = 0;
  for (; x < least_for_series; x += 1) below += 2 / (x * x * x);
  const double square = 1 / (x * x);
  double series = 0;
  for (std::size_t k = bernoulli.size(); k > 0; --k) {
    series = square * ((2 * static_cast<double>(k) + 1) * bernoulli[k - 1] + series);
  }
  return -(1 + 1 / x + series) * square - below;
}

}  // namespace

// Newton's steps on 1 / psi'(x), which is convex and nearly straight: from 1 / 2 + 1 / y, which is never too much, they
// only rise. (Smyth 2004)
double inverse_trigamma(double y) {
  require_positive(y, "inverse_trigamma");
  constexpr double nearly_straight = 1e-7;
  double x = 0.5 + 1 / y;
  if (y < nearly_straight) return x;
  for (int step = 0; step < 50; ++step) {
    const double now = trigamma(x);
    const double change = now * (1 - now / y) / tetragamma(x);
    x += change;
    if (!(std::abs(change) > 1e-15 * x)) break;
  }
  return x;
}

namespace {

// The continued fraction of I_x(a, b), by Lentz's method; it converges fast for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double tiny = 1e-300;
  constexpr double settled = 1e-16;
  constexpr int most_steps = 100'000;
  const auto not_zero = [](double value) { return std::abs(value) < tiny ? tiny : value; };
  double c = 1;
  double d = 1 / not_zero(1 - (a + b) * x / (a + 1));
  double fraction = d;
  const auto step = [&](double coefficient) {
    d = 1 / not_zero(1 + coefficient * d);
    c = not_zero(1 + coefficient / c);
    fraction *= c * d;
  };
  for (int k = 1; k <= most_steps; ++k) {
    const double m = k;
    step(m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)));
    step(-(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)));
    if (std::abs(c * d - 1) < settled) break;
  }
  return fraction;
}

}  // namespace

double incomplete_beta(double a, double b, double x) {
  require_positive(a, "incomplete_beta");
  require_positive(b, "incomplete_beta");
  if (!(x >= 0 && x <= 1)) {
    throw std::domain_error("incomplete_beta: x must be from 0 to 1, got " + std::to_string(x));
  }
  if (x == 0 || x == 1) return x;
  const double log_front =
      std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x);
  if (x < (a + 1) / (a + b + 2)) return std::exp(log_front) / a * beta_fraction(a, b, x);
  return 1 - std::exp(log_front) / b * beta_fraction(b, a, 1 - x);
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
