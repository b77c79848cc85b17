// The paper's tasks: what the settings say, how predictions are scored, and that both rules behave on
// them as the full runs of `dma reproduce` (docs/network.md) report.
#include "experiments/task/task.h"

#include <dma/belief/independent.h>
#include <dma/special/normal.h>

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "experiments/statistics.h"

namespace dma::experiments {
namespace {

FitResult fit(const Task& task, Rule rule, std::size_t batch_size, std::size_t epochs) {
  IndependentBelief<double> trainer(
      task.model, draw_prior(task.model, prior_seed(1)),
      {.batch_size = batch_size,
       .max_epochs = epochs,
       .tolerance = 0,
       .likelihood = gaussian({.variance = {task.noise_deviation * task.noise_deviation}})},
      {.rule = rule});
  trainer.append({task.train.features, task.train.targets, task.train.size()});
  return trainer.fit();
}

TEST(Tasks, AreTheOnesOfTheAppendix) {
  const Task small = regression_task(1);
  EXPECT_EQ(small.model.weight_count(), 83U);
  EXPECT_EQ(small.train.size(), 200U);
  EXPECT_EQ(small.extrapolation.size(), 60U);
  for (const double x : small.train.x) EXPECT_TRUE(x > -2.5 && x < 1.5);
  for (const double x : small.extrapolation.x) {
    EXPECT_TRUE((x > -4 && x < -2.5) || (x > 1.5 && x < 3));
  }
  const Task big = large_task(1);
  EXPECT_EQ(big.model.weight_count(), 1932U);
  EXPECT_EQ(big.train.size(), 1500U);
  EXPECT_EQ(big.train.targets.size(), 6000U);
  EXPECT_EQ(mismatch_task(1).model.weight_count(), 83U);

  double square = 0;
  for (std::size_t n = 0; n < 6000; ++n) {
    square += std::pow(big.train.targets[n] - big.train.truth[n], 2) / 6000;
  }
  EXPECT_NEAR(std::sqrt(square), 0.1, 0.003);
  EXPECT_EQ(small.train.targets, regression_task(1).train.targets);
  EXPECT_NE(small.train.targets, regression_task(2).train.targets);
}

// A prediction that is right about its own errors: N(0, 1) values under N(0, 0.75 + 0.25).
TEST(Scores, OfACalibratedPrediction) {
  const std::size_t count = 2000;
  std::vector<double> y;
  for (std::size_t n = 0; n < count; ++n) {
    y.push_back(special::normal_quantile((static_cast<double>(n) + 0.5) / count));
  }
  const Prediction prediction{std::vector<double>(count, 0.0), std::vector<double>(count, 0.75),
                              std::vector<double>(count, 0.25)};
  EXPECT_NEAR(mean_nll(as_predicted(prediction), y),
              std::log(2 * std::numbers::pi * std::numbers::e) / 2, 0.01);
  EXPECT_NEAR(calibration_delta(as_predicted(prediction), y), 0, 1e-3);
  Prediction narrow = prediction;
  narrow.epistemic_variance.assign(count, 0);
  EXPECT_LT(calibration_delta(as_predicted(narrow), y), -0.1);
}

TEST(Statistics, RanksShareEqualPlaces) {
  EXPECT_EQ(ranks({3, 7, 3, 1}), (std::vector<double>{2.5, 1, 2.5, 4}));
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 30, 4}, {10, 11, 15, 12}), 1);
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3}, {5, 0, -1}), -1);
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4}, {2, 1, 4, 3}), 0.6);  // 1 - 6 * 4 / (4 * 15)
}

TEST(Training, LinearReachesTheFloorOfTheLargeTaskInTwoEpochsAndDirectDoesNot) {
  const Task task = large_task(2);
  const auto linear = fit(task, Rule::linear, 15, 2);
  const auto direct = fit(task, Rule::direct, 15, 2);
  EXPECT_LT(linear.train_nll[1], -0.78);
  EXPECT_LT(linear.train_nll[1], direct.train_nll[1] - 0.1);
  EXPECT_EQ(*linear.certificate.negative_messages + *direct.certificate.negative_messages, 0U);
}

TEST(Training, EveryRuleFitsTheSmallTask) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (const Rule rule : {Rule::direct, Rule::linear}) {
      const auto result = fit(regression_task(seed), rule, 20, 10);
      EXPECT_LT(result.train_nll.back(), 0.6) << seed << " " << name_of(rule);
      EXPECT_LT(result.train_nll.back(), result.train_nll.front() + 0.05);
    }
  }
}

}  // namespace
}  // namespace dma::experiments
