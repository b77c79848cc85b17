// What a person sees: pictures in the terminal, the lines of a summary, which columns matter.
#include <dma/special/random.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "cli/expect.h"
#include "cli/fitted.h"
#include "cli/progress.h"
#include "cli/report.h"

namespace {

using dma::test::expect_refusal;
using dma::test::Fit;
using dma::test::fit_once;
using dma::test::Fitted;
using dma::test::Outcome;
using dma::test::parsed;
using dma::test::quick;
using dma::test::run;
using dma::test::Scratch;
using dma::test::shell_word;
using dma::test::wave_csv;
using nlohmann::json;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Prices by year and make; all makes have been seen.
std::string cars_csv() {
  dma::special::Random random(2);
  std::string text = "year,make,cleaned,price\n";
  for (int n = 0; n < 120; ++n) {
    const int year = 1960 + n % 40;
    const bool saab = n % 3 == 0;
    const double price = 180'000 + 100 * year + (saab ? 9000 : 0) + 500 * random.normal();
    text += std::to_string(year) +
            (saab         ? ",Saab,"
             : n % 3 == 1 ? ",Volvo,"
                          : ",Opel,") +
            (n % 4 == 0 ? "yes" : "no") + "," + std::to_string(std::lround(price)) + "\n";
  }
  return text;
}

struct Cars {
  Scratch scratch;
  std::string data = shell_word(scratch.file("cars.csv", cars_csv()));
  Fit fit = fit_once("cars.csv", cars_csv(),
                     "--target price --kind number --hidden 8 --epochs 60 --ensemble 3");
  Outcome fitted = fit.outcome;
  std::string model = shell_word(scratch.file("m", fit.model));
};

// The numbers at the left of a picture.
std::vector<double> labels_of(const std::string& picture) {
  std::vector<double> labels;
  std::istringstream lines(picture);
  for (std::string line; std::getline(lines, line);) {
    const auto bar = line.find('|');
    if (bar == std::string::npos) continue;
    const std::string label = line.substr(0, bar);
    if (label.find_first_not_of(' ') != std::string::npos) labels.push_back(std::stod(label));
  }
  return labels;
}

TEST(Plot, TheOtherColumnsAreThoseOfATypicalRow) {
  const Cars cars;
  const Outcome plot = run("plot " + cars.model + " " + cars.data);
  ASSERT_EQ(plot.status, 0) << plot.err;
  EXPECT_TRUE(
      has(plot.out, "price by year, the other columns as in a typical row: cleaned no, make "))
      << plot.out;
  // An unseen make would have a band many times as wide as the prices.
  const std::vector<double> labels = labels_of(plot.out);
  ASSERT_GE(labels.size(), 2U);
  EXPECT_GT(labels.back(), 360'000) << plot.out;
  EXPECT_LT(labels.front(), 400'000) << plot.out;
  EXPECT_TRUE(has(plot.out, "o")) << "rows are drawn";
  EXPECT_TRUE(has(plot.out, "\n            1944")) << plot.out;
  EXPECT_TRUE(has(plot.out, " 2015\n")) << plot.out;
  EXPECT_FALSE(has(plot.out, "e+0")) << plot.out;
}

// Days of a weekly cycle that rises.
std::string days_csv() {
  std::string text = "day,size,y\n";
  for (int n = 0; n < 84; ++n) {
    const std::string month = n < 31 ? "01" : n < 59 ? "02" : "03";
    const int day = n < 31 ? n : n < 59 ? n - 31 : n - 59;
    text += "2023-" + month + (day < 9 ? "-0" : "-") + std::to_string(day + 1) + "," +
            std::to_string(n * 7 % 10) + "," + std::to_string(n + (n % 7 == 0 ? 20 : 0)) + "\n";
  }
  return text;
}

TEST(Plot, DrawsAlongDates) {
  const Scratch scratch;
  const std::string data = shell_word(scratch.file("days.csv", days_csv()));
  const std::string model = shell_word(scratch.file(
      "m", fit_once("days.csv", days_csv(), "--target y --kind number" + quick).model));
  const Outcome plot = run("plot " + model + " " + data + " --input day");
  ASSERT_EQ(plot.status, 0) << plot.err;
  EXPECT_TRUE(has(plot.out, "y by day, the other columns as in a typical row: size 4\n"))
      << plot.out;
  // Two days apart, 83 days in the middle: 142 days from 29 days before the first.
  EXPECT_TRUE(has(plot.out, "\n            2022-12-04   ")) << plot.out;
  EXPECT_TRUE(has(plot.out, "   2023-04-25\n")) << plot.out;
  EXPECT_TRUE(has(plot.out, "   2023-01-19   ")) << plot.out;
  EXPECT_TRUE(has(plot.out, "+" + std::string(14, ' ') + std::string(42, '=') + "  ")) << plot.out;
  EXPECT_TRUE(has(plot.out, "o")) << "rows are drawn";
  // Numbers come first, if no column is named.
  EXPECT_TRUE(has(run("plot " + model + " " + data).out, "y by size"));
  expect_refusal(run("plot " + model + " " + data + " --input q"), "it has day, size");
}

TEST(Plot, SaysWhichColumnsItCouldVary) {
  const Fitted fitted;
  const std::string plot = "plot " + shell_word(fitted.model) + " " + shell_word(fitted.data);
  expect_refusal(run(plot), "name the column to vary with --input; the model has a, b");
  expect_refusal(run(plot + " --input ''"), "name the column to vary with --input");
  expect_refusal(run(plot + " --input q"),
                 "the model has no column of numbers or dates 'q'; it has a, b");
}

TEST(Summary, SaysEverythingOnceInPlainNumbers) {
  const Cars cars;
  ASSERT_EQ(cars.fitted.status, 0) << cars.fitted.err;
  const std::string all = cars.fitted.err + cars.fitted.out;
  EXPECT_FALSE(has(all, "e+0")) << all;
  EXPECT_TRUE(has(all, "120 for training")) << all;
  EXPECT_FALSE(has(cars.fitted.out, "\n  rows ")) << cars.fitted.out;
  EXPECT_TRUE(has(cars.fitted.out, ": the limit given") || has(cars.fitted.out, "by itself"))
      << cars.fitted.out;
}

TEST(Summary, ColumnsLeftOutForTheSameReasonAreOneLine) {
  const Scratch scratch;
  std::string text = "a";
  for (int k = 0; k < 56; ++k) text += ",k" + std::to_string(k);
  text += ",y\n";
  for (int n = 0; n < 30; ++n) {
    text += std::to_string(n);
    for (int k = 0; k < 56; ++k) text += ",7";
    text += "," + std::to_string(n * 1.5) + "\n";
  }
  const Outcome outcome = run("fit " + shell_word(scratch.file("t.csv", text)) +
                              " --target y --model " + shell_word(scratch.path("m")) + quick);
  EXPECT_TRUE(has(outcome.err, "56 columns, constant: k0, k1, ")) << outcome.err;
  EXPECT_LT(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 8) << outcome.err;
}

TEST(Summary, HelpHasNoBraces) {
  const std::string help = run("fit --help").out;
  EXPECT_TRUE(has(help, "--no-selection ")) << help;
  EXPECT_FALSE(has(help, "{")) << help;
  const Fitted fitted("--no-selection --no-calibration");
  EXPECT_TRUE(has(run("inspect " + shell_word(fitted.model)).out, "joint belief"));
}

TEST(HoldOut, DrawsOnlyAmongRowsWithATarget) {
  const Scratch scratch;
  std::string text = "a,w,y\n";
  for (int n = 0; n < 200; ++n) {
    text += std::to_string(n % 17) + (n % 5 == 1 ? ",0," : ",1,") +
            (n % 2 == 0 ? std::to_string(n % 17 + n % 3) : "") + "\n";
  }
  const std::string data = shell_word(scratch.file("t.csv", text));
  const std::string fit =
      "fit " + data + " --target y --holdout 0.3 --json --model " + shell_word(scratch.path("m"));
  for (const std::string& how : {quick, std::string(" --hidden 4 --ledger none --epochs 1")}) {
    const Outcome outcome = run(fit + how);
    const json report = parsed(outcome);
    const std::size_t held_out = report["holdout"]["rows"];
    EXPECT_GT(held_out, 15U);
    EXPECT_LT(held_out, 45U);
    EXPECT_EQ(report["rows"].get<std::size_t>() + held_out, 100U);
    const std::string said = std::to_string(100 - held_out) + " for training, " +
                             std::to_string(held_out) +
                             " held out, 100 left out because the target is empty";
    EXPECT_TRUE(has(outcome.err, said)) << outcome.err << said;
  }
}

TEST(HoldOut, OfTwoRowsIsRefusedWithATrueSentence) {
  const Scratch scratch;
  const std::string data = shell_word(scratch.file("two.csv", "a,y\n1,2\n2,3\n"));
  const std::string model = " --target y --model " + shell_word(scratch.path("m"));
  expect_refusal(run("fit " + data + " --holdout 0.001" + model),
                 "--holdout 0.001 of 2 rows with a target leaves 2 to learn from and 0 to test on");
  expect_refusal(run("fit " + data + " --holdout 0.9 --ledger none --epochs 1" + model),
                 "of 2 rows with a target leaves ");
}

TEST(Inspect, RanksTheColumns) {
  const Cars cars;
  const Outcome inspected = run("inspect " + cars.model);
  EXPECT_TRUE(has(inspected.out, "which columns matter")) << inspected.out;
  EXPECT_TRUE(has(inspected.out, "over the training rows")) << inspected.out;
  const json shares = parsed(run("inspect --json " + cars.model))["column_importance"];
  ASSERT_EQ(shares.size(), 3U);
  double sum = 0;
  for (const json& one : shares) sum += one["share"].get<double>();
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_EQ(shares[0]["column"], "make");
  EXPECT_EQ(shares[2]["column"], "cleaned");
  // Of a single make.
  const std::string rows = cars.scratch.file(
      "saabs.csv", "year,make,cleaned\n1961,Saab,no\n1980,Saab,yes\n1999,Saab,no\n");
  const json of_rows = parsed(run("inspect --json " + cars.model + " --data " + shell_word(rows)));
  EXPECT_EQ(of_rows["column_importance"][0]["column"], "year");
  const Fitted independent("--belief independent");
  const std::string model = shell_word(independent.model);
  EXPECT_TRUE(has(run("inspect " + model).out, "give them or others with --data"));
  EXPECT_TRUE(parsed(run("inspect --json " + model))["column_importance"].is_null());
  EXPECT_EQ(parsed(run("inspect --json " + model + " --data " +
                       shell_word(independent.data)))["column_importance"]
                .size(),
            2U);
}

TEST(Report, BeginsWithWhatAPersonLooksFor) {
  const Cars cars;
  const json page = parsed(run("report --json " + cars.model + " --data " + cars.data));
  EXPECT_EQ(page["targets"], json({"price"}));
  EXPECT_EQ(page["target_scale"], "linear");
  const json& predicted = page["figures"]["predicted"];
  ASSERT_EQ(predicted.size(), 240U);  // each row left out, and as it is given
  EXPECT_EQ(predicted[0]["region"], "training rows, left out in turn");
  EXPECT_EQ(predicted[239]["region"], "cars.csv");
  for (const json& row : predicted) {
    EXPECT_LT(row["lower"], row["predicted"]);
    EXPECT_NEAR(row["actual"].get<double>(), row["predicted"].get<double>(), 6000);
  }
  EXPECT_EQ(page["figures"]["importance"][0]["column"], "make");
  std::vector<std::string> makes, cleaned;
  for (const json& point : page["figures"]["response"]) {
    if (point["input"] == "make") makes.push_back(point["x"]);
    if (point["input"] == "cleaned") cleaned.push_back(point["x"]);
  }
  EXPECT_EQ(makes.size(), 3U) << "no value that never occurred";
  EXPECT_EQ(cleaned, (std::vector<std::string>{"no", "yes"}));
}

TEST(Numbers, AreWrittenAsPeopleDo) {
  using dma::cli::number_text;
  EXPECT_EQ(number_text(180'123.4), "180123");
  EXPECT_EQ(number_text(1'234'567.8), "1234568");
  EXPECT_EQ(number_text(1940, 3), "1940");
  EXPECT_EQ(number_text(-16.84, 3), "-16.8");
  EXPECT_EQ(number_text(0.00012345), "0.0001234");
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(0.00002), "2e-05");
  EXPECT_EQ(number_text(1e20), "1e+20");
}

TEST(Progress, SaysWhatIsLeft) {
  using dma::cli::time_left_text;
  EXPECT_EQ(time_left_text(1, 0.5), "") << "too early to tell";
  EXPECT_EQ(time_left_text(10, 0), "");
  EXPECT_EQ(time_left_text(10, 0.25), "up to about 30 s left");
  EXPECT_EQ(time_left_text(120, 0.2), "up to about 8 min left");
  EXPECT_EQ(time_left_text(3600, 0.25), "up to about 3 h 0 min left");
  EXPECT_EQ(time_left_text(10, 0.25, 12), "up to about 18 s left");
  EXPECT_EQ(time_left_text(10, 0.25, 31), "finishing");
  EXPECT_EQ(time_left_text(10, 1), "finishing");
}

}  // namespace
