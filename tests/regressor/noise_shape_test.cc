// The noise's level and tails, found again from cavity predictions that are off by a known shape.
#include "regressor/noise_shape.h"

#include <gtest/gtest.h>

#include <cmath>

#include <dma/special/random.h>

namespace dma::detail {
namespace {

struct Rows {
  Prediction cavity;
  std::vector<double> values;
};

// What is predicted has noise variance 1 and spread 0.5; the truth's log noise is shifted and wider.
Rows draw(std::size_t count, const NoiseShape& truth, std::uint64_t seed) {
  special::Random random(seed);
  Rows rows;
  for (std::size_t n = 0; n < count; ++n) {
    const double mean = random.uniform(-2, 2);
    rows.cavity.mean.push_back(mean);
    rows.cavity.epistemic_variance.push_back(0.04);
    rows.cavity.noise_variance.push_back(1);
    rows.cavity.noise_spread.push_back(0.5);
    const double log_variance =
        -0.125 + truth.shift + std::hypot(0.5, truth.spread) * random.normal();
    rows.values.push_back(mean + std::sqrt(0.04 + std::exp(log_variance)) * random.normal());
  }
  return rows;
}

TEST(NoiseShape, IsFoundAgain) {
  for (const NoiseShape& truth : {NoiseShape{0, 0}, NoiseShape{-1.5, 1}, NoiseShape{1, 0.7}}) {
    const Rows rows = draw(20'000, truth, 3);
    const NoiseShape found = fit_shape(rows.cavity, rows.values, 0, 1);
    EXPECT_NEAR(found.shift, truth.shift, 0.15);
    EXPECT_NEAR(std::hypot(0.5, found.spread), std::hypot(0.5, truth.spread), 0.15);
  }
}

TEST(NoiseShape, OfOneTargetDoesNotSeeTheOther) {
  const Rows first = draw(3000, {-1, 0.5}, 5);
  const Rows second = draw(3000, {2, 0}, 6);
  Rows both;
  for (std::size_t n = 0; n < 3000; ++n) {
    for (const Rows* rows : {&first, &second}) {
      both.cavity.mean.push_back(rows->cavity.mean[n]);
      both.cavity.epistemic_variance.push_back(rows->cavity.epistemic_variance[n]);
      both.cavity.noise_variance.push_back(rows->cavity.noise_variance[n]);
      both.cavity.noise_spread.push_back(rows->cavity.noise_spread[n]);
      both.values.push_back(rows->values[n]);
    }
  }
  const NoiseShape alone = fit_shape(second.cavity, second.values, 0, 1);
  const NoiseShape beside = fit_shape(both.cavity, both.values, 1, 2);
  EXPECT_EQ(alone.shift, beside.shift);
  EXPECT_EQ(alone.spread, beside.spread);
}

TEST(NoiseShape, OfAHandfulOfRowsStaysNearTheirPrediction) {
  Rows rows = draw(3, {0, 0}, 7);
  rows.values = rows.cavity.mean;  // not missed at all
  EXPECT_GT(fit_shape(rows.cavity, rows.values, 0, 1).shift, -2);
}

TEST(NoiseShape, IsAppliedToTheLogOfTheNoise) {
  Prediction prediction{{0, 0}, {1, 1}, {2, 3}, {0.3, 0.4}};
  const std::vector<NoiseShape> shapes{{0, 0}, {-1, 0.3}};
  apply_shapes(shapes, prediction);
  EXPECT_DOUBLE_EQ(prediction.noise_variance[0], 2);
  EXPECT_DOUBLE_EQ(prediction.noise_spread[0], 0.3);
  // log s gains N(-1, 0.09): its mean goes from log 3 - 0.08 to log 3 - 1.08.
  EXPECT_DOUBLE_EQ(prediction.noise_spread[1], 0.5);
  EXPECT_NEAR(std::log(prediction.noise_variance[1]) - 0.125, std::log(3) - 0.08 - 1, 1e-14);
}

}  // namespace
}  // namespace dma::detail
