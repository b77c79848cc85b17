// Calibrated intervals hold as often as they say, however wrong the predictions are.
#include <dma/metrics/conformal.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include <dma/metrics/metrics.h>
#include <dma/metrics/predicted.h>
#include <dma/special/random.h>

namespace dma {
namespace {

// Targets are exponential; the model says N(0, 1) of all.
double draw(special::Random& random) { return -std::log(random.uniform()); }

TEST(Conformal, HoldsWhatItSaysWhateverIsPredicted) {
  const Predicted wrong{0, 0, 1};
  special::Random random(5);
  for (const auto& [rows, level] :
       {std::pair{39, 0.95}, {40, 0.95}, {100, 0.9}, {7, 0.5}, {3, 0.5}}) {
    constexpr int trials = 40'000;
    int below = 0;
    int above = 0;
    for (int trial = 0; trial < trials; ++trial) {
      std::vector<double> probabilities;
      for (int n = 0; n < rows; ++n) probabilities.push_back(wrong.cdf(draw(random)));
      std::sort(probabilities.begin(), probabilities.end());
      const auto tails = calibrated_tails(probabilities, level);
      ASSERT_TRUE(tails);
      const double y = draw(random);
      below += y < wrong.quantile(tails->lower) ? 1 : 0;
      above += y > wrong.quantile(tails->upper) ? 1 : 0;
    }
    const double k = std::floor((rows + 1) * (1 - level) / 2 + 1e-9);
    const double missed = k / (rows + 1);
    const double allowed = 4 * std::sqrt(missed / trials);
    EXPECT_NEAR(static_cast<double>(below) / trials, missed, allowed) << rows;
    EXPECT_NEAR(static_cast<double>(above) / trials, missed, allowed) << rows;
    EXPECT_LE(2 * missed, 1 - level + 1e-12);
  }
}

TEST(Conformal, SaysHowManyRowsALevelTakes) {
  EXPECT_EQ(rows_to_calibrate(0.95), 39U);
  EXPECT_EQ(rows_to_calibrate(0.9), 19U);
  EXPECT_EQ(rows_to_calibrate(0.5), 3U);
  for (const double level : {0.5, 0.9, 0.95, 0.999}) {
    const std::size_t least = rows_to_calibrate(level);
    EXPECT_TRUE(calibrated_tails(std::vector<double>(least, 0.5), level)) << level;
    EXPECT_FALSE(calibrated_tails(std::vector<double>(least - 1, 0.5), level)) << level;
  }
}

// The model says N(0, 3^2) of targets that are exponential: calibrated by many rows, its intervals hold others as they should.
TEST(Conformal, CoverageIsThatOfTheTailsGiven) {
  special::Random random(6);
  std::vector<double> probabilities;
  std::vector<double> targets;
  for (int n = 0; n < 4000; ++n) {
    targets.push_back(draw(random));
    probabilities.push_back(Predicted{0, 0, 3}.cdf(draw(random)));
  }
  std::sort(probabilities.begin(), probabilities.end());
  std::vector<Tails> tails;
  std::vector<Tails> central;
  for (const double level : Metrics::curve_levels) {
    tails.push_back(*calibrated_tails(probabilities, level));
    central.push_back({(1 - level) / 2, (1 + level) / 2});
  }
  const std::vector<Predicted> predicted(targets.size(), {0, 0, 3});
  const Metrics calibrated = score(targets, predicted, {}, tails);
  const Metrics usual = score(targets, predicted);
  EXPECT_LT(calibrated.calibration_error, 0.03);
  EXPECT_GT(usual.calibration_error, 0.1);
  EXPECT_EQ(calibrated.nll, usual.nll);
  EXPECT_EQ(score(targets, predicted, {}, central).coverage_curve, usual.coverage_curve);
  tails.pop_back();
  EXPECT_THROW((void)score(targets, predicted, {}, tails), std::invalid_argument);
}

}  // namespace
}  // namespace dma
