// benchmark gap: the baseline, the held-out rows, and the command as a user runs it.
#include "paper/adam.h"
#include "paper/part.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <sstream>

#include "cli/expect.h"

namespace {

using dma::EncodedRows;
using dma::cli::Adam;
using dma::cli::AdamFit;
using dma::cli::fit_adam;
using dma::cli::held_out_rows;
using dma::cli::Part;
using dma::cli::PointNetwork;
using dma::special::Random;
using dma::test::expect_refusal;
using dma::test::Outcome;
using dma::test::parsed;
using dma::test::run;
using dma::test::Scratch;
using dma::test::shell_word;
using nlohmann::json;
using Rows = std::vector<std::size_t>;

constexpr double noise = 0.2;

double line(double a, double b) { return 2 * a - b + 0.5; }

EncodedRows line_examples(std::size_t rows, std::uint64_t seed) {
  Random random(seed);
  EncodedRows examples{.rows = rows};
  for (std::size_t n = 0; n < rows; ++n) {
    const double a = random.normal();
    const double b = random.normal();
    examples.inputs.insert(examples.inputs.end(), {a, b});
    examples.targets.push_back(line(a, b) + noise * random.normal());
  }
  return examples;
}

TEST(Adam, TheFirstStepIsTheLearningRateInTheDirectionOfTheSign) {
  Adam adam(3, 0.01);
  std::vector<double> weights{1, 1, 1};
  adam.step(std::vector{5.0, -0.003, 0.0}, weights);
  EXPECT_NEAR(weights[0], 0.99, 1e-7);
  EXPECT_NEAR(weights[1], 1.01, 1e-7);
  EXPECT_EQ(weights[2], 1);
}

// Both remembered means, by hand: m = 0.09 * 2 + 0.1 * -1, v = 0.000999 * 4 + 0.001 * 1.
TEST(Adam, TheSecondStepRemembersTheFirst) {
  Adam adam(1, 0.01);
  std::vector<double> weights{0};
  adam.step(std::vector{2.0}, weights);
  const double before = weights[0];
  adam.step(std::vector{-1.0}, weights);
  EXPECT_NEAR(weights[0] - before, -0.01 * (0.08 / 0.19) / std::sqrt(0.004996 / 0.001999), 1e-9);
}

TEST(PointNetwork, TheGradientIsThatOfTheError) {
  const EncodedRows examples = line_examples(7, 1);
  Random random(2);
  PointNetwork network = PointNetwork::draw(2, random);
  for (double& weight : network.weights) weight += 0.1 * random.normal();
  const Rows rows{0, 2, 3, 6};
  const auto gradient = squared_error_gradient(network, examples, rows);
  ASSERT_EQ(gradient.size(), network.weights.size());
  constexpr double step = 1e-6;
  for (std::size_t k = 0; k < gradient.size(); ++k) {
    PointNetwork above = network;
    PointNetwork below = network;
    above.weights[k] += step;
    below.weights[k] -= step;
    const double slope =
        (squared_error(above, examples, rows) - squared_error(below, examples, rows)) / (2 * step);
    EXPECT_NEAR(gradient[k], slope, 1e-7 * (1 + std::abs(slope))) << k;
  }
}

TEST(AdamFit, LearnsALineAndItsNoise) {
  const AdamFit fit = fit_adam(line_examples(1000, 1), 1);
  Random random(3);
  double square = 0;
  constexpr int points = 500;
  for (int n = 0; n < points; ++n) {
    const std::array input{random.normal(), random.normal()};
    square += std::pow(fit.network.predict(input) - line(input[0], input[1]), 2) / points;
  }
  EXPECT_LT(std::sqrt(square), noise / 2);
  // With 100 rows the deviation of the estimate is a seventh of it; the choice of the epoch lowers it.
  EXPECT_NEAR(fit.variance, noise * noise, 0.4 * noise * noise);
}

// Nothing can be learnt, but 50 units can learn by heart: the error on the rows of training goes to 0.
TEST(AdamFit, TheNoiseIsThatOfRowsNotLearntFrom) {
  Random random(1);
  EncodedRows examples{.rows = 200, .inputs = std::vector<double>(200 * 8)};
  examples.targets.resize(examples.rows);
  for (double& value : examples.inputs) value = random.normal();
  for (double& value : examples.targets) value = random.normal();
  EXPECT_GT(fit_adam(examples, 1).variance, 0.5);
}

TEST(AdamFit, DependsOnTheSeedOnlyAndStopsWhenAsked) {
  const EncodedRows examples = line_examples(40, 1);
  const AdamFit fit = fit_adam(examples, 1);
  EXPECT_EQ(fit_adam(examples, 1).network.weights, fit.network.weights);
  EXPECT_NE(fit_adam(examples, 2).network.weights, fit.network.weights);
  int epochs = 0;
  fit_adam(examples, 1, [&] { return ++epochs < 4; });
  EXPECT_EQ(epochs, 4);
}

TEST(HeldOutRows, AreAThirdByValue) {
  const std::vector<double> nine{8, 0, 7, 1, 6, 2, 5, 3, 4};
  EXPECT_EQ(held_out_rows(nine, Part::low), (Rows{1, 3, 5}));
  EXPECT_EQ(held_out_rows(nine, Part::middle), (Rows{6, 7, 8}));
  EXPECT_EQ(held_out_rows(nine, Part::high), (Rows{0, 2, 4}));
  // Quantiles that are values themselves, 3 and 6, belong to no part.
  const std::vector<double> ten{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_EQ(held_out_rows(ten, Part::low), (Rows{0, 1, 2}));
  EXPECT_EQ(held_out_rows(ten, Part::middle), (Rows{4, 5}));
  EXPECT_EQ(held_out_rows(ten, Part::high), (Rows{7, 8, 9}));
}

TEST(HeldOutRows, LeaveEqualValuesTogetherAndEmptyCellsIn) {
  constexpr double empty = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> ties{0, 0, 0, 0, 0, 0, 0, 5, 6};
  EXPECT_EQ(held_out_rows(ties, Part::low), Rows{});
  EXPECT_EQ(held_out_rows(ties, Part::middle), Rows{});
  EXPECT_EQ(held_out_rows(ties, Part::high), (Rows{7, 8}));
  const std::vector<double> gaps{empty, 2, empty, 1, 0, empty};
  EXPECT_EQ(held_out_rows(gaps, Part::low), Rows{4});
  EXPECT_EQ(held_out_rows(gaps, Part::middle), Rows{3});
  EXPECT_EQ(held_out_rows(gaps, Part::high), Rows{1});
  EXPECT_EQ(held_out_rows(std::vector{empty}, Part::low), Rows{});
}

// y = sin(3 x) + N(0, 0.1^2); mostly is 0 in four rows of five; two more rows have no y.
std::string wave_csv() {
  Random random(1);
  std::ostringstream text;
  text << "x,mostly,coarse,color,y\n";
  for (int n = 0; n < 150; ++n) {
    const double x = random.uniform(-2, 2);
    text << x << ',' << (n % 5 == 0 ? n + 1 : 0) << ',' << n % 4 << ','
         << (n % 2 == 0 ? "red" : "blue") << ',' << std::sin(3 * x) + 0.1 * random.normal() << '\n';
  }
  text << "1,0,1,red,\n-1,0,2,blue,\n";
  return text.str();
}

struct Wave {
  Scratch scratch;
  std::string command =
      "benchmark gap " + shell_word(scratch.file("wave.csv", wave_csv())) + " --target y ";
};

TEST(BenchmarkGap, ComparesInEveryThird) {
  const Wave wave;
  const json report = parsed(run(wave.command + "--column x --json --threads 1"));
  EXPECT_EQ(report["target"], "y");
  EXPECT_EQ(report["rows"], 150);
  EXPECT_EQ(report["rows_without_target"], 2);
  EXPECT_EQ(report["compared"], 3);
  ASSERT_EQ(report["cases"].size(), 3U);
  int ahead = 0;
  std::vector<double> differences;
  for (const json& one : report["cases"]) {
    EXPECT_EQ(one["column"], "x");
    EXPECT_EQ(one["rows"], 50);
    for (const char* method : {"dma", "adam"}) {
      EXPECT_TRUE(one[method]["ll"].is_number()) << method;
      EXPECT_TRUE(one[method]["rmse"].is_number()) << method;
      EXPECT_TRUE(one[method]["coverage"]["0.95"].is_number()) << method;
    }
    differences.push_back(one["dma"]["ll"].get<double>() - one["adam"]["ll"].get<double>());
    EXPECT_EQ(one["difference"], differences.back());
    ahead += differences.back() > 0 ? 1 : 0;
  }
  EXPECT_EQ(report["dma_ahead"], ahead);
  std::sort(differences.begin(), differences.end());
  EXPECT_EQ(report["median_difference"], differences[1]);
  const json again =
      parsed(run(wave.command + "--column x --where high middle high --json --threads 2"));
  ASSERT_EQ(again["cases"].size(), 2U);
  EXPECT_EQ(again["cases"][0], report["cases"][0]);
  EXPECT_EQ(again["cases"][1], report["cases"][2]);
}

// Targets jump by 1000 where no row was seen: a method that has seen none misses by about as much.
TEST(BenchmarkGap, NothingOfTheGapIsSeen) {
  const Scratch scratch;
  Random random(1);
  std::string text = "x,y\n";
  for (int n = 0; n < 90; ++n) {
    text += std::to_string(n) + "," + std::to_string((n < 60 ? 0 : 1000) + random.normal()) + "\n";
  }
  const std::string data = scratch.file("jump.csv", text);
  const json report =
      parsed(run("benchmark gap " + shell_word(data) + " --target y --where high --json"));
  EXPECT_EQ(report["cases"][0]["rows"], 30);
  EXPECT_GT(report["cases"][0]["dma"]["rmse"], 900);
  EXPECT_GT(report["cases"][0]["adam"]["rmse"], 900);
}

// With every target times 1000 the densities are a thousandth.
TEST(BenchmarkGap, LikelihoodsAreInTheTargetsUnit) {
  const Scratch scratch;
  Random random(1);
  std::string small = "x,y\n";
  std::string large = small;
  for (int n = 0; n < 60; ++n) {
    const double x = random.uniform(-2, 2);
    const double y = std::round(1000 * (std::sin(x) + 0.1 * random.normal()));
    small += std::to_string(x) + "," + std::to_string(y / 1000) + "\n";
    large += std::to_string(x) + "," + std::to_string(y) + "\n";
  }
  const auto first = [&](const std::string& text) {
    const std::string data = scratch.file("scaled.csv", text);
    return parsed(run("benchmark gap " + shell_word(data) + " --target y --where low --json"))
        .at("cases")
        .at(0);
  };
  const json one = first(small);
  const json thousand = first(large);
  for (const char* method : {"dma", "adam"}) {
    EXPECT_NEAR(thousand[method]["ll"].get<double>() + std::log(1000),
                one[method]["ll"].get<double>(), 1e-4)
        << method;
    EXPECT_NEAR(thousand[method]["rmse"].get<double>() / 1000, one[method]["rmse"].get<double>(),
                1e-4)
        << method;
  }
}

TEST(BenchmarkGap, SaysWhyThereIsNothingToCompare) {
  const Wave wave;
  const json report = parsed(run(wave.command + "--column mostly --json"));
  EXPECT_EQ(report["compared"], 0);
  EXPECT_TRUE(report["median_difference"].is_null());
  EXPECT_EQ(report["cases"][0]["rows"], 0);
  EXPECT_EQ(report["cases"][0]["reason"], "fewer than 10 rows there");
  EXPECT_EQ(report["cases"][2]["rows"], 30);
  EXPECT_EQ(report["cases"][2]["reason"], "the column is constant in the other rows");
}

TEST(BenchmarkGap, PrintsATableOfTheColumnsWithManyValues) {
  const Wave wave;
  const Outcome outcome = run(wave.command + "--where low --seed 2");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* said : {"RMSE Adam", "x      low        50", "fewer than 10 rows there",
                           "of 1 gaps; median difference"}) {
    EXPECT_NE(outcome.out.find(said), std::string::npos) << said << "\n" << outcome.out;
  }
  EXPECT_NE(outcome.err.find("no gap in coarse: fewer than 5"), std::string::npos) << outcome.err;
}

TEST(BenchmarkGap, RefusesWhatHasNoGap) {
  const Wave wave;
  expect_refusal(run(wave.command + "--column X"), "no column 'X'; did you mean 'x'?");
  expect_refusal(run(wave.command + "--column z"), "no column 'z'; the columns are 'x'");
  expect_refusal(run(wave.command + "--column x color"), "column 'color': categorical");
  expect_refusal(run(wave.command + "--column y"), "'y': both a target");
  expect_refusal(run(wave.command + "--where side"), "--where", 2);
  expect_refusal(run("benchmark gap " + shell_word(wave.scratch.path("none.csv")) + " --target y"),
                 "none.csv");
  const std::string coarse = wave.scratch.file("coarse.csv", "x,same,y\n1,3,1\n2,3,2\n3,3,3\n");
  const std::string command = "benchmark gap " + shell_word(coarse) + " --target y";
  expect_refusal(run(command), "coarse.csv: no column has 5 different numbers");
  expect_refusal(run(command + " --column x same"), "column 'same': named, but constant");
  expect_refusal(run("benchmark gap " + shell_word(coarse)), "--target", 2);
  expect_refusal(run("benchmark --json gap " + shell_word(coarse) + " --target y"), "--json", 2);
  expect_refusal(run("benchmark"), "--data is required", 2);
}

}  // namespace
