#include <dma/metrics/predicted.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <dma/special/normal.h>
#include <dma/special/quadrature.h>

#include "kernels/joint_units.h"

namespace dma {
namespace {

constexpr std::size_t nodes = 9;

const special::QuadratureRule& hermite() {
  static const special::QuadratureRule rule = special::gauss_hermite(nodes);
  return rule;
}

// The Gaussians around the one mean.
struct Parts {
  std::size_t count;
  std::array<double, nodes> weight, deviation;
};

// With m = log noise_std^2 - noise_spread^2 / 2, the node t has the noise variance exp(m + noise_spread t).
Parts parts_of(const Predicted& p) {
  Parts parts{1, {1}, {p.stddev()}};
  if (p.noise_spread == 0) return parts;
  const special::QuadratureRule& rule = hermite();
  parts.count = nodes;
  for (std::size_t k = 0; k < nodes; ++k) {
    const double log_ratio = p.noise_spread * (rule.nodes[k] - p.noise_spread / 2) / 2;
    parts.weight[k] = rule.weights[k];
    parts.deviation[k] = std::hypot(p.epistemic_std, p.noise_std * std::exp(log_ratio));
  }
  return parts;
}

double central_probability_of(const Parts& parts, double miss) {
  double sum = 0;
  for (std::size_t k = 0; k < parts.count; ++k) {
    sum += parts.weight[k] * std::erf(std::abs(miss) / parts.deviation[k] / std::numbers::sqrt2);
  }
  return sum;
}

// Probability of the interval from -miss to miss, and how fast it grows with miss.
struct Central {
  double probability, growth;
};

Central central_at(const Parts& parts, double miss) {
  std::array<double, nodes> z;
  std::array<double, nodes> probability;
  std::array<double, nodes> growth;
  for (std::size_t k = 0; k < parts.count; ++k) z[k] = miss / parts.deviation[k];
  kernels::step_units(parts.count, z.data(), probability.data(), growth.data());
  Central sum{0, 0};
  for (std::size_t k = 0; k < parts.count; ++k) {
    sum.probability += parts.weight[k] * probability[k];
    sum.growth += parts.weight[k] * growth[k] / parts.deviation[k];
  }
  return sum;
}

// E|X - miss|, X ~ N(0, deviation^2) (Gneiting and Raftery 2007): miss (2 Phi(z) - 1) + 2 s phi(z). Here z
// may be infinite although the mean is not.
double mean_distance(double miss, double deviation) {
  const double z = std::abs(miss) / deviation;
  return std::abs(miss) * (2 * special::normal_cdf(z) - 1) + 2 * deviation * special::normal_pdf(z);
}

}  // namespace

double Predicted::stddev() const { return std::hypot(epistemic_std, noise_std); }

CentralLevel::CentralLevel(double probability)
    : level(probability), quantile(special::normal_quantile((1 + probability) / 2)) {}

// Newton's steps, from the Gaussian of the same variance. The central probability F is concave in the half width w: a step
// from above may go too far down, but not below the narrowest part's own width, and none from below overshoots. A
// step of s leaves an error of s^2 |F''| / 2 F' <= s^2 z^2 / 2 w, z = w over the narrowest deviation that counts: after
// one of 1e-6 w no more than z^2 / 2 times 1e-12 of it is left.
double Predicted::half_width(const CentralLevel& central) const {
  const Parts parts = parts_of(*this);
  if (parts.count == 1 || std::isinf(central.quantile)) {
    return central.quantile * parts.deviation[0];
  }
  const auto* const end = parts.deviation.begin() + parts.count;
  const double least = central.quantile * *std::min_element(parts.deviation.begin(), end);
  double width = std::max(least, central.quantile * stddev());
  for (int steps = 0; steps < 200; ++steps) {
    const Central at_width = central_at(parts, width);
    const double next =
        std::max(least, width + (central.level - at_width.probability) / at_width.growth);
    const bool settled = !(std::abs(next - width) > 1e-6 * width);
    width = next;
    if (settled) break;
  }
  return width;
}

double Predicted::log_density(double y) const {
  const Parts parts = parts_of(*this);
  std::array<double, nodes> log_part{};
  double largest = -HUGE_VAL;
  for (std::size_t k = 0; k < parts.count; ++k) {
    const double z = (y - mean) / parts.deviation[k];
    log_part[k] = std::log(parts.weight[k]) - std::log(parts.deviation[k]) - z * z / 2 -
                  special::log_sqrt_two_pi;
    largest = std::max(largest, log_part[k]);
  }
  if (parts.count == 1 || std::isinf(largest)) return largest;
  double sum = 0;
  for (std::size_t k = 0; k < parts.count; ++k) sum += std::exp(log_part[k] - largest);
  return largest + std::log(sum);
}

double Predicted::cdf(double y) const {
  const Parts parts = parts_of(*this);
  double sum = 0;
  for (std::size_t k = 0; k < parts.count; ++k) {
    sum += parts.weight[k] * special::normal_cdf((y - mean) / parts.deviation[k]);
  }
  return sum;
}

double Predicted::central_probability(double y) const {
  return central_probability_of(parts_of(*this), y - mean);
}

// E|X - y| - E|X - X'| / 2, part by part.
double Predicted::crps(double y) const {
  const Parts parts = parts_of(*this);
  double sum = 0;
  for (std::size_t k = 0; k < parts.count; ++k) {
    sum += parts.weight[k] * mean_distance(y - mean, parts.deviation[k]);
    for (std::size_t j = 0; j < parts.count; ++j) {
      sum -= parts.weight[k] * parts.weight[j] / 2 *
             mean_distance(0, std::hypot(parts.deviation[k], parts.deviation[j]));
    }
  }
  return sum;
}

}  // namespace dma
