// A prediction whose noise is not known exactly, against integrals of its definition.
#include <dma/metrics/predicted.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <dma/metrics/metrics.h>
#include <dma/special/normal.h>
#include <dma/special/quadrature.h>
#include <dma/special/random.h>

namespace dma {
namespace {

PredictedPart draw_part(special::Random& random, double most_spread) {
  const double noise = std::exp(random.uniform(-2, 2));
  const double spread = random.uniform(0.05, most_spread);
  return {random.uniform(-5, 5),
          noise * random.uniform(0.1, 2),
          noise,
          spread,
          1,
          std::max(0.0, random.uniform(-most_spread, most_spread))};
}

Predicted draw(special::Random& random, double most_spread) {
  return mixture_of({draw_part(random, most_spread)});
}

// Up to five parts, some far from the others.
Predicted draw_mixture(special::Random& random) {
  std::vector<PredictedPart> parts;
  const auto count = static_cast<std::size_t>(random.uniform(2, 6));
  double sum = 0;
  for (std::size_t k = 0; k < count; ++k) {
    parts.push_back(draw_part(random, 1.5));
    if (k % 2 == 1) parts.back().noise_spread = 0;
    parts.back().weight = random.uniform(0.1, 1);
    sum += parts.back().weight;
  }
  for (PredictedPart& part : parts) part.weight /= sum;
  return mixture_of(parts);
}

// The variance at t: the logs of the function's and of the noise's have spreads around their means.
double variance_at(const PredictedPart& part, double t) {
  const auto log_ratio = [t](double spread) { return spread * (t - spread / 2); };
  return std::pow(part.epistemic_std, 2) * std::exp(log_ratio(part.epistemic_spread)) +
         std::pow(part.noise_std, 2) * std::exp(log_ratio(part.noise_spread));
}

// E over t ~ N(0, 1), by 128 nodes instead of nine.
template <class Value>
double expect_over_noise(const Predicted& p, const Value& value) {
  static const auto rule = special::gauss_hermite(128);
  double sum = 0;
  for (std::size_t k = 0; k < rule.nodes.size(); ++k) {
    sum += rule.weights[k] * value(std::sqrt(variance_at(p.parts.front(), rule.nodes[k])));
  }
  return sum;
}

RC_GTEST_PROP(Predicted, NineNodesStandForTheNoisesDistribution, (std::uint64_t seed)) {
  special::Random random(seed);
  const Predicted p = draw(random, 1.0);
  const double y = p.mean + 3 * p.stddev() * random.uniform(-1, 1);
  const double density = expect_over_noise(p, [&](double deviation) {
    return special::normal_pdf((y - p.mean) / deviation) / deviation;
  });
  const double below = expect_over_noise(
      p, [&](double deviation) { return special::normal_cdf((y - p.mean) / deviation); });
  RC_ASSERT(std::abs(std::exp(p.log_density(y)) - density) < 2e-2 * density);
  RC_ASSERT(std::abs(p.cdf(y) - below) < 1e-3);
}

// The mixture as it is, integrated over y.
TEST(Predicted, DensityCdfAndCrpsBelongTogether) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    special::Random random(seed);
    const Predicted p = seed % 2 == 0 ? draw(random, 1.5) : draw_mixture(random);
    const double target = p.mean + p.stddev() * random.uniform(-3, 3);
    const double reach = 40 * p.stddev();
    std::vector<double> breaks = special::even_breaks(p.mean - reach, p.mean + reach, 400);
    breaks.push_back(target);
    std::sort(breaks.begin(), breaks.end());
    const auto end = std::upper_bound(breaks.begin(), breaks.end(), target);
    const std::vector<double> below(breaks.begin(), end);
    const auto density = [&](double x) {
      return special::Integrals<1>{std::exp(p.log_density(x))};
    };
    EXPECT_NEAR(special::integrate<1>(density, below, 1e-10)[0], p.cdf(target), 1e-8);
    const auto miss = [&](double x) {
      const double share = p.cdf(x);
      return special::Integrals<1>{x < target ? share * share : (1 - share) * (1 - share)};
    };
    const double crps = special::integrate<1>(miss, breaks, 1e-10)[0];
    EXPECT_NEAR(p.crps(target), crps, 1e-6 * crps);
  }
}

RC_GTEST_PROP(Predicted, AnIntervalHoldsWhatItSays, (std::uint64_t seed)) {
  special::Random random(seed);
  const Predicted p = draw(random, 2.0);
  const double level = random.uniform(0.01, 0.9999);
  RC_ASSERT(std::abs(p.cdf(p.upper(level)) - p.cdf(p.lower(level)) - level) < 1e-11);
  RC_ASSERT(std::abs(p.central_probability(p.lower(level)) - level) < 1e-11);
  RC_ASSERT(std::abs(p.cdf(p.mean) - 0.5) < 1e-12);
}

// As much lies below a central interval as above it, and a quantile is where the distribution says.
RC_GTEST_PROP(Predicted, QuantilesOfAMixtureAreThoseOfItsDistribution, (std::uint64_t seed)) {
  special::Random random(seed);
  const Predicted p = draw_mixture(random);
  const double probability = random.uniform(1e-4, 1 - 1e-4);
  RC_ASSERT(std::abs(p.cdf(p.quantile(probability)) - probability) < 1e-9);
  const double level = random.uniform(0.01, 0.999);
  RC_ASSERT(std::abs(p.cdf(p.lower(level)) - (1 - level) / 2) < 1e-9);
  RC_ASSERT(std::abs(p.cdf(p.upper(level)) - (1 + level) / 2) < 1e-9);
}

// A deviation stands for the middle of a distribution: a Gaussian has as much between its quantiles.
RC_GTEST_PROP(Predicted, DeviationsAreThoseOfTheQuantiles, (std::uint64_t seed)) {
  special::Random random(seed);
  const Predicted p = seed % 2 == 0 ? draw(random, 2.0) : draw_mixture(random);
  const double one_below = special::normal_cdf(-1.0);
  const double half = (p.quantile(1 - one_below) - p.quantile(one_below)) / 2;
  RC_ASSERT(std::abs(p.stddev() - half) < 1e-9 * half);
  const double squares = p.epistemic_std * p.epistemic_std + p.noise_std * p.noise_std;
  RC_ASSERT(std::abs(squares - half * half) < 1e-9 * half * half);
}

// Nearly alike, of one size: its mean and variance are those of the law of total variance, nearly.
TEST(Predicted, AMixtureHasTheMomentsOfItsParts) {
  const Predicted p = mixture_of({{1.7, 1, 4, 0, 0.25}, {2, 1, 4, 0, 0.75}});
  EXPECT_DOUBLE_EQ(p.mean, 1.925);
  EXPECT_NEAR(p.epistemic_std, std::sqrt(1 + 0.25 * 0.75 * 0.09), 1e-3);
  EXPECT_NEAR(p.noise_std, 4, 1e-3);
}

// Where the variance is that of tails, or of one network of many.
TEST(Predicted, ADeviationIsWhatMostValuesAreOffBy) {
  const Predicted heavy = mixture_of({{0, 1, std::exp(2.0), 4}});  // a usual deviation of 1.5
  EXPECT_LT(heavy.stddev(), 3);
  EXPECT_GT(heavy.stddev(), 1);
  EXPECT_LT(heavy.stddev(), heavy.upper(0.95));
  std::vector<PredictedPart> parts(24, {0, 0.6, 0.8, 0, 1.0 / 24});
  parts[5].epistemic_std = 160'706;
  parts[7].noise_std = 4588;
  const Predicted p = mixture_of(parts);
  EXPECT_NEAR(p.stddev(), 1, 0.2);
  EXPECT_NEAR(p.epistemic_std, 0.6, 0.2);
  EXPECT_NEAR(p.noise_std, 0.8, 0.15);
}

TEST(Predicted, WhatIsKnownExactlyHasADeviationToo) {
  EXPECT_EQ(mixture_of({{1, 0, 2}}).epistemic_std, 0);
  const Predicted apart = mixture_of({{0, 0, 1, 0, 0.5}, {2, 0, 1, 0, 0.5}});
  EXPECT_GT(apart.epistemic_std, 0.5);
  EXPECT_GT(apart.noise_std, 0.5);
}

// What lies beyond an end counts as the end.
RC_GTEST_PROP(Predicted, WithinBoundsEverythingIsCut, (std::uint64_t seed)) {
  special::Random random(seed);
  const Predicted free = draw_mixture(random);
  const double low = random.uniform(-6, 6);
  const Bounds bounds{low, seed % 3 == 0 ? HUGE_VAL : low + random.uniform(1, 9)};
  const Predicted p = mixture_of(free.parts, Family::number, bounds);
  const auto cut = [&](double value) { return std::clamp(value, bounds.low, bounds.high); };
  RC_ASSERT(p.mean == cut(free.mean));
  RC_ASSERT(p.stddev() == free.stddev());
  const CentralLevel level(random.uniform(0.01, 0.999));
  RC_ASSERT(p.interval(level).lower == cut(free.interval(level).lower));
  RC_ASSERT(p.interval(level).upper == cut(free.interval(level).upper));
  RC_ASSERT(p.quantile(0.3) == cut(free.quantile(0.3)));
  const double y = cut(free.quantile(random.uniform(0.001, 0.999)));
  RC_ASSERT(p.log_density(y) == free.log_density(y));
  RC_ASSERT(p.central_probability(y) == free.central_probability(y));
  RC_ASSERT(p.crps(y) <= free.crps(y) * (1 + 1e-2));
}

// Of all that is drawn and cut.
TEST(Predicted, TheCrpsWithinBoundsIsThatOfCutValues) {
  const Predicted p =
      mixture_of({{0.5, 0.6, 0.8, 0, 0.5}, {1, 0.6, 0.8, 0, 0.5}}, Family::number, {0, HUGE_VAL});
  for (const double y : {0.0, 0.3, 2.0}) {
    const auto miss = [&](double x) {
      return special::Integrals<1>{std::pow(p.cdf(x) - (x < y ? 0 : 1), 2)};
    };
    const double crps =
        (y > 0 ? special::integrate<1>(miss, special::even_breaks(0, y, 100), 1e-9)[0] : 0) +
        special::integrate<1>(miss, special::even_breaks(y, 15, 300), 1e-9)[0];
    EXPECT_NEAR(p.crps(y), crps, 5e-3 * crps) << y;
  }
  EXPECT_NEAR(p.crps(-1), p.crps(0) + 1, 1e-9);
}

// One of ten parts has run away: mean, median and interval stay with the others.
TEST(Predicted, APartThatRunsAwayDoesNotTakeTheOthersAlong) {
  std::vector<PredictedPart> parts(10, {0, 0.3, 1, 0.2, 0.1});
  parts[3].mean = 1e6;
  const Predicted p = mixture_of(parts);
  EXPECT_GT(p.mean, 0);
  EXPECT_LT(p.mean, 0.1 * p.quantile(0.75) + 1e-12);
  EXPECT_LT(std::abs(p.quantile(0.5)), 0.2);
  EXPECT_LT(p.stddev(), 2);
  EXPECT_LT(p.upper(0.75), 3);
  EXPECT_GT(p.lower(0.75), -3);
}

TEST(Predicted, WithoutSpreadIsAGaussian) {
  const Predicted p{1, 3, 4};
  EXPECT_DOUBLE_EQ(p.stddev(), 5);
  EXPECT_DOUBLE_EQ(p.upper(0.95), 1 + 5 * special::normal_quantile(0.975));
  EXPECT_DOUBLE_EQ(p.lower(0.95), 1 - 5 * special::normal_quantile(0.975));
  EXPECT_DOUBLE_EQ(p.log_density(6), -0.5 - std::log(5) - special::log_sqrt_two_pi);
  EXPECT_DOUBLE_EQ(p.cdf(6), special::normal_cdf(1.0));
}

TEST(Predicted, OnlyAnEndlessIntervalHoldsEverything) {
  for (const double spread : {0.0, 1.5}) {
    const Predicted p{1, 3, 4, spread};
    EXPECT_EQ(p.upper(1), std::numeric_limits<double>::infinity());
    EXPECT_EQ(p.lower(1), -std::numeric_limits<double>::infinity());
    EXPECT_EQ(p.upper(0), 1);
  }
}

TEST(Predicted, SpreadMakesTailsHeavyAndTheMiddleNarrow) {
  const Predicted gaussian{0, 0.1, 1};
  const Predicted spread{0, 0.1, 1, 1.5};
  EXPECT_DOUBLE_EQ(gaussian.stddev(), spread.stddev());
  EXPECT_LT(spread.upper(0.5), 0.8 * gaussian.upper(0.5));
  EXPECT_GT(spread.upper(0.999), gaussian.upper(0.999));
  EXPECT_GT(spread.log_density(8), gaussian.log_density(8) + 5);
}

// Values drawn from the predictions: their scores are the calibrated ones.
TEST(Predicted, RightPredictionsAreCalibrated) {
  special::Random random(11);
  std::vector<double> targets;
  std::vector<Predicted> predicted;
  for (int n = 0; n < 40'000; ++n) {
    const Predicted p = draw(random, 1.0);
    const double variance = variance_at(p.parts.front(), random.normal());
    targets.push_back(p.mean + std::sqrt(variance) * random.normal());
    predicted.push_back(p);
  }
  const Metrics metrics = score(targets, predicted);
  for (std::size_t k = 0; k < Metrics::levels.size(); ++k) {
    EXPECT_NEAR(metrics.coverage[k], Metrics::levels[k], 0.01);
  }
  for (const double count : metrics.pit) EXPECT_NEAR(count, 2000, 200);
}

}  // namespace
}  // namespace dma
