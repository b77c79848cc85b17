// The weights of a mixture, against the maximum of what they maximise.
#include "regressor/stacking.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <dma/special/normal.h>
#include <dma/special/random.h>

namespace dma::detail {
namespace {

using Densities = std::vector<std::vector<double>>;

// Values drawn from the first Gaussian with probability `share`, else from the second, under both.
Densities draw(std::size_t rows, double share, std::uint64_t seed) {
  special::Random random(seed);
  Densities log_densities(2);
  for (std::size_t n = 0; n < rows; ++n) {
    const double y = random.normal() + (random.uniform() < share ? 0 : 3);
    log_densities[0].push_back(std::log(special::normal_pdf(y)));
    log_densities[1].push_back(std::log(special::normal_pdf(y - 3)));
  }
  return log_densities;
}

// With half a row more for each part.
double log_posterior(const Densities& log_densities, double first) {
  double sum = 0.5 * (std::log(first) + std::log(1 - first));
  for (std::size_t n = 0; n < log_densities[0].size(); ++n) {
    sum += std::log(first * std::exp(log_densities[0][n]) +
                    (1 - first) * std::exp(log_densities[1][n]));
  }
  return sum;
}

TEST(Stacking, IsTheMaximumOfTheMixturesLikelihood) {
  for (const double share : {0.0, 0.1, 0.5, 0.9}) {
    const Densities rows = draw(200, share, 3);
    const auto weights = stacking_weights(rows);
    EXPECT_DOUBLE_EQ(weights[0] + weights[1], 1);
    const double most = log_posterior(rows, weights[0]);
    for (double other = 0.002; other < 1; other += 0.002) {
      EXPECT_GE(most, log_posterior(rows, other) - 1e-6) << share << " " << other;
    }
    EXPECT_NEAR(weights[0], share, 0.1);
  }
}

TEST(Stacking, PartsThatSayTheSameShareTheirWeight) {
  const Densities rows = draw(50, 0.5, 4);
  const auto weights = stacking_weights({rows[0], rows[0], rows[0]});
  for (const double weight : weights) EXPECT_DOUBLE_EQ(weight, 1.0 / 3);
}

TEST(Stacking, AHandfulOfRowsRulesNothingOut) {
  const auto weights = stacking_weights({{0, 0}, {-50, -50}});
  EXPECT_NEAR(weights[1], 0.5 / 3, 1e-6);
  const auto none = stacking_weights({{}, {}, {}, {}});
  for (const double weight : none) EXPECT_DOUBLE_EQ(weight, 0.25);
}

TEST(Stacking, RowsThatNoPartExplainsAreLeftOut) {
  constexpr double never = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(stacking_weights({{0, -1, never}, {-1, 0, never}}),
            stacking_weights({{0, -1}, {-1, 0}}));
  EXPECT_GT(stacking_weights({{0, never}, {-1, 0}})[1], 0.4);
}

}  // namespace
}  // namespace dma::detail
