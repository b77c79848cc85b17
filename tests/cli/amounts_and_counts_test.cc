// Targets that are amounts and counts, as a user meets them.
#include <dma/special/random.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <sstream>

#include "cli/expect.h"
#include "cli/fitted.h"

namespace {

using dma::test::expect_refusal;
using dma::test::expect_said;
using dma::test::Outcome;
using dma::test::parsed;
using dma::test::quick;
using dma::test::run;
using dma::test::Scratch;
using dma::test::shell_word;
using nlohmann::json;

std::vector<double> numbers_of(const std::string& line) {
  std::vector<double> numbers;
  std::istringstream cells(line);
  for (std::string cell; std::getline(cells, cell, ',');) numbers.push_back(std::stod(cell));
  return numbers;
}

// Visits by the temperature: about 0.5 to 20.
std::string visits_csv(int rows, std::uint64_t seed) {
  dma::special::Random random(seed);
  std::string text = "temperature,visits\n";
  for (int n = 0; n < rows; ++n) {
    const double t = random.uniform(-2, 2);
    const double rate = std::exp(1 + t);
    int count = 0;  // of a Poisson variable: how many waits of mean 1 fit into the rate
    for (double sum = -std::log(random.uniform()); sum < rate; sum -= std::log(random.uniform())) {
      ++count;
    }
    text += std::to_string(t) + "," + std::to_string(count) + "\n";
  }
  return text;
}

std::string prices_csv(int rows, std::uint64_t seed) {
  dma::special::Random random(seed);
  std::string text = "size,price\n";
  for (int n = 0; n < rows; ++n) {
    const double size = random.uniform(-2, 2);
    text += std::to_string(size) + "," +
            std::to_string(std::exp(5 + size + 0.5 * random.normal())) + "\n";
  }
  return text;
}

TEST(Counts, FromFitToReport) {
  const Scratch scratch;
  const std::string data = shell_word(scratch.file("visits.csv", visits_csv(120, 1)));
  const std::string model = shell_word(scratch.path("m"));
  const Outcome fitted = run("fit " + data + " --target visits --model " + model + quick);
  ASSERT_EQ(fitted.status, 0) << fitted.err;
  expect_said(fitted.err,
              {"visits: count, mean", "whole numbers from 0 on", "--kind class or number"});
  expect_said(fitted.out, {"over-dispersion", "the variance is mean +"});

  const Outcome predicted =
      run("predict " + model + " " + data + " --counts 2 --level 0.8 --digits all");
  std::istringstream lines(predicted.out);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "mean,std,epistemic_std,noise_std,lower,upper,p_0,p_1,p_2,p_more");
  std::getline(lines, line);
  const std::vector<double> numbers = numbers_of(line);
  ASSERT_EQ(numbers.size(), 10U);
  EXPECT_EQ(numbers[4], std::floor(numbers[4]));
  EXPECT_EQ(numbers[5], std::floor(numbers[5]));
  EXPECT_NEAR(numbers[6] + numbers[7] + numbers[8] + numbers[9], 1, 1e-9);

  const Outcome evaluated = run("evaluate " + model + " " + data);
  expect_said(evaluated.out, {"ranked probability score", "whole numbers"});
  const json inspected = parsed(run("inspect " + model + " --json"));
  EXPECT_EQ(inspected["kind"], "count");
  expect_said(run("inspect " + model).out, {"visits: count", "chosen: whole numbers from 0 on"});
  EXPECT_EQ(run("plot " + model + " " + data).status, 0);
  const json page = parsed(run("report " + model + " --data " + data + " --json"));
  EXPECT_FALSE(page["figures"]["response"].empty());
  for (const json& point : page["figures"]["response"]) {
    EXPECT_GE(point["lower"], 0);
    EXPECT_GT(point["epistemic_lower"], 0);
  }
  const std::string more = shell_word(scratch.file("more.csv", visits_csv(10, 2)));
  EXPECT_EQ(run("update " + model + " " + more).status, 0);
  EXPECT_EQ(run("forget " + model + " --rows " + more).status, 0);
  const std::string wrong =
      shell_word(scratch.file("wrong.csv", "temperature,visits\n1,3\n2,1.5\n"));
  expect_refusal(run("evaluate " + model + " " + wrong),
                 "line 3, column 'visits': '1.5' is not a whole number from 0 to 1e15");
}

TEST(Amounts, FromFitToReport) {
  const Scratch scratch;
  const std::string data = shell_word(scratch.file("prices.csv", prices_csv(150, 1)));
  const std::string model = shell_word(scratch.path("m"));
  const Outcome fitted = run("fit " + data + " --target price --model " + model + quick);
  ASSERT_EQ(fitted.status, 0) << fitted.err;
  expect_said(fitted.err, {"price: amount, usually", "held-out NLL of a small network",
                           "as a number", "use --kind number"});
  expect_said(fitted.out, {"a factor of"});
  const Outcome predicted = run("predict " + model + " " + data + " --level 0.99");
  std::istringstream lines(predicted.out);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "median,std,epistemic_std,noise_std,lower,upper");
  while (std::getline(lines, line)) EXPECT_GT(numbers_of(line).at(4), 0);
  EXPECT_EQ(parsed(run("inspect " + model + " --json"))["kind"], "amount");
  EXPECT_EQ(run("evaluate " + model + " " + data).status, 0);
  EXPECT_EQ(run("plot " + model + " " + data).status, 0);
  const json page = parsed(run("report " + model + " --data " + data + " --json"));
  for (const json& point : page["figures"]["response"]) EXPECT_GT(point["epistemic_lower"], 0);
  EXPECT_EQ(page["target_scale"], "log");
  const std::string wrong = shell_word(scratch.file("wrong.csv", "size,price\n1,3\n2,0\n"));
  expect_refusal(run("evaluate " + model + " " + wrong),
                 "line 3, column 'price': '0' is not positive, and an amount must be");
  expect_refusal(run("predict " + model + " " + data + " --counts 3"),
                 "--counts needs a model of a count", 2);
  const Outcome as_number =
      run("fit " + data + " --target price --kind number --model " + model + quick);
  expect_said(as_number.err, {"price: number, mean"});
}

}  // namespace
