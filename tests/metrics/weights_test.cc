// Weighted scores are those of copies.
#include <dma/metrics/metrics.h>

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "copies.h"

namespace dma {
namespace {

using test::repeated;
using test::whole_weights;

struct WeightedSample {
  std::vector<double> targets = {}, weights = {};
  std::vector<Predicted> predicted = {};
};

WeightedSample weighted_numbers(std::size_t rows) {
  special::Random random(1);
  WeightedSample sample{.weights = whole_weights(rows, 2)};
  for (std::size_t n = 0; n < rows; ++n) {
    sample.targets.push_back(random.normal());
    sample.predicted.push_back({0.5 * random.normal(), 0.3, random.uniform(0.5, 2), 0.2});
  }
  return sample;
}

WeightedSample weighted_classes(std::size_t rows, std::size_t classes) {
  special::Random random(3);
  WeightedSample sample{.weights = whole_weights(rows, 4)};
  for (std::size_t n = 0; n < rows; ++n) {
    sample.targets.push_back(std::floor(static_cast<double>(classes) * random.uniform()));
    sample.predicted.push_back({0, 0, 0});
    std::vector<double>& p = sample.predicted.back().probabilities;
    double sum = 0;
    for (std::size_t k = 0; k < classes; ++k) {
      p.push_back(std::round(8 * random.uniform() + 1));  // with ties
      sum += p.back();
    }
    for (double& one : p) one /= sum;
  }
  return sample;
}

void expect_same(const Metrics& one, const Metrics& other) {
  EXPECT_NEAR(one.weight, other.weight, 1e-12);
  EXPECT_NEAR(one.rmse, other.rmse, 1e-12);
  EXPECT_NEAR(one.mae, other.mae, 1e-12);
  EXPECT_NEAR(one.nll, other.nll, 1e-12);
  EXPECT_NEAR(one.crps, other.crps, 1e-12);
  EXPECT_NEAR(one.calibration_error, other.calibration_error, 1e-12);
  for (std::size_t k = 0; k < one.coverage.size(); ++k) {
    EXPECT_NEAR(one.coverage[k], other.coverage[k], 1e-12);
  }
  for (std::size_t k = 0; k < one.pit.size(); ++k) EXPECT_NEAR(one.pit[k], other.pit[k], 1e-12);
}

void expect_same(const ClassMetrics& one, const ClassMetrics& other) {
  EXPECT_NEAR(one.weight, other.weight, 1e-12);
  EXPECT_NEAR(one.log_loss, other.log_loss, 1e-12);
  EXPECT_NEAR(one.brier, other.brier, 1e-12);
  EXPECT_NEAR(one.accuracy, other.accuracy, 1e-12);
  EXPECT_NEAR(one.balanced_accuracy, other.balanced_accuracy, 1e-12);
  EXPECT_NEAR(one.calibration_error, other.calibration_error, 1e-12);
  ASSERT_EQ(one.auc.has_value(), other.auc.has_value());
  EXPECT_NEAR(one.auc.value_or(0), other.auc.value_or(0), 1e-12);
  EXPECT_EQ(one.confusion, other.confusion);
  for (std::size_t k = 0; k < ClassMetrics::bins; ++k) {
    EXPECT_EQ(one.reliability[k].rows, other.reliability[k].rows);
    EXPECT_NEAR(one.reliability[k].confidence, other.reliability[k].confidence, 1e-12);
    EXPECT_NEAR(one.reliability[k].accuracy, other.reliability[k].accuracy, 1e-12);
  }
}

TEST(WeightedMetrics, AreThoseOfCopies) {
  const WeightedSample rows = weighted_numbers(200);
  const Metrics weighted = score(rows.targets, rows.predicted, rows.weights);
  EXPECT_EQ(weighted.values, 200U);
  expect_same(weighted,
              score(repeated(rows.targets, rows.weights), repeated(rows.predicted, rows.weights)));
  EXPECT_GT(std::abs(weighted.nll - score(rows.targets, rows.predicted).nll), 1e-4);
}

TEST(WeightedMetrics, OfClassesAreThoseOfCopies) {
  for (const std::size_t classes : {2U, 4U}) {
    const WeightedSample rows = weighted_classes(150, classes);
    const Metrics weighted = score(rows.targets, rows.predicted, rows.weights);
    const Metrics copies =
        score(repeated(rows.targets, rows.weights), repeated(rows.predicted, rows.weights));
    EXPECT_EQ(weighted.classes->auc.has_value(), classes == 2);
    EXPECT_NEAR(weighted.nll, copies.nll, 1e-12);
    expect_same(*weighted.classes, *copies.classes);
  }
}

// Only their ratios count.
TEST(WeightedMetrics, EqualWeightsAreNone) {
  const WeightedSample rows = weighted_numbers(50);
  const Metrics weighted = score(rows.targets, rows.predicted, std::vector<double>(50, 0.3));
  const Metrics none = score(rows.targets, rows.predicted);
  EXPECT_NEAR(weighted.weight, 15, 1e-12);
  EXPECT_NEAR(weighted.nll, none.nll, 1e-12);
  EXPECT_NEAR(weighted.rmse, none.rmse, 1e-12);
  EXPECT_NEAR(weighted.coverage[2], none.coverage[2], 1e-12);
}

TEST(WeightedMetrics, PartsMerge) {
  for (const bool of_classes : {false, true}) {
    const WeightedSample rows = of_classes ? weighted_classes(90, 3) : weighted_numbers(90);
    const auto part = [&](std::size_t first, std::size_t count) {
      return score(std::span(rows.targets).subspan(first, count),
                   std::span(rows.predicted).subspan(first, count),
                   std::span(rows.weights).subspan(first, count));
    };
    const Metrics both = merged(part(0, 20), part(20, 70));
    const Metrics whole = part(0, 90);
    if (of_classes) {
      expect_same(*both.classes, *whole.classes);
    } else {
      expect_same(both, whole);
    }
  }
}

TEST(WeightedMetrics, RefuseWhatIsNoWeight) {
  for (const bool of_classes : {false, true}) {
    const WeightedSample rows = of_classes ? weighted_classes(2, 3) : weighted_numbers(2);
    for (const double wrong : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
      const std::vector<double> weights{1, wrong};
      EXPECT_THROW(score(rows.targets, rows.predicted, weights), std::invalid_argument) << wrong;
    }
    EXPECT_THROW(score(rows.targets, rows.predicted, std::vector<double>{1}),
                 std::invalid_argument);
  }
}

}  // namespace
}  // namespace dma
