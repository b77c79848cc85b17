// libtorch against formulas, and against the network by hand.
#include "baselines/torch_baselines.h"

#include "baselines/example.h"
#include "baselines/laplace.h"
#include "baselines/point_network.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

namespace dma::baselines {
namespace {

std::vector<double> gradient_by_hand(const Example& e, const std::vector<double>& weights) {
  std::vector<double> gradient(weights.size());
  PointNetwork(e.network, e.inputs, e.targets, e.rows).half_squared_error(weights, gradient);
  return gradient;
}

TEST(Torch, IsAvailable) { EXPECT_TRUE(torch_available()); }

// Adam's first step is learning_rate g / (|g| + epsilon), whatever the size of g.
TEST(Torch, TakesTheStepOfKingmaAndBa) {
  for (const Example& e : examples()) {
    const Problem problem = e.problem(0.3);
    const AdamResult result = train_adam(problem, e.weights, {.learning_rate = 0.01, .epochs = 1});
    const auto sum = gradient_by_hand(e, e.weights);
    for (std::size_t k = 0; k < e.weights.size(); ++k) {
      const double g = sum[k] / (0.3 * static_cast<double>(problem.observations()));
      EXPECT_NEAR(result.weights[k], e.weights[k] - 0.01 * g / (std::abs(g) + 1e-8), 1e-9);
    }
    PointNetwork after(e.network, e.inputs, e.targets, e.rows);
    const double nll = mean_nll(problem, after.half_squared_error(result.weights));
    EXPECT_NEAR(result.train_nll.at(0), nll, 1e-10 * std::abs(nll));
  }
}

// Autograd's gradient, seen through two steps: the second depends on the size of both gradients.
TEST(Torch, AutomaticGradientsEqualOurs) {
  for (const Example& e : examples()) {
    const Problem problem = e.problem(0.3);
    const AdamResult result = train_adam(problem, e.weights, {.learning_rate = 0.01, .epochs = 2});
    const double scale = 1 / (0.3 * static_cast<double>(problem.observations()));
    std::vector<double> w = e.weights;
    std::vector<double> m(w.size(), 0);
    std::vector<double> v(w.size(), 0);
    for (int t = 1; t <= 2; ++t) {
      const auto sum = gradient_by_hand(e, w);
      for (std::size_t k = 0; k < w.size(); ++k) {
        const double g = scale * sum[k];
        m[k] = 0.9 * m[k] + 0.1 * g;
        v[k] = 0.999 * v[k] + 0.001 * g * g;
        w[k] -= 0.01 * m[k] / (1 - std::pow(0.9, t)) /
                (std::sqrt(v[k] / (1 - std::pow(0.999, t))) + 1e-8);
      }
    }
    for (std::size_t k = 0; k < w.size(); ++k) EXPECT_NEAR(result.weights[k], w[k], 1e-9);
  }
}

TEST(Torch, AdamFindsLeastSquares) {
  const Example e = linear_example();
  const AdamResult result =
      train_adam(e.problem(), std::vector<double>(4, 0), {.learning_rate = 0.02, .epochs = 3000});
  const Eigen::VectorXd expected = design(e).colPivHouseholderQr().solve(vector(e.targets));
  EXPECT_LT((vector(result.weights) - expected).cwiseAbs().maxCoeff<Eigen::PropagateNaN>(), 1e-6);
  EXPECT_FALSE(result.diverged);
  EXPECT_GT(result.seconds_per_epoch, 0);
  ASSERT_EQ(result.train_nll.size(), 3000U);
  EXPECT_LT(result.train_nll.back(), result.train_nll.front());
}

TEST(Torch, PriorPrecisionMakesItRidge) {
  const Example e = linear_example();
  const double noise = 0.5;
  const std::vector<double> precision = {5, 10, 20, 40};
  const AdamResult result =
      train_adam(e.problem(noise), std::vector<double>(4, 0),
                 {.learning_rate = 0.02, .prior_precision = precision, .epochs = 3000});
  Eigen::MatrixXd hessian = design(e).transpose() * design(e) / noise;
  hessian.diagonal() += vector(precision);
  const Eigen::VectorXd expected =
      hessian.ldlt().solve(design(e).transpose() * vector(e.targets) / noise);
  EXPECT_LT((vector(result.weights) - expected).cwiseAbs().maxCoeff<Eigen::PropagateNaN>(), 1e-6);
}

// Targets equal to the outputs: no gradient, so that only the decay is left.
TEST(Torch, DecayIsDecoupled) {
  Example e = linear_example();
  std::fill(e.inputs.begin(), e.inputs.end(), 0);
  std::fill(e.targets.begin(), e.targets.end(), 0);
  e.weights = {1, 2, 3, 0};
  const AdamResult result =
      train_adam(e.problem(), e.weights, {.learning_rate = 0.1, .weight_decay = 0.5, .epochs = 3});
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_NEAR(result.weights[k], e.weights[k] * std::pow(1 - 0.1 * 0.5, 3), 1e-12);
  }
}

TEST(Torch, BatchesSeeEveryRowOnce) {
  const Example e = linear_example();
  AdamOptions options{.learning_rate = 0.001, .epochs = 1, .batch_size = 7};
  const auto first = train_adam(e.problem(), e.weights, options).weights;
  EXPECT_EQ(train_adam(e.problem(), e.weights, options).weights, first);
  options.seed = 2;
  EXPECT_NE(train_adam(e.problem(), e.weights, options).weights, first);
  // Eight steps of at most about the learning rate.
  const double moved = std::abs(first[0] - e.weights[0]);
  EXPECT_GT(moved, 0.001);
  EXPECT_LT(moved, 0.016);
  options.batch_size = 50;
  options.epochs = 20;
  const auto whole = train_adam(e.problem(), e.weights, options).weights;
  options.batch_size = 0;
  const auto all = train_adam(e.problem(), e.weights, options).weights;
  EXPECT_LT((vector(whole) - vector(all)).cwiseAbs().maxCoeff<Eigen::PropagateNaN>(), 1e-9);
}

// Two classes whose outputs are w0 x and w1 x: the loss is log(1 + exp(-+(w1 - w0) x)), and Adam lowers it.
TEST(Torch, ClassesHaveTheLossOfASoftmax) {
  const std::vector<double> inputs{0.5, -1, 2}, targets{1, 0, 0}, start{0.3, -0.4};
  const Problem problem{{.widths = {1, 2}}, inputs, targets, 3, 1, true};
  const auto nll = [&](const std::vector<double>& w) {
    double sum = 0;
    for (std::size_t n = 0; n < 3; ++n) {
      sum += std::log1p(std::exp((targets[n] > 0 ? -1 : 1) * (w[1] - w[0]) * inputs[n]));
    }
    return sum / 3;
  };
  const AdamResult result = train_adam(problem, start, {.learning_rate = 0.01, .epochs = 5});
  EXPECT_NEAR(result.train_nll.back(), nll(result.weights), 1e-12);
  EXPECT_LT(result.train_nll.back(), nll(start));
}

TEST(Torch, SaysWhenItDiverged) {
  const Example e = examples()[0];
  const AdamResult result = train_adam(e.problem(), e.weights, {.learning_rate = 1e200});
  EXPECT_TRUE(result.diverged);
  EXPECT_LT(result.train_nll.size(), 200U);
}

TEST(Torch, HessianOfALinearNetworkIsItsDesign) {
  const Example e = linear_example();
  const std::vector<double> precision = {1, 2, 3, 4};
  const auto diagonal = hessian_diagonal(e.problem(0.3), e.weights, precision);
  const Eigen::VectorXd expected =
      (design(e).transpose() * design(e)).diagonal() / 0.3 + vector(precision);
  EXPECT_LT((vector(diagonal) - expected).cwiseAbs().maxCoeff<Eigen::PropagateNaN>(), 1e-9);
}

// Between kinks the gradient is linear in one weight: its central difference is exact.
TEST(Torch, HessianOfADeepNetworkIsTheGradientsDifference) {
  for (const Example& e : examples()) {
    const auto diagonal = hessian_diagonal(e.problem(0.3), e.weights, {});
    ASSERT_EQ(diagonal.size(), e.weights.size());
    for (std::size_t k = 0; k < e.weights.size(); ++k) {
      constexpr double step = 1e-7;
      std::vector<double> up = e.weights;
      std::vector<double> down = e.weights;
      up[k] += step;
      down[k] -= step;
      const double difference = gradient_by_hand(e, up)[k] - gradient_by_hand(e, down)[k];
      const double expected = difference / (2 * step * 0.3);
      EXPECT_NEAR(diagonal[k], expected, 1e-3 + 1e-5 * std::abs(expected));
    }
  }
}

// A leaky ReLU network is quadratic in any one weight, so its curvature is never negative without a prior;
// zero it is where a unit's outgoing weight is zero.
TEST(Torch, LaplaceCountsAFlatDirection) {
  Example e = example({.widths = {1, 1, 1}, .slopes = {0.5}}, 5, 8);
  e.weights = {1, 0};
  const auto diagonal = hessian_diagonal(e.problem(), e.weights, {});
  EXPECT_EQ(diagonal[0], 0);
  EXPECT_GT(diagonal[1], 0);
  const std::vector<double> precision = {4, 4};
  EXPECT_EQ(laplace(e.weights, diagonal, precision).negative_curvatures, 1U);
}

TEST(Torch, WorksFromSeveralThreads) {
  const Example e = examples()[0];
  const AdamOptions options{.epochs = 50};
  const auto expected = train_adam(e.problem(), e.weights, options).weights;
  std::vector<std::vector<double>> results(4);
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&] { result = train_adam(e.problem(), e.weights, options).weights; });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, expected);
}

}  // namespace
}  // namespace dma::baselines
