// Beliefs at one centre: against exact Bayesian linear regression, and against the messages of a ledger.
#include "belief/shared_centre.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <array>
#include <cmath>

#include <dma/base/error.h>
#include <dma/likelihood/gaussian.h>
#include <dma/special/random.h>

#include "belief/joint_network.h"

namespace dma::detail {
namespace {

constexpr double noise = 0.04;  // variance
constexpr double rounding = 1e-10;

// y = sin(2 a) + b / 2 + N(0, noise).
Rows wave(std::size_t count, std::uint64_t seed) {
  special::Random random(seed);
  Rows rows;
  for (std::size_t n = 0; n < count; ++n) {
    const std::array inputs{random.normal(), random.normal()};
    const std::array target{std::sin(2 * inputs[0]) + inputs[1] / 2 +
                            std::sqrt(noise) * random.normal()};
    rows.append({inputs, target, 1});
  }
  return rows;
}

// Nothing known, weights drawn as the centre, and a prior precision per weight.
JointKnowledge start(const Architecture& architecture, std::uint64_t seed) {
  special::Random random(seed);
  JointKnowledge known;
  known.function.architecture = architecture;
  known.function.unit = JointUnit::leaky_relu;
  known.likelihood = gaussian({.variance = {noise}});
  std::vector<double> centre, precision;
  for (std::size_t k = 0; k < architecture.weight_count(); ++k) {
    centre.push_back(random.normal());
    precision.push_back(std::exp(random.normal()));
  }
  return without_messages(known, centre, precision);
}

const Architecture straight{.widths = {2, 1}, .slopes = {0}, .bias = {true}};
const Architecture bent{.widths = {2, 7, 1}, .slopes = {0}, .bias = {true}};

Vector vector_of(const std::vector<double>& numbers) {
  return Eigen::Map<const Vector>(numbers.data(), static_cast<Eigen::Index>(numbers.size()));
}

Matrix precision_of(const JointPosterior& posterior) {
  const Matrix lower = Matrix(factor_of(posterior).triangularView<Eigen::Lower>());
  return lower * lower.transpose();
}

// In deviations of the weights, and in shares of the precision.
void expect_same(const JointPosterior& a, const JointPosterior& b, double error) {
  const Matrix precision = precision_of(a);
  const Vector away = vector_of(a.mean) - vector_of(b.mean);
  EXPECT_LT(std::sqrt(away.dot(precision * away)), error);
  const Vector scale = precision.diagonal().cwiseSqrt().cwiseInverse();
  const Matrix difference = scale.asDiagonal() * (precision - precision_of(b)) * scale.asDiagonal();
  EXPECT_LT(difference.cwiseAbs().maxCoeff(), error);
  EXPECT_EQ(a.centre, b.centre);
  EXPECT_EQ(a.prior_precision, b.prior_precision);
}

// A network without hidden units is linear: wherever the centre is, the posterior is that of
//
//   y = X w + N(0, noise),   w ~ N(0, P^-1):   precision P + X'X / noise,   mean its inverse times X'y / noise
TEST(SharedCentre, IsExactLinearRegression) {
  const Rows rows = wave(30, 1);
  const JointKnowledge known = start(straight, 2);
  const JointPosterior posterior = learnt_at_centre(known, rows.data());
  Matrix x = Matrix::Ones(30, 3);
  for (Eigen::Index n = 0; n < 30; ++n) {
    for (Eigen::Index j = 0; j < 2; ++j) x(n, j) = rows.inputs[static_cast<std::size_t>(2 * n + j)];
  }
  Matrix precision = x.transpose() * x / noise;
  precision.diagonal() += vector_of(known.function.prior_precision);
  const Vector mean = precision.ldlt().solve(x.transpose() * vector_of(rows.targets) / noise);
  EXPECT_LT((vector_of(posterior.mean) - mean).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_LT((precision_of(posterior) - precision).cwiseAbs().maxCoeff() / precision.maxCoeff(),
            1e-13);
}

TEST(SharedCentre, PartsAddUpToAllRows) {
  const Rows rows = wave(90, 3);
  const JointKnowledge known = start(bent, 4);
  const JointPosterior all = learnt_at_centre(known, rows.data());
  std::vector<JointPosterior> parts;
  for (const auto& [first, count] :
       std::array<std::array<std::size_t, 2>, 3>{{{0, 2}, {2, 50}, {52, 38}}}) {
    parts.push_back(learnt_at_centre(known, rows.data().part(first, count)));
  }
  const JointPosterior sum =
      sum_of(std::array{CentredBelief{parts[0]}, CentredBelief{parts[1]}, CentredBelief{parts[2]}});
  expect_same(all, sum, rounding);
  const JointPosterior left = sum_of(std::array{CentredBelief{all}, CentredBelief{parts[1], -1}});
  expect_same(sum_of(std::array{CentredBelief{parts[0]}, CentredBelief{parts[2]}}), left, rounding);
}

// What the ledger of a fit holds, taken out message by message, is what is taken out here.
TEST(SharedCentre, AgreesWithTheLedger) {
  const Rows rows = wave(60, 5);
  const JointKnowledge known = start(bent, 6);
  JointPosterior posterior = learnt_at_centre(known, rows.data().part(0, 40));
  const std::vector<double> scales(20, noise);
  const Data more = rows.data().part(40, 20);
  const auto likelihood = known.likelihood->clone();
  const auto terms = likelihood->terms(more.weighted_targets(), scales);
  learn(posterior, more.inputs, *terms, true);
  expect_same(learnt_at_centre(known, rows.data()), posterior, rounding);
  std::vector<std::size_t> first_ten(10);
  for (std::size_t n = 0; n < 10; ++n) first_ten[n] = n;
  forget(posterior, first_ten);
  const JointPosterior all = learnt_at_centre(known, rows.data());
  const JointPosterior gone = learnt_at_centre(known, more.part(0, 10));
  expect_same(sum_of(std::array{CentredBelief{all}, CentredBelief{gone, -1}}), posterior, rounding);
}

TEST(SharedCentre, AWeightIsSoManyRows) {
  const Rows rows = wave(12, 7);
  const JointKnowledge known = start(bent, 8);
  Rows twice = rows;
  twice.append(rows.data());
  Rows weighted = rows;
  weighted.weights.assign(12, 2);
  expect_same(learnt_at_centre(known, twice.data()), learnt_at_centre(known, weighted.data()),
              rounding);
}

// MacKay's fixed point, with the covariance computed by itself: precision = (determined weights of a group) / (sum of their
// squares), where 1 - precision times variance of a weight is determined. Inputs are groups, and so is the output's bias, which
// keeps its precision.
TEST(SharedCentre, LearnsPriorPrecisionsFromTheSum) {
  const Rows rows = wave(25, 11);
  const JointKnowledge known = start(straight, 12);
  const JointPosterior posterior = learnt_at_centre(known, rows.data());
  const Matrix covariance = precision_of(posterior).inverse();
  const std::vector<double>& prior = posterior.prior_precision;
  const auto determined = [&](std::size_t k) {
    const auto at = static_cast<Eigen::Index>(k);
    return 1 - prior[k] * covariance(at, at);
  };
  const std::vector<double>& mean = posterior.mean;
  const std::vector<double> next = next_prior_precision(posterior);
  for (const std::size_t k : {0U, 1U}) {
    EXPECT_NEAR(next[k], determined(k) / (mean[k] * mean[k]), 1e-9 * next[k]);
  }
  EXPECT_EQ(next[2], prior[2]);
  // Columns that have one precision keep one.
  const JointKnowledge shared = without_messages(known, known.function.centre, {2, 2, 3});
  const JointPosterior together = learnt_at_centre(shared, rows.data());
  const std::vector<double> one = next_prior_precision(together);
  EXPECT_EQ(one[0], one[1]);
  EXPECT_NE(one[0], 2);
}

// With less taken out than was put in nothing is proper any more.
TEST(SharedCentre, RefusesToTakeOutWhatIsNotThere) {
  const Rows rows = wave(40, 9);
  const JointKnowledge known = start(bent, 10);
  const JointPosterior few = learnt_at_centre(known, rows.data().part(0, 5));
  const JointPosterior all = learnt_at_centre(known, rows.data());
  EXPECT_THROW(sum_of(std::array{CentredBelief{few}, CentredBelief{all, -1}}), NetworkError);
}

}  // namespace
}  // namespace dma::detail
