// Scores of predictions against their definitions: integrals, densities, counting.
#include <dma/metrics/metrics.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <dma/special/normal.h>
#include <dma/special/quadrature.h>
#include <dma/special/random.h>

namespace dma {
namespace {

Metrics score_one(double target, double mean, double deviation) {
  return score({&target, 1}, {&mean, 1}, {&deviation, 1});
}

struct Predictions {
  std::vector<double> targets, means, deviations;
  Metrics score() const { return dma::score(targets, means, deviations); }
};

// Targets drawn from what is predicted, but `true_width` times as wide.
Predictions draw(std::size_t rows, double true_width, std::uint64_t seed) {
  special::Random random(seed);
  Predictions drawn;
  for (std::size_t n = 0; n < rows; ++n) {
    drawn.means.push_back(random.uniform(-5, 5));
    drawn.deviations.push_back(random.uniform(0.5, 3));
    drawn.targets.push_back(drawn.means[n] + true_width * drawn.deviations[n] * random.normal());
  }
  return drawn;
}

// The integral of (F(x) - [x >= target])^2 over x.
double integrated_crps(double target, double mean, double deviation) {
  const auto miss = [&](double x) {
    const double below = special::normal_cdf((x - mean) / deviation);
    return special::Integrals<1>{x < target ? below * below : (1 - below) * (1 - below)};
  };
  const double low = std::min(target, mean - 12 * deviation);
  const double high = std::max(target, mean + 12 * deviation);
  auto breaks = special::even_breaks(low, high, 100);
  breaks.push_back(target);  // the jump is the end of a panel
  std::sort(breaks.begin(), breaks.end());
  return special::integrate<1>(miss, breaks, 1e-14)[0];
}

RC_GTEST_PROP(Metrics, CrpsIsTheIntegralOfItsDefinition, (std::uint64_t seed)) {
  special::Random random(seed);
  const double mean = random.uniform(-10, 10);
  const double deviation = std::exp(random.uniform(-3, 3));
  const double target = mean + deviation * random.uniform(-9, 9);
  const double expected = integrated_crps(target, mean, deviation);
  RC_ASSERT(std::abs(score_one(target, mean, deviation).crps - expected) < 1e-11 * expected);
}

RC_GTEST_PROP(Metrics, NllIsMinusTheLogOfTheDensity, (std::uint64_t seed)) {
  special::Random random(seed);
  const double mean = random.uniform(-10, 10);
  const double deviation = std::exp(random.uniform(-3, 3));
  const double target = mean + deviation * random.uniform(-9, 9);
  const double density = std::exp(-std::pow((target - mean) / deviation, 2) / 2) /
                         (deviation * std::sqrt(2 * std::numbers::pi));
  RC_ASSERT(std::abs(score_one(target, mean, deviation).nll + std::log(density)) < 1e-12);
}

// Every score of rows together is the mean of the scores of each, the rmse the root of a mean.
TEST(Metrics, AreMeansOverTheRows) {
  const Predictions drawn = draw(200, 1.5, 1);
  Metrics sum;
  double squares = 0;
  for (std::size_t n = 0; n < drawn.targets.size(); ++n) {
    const Metrics one = score_one(drawn.targets[n], drawn.means[n], drawn.deviations[n]);
    EXPECT_NEAR(one.rmse, std::abs(drawn.targets[n] - drawn.means[n]), 1e-15 * one.rmse);
    squares += one.rmse * one.rmse / 200;
    sum.mae += one.mae / 200;
    sum.nll += one.nll / 200;
    sum.crps += one.crps / 200;
    for (std::size_t k = 0; k < sum.coverage.size(); ++k) sum.coverage[k] += one.coverage[k] / 200;
    for (std::size_t k = 0; k < sum.pit.size(); ++k) sum.pit[k] += one.pit[k];
  }
  const Metrics all = drawn.score();
  EXPECT_EQ(all.values, 200U);
  EXPECT_NEAR(all.rmse, std::sqrt(squares), 1e-13);
  EXPECT_NEAR(all.mae, sum.mae, 1e-13);
  EXPECT_NEAR(all.nll, sum.nll, 1e-13);
  EXPECT_NEAR(all.crps, sum.crps, 1e-13);
  for (std::size_t k = 0; k < sum.coverage.size(); ++k) {
    EXPECT_NEAR(all.coverage[k], sum.coverage[k], 1e-13);
  }
  EXPECT_EQ(all.pit, sum.pit);
}

TEST(Metrics, CoverageCountsWhatIsInside) {
  // 0.6744..., 1.2815..., 1.6448..., 1.9599... deviations hold the four levels.
  const Predictions few{.targets = {0.67, -0.68, 1.28, -1.29, 1.64, -1.65, 1.95, -1.97, 3, -0.1},
                        .means = std::vector<double>(10, 0.0),
                        .deviations = std::vector<double>(10, 1.0)};
  const Metrics metrics = few.score();
  EXPECT_EQ(metrics.coverage, (std::array{0.2, 0.4, 0.6, 0.8}));
}

TEST(Metrics, PitCountsTheProbabilityBelow) {
  Predictions few;
  for (int k = 0; k < 20; ++k) {
    for (int copy = 0; copy <= k; ++copy) {
      few.targets.push_back(7 + 2 * special::normal_quantile((k + 0.5) / 20));
      few.means.push_back(7);
      few.deviations.push_back(2);
    }
  }
  const Metrics metrics = few.score();
  for (std::size_t k = 0; k < 20; ++k) EXPECT_EQ(metrics.pit[k], static_cast<double>(k + 1));
}

TEST(Metrics, CalibrationErrorIsTheMeanOverNineteenLevels) {
  // Everything on the mean: coverage 1 at every level, and the mean of 1 - level is 1/2.
  EXPECT_NEAR(score_one(3, 3, 1).calibration_error, 0.5, 1e-15);
  // Everything far away: the mean of the levels.
  EXPECT_NEAR(score_one(30, 3, 1).calibration_error, 0.5, 1e-15);
  const Predictions drawn = draw(500, 1.3, 3);
  const Metrics metrics = drawn.score();
  ASSERT_EQ(metrics.coverage_curve.size(), 19U);
  double expected = 0;
  for (int level = 5; level < 100; level += 5) {
    double inside = 0;
    for (std::size_t n = 0; n < 500; ++n) {
      const double z = std::abs(drawn.targets[n] - drawn.means[n]) / drawn.deviations[n];
      inside += std::erf(z / std::numbers::sqrt2) <= level / 100.0;
    }
    const auto place = static_cast<std::size_t>(level / 5 - 1);
    EXPECT_EQ(Metrics::curve_levels[place], level / 100.0);
    EXPECT_EQ(metrics.coverage_curve[place], inside / 500);
    expected += std::abs(inside / 500 - level / 100.0) / 19;
  }
  EXPECT_NEAR(metrics.calibration_error, expected, 1e-12);
}

TEST(Metrics, RightPredictionsAreCalibrated) {
  const std::size_t rows = 40'000;
  const Metrics metrics = draw(rows, 1, 5).score();
  for (std::size_t k = 0; k < Metrics::levels.size(); ++k) {
    EXPECT_NEAR(metrics.coverage[k], Metrics::levels[k], 0.01);
  }
  EXPECT_LT(metrics.calibration_error, 0.01);
  // 2000 expected in each bin, deviation 44.
  for (const double count : metrics.pit) EXPECT_NEAR(count, 2000, 200);
  EXPECT_EQ(std::accumulate(metrics.pit.begin(), metrics.pit.end(), 0.0),
            static_cast<double>(rows));
}

TEST(Metrics, WrongWidthsAreSeen) {
  const Metrics right = draw(10'000, 1, 7).score();
  const Metrics narrow = draw(10'000, 2, 7).score();  // the truth is twice as wide as predicted
  EXPECT_LT(narrow.coverage[2], 0.65);
  EXPECT_GT(narrow.calibration_error, 0.15);
  EXPECT_GT(narrow.pit.front() + narrow.pit.back(), 2 * (right.pit.front() + right.pit.back()));
  EXPECT_GT(narrow.nll, right.nll);
  EXPECT_GT(narrow.crps, right.crps);
}

TEST(Metrics, FarMissesDoNotOverflow) {
  for (const double sign : {-1.0, 1.0}) {
    const Metrics far = score_one(sign * 1e150, 0, 1);
    EXPECT_DOUBLE_EQ(far.crps, 1e150);
    EXPECT_DOUBLE_EQ(far.nll, 5e299);
    EXPECT_EQ(far.pit[sign < 0 ? 0 : 19], 1);
    // Here z itself is beyond the range of a double, and so is the density's logarithm.
    const Metrics farther = score_one(sign * 1e200, 0, 1e-200);
    EXPECT_DOUBLE_EQ(farther.crps, 1e200);
    EXPECT_DOUBLE_EQ(farther.rmse, 1e200);
    EXPECT_EQ(farther.nll, std::numeric_limits<double>::infinity());
    EXPECT_EQ(farther.pit[sign < 0 ? 0 : 19], 1);
  }
}

RC_GTEST_PROP(Metrics, FollowTheUnit, (std::uint64_t seed)) {
  const Predictions drawn = draw(50, 1.2, seed);
  const double unit = *rc::gen::element(0x1p-600, 0x1p-3, 0x1p600);
  Predictions scaled = drawn;
  for (auto* values : {&scaled.targets, &scaled.means, &scaled.deviations}) {
    for (double& value : *values) value *= unit;
  }
  const Metrics one = drawn.score();
  const Metrics two = scaled.score();
  RC_ASSERT(two.rmse == unit * one.rmse);
  RC_ASSERT(two.mae == unit * one.mae);
  RC_ASSERT(two.crps == unit * one.crps);
  RC_ASSERT(two.pit == one.pit);
  RC_ASSERT(two.coverage == one.coverage);
  RC_ASSERT(std::abs(two.nll - one.nll - std::log(unit)) < 1e-11);
}

TEST(Metrics, MergeAsIfScoredTogether) {
  special::Random random(5);
  std::vector<double> targets;
  std::vector<Predicted> predicted;
  Metrics parts;
  std::size_t first = 0;
  for (const std::size_t count : {1U, 700U, 30U}) {
    for (std::size_t n = 0; n < count; ++n) {
      targets.push_back(random.normal());
      predicted.push_back({random.normal(), 0.3, random.uniform(0.5, 2), 0.2});
    }
    parts = merged(parts,
                   score(std::span(targets).subspan(first), std::span(predicted).subspan(first)));
    first += count;
  }
  const Metrics whole = score(targets, predicted);
  EXPECT_EQ(parts.values, whole.values);
  EXPECT_EQ(parts.pit, whole.pit);
  EXPECT_NEAR(parts.rmse, whole.rmse, 1e-13);
  EXPECT_NEAR(parts.mae, whole.mae, 1e-13);
  EXPECT_NEAR(parts.nll, whole.nll, 1e-13);
  EXPECT_NEAR(parts.crps, whole.crps, 1e-13);
  EXPECT_NEAR(parts.calibration_error, whole.calibration_error, 1e-13);
  for (std::size_t k = 0; k < whole.coverage.size(); ++k) {
    EXPECT_NEAR(parts.coverage[k], whole.coverage[k], 1e-13);
  }
}

TEST(Metrics, RefuseWhatCannotBeScored) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> one{1};
  const std::vector<double> two{1, 2};
  EXPECT_THROW(score(two, one, one), std::invalid_argument);
  EXPECT_THROW(score(one, two, one), std::invalid_argument);
  EXPECT_THROW(score(one, one, two), std::invalid_argument);
  EXPECT_THROW(score(std::vector<double>{}, std::vector<double>{}, std::vector<double>{}),
               std::invalid_argument);
  for (const double deviation : {0.0, -1.0, infinity, std::nan("")}) {
    EXPECT_THROW(score_one(1, 1, deviation), std::invalid_argument);
  }
  for (const double bad : {infinity, -infinity, std::nan("")}) {
    EXPECT_THROW(score_one(bad, 1, 1), std::invalid_argument);
    EXPECT_THROW(score_one(1, bad, 1), std::invalid_argument);
  }
}

}  // namespace
}  // namespace dma
