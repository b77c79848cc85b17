// What docs say about the engines, on small versions of the same experiments.
#include <dma/graph/graph.h>

#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "experiments/task/task.h"
#include "validation/experiment.h"
#include "validation/pathologies.h"
#include "validation/regression_network.h"

namespace dma::validation {
namespace {

using nlohmann::json;

constexpr PathologySettings small{.neighbourhoods = 150,
                                  .network_examples = 6,
                                  .joint_examples = 3,
                                  .weight_samples = 2000,
                                  .most_sweeps = 100};

const json& result() {
  static const json report = pathologies(small);
  return report;
}

std::vector<json> rows_of(const std::string& engine) {
  std::vector<json> rows;
  for (const json& row : result()["rows"]) {
    if (row["engine"] == engine) rows.push_back(row);
  }
  EXPECT_EQ(rows.size(), 5U) << engine;
  return rows;
}

json row_of(const std::string& engine, const std::string& set) {
  for (const json& row : rows_of(engine)) {
    if (row["set"] == set) return row;
  }
  ADD_FAILURE() << engine << ", " << set;
  return {};
}

TEST(Coverage, AgreesWithThePaper) {
  const json report = coverage();
  EXPECT_EQ(report["summary"]["paper_rows"], 9);
  EXPECT_EQ(report["summary"]["paper_rows_agreeing"], 9);
  EXPECT_EQ(report["summary"]["conformance"], "passed");
  for (const json& row : report["rows"]) EXPECT_NE(row["agrees"], false) << row;
}

TEST(Pathologies, DirectMessagesAreProperAndNeverFail) {
  for (const std::string rule : {"direct", "linear"}) {
    for (const json& row : rows_of(rule)) {
      EXPECT_EQ(row["negative_precision_share"], 0) << row;
      EXPECT_EQ(row["failure_share"], 0) << row;
    }
  }
}

TEST(Pathologies, DirectMessagesOnATreeAreFinalAfterOneSweep) {
  for (const std::string rule : {"direct", "linear"}) {
    EXPECT_LE(row_of(rule, "product")["largest_sweeps"], 2);
    EXPECT_LE(row_of(rule, "relu")["largest_sweeps"], 2);
  }
}

TEST(Pathologies, EpSendsNegativePrecisionsAndYetMatchesTheExactMoments) {
  for (const std::string set : {"product", "relu"}) {
    const json row = row_of("ep", set);
    EXPECT_GT(row["negative_precision_share"], 0) << row;
    EXPECT_LT(row["kl_90"], 1e-9) << row;
  }
  EXPECT_GT(row_of("ep_skip", "network")["negative_precision_share"], 0);
}

TEST(Pathologies, VmpKeepsNoVarianceAtADiracFactor) {
  for (const json& row : rows_of("vmp")) {
    const bool joint = row["set"] == "joint";
    EXPECT_EQ(row[joint ? "variance_to_prior" : "variance_kept_90"], 0) << row;
  }
}

TEST(Pathologies, AdfLeavesTheWeightsAtTheirPrior) {
  const auto task = regression_task(3, 1);
  std::array<std::size_t, 3> examples{};
  std::iota(examples.begin(), examples.end(), 0);
  const auto network = network_graph(task, examples);
  const auto adf = network.graph.infer({.engine = Engine::adf});
  const auto direct = network.graph.infer({}, network.schedule);
  std::size_t moved = 0;
  for (std::size_t k = 0; k < network.weights.size(); ++k) {
    EXPECT_EQ(adf.marginal(network.weights[k]), task.prior[k]);
    moved += direct.marginal(network.weights[k]) == task.prior[k] ? 0 : 1;
  }
  EXPECT_EQ(moved, network.weights.size());
}

TEST(Pathologies, SummaryHoldsEveryEngine) {
  for (const std::string engine : {"direct", "linear", "ep", "vmp", "adf"}) {
    for (const json& figures :
         {result()["summary"][engine], result()["summary"]["network"][engine]}) {
      for (const char* key : {"negative_precision_share", "median_sweeps", "dirac_variance_kept",
                              "failure_share", "median_kl"}) {
        EXPECT_TRUE(figures.contains(key)) << engine << " " << key;
      }
    }
  }
}

// The sampled marginals agree with the exact moments, and with what EP finds.
TEST(Marginals, SamplingAgreesWithExactMoments) {
  for (const json& report : {product(), relu()}) {
    EXPECT_LT(report["summary"]["largest_sampling_error"], 0.01);
    for (const json& row : report["rows"]) {
      EXPECT_GE(row["kl"], 0) << row;
      if (row["method"] != "ep") continue;
      EXPECT_LT(row["moment_kl"], 1e-12) << row;
    }
  }
}

TEST(RegressionNetwork, FeaturesAreStandardised) {
  std::vector<double> mean(8), square(8);
  constexpr int points = 2001;
  for (int i = 0; i < points; ++i) {
    const auto features = experiments::regression_features(-5 + 10. * i / (points - 1));
    for (std::size_t k = 0; k < 8; ++k) {
      mean[k] += features[k] / points;
      square[k] += features[k] * features[k] / points;
    }
  }
  for (std::size_t k = 0; k < 7; ++k) {
    EXPECT_NEAR(mean[k], 0, 2e-3);
    EXPECT_NEAR(square[k], 1, 2e-3);
  }
  EXPECT_NEAR(mean[7], 1, 1e-12);
}

}  // namespace
}  // namespace dma::validation
