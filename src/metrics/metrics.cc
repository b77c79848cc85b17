#include <dma/metrics/metrics.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

#include <dma/special/normal.h>

namespace dma {
namespace {

// The levels of the calibration error, 0.05 to 0.95; those of Metrics::levels are among them.
constexpr std::size_t steps = 20;
using Widths = std::array<double, steps - 1>;

// Half the central interval of each level, in deviations.
const Widths& interval_widths() {
  static const Widths widths = [] {
    Widths quantiles{};
    for (std::size_t k = 0; k < quantiles.size(); ++k) {
      const double level = static_cast<double>(k + 1) / steps;
      quantiles[k] = special::normal_quantile((1 + level) / 2);
    }
    return quantiles;
  }();
  return widths;
}

void validate(std::span<const double> targets, std::span<const double> means,
              std::span<const double> deviations) {
  if (targets.size() != means.size() || targets.size() != deviations.size()) {
    throw std::invalid_argument("score: " + std::to_string(targets.size()) + " targets, " +
                                std::to_string(means.size()) + " means and " +
                                std::to_string(deviations.size()) + " deviations");
  }
  if (targets.empty()) throw std::invalid_argument("score: there is nothing to score");
  for (std::size_t n = 0; n < targets.size(); ++n) {
    if (std::isfinite(targets[n] - means[n]) && std::isfinite(deviations[n]) && deviations[n] > 0) {
      continue;
    }
    throw std::invalid_argument("score: value " + std::to_string(n) + " is " +
                                std::to_string(targets[n]) + ", predicted as " +
                                std::to_string(means[n]) + " with deviation " +
                                std::to_string(deviations[n]));
  }
}

// s (z (2 Phi(z) - 1) + 2 phi(z) - 1/sqrt(pi)), z = miss / s (Gneiting and Raftery 2007), where s z is
// the miss: z may be infinite although the score is not.
double gaussian_crps(double miss, double deviation) {
  const double z = std::abs(miss) / deviation;
  return std::abs(miss) * (2 * special::normal_cdf(z) - 1) +
         deviation * (2 * special::normal_pdf(z) - std::numbers::inv_sqrtpi);
}

// -log N(miss; 0, deviation^2); the deviation's square might underflow.
double negative_log_density(double miss, double deviation) {
  const double z = miss / deviation;
  return std::log(deviation) + z * z / 2 + special::log_sqrt_two_pi;
}

double root_mean_square(std::span<const double> targets, std::span<const double> means) {
  double largest = 0;
  for (std::size_t n = 0; n < targets.size(); ++n) {
    largest = std::max(largest, std::abs(targets[n] - means[n]));
  }
  if (largest == 0) return 0;
  // Relative to the largest, no square overflows and none that matters underflows.
  double sum = 0;
  for (std::size_t n = 0; n < targets.size(); ++n) {
    const double share = (targets[n] - means[n]) / largest;
    sum += share * share;
  }
  return largest * std::sqrt(sum / static_cast<double>(targets.size()));
}

// Counts of |z|: [k] has those between the widths of level k - 1 and k.
using Rings = std::array<std::size_t, steps>;

void set_coverage(const Rings& rings, Metrics& metrics) {
  const auto count = static_cast<double>(metrics.values);
  Widths coverage{};
  std::size_t inside = 0;
  for (std::size_t k = 0; k < coverage.size(); ++k) {
    inside += rings[k];
    coverage[k] = static_cast<double>(inside) / count;
    const double level = static_cast<double>(k + 1) / steps;
    metrics.calibration_error +=
        std::abs(coverage[k] - level) / static_cast<double>(coverage.size());
  }
  for (std::size_t k = 0; k < Metrics::levels.size(); ++k) {
    metrics.coverage[k] =
        coverage[static_cast<std::size_t>(std::lround(steps * Metrics::levels[k])) - 1];
  }
}

}  // namespace

Metrics score(std::span<const double> targets, std::span<const double> means,
              std::span<const double> deviations) {
  validate(targets, means, deviations);
  Metrics metrics{.values = targets.size(), .rmse = root_mean_square(targets, means)};
  const auto count = static_cast<double>(metrics.values);
  const Widths& widths = interval_widths();
  Rings rings{};
  for (std::size_t n = 0; n < targets.size(); ++n) {
    const double miss = targets[n] - means[n];
    const double z = miss / deviations[n];
    metrics.mae += std::abs(miss) / count;
    metrics.nll += negative_log_density(miss, deviations[n]) / count;
    metrics.crps += gaussian_crps(miss, deviations[n]) / count;
    const auto* const ring = std::lower_bound(widths.begin(), widths.end(), std::abs(z));
    ++rings[static_cast<std::size_t>(ring - widths.begin())];
    const auto bins = static_cast<double>(metrics.pit.size());
    const auto bin = static_cast<std::size_t>(special::normal_cdf(z) * bins);
    ++metrics.pit[std::min(bin, metrics.pit.size() - 1)];
  }
  set_coverage(rings, metrics);
  return metrics;
}

}  // namespace dma
