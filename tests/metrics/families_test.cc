// Predictions of amounts and counts, against sums and integrals of their definition.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <dma/factors/negative_binomial.h>
#include <dma/metrics/metrics.h>
#include <dma/metrics/predicted.h>
#include <dma/special/gamma.h>
#include <dma/special/normal.h>
#include <dma/special/quadrature.h>
#include <dma/special/random.h>

#include "metrics/counts.h"

namespace dma {
namespace {

// Logs of rates from about 0.3 to 60.
Predicted draw_count(special::Random& random) {
  std::vector<PredictedPart> parts;
  const auto count = static_cast<std::size_t>(random.uniform(1, 4));
  const double centre = random.uniform(-1, 4);
  for (std::size_t k = 0; k < count; ++k) {
    parts.push_back({centre + random.uniform(-0.2, 0.2), random.uniform(0.05, 0.8),
                     random.uniform(0.05, 1), 0, 1 / static_cast<double>(count)});
  }
  return mixture_of(parts, Family::count);
}

Predicted draw_amount(special::Random& random) {
  std::vector<PredictedPart> parts;
  const auto count = static_cast<std::size_t>(random.uniform(1, 4));
  for (std::size_t k = 0; k < count; ++k) {
    parts.push_back({random.uniform(-1, 1), random.uniform(0.05, 0.5), random.uniform(0.1, 0.7),
                     random.uniform(0, 0.8), 1 / static_cast<double>(count),
                     random.uniform(0, 0.5)});
  }
  return mixture_of(parts, Family::amount);
}

RC_GTEST_PROP(CountPrediction, ProbabilitiesAddUp, (std::uint64_t seed)) {
  special::Random random(seed);
  const Predicted p = draw_count(random);
  double below = 0;
  double mean = 0;
  double squares = 0;
  const double last = p.quantile(1 - 1e-13);
  for (double n = 0; n <= last; ++n) {
    const double probability = std::exp(p.log_density(n));
    below += probability;
    mean += n * probability;
    squares += n * n * probability;
    RC_ASSERT(std::abs(p.cdf(n) - below) < 1e-9);
    RC_ASSERT(p.cdf(n + 0.5) == p.cdf(n));
  }
  RC_ASSERT(std::abs(below - 1) < 1e-9);
  RC_ASSERT(p.cdf(-1) == 0);
  RC_ASSERT(std::isinf(p.log_density(0.5)));
  RC_ASSERT(std::isinf(p.log_density(-1)));
  // Parts near each other are not pulled in.
  const double variance = squares - mean * mean;
  if (p.parts.size() == 1) {
    RC_ASSERT(std::abs(p.mean - mean) < 1e-6 * mean);
    RC_ASSERT(std::abs(p.stddev() * p.stddev() - variance) < 1e-5 * variance);
  }
}

RC_GTEST_PROP(CountPrediction, IntervalsAreOfWholeNumbersAndHoldEnough, (std::uint64_t seed)) {
  special::Random random(seed);
  const Predicted p = draw_count(random);
  const double probability = random.uniform(0.001, 0.999);
  const double at = p.quantile(probability);
  RC_ASSERT(at == std::floor(at));
  RC_ASSERT(p.cdf(at) >= probability);
  RC_ASSERT(p.cdf(at - 1) < probability);
  const double level = random.uniform(0.05, 0.99);
  const Interval interval = p.interval(CentralLevel(level));
  RC_ASSERT(p.cdf(interval.upper) - p.cdf(interval.lower - 1) >= level - 1e-12);
  // Everything in it is in an interval of this level, and what is outside is not.
  RC_ASSERT(p.central_probability(interval.lower) <= level + 1e-12);
  RC_ASSERT(p.central_probability(interval.upper) <= level + 1e-12);
  RC_ASSERT(p.central_probability(interval.upper + 1) >= level - 1e-12);
}

// Where there are many numbers it is an integral.
RC_GTEST_PROP(CountPrediction, RankedScoreIsASum, (std::uint64_t seed)) {
  special::Random random(seed);
  const Predicted p = draw_count(random);
  const double y = p.quantile(random.uniform(0.001, 0.999));
  double sum = 0;
  for (double n = 0; n <= std::max(y, p.quantile(1 - 1e-12)); ++n) {
    sum += std::pow(p.cdf(n) - (n >= y ? 1 : 0), 2);
  }
  const double allowed = p.quantile(1 - 1e-6) < 128 ? 1e-7 : 1e-4;
  RC_ASSERT(std::abs(p.crps(y) - sum) < allowed * (1 + sum));
}

// An integral, where there are many numbers.
TEST(CountPrediction, RankedScoreOfLargeCounts) {
  const Predicted p = mixture_of({{9, 0.2, 0.3}}, Family::count);
  const double y = p.quantile(0.8);
  double sum = 0;
  for (double n = 0; n <= p.quantile(1 - 1e-9); ++n) {
    sum += std::pow(p.cdf(n) - (n >= y ? 1 : 0), 2);
  }
  EXPECT_NEAR(p.crps(y) / sum, 1, 1e-4);
}

TEST(CountPrediction, OfAKnownFunctionIsNegativeBinomial) {
  for (const double shape : {0.3, 2.0, 50.0}) {
    const Predicted p = mixture_of({{1.3, 0, std::sqrt(special::trigamma(shape))}}, Family::count);
    EXPECT_NEAR(p.mean, std::exp(1.3), 1e-9);
    EXPECT_EQ(p.epistemic_std, 0);
    EXPECT_NEAR(p.noise_std, std::sqrt(std::exp(1.3) + std::exp(2.6) / shape), 1e-8);
    for (const double y : {0.0, 1.0, 7.0, 40.0}) {
      EXPECT_NEAR(p.log_density(y), (NegativeBinomial{y, shape}.log_density(1.3)), 1e-8);
    }
  }
}

// The log of the rate is taken for that of a Gamma variable, which is not a Gaussian: half the sum of all differences of
// probabilities, from the integral over the Gaussian.
TEST(CountPrediction, IsCloseToTheAverageOverAGaussian) {
  struct Case {
    double variance, allowed;
  };
  for (const auto& [variance, allowed] : {Case{0.02, 0.001}, Case{0.2, 0.01}, Case{1, 0.035}}) {
    for (const double log_rate : {-0.5, 1.0, 3.0}) {
      for (const double shape : {1.0, 10.0}) {
        const Predicted p = mixture_of(
            {{log_rate, std::sqrt(variance), std::sqrt(special::trigamma(shape))}}, Family::count);
        double apart = 0;
        for (double y = 0; y <= p.quantile(1 - 1e-6); ++y) {
          const NegativeBinomial factor{y, shape};
          const auto exact =
              TiltedDensity(factor, Gaussian<double>::from_moments(log_rate, variance)).log_mass();
          apart += std::abs(std::exp(p.log_density(y)) - std::exp(exact)) / 2;
        }
        EXPECT_LT(apart, allowed) << variance << ", " << log_rate << ", " << shape;
      }
    }
  }
}

// Where a part of what is not known of the function is folded into the Gamma variable, the log of the rate keeps its mean
// and variance.
TEST(CountPrediction, FoldingKeepsTheMomentsOfTheLog) {
  for (const double epistemic : {0.1, 0.7, 1.5, 3.0}) {
    const PredictedPart part{0.7, epistemic, 0.3};
    const detail::CountPart count = detail::count_part(part);
    const double shape = special::inverse_trigamma(0.3 * 0.3);
    double mean = 0;
    double square = 0;
    for (std::size_t k = 0; k < count.nodes; ++k) {
      mean += count.share[k] * std::log(count.mean[k]);
      square += count.share[k] * std::pow(std::log(count.mean[k]), 2);
    }
    EXPECT_NEAR(mean + special::digamma(count.shape) - std::log(count.shape),
                0.7 + special::digamma(shape) - std::log(shape), 1e-9);
    EXPECT_NEAR(square - mean * mean + special::trigamma(count.shape), epistemic * epistemic + 0.09,
                1e-9);
  }
}

// One of ten networks has run away.
TEST(CountPrediction, APartThatRunsAwayDoesNotTakeTheOthersAlong) {
  std::vector<PredictedPart> parts(10, {1, 0.2, 0.3, 0, 0.1});
  parts[4].mean = 25;
  const Predicted p = mixture_of(parts, Family::count);
  EXPECT_GT(p.mean, 2);
  EXPECT_LT(p.mean, 5);
  EXPECT_LT(p.upper(0.7), 10);
}

// As when a fit was stopped before it came to a row.
TEST(FamilyOfUnknown, IsNotKnown) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  for (const Family family : {Family::number, Family::amount, Family::count}) {
    const Predicted p =
        mixture_of({{1, 0.2, 0.3, 0, 0.5}, {unknown, unknown, 0.3, 0, 0.5}}, family);
    EXPECT_TRUE(std::isnan(p.mean));
  }
}

RC_GTEST_PROP(AmountPrediction, IsTheLogarithmsPrediction, (std::uint64_t seed)) {
  special::Random random(seed);
  const Predicted p = draw_amount(random);
  const Predicted logs = mixture_of(p.parts);
  const double y = std::exp(random.uniform(-3, 3));
  RC_ASSERT(p.cdf(y) == logs.cdf(std::log(y)));
  RC_ASSERT(p.central_probability(y) == logs.central_probability(std::log(y)));
  RC_ASSERT(std::abs(p.log_density(y) - (logs.log_density(std::log(y)) - std::log(y))) < 1e-12);
  RC_ASSERT(std::abs(std::log(p.quantile(0.9)) - logs.quantile(0.9)) < 1e-9);
  RC_ASSERT(std::abs(p.cdf(p.mean) - 0.5) < 1e-9);
  RC_ASSERT(p.cdf(0) == 0);
  RC_ASSERT(std::isinf(p.log_density(-1)));
  const Interval interval = p.interval(CentralLevel(0.95));
  RC_ASSERT(interval.lower > 0);
  RC_ASSERT(std::abs(p.cdf(interval.upper) - p.cdf(interval.lower) - 0.95) < 1e-9);
  const double far = p.quantile(special::normal_cdf(1.0)),
               near = p.quantile(special::normal_cdf(-1.0));
  RC_ASSERT(std::abs(p.stddev() - (far - near) / 2) < 1e-8 * far);
  const Interval function = p.function_interval(CentralLevel(0.95));
  RC_ASSERT(0 < function.lower && function.lower < function.upper);
}

TEST(AmountPrediction, ScoreIsAnIntegralWithoutTheLastOfThousands) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    special::Random random(seed);
    const Predicted p = draw_amount(random);
    const double y = p.quantile(random.uniform(0.01, 0.99));
    std::vector<double> breaks = special::even_breaks(p.quantile(5e-4), p.quantile(1 - 5e-4), 400);
    breaks.push_back(y);
    std::sort(breaks.begin(), breaks.end());
    const auto miss = [&](double x) {
      return special::Integrals<1>{std::pow(p.cdf(x) - (x >= y ? 1 : 0), 2)};
    };
    const double exact = special::integrate<1>(miss, breaks, 1e-9)[0];
    EXPECT_NEAR(p.crps(y) / exact, 1, 2e-3) << seed;
  }
  // Beyond all that is expected.
  const Predicted p = mixture_of({{0, 0.1, 0.2}}, Family::amount);
  EXPECT_NEAR(p.crps(1000), 1000 - p.mean, 0.5);
}

// Drawn from the predictions, they have the coverage that is asked for: exactly, if the steps are allowed for.
TEST(CountMetrics, CoverageAllowsForSteps) {
  special::Random random(5);
  std::vector<Predicted> predicted;
  std::vector<double> targets;
  for (int n = 0; n < 4000; ++n) {
    predicted.push_back(mixture_of({{random.uniform(-1, 1), 0.1, 0.5}}, Family::count));
    targets.push_back(predicted.back().quantile(random.uniform()));
  }
  const Metrics metrics = score(targets, predicted);
  EXPECT_LT(metrics.calibration_error, 0.012);
  for (std::size_t k = 0; k < Metrics::levels.size(); ++k) {
    EXPECT_GT(metrics.coverage[k], Metrics::levels[k] - 0.01);
  }
  EXPECT_GT(metrics.coverage[0], 0.6);  // of counts about 1
  double all = 0;
  for (const double bin : metrics.pit) {
    all += bin;
    EXPECT_NEAR(bin, 200, 45);
  }
  EXPECT_NEAR(all, 4000, 1e-9);
  const Metrics halves =
      merged(score(std::span(targets).first(1000), std::span(predicted).first(1000)),
             score(std::span(targets).subspan(1000), std::span(predicted).subspan(1000)));
  for (std::size_t k = 0; k < Metrics::levels.size(); ++k) {
    EXPECT_NEAR(halves.coverage[k], metrics.coverage[k], 1e-12);
  }
  EXPECT_NEAR(halves.calibration_error, metrics.calibration_error, 1e-12);
}

}  // namespace
}  // namespace dma
