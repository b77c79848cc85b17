#include <dma/metrics/metrics.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include <dma/data/data.h>

namespace dma {
namespace {

constexpr auto& levels = Metrics::curve_levels;

void validate_weights(std::span<const double> weights, std::size_t values) {
  if (!weights.empty() && weights.size() != values) {
    throw std::invalid_argument("score: " + std::to_string(values) + " targets and " +
                                std::to_string(weights.size()) + " weights");
  }
  for (std::size_t n = 0; n < weights.size(); ++n) {
    if (weights[n] > 0 && std::isfinite(weights[n])) continue;
    throw std::invalid_argument("score: weight " + std::to_string(n) + " is " +
                                std::to_string(weights[n]));
  }
}

void validate(std::span<const double> targets, std::span<const Predicted> predicted) {
  if (targets.size() != predicted.size()) {
    throw std::invalid_argument("score: " + std::to_string(targets.size()) + " targets and " +
                                std::to_string(predicted.size()) + " predictions");
  }
  if (targets.empty()) throw std::invalid_argument("score: no values to score");
  for (std::size_t n = 0; n < targets.size(); ++n) {
    const Predicted& p = predicted[n];
    const double deviation = p.stddev();
    if (std::isfinite(targets[n] - p.mean) && std::isfinite(deviation) && deviation > 0 &&
        p.epistemic_std >= 0 && p.noise_std >= 0 && std::isfinite(p.noise_spread)) {
      continue;
    }
    throw std::invalid_argument("score: value " + std::to_string(n) + " is " +
                                std::to_string(targets[n]) + ", predicted as " +
                                std::to_string(p.mean) + " with standard deviation " +
                                std::to_string(deviation));
  }
}

void validate_tails(std::span<const Tails> tails, const Predicted& predicted) {
  if (tails.empty()) return;
  const bool has_intervals = predicted.probabilities.empty() && predicted.family != Family::count;
  if (tails.size() == levels.size() && has_intervals) return;
  throw std::invalid_argument("score: tails are given of " + std::to_string(levels.size()) +
                              " levels, and of numbers and amounts");
}

double root_mean_square(const Targets& targets, std::span<const Predicted> predicted) {
  double largest = 0;
  for (std::size_t n = 0; n < targets.rows(); ++n) {
    largest = std::max(largest, std::abs(targets.values[n] - predicted[n].mean));
  }
  if (largest == 0) return 0;
  // Relative to the largest value, no square overflows and none that matters underflows.
  double sum = 0;
  for (std::size_t n = 0; n < targets.rows(); ++n) {
    const double share = (targets.values[n] - predicted[n].mean) / largest;
    sum += targets.weight(n) * share * share;
  }
  return largest * std::sqrt(sum / targets.weight());
}

// Weights of targets: [k] has those between the central intervals of level k - 1 and k.
using Rings = std::array<double, levels.size() + 1>;

// The first level whose interval contains y.
std::size_t ring_of(const Predicted& predicted, double y, std::span<const Tails> tails) {
  if (tails.empty()) {
    const auto* const ring =
        std::lower_bound(levels.begin(), levels.end(), predicted.central_probability(y));
    return static_cast<std::size_t>(ring - levels.begin());
  }
  const double below = predicted.cdf(y);
  const auto ring = std::find_if(tails.begin(), tails.end(), [below](const Tails& ends) {
    return ends.lower <= below && below <= ends.upper;
  });
  return static_cast<std::size_t>(ring - tails.begin());
}

void set_curve(std::vector<double> curve, Metrics& metrics) {
  metrics.coverage_curve = std::move(curve);
  for (std::size_t k = 0; k < levels.size(); ++k) {
    metrics.calibration_error +=
        std::abs(metrics.coverage_curve[k] - levels[k]) / static_cast<double>(levels.size());
  }
}

// Of these levels alone.
std::array<double, 4> coverage_in(const std::vector<double>& curve) {
  std::array<double, 4> coverage{};
  for (std::size_t k = 0; k < coverage.size(); ++k) {
    const auto place = std::lround(Metrics::levels[k] / levels.front()) - 1;
    coverage[k] = curve[static_cast<std::size_t>(place)];
  }
  return coverage;
}

std::vector<double> curve_of(const Rings& rings, double weight) {
  std::vector<double> curve;
  double inside = 0;
  for (std::size_t k = 0; k < levels.size(); ++k) {
    inside += rings[k];
    curve.push_back(inside / weight);
  }
  return curve;
}

// Counts, whose probabilities have steps: a count stands for everything between the probability below it and the
// probability up to it (Czado, Gneiting and Held 2009).
class CountCoverage {
 public:
  void add(const Predicted& predicted, double count, double weight) {
    const double below = predicted.cdf(count - 1);
    const double above = predicted.cdf(count);
    const auto share = [&](double low, double high) {
      if (!(above > below)) return low < above && above <= high ? 1.0 : 0.0;
      return std::max(0.0, std::min(above, high) - std::max(below, low)) / (above - below);
    };
    for (std::size_t k = 0; k < levels.size(); ++k) {
      inside_[k] += weight * share((1 - levels[k]) / 2, (1 + levels[k]) / 2);
    }
    const auto bins = static_cast<double>(pit_.size());
    for (std::size_t k = 0; k < pit_.size(); ++k) {
      pit_[k] += weight * share(static_cast<double>(k) / bins, static_cast<double>(k + 1) / bins);
    }
  }
  std::vector<double> curve(double weight) const {
    std::vector<double> curve;
    for (const double inside : inside_) curve.push_back(inside / weight);
    return curve;
  }
  const std::array<double, 20>& pit() const { return pit_; }

 private:
  std::array<double, levels.size()> inside_{};
  std::array<double, 20> pit_{};
};

Metrics score_as_classes(std::span<const double> targets, std::span<const Predicted> predicted,
                         std::span<const double> weights) {
  std::vector<double> probabilities;
  for (const Predicted& p : predicted) {
    probabilities.insert(probabilities.end(), p.probabilities.begin(), p.probabilities.end());
  }
  Metrics metrics{.values = targets.size(), .weight = total_weight(weights, targets.size())};
  metrics.classes = score_classes(targets, probabilities, weights);
  metrics.nll = metrics.classes->log_loss;
  return metrics;
}

}  // namespace

Metrics score(std::span<const double> targets, std::span<const Predicted> predicted,
              std::span<const double> weights, std::span<const Tails> tails) {
  if (!predicted.empty()) validate_tails(tails, predicted.front());
  if (!predicted.empty() && !predicted.front().probabilities.empty()) {
    return score_as_classes(targets, predicted, weights);
  }
  validate(targets, predicted);
  validate_weights(weights, targets.size());
  const bool counts = predicted.front().family == Family::count;
  CountCoverage count_coverage;
  const Targets observed(targets, weights);
  Metrics metrics{.values = targets.size(),
                  .weight = observed.weight(),
                  .rmse = root_mean_square(observed, predicted)};
  const double all = metrics.weight;
  Rings rings{};
  for (std::size_t n = 0; n < targets.size(); ++n) {
    const Predicted& p = predicted[n];
    const double y = targets[n];
    const double weight = observed.weight(n);
    metrics.mae += weight * std::abs(y - p.mean) / all;
    metrics.nll -= weight * p.log_density(y) / all;
    metrics.crps += weight * p.crps(y) / all;
    rings[ring_of(p, y, tails)] += weight;
    if (counts) {
      count_coverage.add(p, y, weight);
      continue;
    }
    const auto bin = static_cast<std::size_t>(p.cdf(y) * static_cast<double>(metrics.pit.size()));
    metrics.pit[std::min(bin, metrics.pit.size() - 1)] += weight;
  }
  metrics.coverage = coverage_in(curve_of(rings, all));
  if (counts) metrics.pit = count_coverage.pit();
  set_curve(counts ? count_coverage.curve(all) : curve_of(rings, all), metrics);
  return metrics;
}

Metrics merged(const Metrics& one, const Metrics& other) {
  if (one.values == 0) return other;
  if (other.values == 0) return one;
  Metrics both{.values = one.values + other.values, .weight = one.weight + other.weight};
  if (one.classes) {
    both.classes = merged(*one.classes, *other.classes);
    both.nll = both.classes->log_loss;
    return both;
  }
  const double share = one.weight / both.weight;
  const auto mean = [&](double a, double b) { return share * a + (1 - share) * b; };
  both.rmse = std::hypot(std::sqrt(share) * one.rmse, std::sqrt(1 - share) * other.rmse);
  both.mae = mean(one.mae, other.mae);
  both.nll = mean(one.nll, other.nll);
  both.crps = mean(one.crps, other.crps);
  std::vector<double> curve;
  for (std::size_t k = 0; k < levels.size(); ++k) {
    curve.push_back(mean(one.coverage_curve[k], other.coverage_curve[k]));
  }
  set_curve(std::move(curve), both);
  for (std::size_t k = 0; k < both.coverage.size(); ++k) {
    both.coverage[k] = mean(one.coverage[k], other.coverage[k]);
  }
  for (std::size_t k = 0; k < both.pit.size(); ++k) both.pit[k] = one.pit[k] + other.pit[k];
  return both;
}

Metrics score(std::span<const double> targets, std::span<const double> means,
              std::span<const double> deviations, std::span<const double> weights) {
  if (means.size() != deviations.size()) {
    throw std::invalid_argument("score: " + std::to_string(means.size()) + " means and " +
                                std::to_string(deviations.size()) + " deviations");
  }
  std::vector<Predicted> predicted;
  for (std::size_t n = 0; n < means.size(); ++n) {
    predicted.push_back({means[n], 0, deviations[n]});
  }
  return score(targets, predicted, weights);
}

}  // namespace dma
