// metrics/metrics.h: how good predictions with an interval are.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <dma/metrics/classes.h>
#include <dma/metrics/conformal.h>
#include <dma/metrics/predicted.h>

namespace dma {

struct Metrics {
  static constexpr std::array levels{0.5, 0.8, 0.9, 0.95};
  // 0.05, 0.10, ..., 0.95, which include the levels above.
  static constexpr std::array curve_levels = [] {
    std::array<double, 19> shares{};
    for (std::size_t k = 0; k < shares.size(); ++k) shares[k] = static_cast<double>(k + 1) / 20;
    return shares;
  }();
  std::size_t values = 0;
  double weight = 0;  // of these values together; without weights their number
  double rmse = 0, mae = 0;
  double nll = 0;   // mean of -log density; of a count of -log probability
  double crps = 0;  // mean continuous ranked probability score, in the target's unit; see Predicted
  // Share inside the interval of each level, which is central unless score() was told. Intervals of a count end at whole numbers and may contain more.
  std::array<double, 4> coverage{};
  // Of the curve's levels; empty: not known. A count at the end of an interval counts by the share of its probability
  // that the level needs.
  std::vector<double> coverage_curve = {};
  double calibration_error = 0;  // mean |coverage - level| over the curve's levels
  // Histogram of the predicted probability below the target: the weight of the values in each bin.
  std::array<double, 20> pit{};
  // Of classes, whose values and nll (the log loss) are above; all else there is of numbers.
  std::optional<ClassMetrics> classes = {};
};

// Weights say how much each value counts in the means and shares; without them, all count the same. Throws
// std::invalid_argument if sizes differ or are 0, a number is not finite, a deviation or a weight is not positive; of
// classes see score_classes(). Tails: the quantiles at which the intervals of the curve's levels end, each inside the next;
// none: the intervals are central. Classes and counts cannot have any.
Metrics score(std::span<const double> targets, std::span<const Predicted> predicted,
              std::span<const double> weights = {}, std::span<const Tails> tails = {});
// Scores Gaussian predictions.
Metrics score(std::span<const double> targets, std::span<const double> means,
              std::span<const double> deviations, std::span<const double> weights = {});

// The metrics of all values together, as from score(); one of the two may have none.
Metrics merged(const Metrics& one, const Metrics& other);

}  // namespace dma
