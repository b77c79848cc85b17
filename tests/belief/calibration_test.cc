// The level and tails of predictions that are off in a known way, found again.
#include "belief/calibration.h"

#include <gtest/gtest.h>

#include <array>
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

// What is predicted has noise variance 1 and spread 0.5, and a function that is known well or not; the truth is shifted
// and has other tails.
Rows draw(std::size_t count, const Calibration& truth, std::uint64_t seed) {
  special::Random random(seed);
  Rows rows;
  for (std::size_t n = 0; n < count; ++n) {
    const double mean = random.uniform(-2, 2);
    const double epistemic_std = n % 2 == 0 ? 0.2 : 2;
    rows.predicted.push_back(mixture_of({{mean, epistemic_std, 1, 0.5}}));
    const double t = random.normal();
    const double noise =
        std::exp(-0.125 + truth.noise_shift + std::hypot(0.5, truth.noise_spread) * t);
    const double function =
        std::exp(truth.function_shift + truth.function_spread * t) * epistemic_std * epistemic_std;
    rows.values.push_back(mean + std::sqrt(function + noise) * random.normal());
  }
  return rows;
}

TEST(Calibration, IsFoundAgain) {
  for (const Calibration& truth :
       {Calibration{0, 0, 0, 0}, Calibration{-1.5, 1, 1, 1}, Calibration{1, 0.7, -1.5, 0.7}}) {
    const Rows rows = draw(5000, truth, 3);
    const Calibration found = fit_calibration(rows.predicted, rows.values);
    EXPECT_NEAR(found.noise_shift, truth.noise_shift, 0.15);
    EXPECT_NEAR(std::hypot(0.5, found.noise_spread), std::hypot(0.5, truth.noise_spread), 0.15);
    EXPECT_NEAR(found.function_shift, truth.function_shift, 0.15);
    // But for what the rows leave unknown of the shifts.
    EXPECT_NEAR(found.function_spread, found.noise_spread, 0.03);
  }
}

// Two numbers were determined before.
double log_posterior(const Rows& rows, double noise_shift, double tails, double function_shift) {
  double sum = noise_shift -
               (std::pow(noise_shift, 2) + std::pow(tails, 2) + std::pow(function_shift, 2)) / 2;
  for (std::size_t n = 0; n < rows.values.size(); ++n) {
    Predicted one = rows.predicted[n];
    for (PredictedPart& part : one.parts) {
      calibrate({noise_shift, tails, function_shift, tails}, part);
    }
    sum += one.log_density(rows.values[n]);
  }
  return sum;
}

// By the density of calibrated predictions, on a finer and wider grid.
Calibration by_grid(const Rows& rows) {
  constexpr double step = 0.25;
  double total = 0, tails_square = 0;
  std::array<double, 2> mean{}, square{};
  const double zero = log_posterior(rows, 0, 0, 0);
  for (double noise = -5; noise <= 5; noise += step) {
    for (double tails = 0; tails <= 2; tails += step) {
      for (double function = -5; function <= 5; function += step) {
        const double ends = tails == 0 || tails == 2 ? 0.5 : 1;
        const double weight = ends * std::exp(log_posterior(rows, noise, tails, function) - zero);
        total += weight;
        tails_square += weight * tails * tails;
        mean[0] += weight * noise;
        mean[1] += weight * function;
        square[0] += weight * noise * noise;
        square[1] += weight * function * function;
      }
    }
  }
  const auto tails_with = [&](std::size_t k) {
    const double variance = square[k] / total - std::pow(mean[k] / total, 2);
    return std::sqrt(tails_square / total + variance);
  };
  return {mean[0] / total, tails_with(0), mean[1] / total, tails_with(1)};
}

// To what nine nodes in the tails and steps of a deviation leave; of mixtures too.
TEST(Calibration, IsIntegratedOver) {
  for (const std::size_t count : {0U, 2U, 12U, 60U}) {
    Rows rows = draw(count, {-1, 0.8, 0.7, 0.8}, 4);
    for (Predicted& one : rows.predicted) {
      PredictedPart other = one.parts.front();
      other.mean += 0.3;
      other.noise_spread = 0.1;
      other.weight = 0.6;
      one.parts.front().weight = 0.4;
      one = mixture_of({one.parts.front(), other});
    }
    const Calibration found = fit_calibration(rows.predicted, rows.values);
    const Calibration expected = by_grid(rows);
    EXPECT_NEAR(found.noise_shift, expected.noise_shift, 0.01) << count;
    EXPECT_NEAR(found.noise_spread, expected.noise_spread, 0.01) << count;
    EXPECT_NEAR(found.function_shift, expected.function_shift, 0.01) << count;
    EXPECT_NEAR(found.function_spread, expected.function_spread, 0.01) << count;
  }
}

TEST(Calibration, LeavesRowsWithoutAPredictionOut) {
  Rows rows = draw(500, {-1, 0.5, 0, 0.5}, 5);
  const Calibration alone = fit_calibration(rows.predicted, rows.values);
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  for (int n = 0; n < 500; ++n) {
    rows.predicted.push_back({unknown, unknown, unknown, unknown});
    rows.values.push_back(100);
  }
  const Calibration beside = fit_calibration(rows.predicted, rows.values);
  EXPECT_EQ(alone.noise_shift, beside.noise_shift);
  EXPECT_EQ(alone.noise_spread, beside.noise_spread);
}

TEST(Calibration, OfAHandfulOfRowsStaysNearTheirPrediction) {
  Rows rows = draw(3, {}, 7);
  for (std::size_t n = 0; n < 3; ++n) rows.values[n] = rows.predicted[n].mean;  // not missed at all
  const Calibration found = fit_calibration(rows.predicted, rows.values);
  EXPECT_GT(found.noise_shift, -2);
  EXPECT_GT(found.function_shift, -2);
}

TEST(Calibration, IsAppliedToTheLogsOfBothVariances) {
  PredictedPart first{0, 1, std::sqrt(2), 0.3};
  calibrate({}, first);
  EXPECT_DOUBLE_EQ(first.noise_std, std::sqrt(2));
  EXPECT_DOUBLE_EQ(first.noise_spread, 0.3);
  EXPECT_EQ(first.epistemic_std, 1);
  EXPECT_EQ(first.epistemic_spread, 0);
  // log s gains N(-1, 0.09): its mean goes from log 3 - 0.08 to log 3 - 1.08.
  PredictedPart second{0, std::sqrt(5), std::sqrt(3), 0.4};
  calibrate({-1, 0.3, 2, 0.6}, second);
  EXPECT_DOUBLE_EQ(second.noise_spread, 0.5);
  EXPECT_NEAR(2 * std::log(second.noise_std) - 0.125, std::log(3) - 0.08 - 1, 1e-14);
  EXPECT_DOUBLE_EQ(second.epistemic_spread, 0.6);
  EXPECT_NEAR(2 * std::log(second.epistemic_std) - 0.18, std::log(5) + 2, 1e-14);
}

// N(f; 3, 4) N(f; 0, 1 / 0.5) has the precision 0.25 + 0.5 and the mean 0.75 / 0.75.
TEST(Calibration, MultipliesThePriorOfTheFunctionInFirst) {
  PredictedPart part{3, 2, 1, 0.3};
  calibrate({.function_shift = 2, .prior_precision = 0.5}, part);
  EXPECT_DOUBLE_EQ(part.mean, 1);
  EXPECT_DOUBLE_EQ(part.epistemic_std, std::sqrt(4.0 / 3) * std::exp(1));
  EXPECT_EQ(part.noise_std, 1);
}

// Misses whose noise has the log N(log 0.5 + shift, spread^2), of a function that is known with variance 0.2.
std::vector<Miss> draw_misses(std::size_t count, double shift, double spread, std::uint64_t seed) {
  special::Random random(seed);
  std::vector<Miss> misses;
  for (std::size_t n = 0; n < count; ++n) {
    const double noise = 0.5 * std::exp(shift + spread * random.normal());
    misses.push_back({std::pow(std::sqrt(0.2 + noise) * random.normal(), 2), 0.2});
  }
  return misses;
}

// The density by Predicted is no better at any other level and tails of the noise.
TEST(Calibration, ScoresMissesAsPredictionsWithTheirTails) {
  for (const auto& [shift, spread] : {std::pair{0.0, 0.0}, std::pair{-1.0, 1.5}}) {
    const std::vector<Miss> misses = draw_misses(500, shift, spread, 9);
    double best = HUGE_VAL;
    for (double level = -2; level <= 1; level += 0.0625) {
      for (double tails = 0; tails <= 2; tails += 0.0625) {
        PredictedPart part{0, std::sqrt(0.2), std::sqrt(0.5)};
        calibrate({level, tails}, part);
        const Predicted predicted = mixture_of({part});
        double nll = 0;
        for (const Miss& miss : misses) nll -= predicted.log_density(std::sqrt(miss.square)) / 500;
        best = std::min(best, nll);
      }
    }
    EXPECT_NEAR(nll_with_tails(misses, 0.5), best, 1e-3);
  }
}

// One noise for all would score 1,000 misses of 0.01 by the few of 3.
TEST(Calibration, TailsLeaveTheManyTheirScore) {
  std::vector<Miss> misses(1000, Miss{1e-4, 0});
  for (int n = 0; n < 20; ++n) misses.push_back({9, 0});
  const double constant = most_likely_noise(misses);
  EXPECT_LT(nll_with_tails(misses, constant),
            (std::log(2 * std::numbers::pi * constant) + 1) / 2 - 1);
}

}  // namespace
}  // namespace dma::detail
