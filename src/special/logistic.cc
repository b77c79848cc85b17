#include <dma/special/logistic.h>

#include <array>
#include <cmath>
#include <numbers>

#include <dma/special/normal.h>
#include <dma/special/quadrature.h>

namespace dma::special {
namespace {

constexpr std::size_t count = 96;
constexpr std::size_t few = 32;
// All of Kolmogorov's distribution that counts where |m| <= far: exp(-2 k^2) and Phi(m / (2 k)) together are largest at
// k^2 = |m| / 4.
constexpr double least = 0.1, most = 8;
constexpr double most_of_few = 4;
constexpr double far = 100;

// d/dk of 1 - 2 sum_j (-1)^(j - 1) exp(-2 j^2 k^2), or of its transform where the terms do not fall yet.
double kolmogorov_density(double k) {
  constexpr double pi = std::numbers::pi;
  double sum = 0;
  if (k < 1) {
    // (sqrt(2 pi) / k) sum_j exp(-a_j / k^2), a_j = (2 j - 1)^2 pi^2 / 8
    for (int j = 1; j <= 10; ++j) {
      const double a = std::pow((2 * j - 1) * pi, 2) / 8;
      sum += (2 * a / (k * k) - 1) * std::exp(-a / (k * k));
    }
    return std::sqrt(2 * pi) / (k * k) * sum;
  }
  for (int j = 1; j <= 10; ++j) {
    sum += (j % 2 == 1 ? 1 : -1) * j * j * std::exp(-2 * j * j * k * k);
  }
  return 8 * k * sum;
}

// Of 2 K N, by N nodes up to this K.
template <std::size_t N>
struct Mixture {
  std::array<double, N> variance{}, weight{}, log_weight{};

  explicit Mixture(double to) {
    const QuadratureRule rule = gauss_legendre(N);
    for (std::size_t i = 0; i < N; ++i) {
      const double k = (to + least) / 2 + (to - least) / 2 * rule.nodes[i];
      variance[i] = 4 * k * k;
      weight[i] = (to - least) / 2 * rule.weights[i] * kolmogorov_density(k);
      log_weight[i] = std::log(weight[i]);
    }
  }
};

const Mixture<count>& logistic_mixture() {
  static const Mixture<count> mixture(most);
  return mixture;
}

}  // namespace

ExpectedLogistic expected_logistic(double mean, double variance) {
  // 1 / (1 + exp(-x)) = exp(x) (1 - exp(x) + ...)
  if (mean + variance < -far) return {mean + variance / 2, 1, 0};
  const Mixture<count>& mixture = logistic_mixture();
  std::array<double, count> logs{};
  double largest = -HUGE_VAL;
  for (std::size_t i = 0; i < count; ++i) {
    logs[i] =
        mixture.log_weight[i] + normal_log_cdf(mean / std::sqrt(mixture.variance[i] + variance));
    largest = std::fmax(largest, logs[i]);
  }
  double sum = 0;
  double first = 0;
  double second = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double c = std::sqrt(mixture.variance[i] + variance);
    const double weight = std::exp(logs[i] - largest);
    const double slope = weight * normal_mills(mean / c) / c;
    sum += weight;
    first += slope;
    second -= slope * mean / (c * c);
  }
  const double slope = first / sum;
  return {largest + std::log(sum), slope, slope * slope - second / sum};
}

double quick_expected_logistic(double mean, double variance) {
  if (mean + variance < -far) return std::exp(mean + variance / 2);
  static const Mixture<few> mixture(most_of_few);
  double sum = 0;
  for (std::size_t i = 0; i < few; ++i) {
    sum +=
        mixture.weight[i] * std::erfc(-mean / std::sqrt(2 * (mixture.variance[i] + variance))) / 2;
  }
  return sum;
}

}  // namespace dma::special
