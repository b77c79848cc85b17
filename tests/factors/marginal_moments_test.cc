// The reference of check_factor against closed forms, far out in both tails.
#include "factors/marginal_moments.h"

#include <dma/factors/factors.h>

#include <boost/math/special_functions/erf.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

namespace dma::detail {
namespace {

using G = Gaussian<double>;
using Precise = boost::multiprecision::cpp_bin_float_100;

// phi(a) / Phi(-a) - a. For a > 4 by Laplace's continued fraction 1 / (a + 2 / (a + 3 / ...)).
Precise mills_excess(Precise a) {
  if (a < 4) {
    const Precise density = exp(-a * a / 2) / sqrt(2 * boost::math::constants::pi<Precise>());
    return density / (boost::math::erfc(a / sqrt(Precise(2))) / 2) - a;
  }
  Precise fraction = a;
  for (int k = 300; k > 1; --k) fraction = a + k / fraction;
  return 1 / fraction;
}

// N(mean, deviation^2) above the threshold:
//   a = (threshold - mean) / deviation, M = phi(a) / Phi(-a) = a + e:
//   mean + deviation M = threshold + deviation e,   deviation^2 (1 + a M - M^2) = deviation^2 (1 - (a + e) e)
MeanAndDeviation above(double threshold, double mean, double deviation) {
  const Precise a = (Precise(threshold) - mean) / deviation;
  const Precise e = mills_excess(a);
  const Precise truncated = threshold + deviation * e;
  const Precise width = deviation * sqrt(1 - (a + e) * e);
  return {static_cast<double>(truncated), static_cast<double>(width)};
}

MeanAndDeviation below(double threshold, double mean, double deviation) {
  const auto mirrored = above(-threshold, -mean, deviation);
  return {-mirrored.mean, mirrored.deviation};
}

// The distance in deviations of the truth, less what the spacing of doubles at the mean accounts for.
double error_of(MeanAndDeviation found, MeanAndDeviation exact) {
  const double spacing = 4 * std::numeric_limits<double>::epsilon() * std::abs(exact.mean);
  return (std::abs(found.mean - exact.mean) + std::abs(found.deviation - exact.deviation) -
          spacing) /
         exact.deviation;
}

struct Case {
  double threshold, mean, deviation;
};

// A threshold t deviations above the mean.
Case any(double t) {
  const double threshold = *rc::gen::inRange(-400, 400) / 100.0;
  const double deviation = std::exp(*rc::gen::inRange(-500, 500) / 100.0);
  return {threshold, threshold - t * deviation, deviation};
}

// The same with a threshold so close to 0 that doubles resolve what is left of the Gaussian, about deviation / t.
Case any_near_zero(double t) {
  const double deviation = std::exp(*rc::gen::inRange(-500, 500) / 100.0);
  const double threshold = *rc::gen::inRange(-400, 400) / 100.0 * deviation / std::abs(t);
  return {threshold, threshold - t * deviation, deviation};
}

// The message that a factor sees has lost digits of mean and deviation: these are the ones meant.
void expect_truncated(const Case& c, double tolerance) {
  const auto in = G::from_moments(c.mean, c.deviation * c.deviation);
  const double mean = in.mean();
  const double deviation = in.stddev();
  const GreaterThan factor{c.threshold};
  const auto log_above = [&](double x) { return factor.log_density(std::span(&x, 1)); };
  const auto log_below = [&](double x) {
    return x < c.threshold ? 0 : -std::numeric_limits<double>::infinity();
  };
  const auto found_above = marginal_moments(log_above, in);
  const auto found_below = marginal_moments(log_below, in);
  ASSERT_TRUE(found_above && found_below) << c.threshold << " " << mean << " " << deviation;
  EXPECT_LE(error_of(*found_above, above(c.threshold, mean, deviation)), tolerance)
      << c.threshold << " " << mean << " " << deviation;
  EXPECT_LE(error_of(*found_below, below(c.threshold, mean, deviation)), tolerance)
      << c.threshold << " " << mean << " " << deviation;
}

RC_GTEST_PROP(MarginalMoments, TruncatedWithinAHundredDeviations, ()) {
  expect_truncated(any(*rc::gen::inRange(-10000, 10000) / 100.0), 1e-11);
}

RC_GTEST_PROP(MarginalMoments, TruncatedAnywhereInTheRangeOfFloat, ()) {
  const double sign = *rc::gen::element(-1.0, 1.0);
  const double decades = *rc::gen::inRange(0, 3800) / 100.0;
  expect_truncated(any_near_zero(sign * std::pow(10.0, decades)), 1e-11);
}

TEST(MarginalMoments, TruncatedAtZero) {
  for (const double deviation : {0.1, 1.0, 30.0}) expect_truncated({0, -3, deviation}, 1e-12);
}

TEST(MarginalMoments, TruncatedMoreThanThirtyDeviationsAway) {
  const G in{-206.483, 46.3972};
  expect_truncated({0.3, in.mean(), in.stddev()}, 1e-12);
}

RC_GTEST_PROP(MarginalMoments, OfAGaussianAnyDistanceAway, ()) {
  const double distance = *rc::gen::inRange(-10000, 10000) / 10.0;
  const double width = std::exp(*rc::gen::inRange(-700, 700) / 100.0);
  const auto in = G::from_moments(*rc::gen::inRange(-400, 400) / 100.0, 1);
  const Prior prior{in.mean() + distance * std::sqrt(1 + width * width), width * width};
  const auto exact = in * G::from_moments(prior.mean, prior.variance);
  const auto found =
      marginal_moments([&](double x) { return prior.log_density(std::span(&x, 1)); }, in);
  ASSERT_TRUE(found);
  // log_density itself loses digits with the square of the distance.
  const double lost = 1e-15 * distance * distance;
  EXPECT_LE(error_of(*found, {exact.mean(), exact.stddev()}), 1e-11 + lost);
}

TEST(MarginalMoments, OfTwoPeaks) {
  // Half N(-5, 1), half N(7, 1): times N(0, 100) two Gaussians with weights by their evidence.
  const std::array peaks{G::from_moments(-5, 1), G::from_moments(7, 1)};
  const auto in = G::from_moments(0, 100);
  const auto found = marginal_moments(
      [&](double x) {
        return std::log(std::exp(peaks[0].log_density(x)) + std::exp(peaks[1].log_density(x)));
      },
      in);
  ASSERT_TRUE(found);
  double mass = 0, first = 0, second = 0;
  for (const G peak : peaks) {
    const auto evidence = G::from_moments(0, 101);
    const double weight = std::exp(evidence.log_density(peak.mean()));
    const G product = in * peak;
    mass += weight;
    first += weight * product.mean();
    second += weight * (product.variance() + product.mean() * product.mean());
  }
  const double mean = first / mass;
  EXPECT_NEAR(found->mean, mean, 1e-10);
  EXPECT_NEAR(found->deviation, std::sqrt(second / mass - mean * mean), 1e-10);
}

TEST(MarginalMoments, NothingWhereThereIsNoMass) {
  const auto in = G::from_moments(1, 2);
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(marginal_moments([&](double) { return -infinity; }, in));
  EXPECT_FALSE(marginal_moments([&](double) { return std::nan(""); }, in));
  EXPECT_FALSE(marginal_moments([&](double x) { return x > 0.9 ? std::nan("") : 0; }, in));
}

// An interval that no scanned point hits, unless one is given.
TEST(MarginalMoments, FindWhatIsNarrowWhereTheyAreTold) {
  const auto log_density = [](double x) {
    return std::abs(x - 0.1) < 1e-6 ? 0 : -std::numeric_limits<double>::infinity();
  };
  EXPECT_FALSE(marginal_moments(log_density, G::from_moments(0, 1)));
  const auto found = marginal_moments(log_density, G::from_moments(0, 1), 0.1);
  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(found->mean, 0.1, 1e-12);
  EXPECT_NEAR(found->deviation, 1e-6 / std::sqrt(3.0), 1e-14);
}

}  // namespace
}  // namespace dma::detail
