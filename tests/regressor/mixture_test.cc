// Networks of a shape as one prediction: what their mean misses by, given what one of them does.
#include "regressor/mixture.h"

#include <dma/special/random.h>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace dma::detail {
namespace {

std::vector<PredictedPart> networks_at(const std::vector<double>& means, double epistemic_std,
                                       double noise_std) {
  std::vector<PredictedPart> parts;
  for (const double mean : means) {
    parts.push_back({mean, epistemic_std, noise_std, 0, 1 / static_cast<double>(means.size())});
  }
  return parts;
}

double mean_of(const std::vector<PredictedPart>& parts) {
  double sum = 0;
  for (const PredictedPart& part : parts) sum += part.weight * part.mean;
  return sum;
}

double variance_of(const std::vector<PredictedPart>& parts) {
  const double mean = mean_of(parts);
  double sum = 0;
  for (const PredictedPart& part : parts) {
    sum += part.weight * (std::pow(part.mean - mean, 2) + std::pow(part.epistemic_std, 2) +
                          std::pow(part.noise_std, 2));
  }
  return sum;
}

TEST(TakeTogether, TakesOffWhatTheMeanMissesLess) {
  auto parts = networks_at({-0.1, 0, 0.4}, 0.6, 0.8);
  const double between = (0.04 + 0.01 + 0.09) / 3;
  take_together(parts);
  EXPECT_NEAR(variance_of(parts), 1 - between, 1e-15);
  for (const PredictedPart& part : parts) {
    EXPECT_NEAR(part.mean, 0.1, 1e-15);
    EXPECT_NEAR(part.epistemic_std / part.noise_std, 0.6 / 0.8, 1e-15);
  }
}

// Networks that differ by more than they say stand for themselves.
TEST(TakeTogether, LeavesNetworksThatDiffer) {
  auto parts = networks_at({-300, 0, 300}, 0.6, 0.8);
  take_together(parts);
  EXPECT_NEAR(variance_of(parts), 60001,
              0.5);  // 1/3, and another 1/3 since they stand a little nearer
  EXPECT_NEAR(parts[2].mean, 300, 0.001);
  EXPECT_NEAR(parts[2].noise_std, 0.8, 1e-5);
}

TEST(TakeTogether, HasNoJump) {
  const double edge = std::sqrt(0.5);  // of networks at -d, 0, d with beta = d^2, where T = 1
  auto near = networks_at({-edge * (1 - 1e-9), 0, edge * (1 - 1e-9)}, 0.6, 0.8);
  auto far = networks_at({-edge * (1 + 1e-9), 0, edge * (1 + 1e-9)}, 0.6, 0.8);
  take_together(near);
  take_together(far);
  EXPECT_NEAR(variance_of(near), variance_of(far), 1e-8);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_NEAR(near[k].mean, far[k].mean, 1e-4);
    EXPECT_NEAR(near[k].noise_std, far[k].noise_std, 1e-8);
  }
}

TEST(TakeTogether, LeavesOneNetworkAndThoseThatAgree) {
  for (const auto& means : {std::vector<double>{0.3}, std::vector<double>{0.3, 0.3}}) {
    auto parts = networks_at(means, 0.6, 0.8);
    take_together(parts);
    for (const PredictedPart& part : parts) {
      EXPECT_EQ(part.mean, 0.3);
      EXPECT_EQ(part.epistemic_std, 0.6);
      EXPECT_EQ(part.noise_std, 0.8);
    }
  }
}

// Networks whose errors have a part in common and one of their own; each knows how far it is off. Where the own part is
// large, some rows look as if there were none to learn from, and a little more is said.
TEST(TakeTogether, SaysHowFarTheMeanIsOff) {
  special::Random random(5);
  const auto ratio = [&](double own) {
    double missed = 0;
    double said = 0;
    constexpr int rows = 40000;
    for (int n = 0; n < rows; ++n) {
      const double truth = random.normal();
      std::vector<double> means;
      for (int m = 0; m < 5; ++m) means.push_back(own * random.normal());
      auto parts = networks_at(means, 0, std::sqrt(1 + own * own));
      take_together(parts);
      missed += std::pow(truth - mean_of(parts), 2) / rows;
      said += variance_of(parts) / rows;
    }
    return said / missed;
  };
  EXPECT_NEAR(ratio(0.3), 1, 0.02);
  EXPECT_NEAR(ratio(0.6), 1.03, 0.05);
}

TEST(TakeTogether, OneThatRunsAwayDoesNotTakeTheOthersAlong) {
  for (const double own : {0.6, 1000.0}) {  // it may know how far it is off
    auto parts = networks_at({0, 0.1, -0.1, 0.05, 1000}, 0.6, 0.8);
    parts.back().epistemic_std = own;
    take_together(parts);
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_NEAR(parts[k].mean, 0, 0.11);
      EXPECT_NEAR(parts[k].noise_std, 0.8, 1e-3);
    }
    EXPECT_NEAR(mixture_of(parts).mean, 0.3, 0.3);
  }
}

// If all are as unsure as they differ.
TEST(TakeTogether, TheMeanIsThatOfTheMixture) {
  auto parts = networks_at({0, 0.1, -0.1, 0.05, 4}, 0.6, 0.8);
  const double before = mixture_of(parts).mean;
  EXPECT_LT(before, 0.5);  // the mean of the five is 0.81
  take_together(parts);
  EXPECT_NEAR(mean_of(parts), before, 0.5);
  parts = networks_at({0, 0.1, -0.1, 0.05, 4}, 3, 4);
  const double wide = mixture_of(parts).mean;
  take_together(parts);
  for (const PredictedPart& part : parts) EXPECT_NEAR(part.mean, wide, 1e-12);
}

}  // namespace
}  // namespace dma::detail
