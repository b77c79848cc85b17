// The fast network against the readable one, and its gradient against finite differences.
#include "baselines/point_network.h"

#include "baselines/example.h"

#include <dma/belief/posterior.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace dma::baselines {
namespace {

std::vector<double> evaluated(const Example& e) {
  std::vector<double> all;
  for (std::size_t n = 0; n < e.rows; ++n) {
    const auto row = e.inputs.begin() + static_cast<std::ptrdiff_t>(n * e.network.inputs());
    std::vector<double> values(row, row + static_cast<std::ptrdiff_t>(e.network.inputs()));
    evaluate(e.network, e.weights, values);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

TEST(PointNetwork, ComputesWhatEvaluateDoes) {
  for (const Example& e : examples()) {
    const auto expected = evaluated(e);
    const auto actual = outputs(e.network, e.weights, e.inputs, e.rows);
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t k = 0; k < actual.size(); ++k) {
      EXPECT_NEAR(actual[k], expected[k], 1e-13 * (1 + std::abs(expected[k])));
    }
  }
}

TEST(PointNetwork, SumsHalfTheSquaredErrors) {
  for (const Example& e : examples()) {
    const auto f = evaluated(e);
    double expected = 0;
    for (std::size_t k = 0; k < f.size(); ++k) {
      expected += (f[k] - e.targets[k]) * (f[k] - e.targets[k]) / 2;
    }
    PointNetwork network(e.network, e.inputs, e.targets, e.rows);
    EXPECT_NEAR(network.half_squared_error(e.weights), expected, 1e-12 * expected);
  }
}

// The function is quadratic in one weight between two kinks, where central differences are exact: the
// step is small so that few rows cross a kink.
TEST(PointNetwork, GradientEqualsCentralDifferences) {
  for (const Example& e : examples()) {
    PointNetwork network(e.network, e.inputs, e.targets, e.rows);
    std::vector<double> gradient(e.weights.size());
    const double value = network.half_squared_error(e.weights, gradient);
    EXPECT_EQ(value, network.half_squared_error(e.weights));
    for (std::size_t k = 0; k < e.weights.size(); ++k) {
      constexpr double step = 1e-6;
      std::vector<double> moved = e.weights;
      moved[k] += step;
      const double up = network.half_squared_error(moved);
      moved[k] -= 2 * step;
      const double down = network.half_squared_error(moved);
      EXPECT_NEAR(gradient[k], (up - down) / (2 * step), 1e-8 * (value + std::abs(gradient[k])));
    }
  }
}

TEST(PointNetwork, RepeatsItself) {
  const Example e = examples()[0];
  PointNetwork network(e.network, e.inputs, e.targets, e.rows);
  std::vector<double> first(e.weights.size());
  std::vector<double> second(e.weights.size());
  network.half_squared_error(e.weights, first);
  network.half_squared_error(std::vector<double>(e.weights.size(), 0.5));
  network.half_squared_error(e.weights, second);
  EXPECT_EQ(first, second);
}

TEST(Problem, MeanNllIsThatOfTheNormalDensity) {
  const Example e = examples()[2];
  const Problem problem = e.problem(0.3);
  const auto f = evaluated(e);
  double expected = 0;
  for (std::size_t k = 0; k < f.size(); ++k) {
    const double error = f[k] - e.targets[k];
    expected +=
        (error * error / 0.3 + std::log(2 * M_PI * 0.3)) / 2 / static_cast<double>(f.size());
  }
  std::vector<double> gradient(e.weights.size());
  const auto loss = mean_nll(problem);
  EXPECT_NEAR(loss(e.weights, gradient), expected, 1e-12 * expected);

  std::vector<double> moved = e.weights;
  std::vector<double> ignored(gradient.size());
  moved[0] += 1e-6;
  EXPECT_NEAR(gradient[0], (loss(moved, ignored) - expected) / 1e-6, 1e-4 * expected);
}

// Differences of the log joint, since its constant is left out.
TEST(Problem, LogJointAddsThePrior) {
  const Example e = examples()[1];
  const WeightPrior prior = draw_prior(e.network, 7);
  PointNetwork network(e.network, e.inputs, e.targets, e.rows);
  const auto by_hand = [&](const std::vector<double>& weights) {
    double sum = -network.half_squared_error(weights) / 0.04;
    for (std::size_t k = 0; k < weights.size(); ++k) {
      sum -= std::pow(weights[k] - prior.mean[k], 2) / (2 * prior.variance[k]);
    }
    return sum;
  };
  std::vector<double> other = e.weights;
  for (double& w : other) w += 0.1;
  std::vector<double> gradient(other.size());
  const auto density = log_joint(e.problem(), prior);
  const double difference = density(other, gradient) - density(e.weights, gradient);
  const double expected = by_hand(other) - by_hand(e.weights);
  EXPECT_NEAR(difference, expected, 1e-10 * std::abs(expected));
  for (std::size_t k = 0; k < other.size(); ++k) {
    std::vector<double> up = e.weights;
    std::vector<double> down = e.weights;
    up[k] += 1e-6;
    down[k] -= 1e-6;
    EXPECT_NEAR(gradient[k], (by_hand(up) - by_hand(down)) / 2e-6, 1e-6 * (1 + std::abs(expected)));
  }
}

// f = w' x: mean m' x, variance sum of v x^2.
TEST(Samples, OfALinearNetworkHaveItsMoments) {
  const Example e = linear_example();
  const std::vector<double> variance = {0.1, 0.2, 0.3, 0.4};
  constexpr std::size_t count = 20000;
  const auto weights = draw_weights(e.weights, variance, count, 11);
  ASSERT_EQ(weights.size(), count * 4);
  const Prediction p = predict_by_samples(e.network, weights, e.inputs, e.rows, 0.04);
  const Eigen::VectorXd mean = design(e) * vector(e.weights);
  const Eigen::VectorXd spread = design(e).array().square().matrix() * vector(variance);
  for (std::size_t n = 0; n < e.rows; ++n) {
    const auto at = static_cast<Eigen::Index>(n);
    EXPECT_NEAR(p.mean[n], mean[at], 5 * std::sqrt(spread[at] / count));
    EXPECT_NEAR(p.epistemic_variance[n], spread[at], 5 * spread[at] * std::sqrt(2.0 / count));
    EXPECT_EQ(p.noise_variance[n], 0.04);
  }
}

}  // namespace
}  // namespace dma::baselines
