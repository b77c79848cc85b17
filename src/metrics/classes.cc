#include <dma/metrics/classes.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

#include <dma/data/data.h>

namespace dma {
namespace {

void ensure(bool holds, const std::string& message) {
  if (!holds) throw std::invalid_argument(message);
}

void validate_row(std::size_t row, double target, std::span<const double> probability) {
  constexpr double rounding = 1e-9;
  const std::string where = "row " + std::to_string(row) + ": ";
  ensure(target >= 0 && target < static_cast<double>(probability.size()) &&
             target == std::floor(target),
         where + "there is no class " + std::to_string(target));
  double sum = 0;
  for (const double one : probability) {
    ensure(one >= 0, where + "a probability is " + std::to_string(one));
    sum += one;
  }
  ensure(std::abs(sum - 1) < rounding, where + "the probabilities sum to " + std::to_string(sum));
}

// By pairs of a row of class 1 and one of class 0 (Mann and Whitney 1947), which count the product of their weights; ties
// count half.
std::optional<double> area_under_curve(const Targets& targets,
                                       std::span<const double> probabilities) {
  const auto score = [&](std::size_t row) { return probabilities[2 * row + 1]; };
  std::vector<std::size_t> order(targets.rows());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return score(a) < score(b); });
  double pairs = 0;
  double zeros = 0;
  double ones = 0;
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first;
    std::array<double, 2> here{};
    for (; end < order.size() && score(order[end]) == score(order[first]); ++end) {
      here[targets.values[order[end]] > 0 ? 1 : 0] += targets.weight(order[end]);
    }
    pairs += here[1] * (zeros + here[0] / 2);
    zeros += here[0];
    ones += here[1];
    first = end;
  }
  if (ones == 0 || zeros == 0) return {};
  return pairs / (ones * zeros);
}

double mean_recall(const ClassMetrics& metrics) {
  double sum = 0;
  double with_rows = 0;
  for (std::size_t k = 0; k < metrics.classes; ++k) {
    const auto row = metrics.confusion_of(k);
    const double rows = std::accumulate(row.begin(), row.end(), 0.0);
    if (rows == 0) continue;
    sum += row[k] / rows;
    ++with_rows;
  }
  return sum / with_rows;
}

double calibration_error_of(const ClassMetrics& metrics) {
  double sum = 0;
  for (const ReliabilityBin& bin : metrics.reliability) {
    sum += bin.rows * std::abs(bin.confidence - bin.accuracy);
  }
  return sum / metrics.weight;
}

ReliabilityBin merged(const ReliabilityBin& one, const ReliabilityBin& other) {
  ReliabilityBin both{.rows = one.rows + other.rows};
  if (both.rows == 0) return both;
  const double share = one.rows / both.rows;
  both.confidence = share * one.confidence + (1 - share) * other.confidence;
  both.accuracy = share * one.accuracy + (1 - share) * other.accuracy;
  return both;
}

}  // namespace

ClassMetrics merged(const ClassMetrics& one, const ClassMetrics& other) {
  ClassMetrics both{
      .rows = one.rows + other.rows, .classes = one.classes, .weight = one.weight + other.weight};
  const double share = one.weight / both.weight;
  const auto mean = [&](double a, double b) { return share * a + (1 - share) * b; };
  both.log_loss = mean(one.log_loss, other.log_loss);
  both.brier = mean(one.brier, other.brier);
  both.accuracy = mean(one.accuracy, other.accuracy);
  for (std::size_t k = 0; k < ClassMetrics::bins; ++k) {
    both.reliability[k] = merged(one.reliability[k], other.reliability[k]);
  }
  both.confusion = one.confusion;
  for (std::size_t k = 0; k < both.confusion.size(); ++k) both.confusion[k] += other.confusion[k];
  both.calibration_error = calibration_error_of(both);
  both.balanced_accuracy = mean_recall(both);
  return both;
}

ClassMetrics score_classes(std::span<const double> targets, std::span<const double> probabilities,
                           std::span<const double> weights) {
  ensure(!targets.empty(), "there are no rows");
  ensure(probabilities.size() % targets.size() == 0 && probabilities.size() > targets.size(),
         std::to_string(probabilities.size()) + " probabilities of " +
             std::to_string(targets.size()) + " rows");
  ensure(
      weights.empty() || weights.size() == targets.size(),
      std::to_string(weights.size()) + " weights of " + std::to_string(targets.size()) + " rows");
  for (const double weight : weights) {
    ensure(weight > 0 && std::isfinite(weight), "a weight is " + std::to_string(weight));
  }
  const Targets observed(targets, weights);
  ClassMetrics metrics{.rows = targets.size(),
                       .classes = probabilities.size() / targets.size(),
                       .weight = observed.weight()};
  const double all = metrics.weight;
  metrics.confusion.resize(metrics.classes * metrics.classes);
  double right = 0;
  for (std::size_t n = 0; n < metrics.rows; ++n) {
    const auto probability = probabilities.subspan(n * metrics.classes, metrics.classes);
    validate_row(n, targets[n], probability);
    const auto own = static_cast<std::size_t>(targets[n]);
    const auto best = static_cast<std::size_t>(
        std::max_element(probability.begin(), probability.end()) - probability.begin());
    const double weight = observed.weight(n);
    metrics.log_loss -= weight * std::log(probability[own]) / all;
    for (std::size_t k = 0; k < metrics.classes; ++k) {
      metrics.brier += weight * std::pow(probability[k] - (k == own ? 1 : 0), 2) / all;
    }
    right += best == own ? weight : 0;
    metrics.confusion[own * metrics.classes + best] += weight;
    const auto bin = static_cast<std::size_t>(probability[best] * ClassMetrics::bins);
    ReliabilityBin& of_row = metrics.reliability[std::min(bin, ClassMetrics::bins - 1)];
    of_row.rows += weight;
    of_row.confidence += weight * probability[best];
    of_row.accuracy += best == own ? weight : 0;
  }
  for (ReliabilityBin& bin : metrics.reliability) {
    if (bin.rows == 0) continue;
    bin.confidence /= bin.rows;
    bin.accuracy /= bin.rows;
  }
  metrics.accuracy = right / all;
  metrics.calibration_error = calibration_error_of(metrics);
  metrics.balanced_accuracy = mean_recall(metrics);
  if (metrics.classes == 2) metrics.auc = area_under_curve(observed, probabilities);
  return metrics;
}

}  // namespace dma
