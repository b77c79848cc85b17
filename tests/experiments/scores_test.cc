// How methods are scored over tasks: failures are counted and left out, medians have an interval.
#include "experiments/scores.h"

#include <dma/special/random.h>

#include <gtest/gtest.h>

#include <cmath>

#include "experiments/comparison.h"
#include "experiments/statistics.h"

namespace dma::experiments {
namespace {

// Knows the function up to an offset, and says so.
Method offset_by(double offset, double deviation) {
  return {"offset", [=](const Task&, std::uint64_t) {
            return Fit{.predict =
                           [=](const Rows& rows) {
                             std::vector<Predicted> all;
                             for (const double truth : rows.truth) {
                               all.push_back({truth + offset, 0, deviation});
                             }
                             return all;
                           },
                       .train_nll = {3, 1},
                       .epochs = 2};
          }};
}

TEST(Scores, OfAPredictionWhoseErrorIsKnown) {
  experiments::Run run;
  const Scores scores = score(run, regression_task, offset_by(0.5, 0.25), 3, Regions::both);
  const double expected = std::log(0.25 * std::sqrt(2 * M_PI)) + 2;  // two deviations away
  for (const double nll : scores.nll) EXPECT_NEAR(nll, expected, 1e-12);
  // Within 95.45 %, not within 95 %: nothing is covered at any level up to 0.95.
  for (const double delta : scores.delta) EXPECT_NEAR(delta, -0.5, 1e-12);
  EXPECT_EQ(scores.train_nll, (std::vector<double>{1, 1, 1}));
  const auto summary = summarise(scores, 3);
  EXPECT_EQ(summary["seeds"], 3);
  EXPECT_EQ(summary["failures"], 0);
  EXPECT_NEAR(summary["extrapolation_nll_median"], expected, 1e-12);
  EXPECT_EQ(median_text(summary), "1.53 [0.00], 3 tasks");
}

TEST(Scores, FailuresAreCountedAndLeftOut) {
  const Method good = offset_by(0, 0.2);
  const Method sometimes{"sometimes", [&](const Task& task, std::uint64_t seed) {
                           return seed == 2 ? Fit{} : good.fit(task, seed);
                         }};
  experiments::Run run;
  const Scores scores = score(run, regression_task, sometimes, 4, Regions::both);
  EXPECT_TRUE(std::isnan(scores.nll[1]));
  const auto summary = summarise(scores, 4);
  EXPECT_EQ(summary["failures"], 1);
  EXPECT_NEAR(summary["extrapolation_nll_median"], std::log(0.2 * std::sqrt(2 * M_PI)), 1e-12);
  nlohmann::json figures;
  append_tasks(scores, 4, figures);
  EXPECT_EQ(figures["tasks"].size(), 4U);
  append_calibration(scores, 4, figures);
  for (const auto& at : figures["calibration"]) EXPECT_EQ(at["coverage"], 1);  // never wrong
}

TEST(Scores, WhereAllFailThereIsNoMedian) {
  experiments::Run run;
  const Scores scores =
      score(run, regression_task, {"none", [](const Task&, std::uint64_t) { return Fit{}; }}, 2,
            Regions::both);
  const auto summary = summarise(scores, 2);
  EXPECT_TRUE(summary["extrapolation_nll_median"].is_null());
  EXPECT_EQ(median_text(summary), "failed on all 2 tasks");
}

// Somebody else's 20 tasks of the same kind give a believable median in about 95 of 100 cases beside 200 of
// ours and in about 90 beside 20; tasks of another kind do not.
TEST(Medians, AreBelievableAsOftenAsTheySay) {
  for (const std::size_t count : {20U, 200U}) {
    special::Random random(count);
    const auto median_of = [&](std::size_t size, std::vector<double>& values) {
      values.resize(size);
      for (double& value : values) value = std::exp(random.normal());
      return median(values);
    };
    int believed = 0;
    constexpr int trials = 300;
    for (int t = 0; t < trials; ++t) {
      std::vector<double> ours;
      std::vector<double> theirs;
      median_of(count, ours);
      believed += believable(ours, median_of(20, theirs)) ? 1 : 0;
      EXPECT_FALSE(believable(ours, 20));
    }
    EXPECT_GT(believed / static_cast<double>(trials), count == 200 ? 0.91 : 0.86) << count;
    EXPECT_LT(believed / static_cast<double>(trials), 0.99) << count;
  }
  EXPECT_FALSE(believable({}, 0));
  EXPECT_FALSE(believable({1, 2, std::nan("")}, 3));
}

TEST(Comparisons, CountTheStepsTheyExpect) {
  std::size_t last = 0;
  std::size_t all = 0;
  experiments::Run run(2, [&](std::size_t done, std::size_t expected) {
    last = done;
    all = expected;
  });
  const auto result = compare(run, regression_task,
                              {{offset_by(0, 1)}, {offset_by(1, 1), own_tasks, {.nll = 0.8}}});
  EXPECT_EQ(last, 4U);
  EXPECT_EQ(all, 4U);
  EXPECT_EQ(result.verdicts[0]["verdict"], "beyond");
  EXPECT_EQ(result.verdicts[1]["verdict"], "differs");  // 1.42, and the paper says 0.8
}

}  // namespace
}  // namespace dma::experiments
