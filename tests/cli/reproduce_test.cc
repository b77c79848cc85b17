// dma reproduce as a user runs it, on two tasks per table instead of 20 and 200.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <set>

#include "cli/expect.h"
#include "command.h"
#include "sanitized.h"

namespace dma::test {
namespace {

using nlohmann::json;

const std::vector<std::string> everywhere{"regression", "ivon"};
// Minutes under a sanitizer; the parts they are made of have tests of their own.
const std::vector<std::string> released{"exact"};
const std::vector<std::string> with_torch{"adam",        "adamw",    "laplace",
                                          "calibration", "mismatch", "large"};

struct Results {
  Scratch scratch;
  std::vector<std::string> names = everywhere;
  Outcome outcome;

  Results() {
    if (!sanitized) names.insert(names.end(), released.begin(), released.end());
    if (!sanitized && DMA_HAS_TORCH != 0)
      names.insert(names.end(), with_torch.begin(), with_torch.end());
    std::string line = "reproduce";
    for (const auto& name : names) line += " " + name;
    outcome = run(line + " --tasks 2 --json --out " + shell_word(scratch.path("out")));
  }
  json read(const std::string& name) const {
    return json::parse(content(scratch.path("out/" + name + ".json")));
  }
};

const Results& results() {
  static const Results all;
  return all;
}

TEST(Reproduce, WritesEveryExperimentAndPrintsItsSummary) {
  ASSERT_EQ(results().outcome.status, 0) << results().outcome.err;
  const json printed = json::parse(results().outcome.out);
  for (const auto& name : results().names) {
    SCOPED_TRACE(name);
    const json one = results().read(name);
    EXPECT_EQ(one["experiment"], name);
    EXPECT_EQ(one["summary"], printed[name]);
    EXPECT_GT(one["seconds"], 0);
    for (const char* key : {"about", "settings", "rows", "verdicts", "figures"}) {
      EXPECT_FALSE(one[key].empty()) << key;
    }
  }
}

TEST(Reproduce, VerdictsAreOfTheThreeKindsAndSayBothSides) {
  const std::set<std::string> kinds{"agrees", "differs", "beyond"};
  for (const auto& name : results().names) {
    const json one = results().read(name);
    for (const json& verdict : one["verdicts"]) {
      SCOPED_TRACE(name + ": " + verdict.dump());
      EXPECT_TRUE(kinds.contains(verdict["verdict"]));
      EXPECT_FALSE(verdict["ours"].get<std::string>().empty());
      EXPECT_EQ(verdict["paper"].get<std::string>().empty(), verdict["verdict"] == "beyond");
    }
  }
}

// A band's truth lies on the true function, its ends two deviations from the mean.
TEST(Reproduce, BandsAreSymmetricAndFinite) {
  for (const auto& name : results().names) {
    const json figures = results().read(name)["figures"];
    if (!figures.contains("band")) continue;
    SCOPED_TRACE(name);
    for (const json& at : figures["band"]) {
      ASSERT_TRUE(at["mean"].is_number() && at["upper"].is_number()) << at.dump();
      const double mean = at["mean"];
      const double upper = at["upper"];
      const double lower = at["lower"];
      EXPECT_NEAR(upper - mean, mean - lower, 1e-9 * (1 + std::abs(mean)));
      EXPECT_GT(upper, lower);
    }
  }
}

TEST(Reproduce, MethodsHaveTheRowsThatOthersRelyOn) {
  const json summary = results().read("regression")["summary"];
  for (const char* method : {"direct", "linear", "mixture", "default"}) {
    for (const char* key : {"seeds", "extrapolation_nll_median", "extrapolation_nll_iqr",
                            "calibration_delta_median", "epochs_median", "failures"}) {
      EXPECT_TRUE(summary[method][key].is_number()) << method << " " << key;
    }
    EXPECT_EQ(summary[method]["failures"], 0);
    EXPECT_EQ(summary[method]["negative"], 0);
  }
  if (sanitized) return;
  const json exact = results().read("exact")["summary"];
  for (const char* key :
       {"seeds", "extrapolation_nll_median", "extrapolation_nll_iqr", "max_rhat"}) {
    EXPECT_TRUE(exact[key].is_number()) << key;
  }
}

TEST(Reproduce, TheSweepOfIvonHas160Settings) {
  EXPECT_EQ(results().read("ivon")["figures"]["sweep"].size(), 160U);
}

TEST(Reproduce, RefusesWhatItCannotDo) {
  expect_refusal(run("reproduce no-such"), "no-such", 2);
  expect_refusal(run("reproduce coverage --tasks 0"), "--tasks", 2);
  const Scratch scratch;
  expect_refusal(run("reproduce coverage --out " + shell_word(scratch.file("file", "") + "/out")),
                 "cannot be created");
}

}  // namespace
}  // namespace dma::test
