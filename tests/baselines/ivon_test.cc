// IVON where its fixed point is known: a quadratic loss.
#include "baselines/ivon.h"

#include "baselines/example.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace dma::baselines {
namespace {

IvonOptions patient() {
  return {.learning_rate = 0.01, .beta2 = 0.999, .damping = 0.1, .epochs = 30000};
}

// Averages over the last steps: each single m and h moves around the fixed point.
TEST(Ivon, FindsTheRidgeSolutionOfALinearNetwork) {
  const Example e = linear_example();
  const double noise = 0.5;
  const IvonOptions options = patient();
  const IvonResult result = train_ivon(e.problem(noise), std::vector<double>(4, 0), options);
  ASSERT_FALSE(result.diverged);
  ASSERT_EQ(result.train_nll.size(), options.epochs);

  const auto rows = static_cast<double>(e.rows);
  const Eigen::MatrixXd x = design(e);
  const Eigen::MatrixXd hessian = x.transpose() * x / (rows * noise);
  Eigen::MatrixXd regularised = hessian;
  regularised.diagonal().array() += options.damping;
  const Eigen::VectorXd optimum =
      regularised.ldlt().solve(x.transpose() * vector(e.targets) / (rows * noise));
  for (Eigen::Index k = 0; k < 4; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const double variance = 1 / (rows * (hessian(k, k) + options.damping));
    EXPECT_NEAR(result.mean[at], optimum[k], std::sqrt(variance) / 2);
    EXPECT_NEAR(result.variance[at], variance, 0.1 * variance);
  }
}

// One step by hand: epsilon is what the generator draws first.
TEST(Ivon, TakesTheStepOfAlgorithmOne) {
  const IvonOptions options{.learning_rate = 0.3,
                            .beta1 = 0.9,
                            .beta2 = 0.8,
                            .damping = 0.2,
                            .hessian_start = 1.5,
                            .effective_samples = 10,
                            .epochs = 1,
                            .seed = 3};
  const auto loss = [](std::span<const double> w, std::span<double> gradient) {
    gradient[0] = 4 * w[0] - 1;
    return 2 * w[0] * w[0] - w[0];
  };
  const auto score = [](std::span<const double> w) { return w[0]; };
  const IvonResult result = minimise_ivon(loss, score, std::vector<double>{0.7}, options);

  const double sigma = 1 / std::sqrt(10 * 1.7);
  const double theta = 0.7 + sigma * special::Random(3).normal();
  const double g = 4 * theta - 1;
  const double curvature = g * (theta - 0.7) / (sigma * sigma);
  const double h = 0.8 * 1.5 + 0.2 * curvature + 0.02 * std::pow(1.5 - curvature, 2) / 1.7;
  const double m = 0.7 - 0.3 * (g + 0.2 * 0.7) / (h + 0.2);
  EXPECT_NEAR(result.mean[0], m, 1e-14);
  EXPECT_NEAR(result.variance[0], 1 / (10 * (h + 0.2)), 1e-14);
  EXPECT_EQ(result.train_nll, std::vector<double>{result.mean[0]});
}

TEST(Ivon, StopsWhereANumberIsNotFinite) {
  int calls = 0;
  const auto loss = [&](std::span<const double>, std::span<double> gradient) {
    gradient[0] = ++calls < 3 ? 0.1 : std::numeric_limits<double>::quiet_NaN();
    return 0.0;
  };
  const auto score = [](std::span<const double> w) { return w[0]; };
  const IvonResult result =
      minimise_ivon(loss, score, std::vector<double>{1.0}, {.effective_samples = 10, .epochs = 9});
  EXPECT_TRUE(result.diverged);
  EXPECT_EQ(result.train_nll.size(), 3U);
  EXPECT_TRUE(std::isnan(result.mean[0]));
}

TEST(Ivon, NeedsSamples) {
  const auto loss = [](std::span<const double>, std::span<double>) { return 0.0; };
  const auto score = [](std::span<const double>) { return 0.0; };
  EXPECT_THROW(minimise_ivon(loss, score, std::vector<double>{1.0}, {}), std::invalid_argument);
}

}  // namespace
}  // namespace dma::baselines
