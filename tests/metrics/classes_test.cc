// Scores of classes, by hand and by their definitions.
#include <dma/metrics/classes.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <dma/special/random.h>

namespace dma {
namespace {

TEST(ClassMetrics, OfFourRowsByHand) {
  const std::vector<double> targets{0, 2, 1, 2};
  const std::vector<double> p{0.7, 0.2, 0.1,   // right
                              0.1, 0.3, 0.6,   // right
                              0.5, 0.3, 0.2,   // taken for 0
                              0.4, 0.4, 0.2};  // taken for 0, the first of two
  const ClassMetrics metrics = score_classes(targets, p);
  EXPECT_EQ(metrics.rows, 4U);
  EXPECT_EQ(metrics.classes, 3U);
  EXPECT_NEAR(metrics.log_loss, -std::log(0.7 * 0.6 * 0.3 * 0.2) / 4, 1e-15);
  EXPECT_NEAR(
      metrics.brier,
      ((0.09 + 0.04 + 0.01) + (0.01 + 0.09 + 0.16) + (0.25 + 0.49 + 0.04) + (0.16 + 0.16 + 0.64)) /
          4,
      1e-15);
  EXPECT_DOUBLE_EQ(metrics.accuracy, 0.5);
  EXPECT_DOUBLE_EQ(metrics.balanced_accuracy, (1 + 0 + 0.5) / 3);
  EXPECT_EQ(metrics.confusion, (std::vector<double>{1, 0, 0, 1, 0, 0, 1, 0, 1}));
  EXPECT_TRUE(std::ranges::equal(metrics.confusion_of(2), std::vector<double>{1, 0, 1}));
  // Each row is in a bin of its own.
  EXPECT_NEAR(metrics.calibration_error, (0.3 + 0.4 + 0.5 + 0.4) / 4, 1e-15);
  EXPECT_EQ(metrics.reliability[10].rows, 1);
  EXPECT_DOUBLE_EQ(metrics.reliability[10].confidence, 0.7);
  EXPECT_DOUBLE_EQ(metrics.reliability[10].accuracy, 1);
  EXPECT_FALSE(metrics.auc.has_value());
}

TEST(ClassMetrics, RowsOfABinAreTakenTogether) {
  const std::vector<double> targets{0, 0, 1, 1};
  const std::vector<double> p{0.75, 0.25, 0.75, 0.25, 0.75, 0.25, 0.26, 0.74};
  const ClassMetrics metrics = score_classes(targets, p);
  EXPECT_EQ(metrics.reliability[11].rows, 4);
  EXPECT_NEAR(metrics.calibration_error, std::abs((3 * 0.75 + 0.74) / 4 - 0.75), 1e-15);
}

// Over all pairs of rows.
TEST(ClassMetrics, AucIsTheShareOfPairsInOrder) {
  special::Random random(3);
  std::vector<double> targets, p;
  for (int n = 0; n < 60; ++n) {
    targets.push_back(random.uniform(0, 1) < 0.4 ? 1 : 0);
    const double one = std::round(8 * random.uniform(0, 1) + targets.back()) / 9;  // with ties
    p.insert(p.end(), {1 - one, one});
  }
  double pairs = 0, in_order = 0;
  for (std::size_t a = 0; a < targets.size(); ++a) {
    for (std::size_t b = 0; b < targets.size(); ++b) {
      if (targets[a] != 1 || targets[b] != 0) continue;
      ++pairs;
      const double difference = p[2 * a + 1] - p[2 * b + 1];
      in_order += difference > 0 ? 1 : difference == 0 ? 0.5 : 0;
    }
  }
  EXPECT_NEAR(score_classes(targets, p).auc.value(), in_order / pairs, 1e-14);
  const std::vector<double> all_ones(targets.size(), 1);
  EXPECT_FALSE(score_classes(all_ones, p).auc.has_value());
  EXPECT_DOUBLE_EQ(score_classes(all_ones, p).balanced_accuracy,
                   score_classes(all_ones, p).accuracy);
}

// Probabilities that are true have a calibration error of chance alone.
TEST(ClassMetrics, TrueProbabilitiesAreCalibrated) {
  special::Random random(5);
  std::vector<double> targets, p, sure;
  for (int n = 0; n < 20'000; ++n) {
    const double one = random.uniform(0, 1);
    targets.push_back(random.uniform(0, 1) < one ? 1 : 0);
    p.insert(p.end(), {1 - one, one});
    const double more = one * one / (one * one + (1 - one) * (1 - one));
    sure.insert(sure.end(), {1 - more, more});
  }
  EXPECT_LT(score_classes(targets, p).calibration_error, 0.012);
  EXPECT_GT(score_classes(targets, sure).calibration_error, 0.05);
  EXPECT_LT(score_classes(targets, p).log_loss, score_classes(targets, sure).log_loss);
  EXPECT_LT(score_classes(targets, p).brier, score_classes(targets, sure).brier);
}

TEST(ClassMetrics, RefusesWhatAreNoProbabilities) {
  const std::vector<double> one{1}, half{0.5, 0.5};
  EXPECT_THROW(score_classes({}, {}), std::invalid_argument);
  EXPECT_THROW(score_classes(one, one), std::invalid_argument);
  EXPECT_THROW(score_classes(std::vector{2.0}, half), std::invalid_argument);
  EXPECT_THROW(score_classes(std::vector{0.5}, half), std::invalid_argument);
  EXPECT_THROW(score_classes(one, std::vector{0.5, 0.6}), std::invalid_argument);
  EXPECT_THROW(score_classes(one, std::vector{-0.5, 1.5}), std::invalid_argument);
  EXPECT_THROW(score_classes(one, std::vector{std::nan(""), 1.0}), std::invalid_argument);
}

TEST(ClassMetrics, OfPartsAreThoseOfTheWhole) {
  const std::vector<double> targets{0, 1, 2, 1, 0};
  const std::vector<double> p{0.7, 0.2, 0.1,  0.1,  0.6, 0.3, 0.3, 0.3,
                              0.4, 0.5, 0.25, 0.25, 0.2, 0.2, 0.6};
  const ClassMetrics whole = score_classes(targets, p);
  const auto part = [&](std::size_t first, std::size_t rows) {
    return score_classes(std::span(targets).subspan(first, rows),
                         std::span(p).subspan(3 * first, 3 * rows));
  };
  const ClassMetrics both = merged(part(0, 2), part(2, 3));
  EXPECT_NEAR(both.log_loss, whole.log_loss, 1e-15);
  EXPECT_NEAR(both.brier, whole.brier, 1e-15);
  EXPECT_NEAR(both.accuracy, whole.accuracy, 1e-15);
  EXPECT_NEAR(both.balanced_accuracy, whole.balanced_accuracy, 1e-15);
  EXPECT_NEAR(both.calibration_error, whole.calibration_error, 1e-15);
  EXPECT_EQ(both.confusion, whole.confusion);
  EXPECT_EQ(both.rows, whole.rows);
}

}  // namespace
}  // namespace dma
