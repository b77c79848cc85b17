// Prior, observation, weighted sum and equality against the joint Gaussian solved by Eigen.
#include <dma/factors/equality.h>
#include <dma/factors/observation.h>
#include <dma/factors/prior.h>
#include <dma/factors/weighted_sum.h>

#include <Eigen/Dense>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace dma {
namespace {

using G = Gaussian<double>;

G any() {
  const double mean = *rc::gen::inRange(-500, 500) / 100.0;
  return G::from_moments(mean, std::exp(*rc::gen::inRange(-200, 200) / 100.0));
}

// The marginal at an edge of N(z; a^T x + offset, variance) times the incoming messages: solve the
// joint precision matrix over (z, x_1, ..., x_n).
RC_GTEST_PROP(WeightedSum, MarginalsAreThoseOfTheJointGaussian, ()) {
  const auto n = static_cast<std::size_t>(*rc::gen::inRange(1, 6));
  WeightedSum sum{std::vector<double>(n), *rc::gen::inRange(-300, 300) / 100.0,
                  std::exp(*rc::gen::inRange(-200, 100) / 100.0)};
  for (double& a : sum.coefficients) a = *rc::gen::inRange(-300, 300) / 100.0;
  std::vector<G> in(n + 1);
  for (G& message : in) message = any();

  const auto size = static_cast<Eigen::Index>(n + 1);
  Eigen::VectorXd row(size);
  row[0] = 1;
  for (std::size_t k = 0; k < n; ++k) row[static_cast<Eigen::Index>(k) + 1] = -sum.coefficients[k];
  Eigen::MatrixXd precision = row * row.transpose() / sum.variance;
  Eigen::VectorXd tau = row * sum.offset / sum.variance;
  for (std::size_t k = 0; k <= n; ++k) {
    precision(static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(k)) += in[k].rho;
    tau[static_cast<Eigen::Index>(k)] += in[k].tau;
  }
  const Eigen::MatrixXd covariance = precision.inverse();
  const Eigen::VectorXd mean = covariance * tau;
  for (std::size_t k = 0; k <= n; ++k) {
    const auto marginal = in[k] * sum.message<double>(k, in, Rule::direct);
    const auto i = static_cast<Eigen::Index>(k);
    RC_ASSERT(std::abs(marginal.mean() - mean[i]) < 1e-9 * (1 + std::abs(mean[i])));
    RC_ASSERT(std::abs(marginal.variance() / covariance(i, i) - 1) < 1e-9);
  }
}

TEST(WeightedSum, UnknownsAndZeros) {
  const WeightedSum sum{{1, 0}};
  const G known = G::from_moments(1, 2);
  // A coefficient of zero hides even an unknown input, and hears nothing.
  EXPECT_EQ(sum.message<double>(0, std::array{G::uniform(), known, G::uniform()}, Rule::direct),
            known);
  EXPECT_TRUE(sum.message<double>(2, std::array{known, known, known}, Rule::direct).is_uniform());
  EXPECT_TRUE(
      sum.message<double>(0, std::array{known, G::uniform(), known}, Rule::direct).is_uniform());
  EXPECT_EQ(sum.message<double>(1, std::array{G::point(3), known, known}, Rule::direct),
            G::point(3));
}

TEST(WeightedSum, VariationalCollapsesWithoutNoise) {
  const std::array in{G::from_moments(5, 1), G::from_moments(1, 2), G::from_moments(2, 2)};
  EXPECT_EQ((WeightedSum{{1, 1}}.variational(0, in)), G::point(3));
  EXPECT_EQ((WeightedSum{{1, 1}}.variational(1, in)), G::point(3));
  const auto noisy = WeightedSum{{2, 1}, 0, 0.5}.variational(1, in);
  EXPECT_NEAR(noisy.mean(), 1.5, 1e-15);
  EXPECT_NEAR(noisy.rho, 8, 1e-14);  // a^2 / variance
}

TEST(WeightedSum, RefusesBadParameters) {
  EXPECT_THROW((WeightedSum{{}}.validate()), std::invalid_argument);
  EXPECT_THROW((WeightedSum{{1, std::nan("")}}.validate()), std::invalid_argument);
  EXPECT_THROW((WeightedSum{{1}, 0, -1}.validate()), std::invalid_argument);
}

TEST(Equality, MultipliesTheOtherEdges) {
  const std::array in{G{1, 2}, G{3, 4}, G{5, 6}};
  EXPECT_EQ(Equality{3}.message<double>(1, in, Rule::direct), (G{6, 8}));
  const std::array contradiction{G{1, 2}, G::point(1), G::point(2)};
  EXPECT_THROW((void)Equality{3}.message<double>(0, contradiction, Rule::direct),
               std::domain_error);
  EXPECT_THROW(Equality{1}.validate(), std::invalid_argument);
}

TEST(Equality, VariationalIsAPointBetweenTheOthers) {
  const std::array in{G::from_moments(9, 1), G::from_moments(1, 2), G::from_moments(4, 0.1)};
  EXPECT_EQ(Equality{3}.variational(0, in), G::point(2.5));
  const std::array one_known{G::from_moments(9, 1), G::uniform(), G::from_moments(4, 0.1)};
  EXPECT_EQ(Equality{3}.variational(0, one_known), G::point(4));
  EXPECT_EQ(Equality{3}.variational(1, std::array{G::uniform(), G{3, 4}, G::uniform()}),
            G::uniform());
}

TEST(PriorAndObservation, SendTheirOwnMoments) {
  const std::array in{G::uniform()};
  EXPECT_EQ((Prior{3, 2}.message<double>(0, in, Rule::direct)), G::from_moments(3, 2));
  EXPECT_EQ((Observation{3, 0}.message<double>(0, in, Rule::direct)), G::point(3));
  EXPECT_THROW((Prior{std::nan(""), 1}.validate()), std::invalid_argument);
  EXPECT_THROW((Observation{0, -1}.validate()), std::invalid_argument);
}

}  // namespace
}  // namespace dma
