// Linear-Gaussian graphs against the joint Gaussian, solved by Eigen.
#include <dma/factors/factors.h>
#include <dma/graph/graph.h>

#include <Eigen/Dense>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numbers>
#include <numeric>
#include <random>

#include <dma/special/larger.h>

namespace dma {
namespace {

// A linear-Gaussian graph built twice: as factors, and as the joint's precision matrix.
struct Joint {
  explicit Joint(std::size_t variables)
      : precision(Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(variables),
                                        static_cast<Eigen::Index>(variables))),
        tau(Eigen::VectorXd::Zero(static_cast<Eigen::Index>(variables))) {
    for (std::size_t v = 0; v < variables; ++v) graph.variable();
  }

  void unary(std::uint32_t v, double mean, double variance, bool prior) {
    if (prior) {
      graph.add(Prior{mean, variance}, Variable{v});
    } else {
      graph.add(Observation{mean, variance}, Variable{v});
    }
    precision(v, v) += 1 / variance;
    tau[v] += mean / variance;
    add_constant(mean, variance);
  }

  void sum(std::uint32_t z, const std::vector<std::uint32_t>& inputs, const WeightedSum& factor) {
    std::vector<Variable> edges{Variable{z}};
    for (const auto v : inputs) edges.push_back({v});
    graph.add(factor, std::span<const Variable>(edges));
    Eigen::VectorXd row = Eigen::VectorXd::Zero(tau.size());
    row[z] = 1;
    for (std::size_t k = 0; k < inputs.size(); ++k) row[inputs[k]] -= factor.coefficients[k];
    precision += row * row.transpose() / factor.variance;
    tau += row * factor.offset / factor.variance;
    add_constant(factor.offset, factor.variance);
  }

  // What N(x; mean, variance) has beside exp(mean x / variance - x^2 / (2 variance)).
  void add_constant(double mean, double variance) {
    log_constant -= (std::log(2 * std::numbers::pi * variance) + mean * mean / variance) / 2;
  }

  // log of the integral of all factors.
  double log_evidence() const {
    const Eigen::LLT<Eigen::MatrixXd> cholesky(precision);
    const double log_determinant =
        2 * cholesky.matrixL().toDenseMatrix().diagonal().array().log().sum();
    return log_constant + (tau.dot(cholesky.solve(tau)) - log_determinant +
                           static_cast<double>(tau.size()) * std::log(2 * std::numbers::pi)) /
                              2;
  }

  // The largest error of a marginal: mean in standard deviations, variance relative.
  double error(const Beliefs& beliefs) const {
    const Eigen::MatrixXd covariance = precision.inverse();
    const Eigen::VectorXd mean = covariance * tau;
    double worst = 0;
    for (std::uint32_t v = 0; v < graph.variable_count(); ++v) {
      const auto marginal = beliefs.marginal({v});
      worst =
          special::larger(worst, std::abs(marginal.mean() - mean[v]) / std::sqrt(covariance(v, v)));
      worst = special::larger(worst, std::abs(marginal.variance() / covariance(v, v) - 1));
    }
    return worst;
  }

  Graph graph;
  Eigen::MatrixXd precision;
  Eigen::VectorXd tau;
  double log_constant = 0;
};

// Random variables joined by random sums into a tree, factors inserted in random order.
Joint random_tree(std::mt19937_64& random, std::size_t variables) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto spread = [&] { return std::exp(uniform(random)); };
  Joint joint(variables);
  std::vector<std::uint32_t> order(variables);
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), random);
  std::vector<std::function<void()>> additions;
  for (std::size_t next = 1; next < variables;) {
    // Attach one to three new variables to one already in the tree, with the output anywhere.
    const std::size_t count = std::min<std::size_t>(1 + random() % 3, variables - next);
    std::vector<std::uint32_t> members{order[random() % next]};
    for (std::size_t k = 0; k < count; ++k) members.push_back(order[next + k]);
    next += count;
    std::shuffle(members.begin(), members.end(), random);
    WeightedSum factor{{}, uniform(random), spread()};
    for (std::size_t k = 1; k < members.size(); ++k) {
      const int sign = uniform(random) < 0 ? -1 : 1;
      factor.coefficients.push_back(sign * spread());
    }
    additions.push_back([&joint, members, factor] {
      joint.sum(members[0], {members.begin() + 1, members.end()}, factor);
    });
  }
  for (std::uint32_t v = 0; v < variables; ++v) {
    const double mean = 3 * uniform(random);
    const double variance = spread();
    const bool prior = random() % 2 == 0;
    additions.push_back(
        [&joint, v, mean, variance, prior] { joint.unary(v, mean, variance, prior); });
  }
  std::shuffle(additions.begin(), additions.end(), random);
  for (const auto& add : additions) add();
  return joint;
}

RC_GTEST_PROP(Exactness, RandomTreesInOneSweep, ()) {
  std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
  const auto joint = random_tree(random, 1 + random() % 30);
  RC_ASSERT(joint.graph.is_forest());
  for (const Rule rule : {Rule::direct, Rule::linear}) {
    const auto beliefs = joint.graph.sweep(rule);
    RC_ASSERT(beliefs.sweeps == 1U);
    RC_ASSERT(beliefs.messages_sent == joint.graph.edge_count());
    RC_ASSERT(joint.error(beliefs) < 1e-10);
    const double exact = joint.log_evidence();
    RC_ASSERT(std::abs(joint.graph.log_evidence(beliefs) - exact) < 1e-10 * (1 + std::abs(exact)));
  }
  RC_ASSERT(joint.error(joint.graph.infer({.engine = Engine::ep})) < 1e-10);
}

TEST(Exactness, ChainOfThreeHundred) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  Joint joint(300);
  joint.unary(0, 0, 1, true);
  for (std::uint32_t t = 0; t < 300; ++t) {
    if (t > 0) joint.sum(t, {t - 1}, WeightedSum{{0.95}, 0.1, 0.3});
    joint.unary(t, normal(random), 0.5, false);
  }
  EXPECT_LT(joint.error(joint.graph.sweep()), 1e-10);
}

// Loopy, but pulled together by priors: sweeps converge to the exact means (not variances).
TEST(Exactness, MeansOnACycle) {
  Joint joint(3);
  for (std::uint32_t v = 0; v < 3; ++v) joint.unary(v, v, 0.7, true);
  joint.sum(0, {1}, WeightedSum{{0.5}, 0, 1});
  joint.sum(1, {2}, WeightedSum{{0.5}, 0, 1});
  joint.sum(2, {0}, WeightedSum{{0.5}, 0, 1});
  EXPECT_FALSE(joint.graph.is_forest());
  const auto beliefs = joint.graph.infer({.sweeps = 200, .tolerance = 1e-13});
  EXPECT_TRUE(beliefs.converged);
  const Eigen::VectorXd mean = joint.precision.inverse() * joint.tau;
  for (std::uint32_t v = 0; v < 3; ++v) EXPECT_NEAR(beliefs.marginal({v}).mean(), mean[v], 1e-10);
  // The Bethe approximation: close, not exact.
  const double gap = joint.graph.log_evidence(beliefs) - joint.log_evidence();
  EXPECT_LT(std::abs(gap), 0.02);
  EXPECT_GT(std::abs(gap), 1e-6);
}

// A variable with many factors takes the quotient path; the answer is the same.
TEST(Exactness, HubVariable) {
  Joint joint(501);
  joint.unary(0, 1, 4, true);
  for (std::uint32_t v = 1; v <= 500; ++v) {
    joint.sum(v, {0}, WeightedSum{{1 + 0.001 * v}, 0, 0.5});
    joint.unary(v, 0.01 * v, 0.8, false);
  }
  EXPECT_LT(joint.error(joint.graph.sweep()), 1e-10);
  EXPECT_NEAR(joint.graph.log_evidence(joint.graph.sweep()) / joint.log_evidence(), 1, 1e-10);
  // The sequential schedule visits the hub again and again.
  EXPECT_LT(joint.error(joint.graph.infer({.sweeps = 3}, joint.graph.sequential_schedule())), 1e-9);
}

TEST(Exactness, HubKnownExactly) {
  Graph graph;
  const auto hub = graph.variable("hub");
  std::vector<Variable> leaves;
  for (int i = 0; i < 100; ++i) {
    leaves.push_back(graph.variable());
    graph.add(Prior{0, 1}, leaves.back());
    graph.add(WeightedSum{{1}, 0, 1}, leaves.back(), hub);
  }
  graph.add(Observation{2, 0}, hub);
  const auto beliefs = graph.infer({.sweeps = 2});
  EXPECT_EQ(beliefs.marginal(hub), Gaussian<double>::point(2));
  EXPECT_NEAR(beliefs.marginal(leaves[7]).mean(), 1, 1e-12);
  EXPECT_NEAR(beliefs.marginal(leaves[7]).variance(), 0.5, 1e-12);
}

}  // namespace
}  // namespace dma
