// A target that is a class, as a user meets it.
#include <dma/special/random.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <sstream>

#include "cli/expect.h"
#include "cli/fitted.h"

namespace {

using dma::test::content;
using dma::test::expect_refusal;
using dma::test::Fit;
using dma::test::fit_once;
using dma::test::Outcome;
using dma::test::parsed;
using dma::test::quick;
using dma::test::run;
using dma::test::Scratch;
using dma::test::shell_word;
using nlohmann::json;

// Which fruit, by size and colour; the last class has a comma in its name.
std::string fruit_csv(int rows, std::uint64_t seed) {
  dma::special::Random random(seed);
  std::string text = "size,colour,fruit\n";
  for (int n = 0; n < rows; ++n) {
    const int kind = n % 3;
    text += std::to_string(5 + 3 * kind + random.normal()) + "," +
            (kind == 0                ? "red"
             : random.uniform() < 0.5 ? "green"
                                      : "red") +
            "," +
            (kind == 0   ? "cherry"
             : kind == 1 ? "apple"
                         : "\"melon, small\"") +
            "\n";
  }
  return text;
}

class Fruit : public testing::Test {
 protected:
  void SetUp() override {
    data_ = shell_word(scratch_.file("fruit.csv", fruit_csv(90, 1)));
    const Fit& fit = fit_once("fruit.csv", fruit_csv(90, 1), "--target fruit" + quick);
    fitted_ = fit.outcome;
    model_ = shell_word(scratch_.file("m", fit.model));
  }

  Scratch scratch_;
  std::string data_, model_;
  Outcome fitted_;
};

TEST_F(Fruit, FitSaysWhatItUnderstood) {
  for (const char* said :
       {"fruit: class, 3 of them (rows): apple (30), cherry (30), melon, small (30)"}) {
    EXPECT_NE(fitted_.err.find(said), std::string::npos) << fitted_.err;
  }
  for (const char* said : {"log loss", "% right", "calibration error"}) {
    EXPECT_NE(fitted_.out.find(said), std::string::npos) << fitted_.out;
  }
  EXPECT_EQ(fitted_.out.find("noise"), std::string::npos) << fitted_.out;
}

TEST_F(Fruit, PredictWritesAProbabilityForEachClass) {
  const Outcome outcome = run("predict " + model_ + " " + data_);
  std::istringstream lines(outcome.out);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "class,p_apple,p_cherry,\"p_melon, small\",doubt");
  std::getline(lines, line);
  EXPECT_EQ(line.find("cherry,"), 0U) << line;
}

TEST_F(Fruit, EvaluateScoresAllAndByGroup) {
  const Outcome outcome = run("evaluate " + model_ + " " + data_ + " --by colour");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* said : {"log loss", "Brier", "balanced", "green", "said %"}) {
    EXPECT_NE(outcome.out.find(said), std::string::npos) << outcome.out;
  }
  const json report = parsed(run("evaluate " + model_ + " " + data_ + " --json"));
  EXPECT_EQ(report["rows"], 90);
  EXPECT_GT(report["accuracy"], 0.8);
  EXPECT_EQ(report["confusion"].size(), 3U);
  EXPECT_TRUE(report["auc"].is_null());
}

TEST_F(Fruit, UpdateForgetAndInspect) {
  const std::string more = shell_word(scratch_.file("more.csv", fruit_csv(9, 2)));
  const Outcome updated = run("update " + model_ + " " + more);
  EXPECT_EQ(updated.status, 0) << updated.err;
  EXPECT_NE(updated.out.find("of the probability on average"), std::string::npos) << updated.out;
  EXPECT_EQ(run("forget " + model_ + " --rows " + more).status, 0);
  const Outcome inspected = run("inspect " + model_);
  EXPECT_NE(inspected.out.find("fruit: class, 3 of them"), std::string::npos) << inspected.out;
  EXPECT_EQ(inspected.out.find("noise std"), std::string::npos) << inspected.out;
  const json report = parsed(run("inspect " + model_ + " --json"));
  EXPECT_EQ(report["kind"], "class");
  EXPECT_EQ(report["classes"].size(), 3U);
}

TEST_F(Fruit, PlotsProbabilities) {
  const Outcome curves = run("plot " + model_ + " " + data_);
  EXPECT_EQ(curves.status, 0) << curves.err;
  EXPECT_NE(curves.out.find("\n1 apple   2 cherry   3 melon, small   = where the rows are\n"),
            std::string::npos)
      << curves.out;
  EXPECT_NE(curves.out.find("probability by size, the other columns as in a typical row: colour "),
            std::string::npos)
      << curves.out;
}

TEST_F(Fruit, TheReportHasWhatClassesNeed) {
  const json page = parsed(run("report " + model_ + " --data " + data_ + " --json"));
  EXPECT_FALSE(page["figures"]["reliability"].empty());
  EXPECT_EQ(page["figures"]["confusion"].size(), 18U);  // of the rows left out and of those given
  EXPECT_TRUE(page["figures"]["response"][0].contains("probability"));
  EXPECT_TRUE(page["figures"]["calibration"].empty());
}

TEST_F(Fruit, AnUnknownClassIsNamed) {
  const std::string strange =
      shell_word(scratch_.file("strange.csv", "size,colour,fruit\n5,red,cherry\n9,red,pear\n"));
  expect_refusal(run("evaluate " + model_ + " " + strange),
                 "line 3, column 'fruit': 'pear' is not one of the classes of training: apple, "
                 "cherry, melon, small");
  EXPECT_EQ(run("predict " + model_ + " " + strange).status, 0);
}

TEST(TwoInputs, AreDrawnAsAMap) {
  const Scratch scratch;
  dma::special::Random random(1);
  std::string text = "a,b,y\n";
  for (int n = 0; n < 60; ++n) {
    const double a = random.normal(), b = random.normal();
    text += std::to_string(a) + "," + std::to_string(b) + "," + (a + b > 0 ? "1" : "0") + "\n";
  }
  const std::string data = shell_word(scratch.file("t.csv", text));
  const std::string model = shell_word(scratch.path("m"));
  const Outcome fitted = run("fit " + data + " --target y --model " + model + quick);
  EXPECT_NE(fitted.err.find("use --kind number"), std::string::npos) << fitted.err;
  const Outcome map = run("plot " + model + " " + data);
  EXPECT_EQ(map.status, 0) << map.err;
  EXPECT_NE(map.out.find("probability of 1: ' .:-=+*#%@' from 0 to 1"), std::string::npos)
      << map.out;
  EXPECT_NE(map.out.find("@@@"), std::string::npos) << map.out;
  const json as_number =
      parsed(run("fit " + data + " --target y --kind number --json --model " + model + quick));
  EXPECT_EQ(as_number["kind"], "number");
}

}  // namespace
