#include "experiments/task/task.h"

#include <dma/special/random.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

namespace dma::experiments {
namespace {

using Feature = std::function<double(double)>;

Feature bump(double centre) {
  return [centre](double x) { return std::exp(-(x - centre) * (x - centre)); };
}

// Features, each standardised to zero mean and unit variance over [-5, 5], and the constant 1.
class FeatureMap {
 public:
  explicit FeatureMap(std::vector<Feature> features) : features_(std::move(features)) {
    constexpr int points = 10001;
    for (const Feature& feature : features_) {
      double first = 0;
      double second = 0;
      for (int i = 0; i < points; ++i) {
        const double value = feature(-5 + 10.0 * i / (points - 1));
        first += value / points;
        second += value * value / points;
      }
      mean_.push_back(first);
      deviation_.push_back(std::sqrt(second - first * first));
    }
  }

  void append(double x, std::vector<double>& row) const {
    for (std::size_t k = 0; k < features_.size(); ++k) {
      row.push_back((features_[k](x) - mean_[k]) / deviation_[k]);
    }
    row.push_back(1);
  }

 private:
  std::vector<Feature> features_;
  std::vector<double> mean_, deviation_;
};

const FeatureMap& small_features() {
  static const FeatureMap map({[](double x) { return x; }, bump(-2), bump(-1), bump(0), bump(1),
                               bump(2), [](double x) { return std::sin(x); }});
  return map;
}

const FeatureMap& large_features() {
  static const FeatureMap map({[](double x) { return x; }, bump(-1), bump(0), bump(1),
                               [](double x) { return std::sin(x); }});
  return map;
}

struct Range {
  double low, high;
};

struct Setting {
  Architecture data, model;
  const FeatureMap& features;
  double noise_deviation;
  std::size_t rows, batch_size, max_epochs;
  Range train, left, right;
};

Rows evaluate_rows(const Setting& setting, const std::vector<double>& weights,
                   std::vector<double> points) {
  Rows rows;
  rows.x = std::move(points);
  std::vector<double> values;
  for (const double x : rows.x) {
    values.clear();
    setting.features.append(x, values);
    rows.features.insert(rows.features.end(), values.begin(), values.end());
    evaluate(setting.data, weights, values);
    rows.truth.insert(rows.truth.end(), values.begin(), values.end());
  }
  rows.targets = rows.truth;
  return rows;
}

// The middles of `count` equal parts of each range.
std::vector<double> evenly(std::initializer_list<Range> ranges, int count) {
  std::vector<double> points;
  for (const Range range : ranges) {
    for (int i = 0; i < count; ++i) {
      points.push_back(range.low + (range.high - range.low) * (i + 0.5) / count);
    }
  }
  return points;
}

// Means, weights, inputs and noise are all drawn from the task's seed.
Task draw(const Setting& setting, std::uint64_t seed) {
  const WeightPrior prior = draw_prior(setting.data, 2 * seed);
  special::Random random(2 * seed + 1);
  std::vector<double> weights;
  for (std::size_t k = 0; k < prior.mean.size(); ++k) {
    weights.push_back(prior.mean[k] + std::sqrt(prior.variance[k]) * random.normal());
  }
  std::vector<double> points;
  for (std::size_t n = 0; n < setting.rows; ++n) {
    points.push_back(random.uniform(setting.train.low, setting.train.high));
  }
  const auto rows_at = [&](std::vector<double> x) {
    return evaluate_rows(setting, weights, std::move(x));
  };
  Task task{.model = setting.model,
            .noise_deviation = setting.noise_deviation,
            .batch_size = setting.batch_size,
            .max_epochs = setting.max_epochs,
            .train = rows_at(points),
            .extrapolation = rows_at(evenly({setting.left, setting.right}, 30)),
            .calibration = rows_at(evenly({setting.left, setting.right}, 250)),
            .inside = rows_at(evenly({setting.train}, 500)),
            .grid = rows_at(evenly({{setting.left.low, setting.right.high}}, 140))};
  for (double& y : task.train.targets) y += setting.noise_deviation * random.normal();
  return task;
}

Architecture small_network(std::size_t first, std::size_t second) {
  return {.widths = {8, first, second, 1}, .slopes = {0.4, 0.8}};
}

}  // namespace

std::vector<double> regression_features(double x) {
  std::vector<double> row;
  small_features().append(x, row);
  return row;
}

Task regression_task(std::uint64_t seed) {
  const Architecture network = small_network(6, 5);
  return draw({.data = network,
               .model = network,
               .features = small_features(),
               .noise_deviation = 0.2,
               .rows = 200,
               .batch_size = 20,
               .max_epochs = 200,
               .train = {-2.5, 1.5},
               .left = {-4, -2.5},
               .right = {1.5, 3}},
              seed);
}

Task mismatch_task(std::uint64_t seed) {
  return draw({.data = small_network(12, 10),
               .model = small_network(6, 5),
               .features = small_features(),
               .noise_deviation = 0.2,
               .rows = 200,
               .batch_size = 20,
               .max_epochs = 200,
               .train = {-5, 5},
               .left = {-6.5, -5},
               .right = {5, 6.5}},
              seed);
}

Task large_task(std::uint64_t seed) {
  const Architecture network{.widths = {6, 6, 12, 48, 24, 4}, .slopes = {0.5, 0.5, 0.8, 0.1}};
  return draw({.data = network,
               .model = network,
               .features = large_features(),
               .noise_deviation = 0.1,
               .rows = 1500,
               .batch_size = 15,
               .max_epochs = 100,
               .train = {-4, 4},
               .left = {-6, -4},
               .right = {4, 6}},
              seed);
}

std::uint64_t prior_seed(std::uint64_t task_seed, std::size_t member) {
  return 1'000'000 + 1000 * task_seed + member;
}

std::vector<Predicted> as_predicted(const Prediction& prediction) {
  std::vector<Predicted> predicted;
  for (std::size_t n = 0; n < prediction.mean.size(); ++n) {
    predicted.push_back({prediction.mean[n], std::sqrt(prediction.epistemic_variance[n]),
                         std::sqrt(prediction.noise_variance[n])});
  }
  return predicted;
}

double mean_nll(const std::vector<Predicted>& predicted, const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t n = 0; n < y.size(); ++n) sum -= predicted[n].log_density(y[n]);
  return sum / static_cast<double>(y.size());
}

std::vector<double> calibration_levels() {
  std::vector<double> levels;
  for (int k = 1; k < 20; ++k) levels.push_back(k / 20.0);
  return levels;
}

std::vector<double> coverage_curve(const std::vector<Predicted>& predicted,
                                   const std::vector<double>& y) {
  std::vector<double> probability;
  for (std::size_t n = 0; n < y.size(); ++n) {
    probability.push_back(predicted[n].central_probability(y[n]));
  }
  std::vector<double> curve;
  for (const double level : calibration_levels()) {
    const auto covered = std::count_if(probability.begin(), probability.end(),
                                       [&](double one) { return one <= level; });
    curve.push_back(static_cast<double>(covered) / static_cast<double>(y.size()));
  }
  return curve;
}

double calibration_delta(const std::vector<Predicted>& predicted, const std::vector<double>& y) {
  const auto curve = coverage_curve(predicted, y);
  const auto levels = calibration_levels();
  double sum = 0;
  for (std::size_t k = 0; k < levels.size(); ++k) sum += curve[k] - levels[k];
  return sum / static_cast<double>(levels.size());
}

}  // namespace dma::experiments
