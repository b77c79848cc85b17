// The noise's level and tails, found again from predictions that are off by a known shape.
#include "belief/noise_shape.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include <dma/special/random.h>

namespace dma::detail {
namespace {

struct Rows {
  std::vector<Predicted> predicted;
  std::vector<double> values;
};

// What is predicted has noise variance 1 and spread 0.5; the truth's log noise is shifted and wider.
Rows draw(std::size_t count, const NoiseShape& truth, std::uint64_t seed) {
  special::Random random(seed);
  Rows rows;
  for (std::size_t n = 0; n < count; ++n) {
    const double mean = random.uniform(-2, 2);
    rows.predicted.push_back(mixture_of({{mean, 0.2, 1, 0.5}}));
    const double log_variance =
        -0.125 + truth.shift + std::hypot(0.5, truth.spread) * random.normal();
    rows.values.push_back(mean + std::sqrt(0.04 + std::exp(log_variance)) * random.normal());
  }
  return rows;
}

TEST(NoiseShape, IsFoundAgain) {
  for (const NoiseShape& truth : {NoiseShape{0, 0}, NoiseShape{-1.5, 1}, NoiseShape{1, 0.7}}) {
    const Rows rows = draw(20'000, truth, 3);
    const NoiseShape found = fit_shape(rows.predicted, rows.values);
    EXPECT_NEAR(found.shift, truth.shift, 0.15);
    EXPECT_NEAR(std::hypot(0.5, found.spread), std::hypot(0.5, truth.spread), 0.15);
  }
}

TEST(NoiseShape, LeavesRowsWithoutAPredictionOut) {
  Rows rows = draw(500, {-1, 0.5}, 5);
  const NoiseShape alone = fit_shape(rows.predicted, rows.values);
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  for (int n = 0; n < 500; ++n) {
    rows.predicted.push_back({unknown, unknown, unknown, unknown});
    rows.values.push_back(100);
  }
  const NoiseShape beside = fit_shape(rows.predicted, rows.values);
  EXPECT_EQ(alone.shift, beside.shift);
  EXPECT_EQ(alone.spread, beside.spread);
}

TEST(NoiseShape, OfAHandfulOfRowsStaysNearTheirPrediction) {
  Rows rows = draw(3, {0, 0}, 7);
  for (std::size_t n = 0; n < 3; ++n) rows.values[n] = rows.predicted[n].mean;  // not missed at all
  EXPECT_GT(fit_shape(rows.predicted, rows.values).shift, -2);
}

TEST(NoiseShape, IsAppliedToTheLogOfTheNoise) {
  PredictedPart first{0, 1, std::sqrt(2), 0.3};
  apply_shape({0, 0}, first);
  EXPECT_DOUBLE_EQ(first.noise_std, std::sqrt(2));
  EXPECT_DOUBLE_EQ(first.noise_spread, 0.3);
  // log s gains N(-1, 0.09): its mean goes from log 3 - 0.08 to log 3 - 1.08.
  PredictedPart second{0, 1, std::sqrt(3), 0.4};
  apply_shape({-1, 0.3}, second);
  EXPECT_DOUBLE_EQ(second.noise_spread, 0.5);
  EXPECT_NEAR(2 * std::log(second.noise_std) - 0.125, std::log(3) - 0.08 - 1, 1e-14);
}

// Misses whose noise has the log N(log 0.5 + shift, spread^2), of a function that is known with variance 0.2.
std::vector<Miss> draw_misses(std::size_t count, const NoiseShape& truth, std::uint64_t seed) {
  special::Random random(seed);
  std::vector<Miss> misses;
  for (std::size_t n = 0; n < count; ++n) {
    const double noise = 0.5 * std::exp(truth.shift + truth.spread * random.normal());
    misses.push_back({std::pow(std::sqrt(0.2 + noise) * random.normal(), 2), 0.2});
  }
  return misses;
}

// The same density by Predicted, at the shape that fit_shape finds.
TEST(NoiseShape, ScoresMissesAsPredictionsWithTheirTails) {
  for (const NoiseShape& truth : {NoiseShape{0, 0}, NoiseShape{-1, 1.5}}) {
    const std::vector<Miss> misses = draw_misses(500, truth, 9);
    std::vector<Predicted> predicted;
    std::vector<double> values;
    for (const Miss& miss : misses) {
      predicted.push_back(mixture_of({{0, std::sqrt(miss.variance), std::sqrt(0.5)}}));
      values.push_back(std::sqrt(miss.square));
    }
    const NoiseShape shape = fit_shape(predicted, values);
    double nll = 0;
    for (std::size_t n = 0; n < values.size(); ++n) {
      apply_shape(shape, predicted[n].parts.front());
      nll -= predicted[n].log_density(values[n]) / 500;
    }
    EXPECT_NEAR(nll_with_tails(misses, 0.5), nll, 1e-3);
  }
}

// One noise for all would score 1,000 misses of 0.01 by the few of 3.
TEST(NoiseShape, TailsLeaveTheManyTheirScore) {
  std::vector<Miss> misses(1000, Miss{1e-4, 0});
  for (int n = 0; n < 20; ++n) misses.push_back({9, 0});
  const double constant = most_likely_noise(misses);
  EXPECT_LT(nll_with_tails(misses, constant),
            (std::log(2 * std::numbers::pi * constant) + 1) / 2 - 1);
}

}  // namespace
}  // namespace dma::detail
