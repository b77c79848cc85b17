// Hamiltonian Monte Carlo where the answer is known: Gaussians.
#include "baselines/hamiltonian.h"

#include "baselines/example.h"
#include "baselines/point_network.h"

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <cmath>

namespace dma::baselines {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr Index dimension = 20;

// Deviations from 0.1 to 10, all pairs correlated.
MatrixXd example_covariance() {
  special::Random random(1);
  MatrixXd mix(dimension, dimension);
  for (double& value : mix.reshaped()) value = random.normal();
  MatrixXd covariance = mix * mix.transpose() / dimension + 0.1 * MatrixXd::Identity(20, 20);
  for (Index i = 0; i < dimension; ++i) {
    const double scale = std::pow(10.0, -1 + 2 * static_cast<double>(i) / (dimension - 1));
    covariance.row(i) *= scale;
    covariance.col(i) *= scale;
  }
  return covariance;
}

VectorXd example_mean() { return VectorXd::LinSpaced(dimension, -5, 5); }

Differentiable gaussian(const VectorXd& mean, const MatrixXd& covariance) {
  return [mean, precision = MatrixXd(covariance.inverse())](std::span<const double> q,
                                                            std::span<double> gradient) {
    const VectorXd difference = Eigen::Map<const VectorXd>(q.data(), mean.size()) - mean;
    const VectorXd pull = -(precision * difference);
    std::copy(pull.begin(), pull.end(), gradient.begin());
    return pull.dot(difference) / 2;
  };
}

HamiltonianResult sample_example(const HamiltonianOptions& options) {
  special::Random random(2);
  const auto starts = normals(options.chains * dimension, random);
  return sample_hamiltonian([] { return gaussian(example_mean(), example_covariance()); }, starts,
                            options);
}

// Draws in the columns.
MatrixXd columns(const HamiltonianResult& result) {
  return Eigen::Map<const MatrixXd>(result.positions.data(), static_cast<Index>(result.dimension),
                                    static_cast<Index>(result.chains * result.draws));
}

double worst_rhat(const MatrixXd& draws, std::size_t chains) {
  double worst = 0;
  for (Index k = 0; k < draws.rows(); ++k) {
    const VectorXd one = draws.row(k);
    worst = std::max(worst, split_rhat({one.data(), static_cast<std::size_t>(one.size())}, chains));
  }
  return worst;
}

TEST(Hamiltonian, FindsACorrelatedGaussian) {
  const HamiltonianOptions options{.draws = 5000};
  const HamiltonianResult result = sample_example(options);
  const MatrixXd draws = columns(result);
  EXPECT_LT(worst_rhat(draws, options.chains), 1.02);

  const VectorXd mean = draws.rowwise().mean();
  const MatrixXd centred = draws.colwise() - mean;
  const auto count = static_cast<double>(draws.cols());
  const MatrixXd covariance = centred * centred.transpose() / (count - 1);
  const MatrixXd expected = example_covariance();
  // In the coordinates where the target is N(0, I), and as if one draw in five were independent.
  const Eigen::LLT<MatrixXd> factor(expected);
  const VectorXd mean_error = factor.matrixL().solve(mean - example_mean());
  const MatrixXd half = factor.matrixL().solve(covariance);
  const MatrixXd whitened = factor.matrixL().solve(half.transpose());
  EXPECT_LT(mean_error.cwiseAbs().maxCoeff<Eigen::PropagateNaN>(), 4 * std::sqrt(5 / count));
  EXPECT_LT((whitened - MatrixXd::Identity(dimension, dimension))
                .cwiseAbs()
                .maxCoeff<Eigen::PropagateNaN>(),
            4 * std::sqrt(2 * 5 / count));
}

TEST(Hamiltonian, ReportsWhatItDid) {
  const HamiltonianOptions options{.chains = 3, .warmup = 400, .draws = 500};
  const HamiltonianResult result = sample_example(options);
  EXPECT_EQ(result.positions.size(), 3U * 500U * 20U);
  ASSERT_EQ(result.chain.size(), 3U);
  EXPECT_EQ(result.draw(2, 499).data() + 20, result.positions.data() + result.positions.size());
  for (const HamiltonianChain& chain : result.chain) {
    EXPECT_GT(chain.acceptance, 0.6);
    EXPECT_LT(chain.acceptance, 0.99);
    EXPECT_EQ(chain.divergences, 0U);
    // A round Gaussian of 20 dimensions is accepted with 0.8 at steps of about 0.9.
    EXPECT_GT(chain.step_size, 0.3);
    EXPECT_LT(chain.step_size, 1.5);
    const double per_trajectory = static_cast<double>(chain.gradient_evaluations) / 900;
    EXPECT_GT(per_trajectory, options.trajectory_length / chain.step_size * 0.8);
    EXPECT_LT(per_trajectory, 20);
  }
}

TEST(Hamiltonian, DoesNotDependOnThreads) {
  const HamiltonianOptions options{.warmup = 100, .draws = 50};
  const auto parallel = sample_example(options).positions;
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  EXPECT_EQ(sample_example(options).positions, parallel);
  HamiltonianOptions other = options;
  other.seed = 2;
  EXPECT_NE(sample_example(other).positions, parallel);
}

// exp(-q^4 / 4 * 1e8) beyond the first step: a step size that no warm-up has adapted diverges.
TEST(Hamiltonian, CountsDivergences) {
  const auto make = [] {
    return Differentiable([](std::span<const double> q, std::span<double> gradient) {
      gradient[0] = -1e8 * std::pow(q[0], 3);
      return -1e8 * std::pow(q[0], 4) / 4;
    });
  };
  const std::vector<double> starts = {1, 1};
  const HamiltonianResult result =
      sample_hamiltonian(make, starts, {.chains = 2, .warmup = 0, .draws = 10});
  EXPECT_EQ(result.chain[0].divergences, 10U);
  EXPECT_EQ(result.chain[0].acceptance, 0);
  EXPECT_EQ(result.positions, std::vector<double>(20, 1.0));
}

TEST(Hamiltonian, FindsThePosteriorOfALinearNetwork) {
  const Example e = linear_example();
  const WeightPrior prior = draw_prior(e.network, 3);
  const double noise = 0.5;
  const HamiltonianResult result = sample_posterior(e.problem(noise), prior, {.draws = 5000});

  const MatrixXd x = design(e);
  MatrixXd precision = x.transpose() * x / noise;
  precision.diagonal() += vector(prior.variance).cwiseInverse();
  const VectorXd pull = x.transpose() * vector(e.targets) / noise +
                        vector(prior.mean).cwiseQuotient(vector(prior.variance));
  const MatrixXd covariance = precision.inverse();
  const VectorXd expected = covariance * pull;

  const MatrixXd draws = columns(result);
  const VectorXd mean = draws.rowwise().mean();
  const MatrixXd centred = draws.colwise() - mean;
  const auto count = static_cast<double>(draws.cols());
  for (Index k = 0; k < 4; ++k) {
    const double deviation = std::sqrt(covariance(k, k));
    EXPECT_NEAR(mean[k], expected[k], 4 * deviation * std::sqrt(5 / count));
    EXPECT_NEAR(centred.row(k).squaredNorm() / (count - 1), covariance(k, k),
                4 * covariance(k, k) * std::sqrt(2 * 5 / count));
  }
  for (const double rhat : rhat_of_outputs(e.network, result, e.inputs, e.rows)) {
    EXPECT_LT(rhat, 1.02);
  }
}

// Two chains of four draws: halves {1, 3}, {2, 4}, {5, 7}, {6, 8}. Means 2, 3, 6, 7, each variance 2:
// W = 2, B / n = variance of the means = 17 / 3, R^2 = 1/2 + 17/6.
TEST(SplitRhat, OfAnExampleByHand) {
  const std::vector<double> values = {1, 3, 2, 4, 5, 7, 6, 8};
  EXPECT_NEAR(split_rhat(values, 2), std::sqrt(0.5 + 17.0 / 6), 1e-14);
}

TEST(SplitRhat, SeesAChainThatDriftsAndOneThatIsStuck) {
  std::vector<double> drift;
  for (int k = 0; k < 1000; ++k) drift.push_back(k);
  EXPECT_GT(split_rhat(drift, 1), 1.5);
  EXPECT_EQ(split_rhat(std::vector<double>(100, 1.0), 2), std::numeric_limits<double>::infinity());
  special::Random random(5);
  EXPECT_LT(split_rhat(normals(4000, random), 4), 1.01);
}

}  // namespace
}  // namespace dma::baselines
