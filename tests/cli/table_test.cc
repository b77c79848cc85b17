// fit, predict, evaluate, update, forget, inspect as a user runs them.
#include <dma/data/csv.h>
#include <dma/regressor/regressor.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <sstream>

#include "cli/commands.h"
#include "cli/expect.h"
#include "cli/fitted.h"

namespace {

using dma::test::content;
using dma::test::expect_refusal;
using dma::test::expect_said;
using dma::test::Fitted;
using dma::test::Outcome;
using dma::test::parsed;
using dma::test::quick;
using dma::test::run;
using dma::test::Scratch;
using dma::test::shell;
using dma::test::shell_word;
using dma::test::wave_csv;
using nlohmann::json;

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(Fit, ReportsWhatOthersRelyOn) {
  const Scratch scratch;
  const std::string data = scratch.file("wave.csv", wave_csv(100, 1));
  const Outcome outcome =
      shell("cd " + shell_word(scratch.path("")) + "; $DMA fit wave.csv --target y --json" + quick);
  const json report = parsed(outcome);
  EXPECT_EQ(report["rows"], 100);
  EXPECT_EQ(report["features"], 2);
  EXPECT_EQ(report["weights"], 33);
  EXPECT_EQ(report["layers"], json({2, 8, 1}));
  EXPECT_EQ(report["rule"], "linear");
  EXPECT_EQ(report["epochs"], 20);
  EXPECT_EQ(report["stopped"], "max_epochs");
  for (const char* key : {"noise_std", "train_nll", "cavity_nll", "seconds"}) {
    EXPECT_TRUE(report[key].is_number()) << key;
  }
  EXPECT_TRUE(report["cavity_coverage"]["0.95"].is_number());
  EXPECT_GT(report["certificate"]["joint"]["linearisation_error"], 0);
  EXPECT_GT(report["certificate"]["joint"]["largest_leverage"], 0);
  EXPECT_EQ(report["model"], "wave.safetensors");
  EXPECT_TRUE(std::filesystem::exists(scratch.path("wave.safetensors")));
  EXPECT_NE(outcome.err.find("100 for training"), std::string::npos) << outcome.err;
}

TEST(Fit, UnderstandsATableOfManyKinds) {
  const Scratch scratch;
  std::string text = "when;size;kind;ok;same;gap;name;y\r\n";
  for (int n = 0; n < 120; ++n) {
    text += "2024-01-" + std::to_string(10 + n % 20) + ";" + std::to_string(n % 7) + ";" +
            (n % 3 == 0 ? "red" : "\"light;blue\"") + ";" + (n % 2 == 0 ? "yes" : "no") + ";3;" +
            (n % 5 == 0 ? "" : std::to_string(n)) + ";person" + std::to_string(n) + ";" +
            (n == 4 ? "" : std::to_string(n % 7 + (n % 3 == 0 ? 5 : 0))) + "\r\n";
  }
  const std::string data = scratch.file("t.csv", "\xEF\xBB\xBF" + text);
  const std::string model = shell_word(scratch.path("m"));
  const Outcome outcome = run("fit " + shell_word(data) + " --target y --model " + model + quick +
                              "--holdout 0.2 --test " + shell_word(data));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* said :
       {"datetime", "categorical, 2 values", "boolean", "same: constant", "name: text",
        "numeric, with empty cells", "target is empty", "held out"}) {
    EXPECT_NE(outcome.err.find(said), std::string::npos) << said << "\n" << outcome.err;
  }
  EXPECT_NE(outcome.out.find("test file"), std::string::npos) << outcome.out;
  // Other columns, another order, other delimiters.
  const std::string other = scratch.file(
      "o.csv",
      "extra,y,gap,ok,kind,size,when\n1,2,,no,green,3,2024-02-01\n1,2,7,yes,red,3,2023-12-31\n");
  const Outcome predicted = run("predict " + model + " " + shell_word(other));
  EXPECT_EQ(predicted.status, 0) << predicted.err;
  EXPECT_EQ(lines_of(predicted.out), 3U);
  const std::string less =
      scratch.file("l.csv", "extra,y,gap,ok,kind,when\n1,2,,no,green,2024-02-01\n");
  expect_refusal(run("predict " + model + " " + shell_word(less)), "'size'");
  const std::string wrong = scratch.file(
      "w.csv", "y,gap,ok,kind,size,when\n2,,no,green,3,2024-02-01\n2,7,yes,red,big,2023-12-31\n");
  expect_refusal(run("predict --strict " + model + " " + shell_word(wrong)),
                 "line 3, column 'size'");
}

TEST(Fit, SaysWhatCouldBeTheTarget) {
  const Scratch scratch;
  const std::string data = scratch.file("wave.csv", wave_csv(10, 1));
  expect_refusal(run("fit " + shell_word(data)), "has a, b, y", 2);
}

TEST(Fit, AnInterruptSavesWhatThereIs) {
  const Scratch scratch;
  const std::string data = scratch.file("wave.csv", wave_csv(2000, 1));
  const Outcome outcome =
      shell("timeout --preserve-status -s INT 2 $DMA fit " + shell_word(data) +
            " --target y --epochs 100000 --tolerance 0 --belief independent --json --model " +
            shell_word(scratch.path("m")));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("Interrupted"), std::string::npos) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["stopped"], "interrupted");
  EXPECT_EQ(run("inspect " + shell_word(scratch.path("m"))).status, 0);
}

const std::string one_pass =
    " --hidden 8 --ensemble 2 --ledger none --epochs 1 --target y --json --model ";

TEST(FitStream, ReportsWhatOthersRelyOn) {
  const Scratch scratch;
  const std::string data = scratch.file("wave.csv", wave_csv(3000, 1));
  const std::string test = scratch.file("test.csv", wave_csv(200, 2));
  const std::string model = shell_word(scratch.path("m"));
  const Outcome outcome = run("fit " + shell_word(data) + one_pass + model +
                              " --holdout 0.1 --test " + shell_word(test));
  const json report = parsed(outcome);
  EXPECT_EQ(report["stream"], true);
  EXPECT_GT(report["rows_per_second"], 0);
  EXPECT_TRUE(report["train_nll"].is_null());
  EXPECT_EQ(report["epochs"], 1);
  for (const char* key : {"noise_std", "cavity_nll", "seconds", "peak_bytes"}) {
    EXPECT_TRUE(report[key].is_number()) << key;
  }
  EXPECT_EQ(report["rows"].get<int>() + report["holdout"]["rows"].get<int>(), 3000);
  EXPECT_EQ(report["test"]["rows"], 200);
  EXPECT_NEAR(report["test"]["nll"].get<double>(), report["cavity_nll"].get<double>(), 0.4);
  EXPECT_NE(outcome.err.find("held out"), std::string::npos) << outcome.err;
  // The other commands take such a model.
  EXPECT_EQ(lines_of(run("predict " + model + " " + shell_word(test)).out), 201U);
  const json inspected = parsed(run("inspect --json " + model));
  EXPECT_EQ(inspected["stream"], true);
  EXPECT_EQ(inspected["ledger"]["mode"], "none");
  EXPECT_EQ(run("inspect " + model).status, 0);
  EXPECT_EQ(run("report " + model + " -o " + shell_word(scratch.path("r.html"))).status, 0);
  EXPECT_EQ(run("update " + model + " " + shell_word(test)).status, 0);
  expect_refusal(run("update " + model + " " + shell_word(test) + " --data " + shell_word(data)),
                 "learnt from a stream");
  expect_refusal(run("forget " + model + " --rows " + shell_word(test)), "ledger 'full'");
}

TEST(FitStream, WhatCannotBeReadTwiceIsLearntInMemory) {
  const Scratch scratch;
  const std::string data = scratch.file("wave.csv", wave_csv(300, 1));
  const Outcome outcome =
      shell("cat " + shell_word(data) + " | $DMA fit -" + one_pass + shell_word(scratch.path("m")));
  const json report = parsed(outcome);
  EXPECT_EQ(report["stream"], false);
  EXPECT_TRUE(report["rows_per_second"].is_null());
  EXPECT_TRUE(report["train_nll"].is_number());
}

TEST(FitStream, AMistakeAtTheEndLeavesNoModel) {
  const Scratch scratch;
  const std::string text = wave_csv(5000, 1);
  const std::string data = scratch.file("wave.csv", text + "1,2,high\n");
  const std::string model = scratch.path("m");
  expect_refusal(
      run("fit --strict " + shell_word(data) + one_pass + shell_word(model)),
      "wave.csv, line 5002, column 'y': 'high' is not a number, but 5000 of 5001 cells are");
  EXPECT_FALSE(std::filesystem::exists(model));
  // A mistake in the test file shows before anything is learnt.
  const std::string good = scratch.file("good.csv", text);
  const Outcome outcome = run("fit --strict " + shell_word(good) + one_pass + shell_word(model) +
                              " --test " + shell_word(data));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("line 5002, column 'y'"), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(model));
}

TEST(FitStream, MemoryDoesNotGrowWithTheRows) {
  const Scratch scratch;
  std::vector<double> peaks;
  std::string text = wave_csv(100'000, 1, 6);
  const std::string rows = text.substr(text.find('\n') + 1);
  for (const int times : {4, 12}) {
    std::string all = text;
    for (int k = 1; k < times; ++k) all += rows;
    const std::string data = scratch.file("wave.csv", all);
    // The address sanitizer must give back at once what is freed.
    const json report = parsed(
        shell("ASAN_OPTIONS=quarantine_size_mb=0:thread_local_quarantine_size_kb=0 $DMA fit " +
              shell_word(data) +
              " --hidden 1 --ensemble 1 --ledger none --epochs 1 --target y --json --threads 2 "
              "--model " +
              shell_word(scratch.path("m"))));
    EXPECT_EQ(report["rows"], 100'000 * times);
    peaks.push_back(report["peak_bytes"].get<double>());
  }
  // 800,000 rows more: as a table they are 19 MB, encoded as many again. How many of the three windows are there at
  // the same time, 4 MB each, is up to the threads.
  EXPECT_LT(peaks[1], peaks[0] + 12e6);
}

TEST(FitStream, AnInterruptSavesWhatThereIs) {
  const Scratch scratch;
  const std::string data = scratch.file("wave.csv", wave_csv(60'000, 1));
  const Outcome outcome = shell(
      "timeout --preserve-status -s INT 3 $DMA fit " + shell_word(data) +
      " --target y --ledger none --epochs 1 --hidden 100,100 --ensemble 20 --threads 1 --json "
      "--model " +
      shell_word(scratch.path("m")));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("Interrupted"), std::string::npos) << outcome.err;
  const json report = json::parse(outcome.out);
  EXPECT_EQ(report["stopped"], "interrupted");
  EXPECT_LT(report["rows"], 60'000);
  EXPECT_EQ(run("inspect " + shell_word(scratch.path("m"))).status, 0);
}

TEST(Predict, WritesTheColumnsPromised) {
  const Fitted fitted;
  const Outcome outcome =
      run("predict " + shell_word(fitted.model) + " " + shell_word(fitted.data) + " --digits all");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out.substr(0, outcome.out.find('\n')),
            "mean,std,epistemic_std,noise_std,lower,upper");
  const auto predicted = dma::Regressor::load(fitted.model).predict(dma::read_csv(fitted.data));
  std::istringstream lines(outcome.out);
  std::string line;
  std::getline(lines, line);
  std::size_t rows = 0;
  for (; std::getline(lines, line); ++rows) {
    double mean = 0;
    double std = 0;
    double epistemic = 0;
    double noise = 0;
    double lower = 0;
    double upper = 0;
    ASSERT_EQ(std::sscanf(line.c_str(), "%lf,%lf,%lf,%lf,%lf,%lf", &mean, &std, &epistemic, &noise,
                          &lower, &upper),
              6);
    EXPECT_NEAR(std, std::hypot(epistemic, noise), 1e-12);
    EXPECT_NEAR(mean, predicted[rows].mean, 1e-12 * std);
    EXPECT_NEAR(lower, predicted[rows].lower(0.95), 1e-12 * std);
    EXPECT_NEAR(upper, predicted[rows].upper(0.95), 1e-12 * std);
  }
  EXPECT_EQ(rows, 100U);
  // Standard input, a file and any number of threads give the same bytes.
  const std::string out = fitted.scratch.path("out.csv");
  const Outcome piped = shell("$DMA predict " + shell_word(fitted.model) +
                              " --digits all --threads 1 <" + shell_word(fitted.data));
  EXPECT_EQ(piped.out, outcome.out);
  const json report =
      parsed(run("predict " + shell_word(fitted.model) + " " + shell_word(fitted.data) +
                 " --digits all --threads 2 --json -o " + shell_word(out)));
  EXPECT_EQ(report["rows"], 100);
  EXPECT_EQ(content(out), outcome.out);
  expect_refusal(
      run("predict " + shell_word(fitted.model) + " " + shell_word(fitted.data) + " --json"), "-o",
      2);
}

// Three digits of the deviation by default, as many as asked for otherwise.
TEST(Predict, WritesAsManyDigitsAsTheDeviationWarrants) {
  const Fitted fitted;
  const std::string predict = "predict " + shell_word(fitted.model) + " ";
  const std::string row = shell_word(fitted.scratch.file("row.csv", "a,b\n0.5,-0.5\n"));
  const auto cells = [&](const std::string& more) {
    std::istringstream line(run(predict + row + more).out);
    std::string cell;
    std::getline(line, cell);
    std::vector<std::string> all;
    while (std::getline(line, cell, ',')) all.push_back(cell);
    return all;
  };
  const auto usual = cells("");
  const auto all = cells(" --digits all");
  ASSERT_EQ(usual.size(), 6U);
  const double deviation = std::stod(all[1]);
  ASSERT_TRUE(deviation > 1 && deviation < 10) << deviation;
  EXPECT_EQ(usual[1].size(), 4U) << usual[1];  // 1.22
  for (std::size_t k = 0; k < 6; ++k) {
    EXPECT_NEAR(std::stod(usual[k]), std::stod(all[k]), 0.0051) << k;
    EXPECT_LT(usual[k].size(), 8U);
  }
  EXPECT_EQ(cells(" --digits 1")[1].size(), 1U);
  expect_refusal(run(predict + row + " --digits 0"), "--digits", 2);
  expect_refusal(run(predict + row + " --digits x"), "--digits", 2);
}

TEST(Predict, CarriesColumnsOfTheInputAlong) {
  const Fitted fitted;
  const std::string predict = "predict " + shell_word(fitted.model) + " ";
  const std::string named = fitted.scratch.file(
      "named.csv", "id,\"a name\",a,b\n007,\"x, \"\"y\"\"\",0.50,1\n8,NA,1,1\n");
  const Outcome outcome = run(predict + shell_word(named) + " --keep 'a name,a,id'");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "a name,a,id,mean,std,epistemic_std,noise_std,lower,upper");
  std::getline(lines, line);
  EXPECT_EQ(line.substr(0, line.find("007") + 4), "\"x, \"\"y\"\"\",0.50,007,");
  std::getline(lines, line);
  EXPECT_EQ(line.substr(0, 5), ",1,8,");
  const Outcome all = run(predict + shell_word(named) + " --keep all");
  EXPECT_EQ(all.out.substr(0, 17), "id,a name,a,b,mea");
  const Outcome piped = shell("$DMA " + predict + "--keep id --threads 1 <" + shell_word(named));
  EXPECT_EQ(piped.out, run(predict + shell_word(named) + " --keep id --threads 2").out);
  expect_refusal(shell("$DMA " + predict + "--keep all <" + shell_word(named)), "--keep", 2);
  expect_refusal(run(predict + shell_word(named) + " --keep nix"), "'nix'");
  const std::string twice = fitted.scratch.file("twice.csv", "a,b,mean\n1,1,1\n");
  expect_refusal(run(predict + shell_word(twice) + " --keep mean"), "'mean'");
}

// A table of regions, and one whose cells are unlike it.
TEST(Predict, SaysWhichCellsAreUnlikeTraining) {
  const Scratch scratch;
  std::string rows = "region,ok,size,y\n";
  for (int n = 0; n < 40; ++n) {
    rows += std::string(n % 2 == 0 ? "north," : "south,") + (n % 3 == 0 ? "yes," : "no,") +
            std::to_string(7 * n % 40) + "," + std::to_string(n * n % 7 - 3) + "\n";
  }
  const std::string model = shell_word(scratch.path("m"));
  run("fit " + shell_word(scratch.file("t.csv", rows)) + " --target y --model " + model + quick);
  const std::string odd = shell_word(scratch.file(
      "odd.csv", "region,ok,size,y\nNorth,yes,3,1\neast,no,4,1\nwest,maybe,,1\nsouth,no,5,1\n"));
  const Outcome outcome = run("predict " + model + " " + odd);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(lines_of(outcome.out), 5U);
  EXPECT_EQ(lines_of(outcome.err), 5U) << outcome.err;
  expect_said(outcome.err,
              {"odd.csv: cells unlike those of training", "could be any value of training",
               "1 cell is new: 'maybe' in line 4", "2 cells are new: 'east', the first in line 3",
               "1 cell counts as 'north': 'North' in line 2",
               "1 cell is empty (none was in training) in line 4"});
  const json report =
      parsed(run("predict " + model + " " + odd + " --json -o " + shell_word(scratch.path("o"))));
  ASSERT_EQ(report["unlike"].size(), 4U);
  EXPECT_EQ(report["unlike"][0]["column"], "ok");
  const Outcome evaluated = run("evaluate " + model + " " + odd);
  expect_said(evaluated.err, {"cells unlike those of training"});
  EXPECT_EQ(parsed(run("evaluate " + model + " " + odd + " --json"))["unlike"].size(), 4U);
  expect_said(run("update " + model + " " + odd).err, {"learnt together as others"});
}

// A target that is near -1 or near 1, whatever x is: the middle half of a Gaussian has next to none.
TEST(Fit, SaysThatItsIntervalsHoldTooLittle) {
  const Scratch scratch;
  std::string rows = "x,y\n";
  for (int n = 0; n < 120; ++n) {
    const double y = (n * 7 % 11 < 5 ? -1 : 1) + (n * 13 % 10) / 100.0;
    rows += std::to_string(n * 29 % 31) + "," + std::to_string(y) + "\n";
  }
  const std::string data = shell_word(scratch.file("t.csv", rows));
  const std::string fit =
      "fit " + data + " --target y --kind number --hidden 2 --epochs 12 --model ";
  const std::string model = shell_word(scratch.path("m"));
  expect_said(run(fit + model).out, {"in the 50 % interval is further off than chance explains",
                                     "too narrow", "--intervals calibrated"});
  EXPECT_EQ(parsed(run(fit + model + " --json"))["coverage_off"], 0.5);
  const Fitted fitted;  // whose intervals are right
  EXPECT_EQ(run("inspect " + shell_word(fitted.model)).out.find("chance"), std::string::npos);
}

TEST(Fit, SaysWhichBoundsItAssumes) {
  const Scratch scratch;
  std::string rows = "x,y\n";
  for (int n = 0; n < 60; ++n) {
    rows += std::to_string(n) + "," + std::to_string(0.01 + (n * 37 % 60) / 10.0) + "\n";
  }
  const std::string data = shell_word(scratch.file("t.csv", rows));
  const std::string model = " --model " + shell_word(scratch.path("m"));
  const std::string fit = "fit " + data + " --target y --kind number" + model + quick;
  expect_said(run(fit).err, {"assumed to be 0 or more", "--bounds none"});
  const std::string at = shell_word(scratch.path("m")) + " " + data;
  EXPECT_EQ(run("predict " + at).out.find(",-"), std::string::npos);
  EXPECT_NE(run("predict " + at + " --level 0.999 --bounds none").out.find(",-"),
            std::string::npos);
  expect_said(run("inspect " + shell_word(scratch.path("m"))).out, {"assumed to be 0 or more"});
  const json said = parsed(run(fit + " --bounds 0,10 --json"));
  EXPECT_EQ(said["bounds"]["high"], 10);
  EXPECT_EQ(said["bounds"]["assumed"], false);
  const Outcome beyond = run(fit + " --bounds 1,10");
  EXPECT_EQ(beyond.status, 1);
  expect_said(beyond.err, {"line 2, column 'y': '0.01' is beyond the bounds that were given"});
  expect_refusal(run(fit + " --bounds 3"), "--bounds", 2);
  expect_refusal(run(fit + " --bounds 3,1"), "--bounds", 2);
  expect_refusal(run("fit " + data + " --target y --kind amount --bounds 0," + model + quick),
                 "bounds can only be given for a number");
}

// Of predictions that have the target before them: how often it is inside the interval.
double share_inside(const std::string& csv) {
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  double inside = 0;
  double rows = 0;
  for (; std::getline(lines, line); ++rows) {
    double y = 0;
    double lower = 0;
    double upper = 0;
    EXPECT_EQ(std::sscanf(line.c_str(), "%lf,%*f,%*f,%*f,%*f,%lf,%lf", &y, &lower, &upper), 3);
    inside += lower <= y && y <= upper ? 1 : 0;
  }
  return inside / rows;
}

TEST(Predict, CalibratesIntervals) {
  const Scratch scratch;
  const std::string data = shell_word(scratch.file("wave.csv", wave_csv(200, 1)));
  const std::string path = shell_word(scratch.path("m"));
  const std::string fit = "fit " + data + " --target y --model " + path + quick;
  expect_refusal(run(fit + " --intervals calibrated"), "--holdout", 2);
  ASSERT_EQ(run(fit + " --holdout 0.4 --intervals calibrated").status, 0);
  const std::string predict = "predict " + path + " " + data;
  const Outcome calibrated = run(predict + " --intervals calibrated");
  expect_said(calibrated.err, {"intervals calibrated by", "has not learnt"});
  EXPECT_NE(calibrated.out, run(predict).out);
  expect_refusal(run(predict + " --intervals calibrated --level 0.9999"), "takes 19999 rows");
  const std::string evaluate = "evaluate " + path + " " + data;
  const Outcome scored = run(evaluate + " --intervals calibrated");
  expect_said(scored.err, {"intervals calibrated by", "has not learnt"});
  // Row by row: the share of the targets that lie between the ends that predict writes.
  const json said = parsed(run(evaluate + " --intervals calibrated --json"));
  EXPECT_EQ(said["intervals"], "calibrated");
  for (const char* level : {"0.5", "0.9"}) {
    const Outcome ends =
        run(predict + " --intervals calibrated --keep y --digits all --level " + level);
    EXPECT_EQ(said["coverage"][level], share_inside(ends.out)) << level;
  }
  const json usual = parsed(run(evaluate + " --json"));
  EXPECT_EQ(usual["intervals"], "model");
  EXPECT_NE(usual["coverage"], said["coverage"]);
  EXPECT_EQ(usual["nll"], said["nll"]);
  ASSERT_EQ(run(fit).status, 0);
  expect_said(run(predict + " --intervals calibrated").err, {"without a guarantee"});
}

TEST(Predict, SaysThatValuesAreTooFarOut) {
  const Fitted fitted;
  const std::string far = fitted.scratch.file("far.csv", "a,b\n0,0\n1e6,0\n0,-1e9\n");
  const std::string predict = "predict " + shell_word(fitted.model) + " ";
  const Outcome outcome = run(predict + shell_word(far));
  EXPECT_EQ(
      outcome.err,
      "2 values are more than twice as far out as any in training and counted as less far: do "
      "not trust these rows\n");
  EXPECT_EQ(lines_of(outcome.out), 4U);
  const std::string json_to = " --json -o " + shell_word(fitted.scratch.path("out.csv"));
  EXPECT_EQ(parsed(run(predict + shell_word(far) + json_to))["pulled_in"], 2);
  EXPECT_EQ(run(predict + shell_word(fitted.data)).err, "");
}

TEST(Predict, AMistakeLeavesTheOldFile) {
  const Fitted fitted;
  const std::string bad = fitted.scratch.file("bad.csv", wave_csv(9000, 2) + "1,oops,3\n");
  const std::string out = fitted.scratch.file("out.csv", "precious");
  expect_refusal(run("predict --strict " + shell_word(fitted.model) + " " + shell_word(bad) +
                     " -o " + shell_word(out)),
                 "line 9002, column 'b'");
  EXPECT_EQ(content(out), "precious");
  EXPECT_EQ(fitted.scratch.files(), 4U);
}

TEST(Evaluate, ScoresAllAndByGroup) {
  const Fitted fitted;
  std::string text = "region,a,b,y\n";
  std::istringstream rows(wave_csv(50, 3));
  std::string line;
  std::getline(rows, line);
  for (int n = 0; std::getline(rows, line); ++n)
    text += (n % 2 == 0 ? "north," : "south,") + line + "\n";
  const std::string data = fitted.scratch.file("test.csv", text);
  const json all = parsed(
      run("evaluate " + shell_word(fitted.model) + " " + shell_word(data) + " --by region --json"));
  EXPECT_EQ(all["rows"], 50);
  for (const char* key : {"rmse", "mae", "nll", "crps", "calibration_error"}) {
    EXPECT_TRUE(all[key].is_number()) << key;
  }
  EXPECT_TRUE(all["coverage"]["0.8"].is_number());
  EXPECT_EQ(all["by"]["north"]["rows"], 25);
  EXPECT_NEAR(
      (all["by"]["north"]["nll"].get<double>() + all["by"]["south"]["nll"].get<double>()) / 2,
      all["nll"].get<double>(), 1e-9);
  const Outcome printed =
      run("evaluate " + shell_word(fitted.model) + " " + shell_word(data) + " --by region");
  EXPECT_NE(printed.out.find("south"), std::string::npos);
}

TEST(UpdateAndForget, InPlaceAndElsewhere) {
  const Fitted fitted;
  const std::string more = fitted.scratch.file("more.csv", wave_csv(20, 5));
  const std::string before = content(fitted.model);
  const std::string other = fitted.scratch.path("other");
  const json added = parsed(run("update " + shell_word(fitted.model) + " " + shell_word(more) +
                                " --json -o " + shell_word(other)));
  EXPECT_EQ(added["rows_added"], 20);
  EXPECT_TRUE(added["moved"]["mean_shift"].is_number());
  EXPECT_EQ(content(fitted.model), before);
  EXPECT_EQ(parsed(run("inspect --json " + shell_word(other)))["rows"], 120);
  const json gone =
      parsed(run("forget " + shell_word(other) + " --rows " + shell_word(more) +
                 " --json --compare --data " + shell_word(fitted.data) + " " + shell_word(more)));
  EXPECT_EQ(gone["rows_removed"], 20);
  EXPECT_TRUE(gone["compared"]["mean_shift"].is_number());
  EXPECT_EQ(parsed(run("inspect --json " + shell_word(other)))["ledger"]["rows"], 100);
  const json batch = parsed(run("forget " + shell_word(fitted.model) + " --batch 2 --json"));
  EXPECT_EQ(batch["batches_removed"], json({2}));
  EXPECT_NE(content(fitted.model), before);
  expect_refusal(run("forget " + shell_word(fitted.model)), "--rows and --batch", 2);
  expect_refusal(run("forget " + shell_word(fitted.model) + " --batch 2 --compare"), "--data", 2);
  expect_refusal(run("forget " + shell_word(fitted.model) + " --batch 99"), "no batch 99");
  expect_refusal(run("forget " + shell_word(fitted.model) + " --rows " + shell_word(more)),
                 "more.csv, line 2");
}

TEST(Inspect, ShowsLayersCertificateLedger) {
  const Fitted fitted("--float");
  const json report = parsed(run("inspect --json " + shell_word(fitted.model)));
  EXPECT_EQ(report["precision"], "float");
  EXPECT_EQ(report["posterior"].size(), 2U);
  EXPECT_EQ(report["certificate"]["layers"].size(), 2U);
  EXPECT_EQ(report["ledger"]["mode"], "full");
  EXPECT_EQ(report["ledger"]["batches"], 20);
  const Outcome printed = run("inspect " + shell_word(fitted.model));
  for (const char* said : {"2-8-1", "ledger", "certificate", "single precision"}) {
    EXPECT_NE(printed.out.find(said), std::string::npos) << said;
  }
}

TEST(BadInput, TablesThatCannotBeLearnt) {
  const Scratch scratch;
  const std::string model = scratch.path("m");
  const auto refuse = [&](const std::string& text, const std::string& said) {
    const std::string data = scratch.file("t.csv", text);
    expect_refusal(run("fit " + shell_word(data) + " --target y --model " + shell_word(model)),
                   said);
    EXPECT_FALSE(std::filesystem::exists(model));
    EXPECT_EQ(scratch.files(), 1U);
  };
  refuse("", "t.csv: ");
  refuse(std::string("\x7f"
                     "ELF\0\0\1\2\3",
                     9),
         "t.csv");
  refuse("x,y\n", "t.csv");
  refuse("x,y\n1,2\n", "row");
  refuse("x,y\n1,2\n3\n4,5\n", "line 3");
  refuse("x,y\n1,2\n3,many\n", "line 3, column 'y'");
  refuse("x,z\n1,2\n3,4\n", "'y'");
  refuse("x,y\n1,2\n3,2\n", "'y'");
  refuse("x,y\n1,2\ninf,3\n", "line 3, column 'x'");
  refuse("x,y\n1,2\n2,1e308\n", "line 3, column 'y'");
  refuse("x,y\n1,2\n2,1e999\n", "line 3, column 'y'");
  refuse("x,x,y\n1,2,3\n2,3,4\n", "'x'");
  refuse("x,y\n5,2\n5,3\n", "no feature");
  refuse("x,y\n\"a,2\n5,3\n", "line 2");
}

TEST(BadInput, FilesThatCannotBeRead) {
  const Scratch scratch;
  const auto fit = [&](const std::string& data) {
    return run("fit " + shell_word(data) + " --target y --model " + shell_word(scratch.path("m")));
  };
  expect_refusal(fit(scratch.path("nothing.csv")), "nothing.csv");
  expect_refusal(fit(scratch.path("")), "directory");
  if (::geteuid() != 0) {
    const std::string data = scratch.file("secret.csv", wave_csv(10, 1));
    std::filesystem::permissions(data, std::filesystem::perms::none);
    expect_refusal(fit(data), "secret.csv");
  }
}

TEST(BadInput, TenThousandColumns) {
  const Scratch scratch;
  std::string text = "y";
  for (int k = 0; k < 10000; ++k) text += ",x" + std::to_string(k);
  text += "\n";
  for (int n = 0; n < 5; ++n) {
    text += std::to_string(n);
    for (int k = 0; k < 10000; ++k) text += "," + std::to_string((n * 7919 + k * 104729) % 1000);
    text += "\n";
  }
  const std::string data = scratch.file("wide.csv", text);
  const Outcome outcome =
      run("fit " + shell_word(data) +
          " --target y --hidden 2 --epochs 2 --ensemble 1 --slim --json --model " +
          shell_word(scratch.path("m")));
  EXPECT_EQ(parsed(outcome)["features"], 10000);
}

TEST(BadInput, ModelsThatAreNone) {
  const Fitted fitted;
  const std::string file = content(fitted.model);
  const std::string cut = fitted.scratch.file("cut", file.substr(0, file.size() / 2));
  expect_refusal(run("predict " + shell_word(cut) + " " + shell_word(fitted.data)), "cut: is");
  std::string changed = file;
  changed[changed.size() / 2] ^= 1;
  expect_refusal(run("inspect " + shell_word(fitted.scratch.file("changed", changed))),
                 "is damaged");
  expect_refusal(run("inspect " + shell_word(fitted.data)), "is not a dma model");
  expect_refusal(run("inspect " + shell_word(fitted.scratch.path("none"))), "cannot be opened");
}

TEST(BadInput, AFullDiskLeavesTheOldModel) {
  const Fitted fitted;
#ifndef __SANITIZE_THREAD__  // whose own memory is a file, and larger
  const std::string before = content(fitted.model);
  const Outcome outcome = shell("ulimit -f 1; $DMA fit " + shell_word(fitted.data) +
                                " --target y --model " + shell_word(fitted.model) + quick);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("m.safetensors: cannot be written"), std::string::npos) << outcome.err;
  EXPECT_EQ(content(fitted.model), before);
  EXPECT_EQ(fitted.scratch.files(), 2U);
#endif
  const Outcome full = shell("$DMA predict " + shell_word(fitted.model) + " " +
                             shell_word(fitted.data) + " >/dev/full");
  EXPECT_EQ(full.status, 1);
  EXPECT_NE(full.err.find("standard output: cannot be written"), std::string::npos) << full.err;
}

TEST(Benchmark, ScoresTheSplitsGiven) {
  const Scratch scratch;
  scratch.file("yacht.csv", wave_csv(60, 1));
  scratch.file("yacht.splits.json", R"({"test": [[0, 1, 2, 3, 4], [10, 20, 30], [5, 6]]})");
  const std::string command = "benchmark --data " + shell_word(scratch.path("")) + " --sets yacht ";
  const json report = parsed(run(command + "--splits 2 --json --threads 1"));
  ASSERT_EQ(report["sets"].size(), 1U);
  const json& set = report["sets"][0];
  EXPECT_EQ(set["name"], "yacht");
  EXPECT_EQ(set["splits"], 2);
  for (const char* key : {"rmse", "rmse_se", "ll", "ll_se", "seconds"}) {
    EXPECT_TRUE(set[key].is_number()) << key;
  }
  EXPECT_EQ(set["published"]["PBP"]["ll"], -1.63);
  const json again = parsed(run(command + "--splits 2 --json --threads 2"));
  EXPECT_EQ(again["sets"][0]["ll"], set["ll"]);
  const auto expect_no_splits = [&](const std::string& text, const std::string& reason) {
    scratch.file("yacht.splits.json", text);
    expect_refusal(run(command), "yacht.splits.json: " + reason);
  };
  expect_no_splits(R"({"test": [[60]]})", "split 0: 60 is not a row of a table of 60");
  expect_no_splits(R"({"test": [[1], [-1]]})", "split 1: -1 is not a row");
  expect_no_splits(R"({"test": [[1.5]]})", "split 0: 1.5 is not a row");
  expect_no_splits(R"({"test": [[1e300]]})", "split 0: 1e+300 is not a row");
  expect_no_splits(R"({"test": [[true]]})", "split 0: true is not a row");
  expect_no_splits(R"({"test": [["a\nb"]]})", "split 0: \"a\\nb\" is not a row");
  expect_no_splits(R"({"test": [[4, 5, 4]]})", "split 0: row 4 appears twice");
  expect_no_splits(R"({"test": [[]]})", "split 0: no rows to test on");
  expect_no_splits(R"({"test": [7]})", "split 0: must be an array of rows");
  expect_no_splits(R"({"test": []})", "not a list of splits");
  expect_no_splits("[", "not a list of splits");
  expect_no_splits(std::string(100000, '['), "nested deeper than 32 levels");
  expect_refusal(run("benchmark --data " + shell_word(scratch.path("")) + " --sets wine"),
                 "no set 'wine'; the sets are yacht");
}

TEST(Benchmark, TakesAnyFolderAndComparesWithAnEarlierRun) {
  const Scratch scratch;
  for (const char* name : {"waves", "power"}) {  // not power-plant: nothing is published of it
    scratch.file(std::string(name) + ".csv", wave_csv(60, 1));
    scratch.file(std::string(name) + ".splits.json",
                 R"({"test": [[0, 1, 2, 3, 4], [10, 20, 30]]})");
  }
  scratch.file("no_splits.csv", wave_csv(60, 1));
  const std::string command = "benchmark --data " + shell_word(scratch.path("")) + " --epochs 5 ";
  const Outcome first = run(command + "--json");
  const json report = parsed(first);
  ASSERT_EQ(report["sets"].size(), 2U);
  EXPECT_EQ(report["sets"][0]["name"], "power");
  EXPECT_EQ(report["sets"][1]["name"], "waves");
  EXPECT_FALSE(report["sets"][0].contains("published"));
  for (const char* key : {"crps", "crps_se", "cavity_ll", "seconds_se"}) {
    EXPECT_TRUE(report["sets"][0][key].is_number()) << key;
  }
  const std::string earlier = scratch.file("earlier.json", first.out);
  const json compared =
      parsed(run(command + "--json --sets waves --compare " + shell_word(earlier)));
  EXPECT_EQ(compared["average_rank"], (json{{"dma", 1.5}, {"earlier", 1.5}}));
  const Outcome table = run(command + "--sets waves --compare " + shell_word(earlier));
  for (const char* word :
       {"log-likelihood", "RMSE", "CRPS", "interval", "seconds", "earlier 1.50"}) {
    EXPECT_NE(table.out.find(word), std::string::npos) << word << " in\n" << table.out;
  }
  expect_refusal(run(command + "--compare " + shell_word(scratch.path("waves.csv"))),
                 "waves.csv: not a report of dma benchmark --json");
  expect_refusal(run(command + "--compare nowhere.json"), "nowhere.json: cannot be opened");
  const Scratch empty;
  expect_refusal(run("benchmark --data " + shell_word(empty.path(""))), "no NAME.csv here");
}

TEST(Benchmark, ComparesSettings) {
  const Scratch scratch;
  scratch.file("yacht.csv", wave_csv(60, 1));
  scratch.file("yacht.splits.json", R"({"test": [[0, 1, 2, 3, 4]]})");
  const std::string command = "benchmark --data " + shell_word(scratch.path("")) +
                              " --sets yacht --settings default shape-5 one-member ";
  const json report = parsed(run(command + "--json"));
  for (const char* name : {"default", "shape-5", "one-member"}) {
    EXPECT_TRUE(report["settings"][name]["sets"][0]["ll"].is_number()) << name;
  }
  EXPECT_NE(report["settings"]["default"]["sets"][0]["ll"],
            report["settings"]["one-member"]["sets"][0]["ll"]);
  ASSERT_EQ(report["rank_correlation"].size(), 1U);
  EXPECT_LE(std::abs(report["rank_correlation"][0].get<double>()), 1);
  const Outcome table = run(command);
  EXPECT_NE(table.out.find("shape-5"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("rank correlation"), std::string::npos) << table.out;
  expect_refusal(run(command + "odd"), "--settings", 2);
}

// Choices made with --inner do not depend on the split's test rows.
TEST(Benchmark, InnerNeverSeesTheTestRows) {
  const Scratch scratch;
  scratch.file("yacht.splits.json", R"({"test": [[0, 1, 2, 3, 4]]})");
  const std::string command = "benchmark --inner --json --sets yacht --data ";
  const auto score = [&](const std::string& csv) {
    scratch.file("yacht.csv", csv);
    return parsed(run(command + shell_word(scratch.path(""))))["sets"][0];
  };
  const std::string csv = wave_csv(60, 1);
  std::size_t end = csv.find('\n') + 1;
  std::string changed = csv.substr(0, end);
  for (int row = 0; row < 5; ++row) {
    changed += "1e6,-1e6,1e9\n";
    end = csv.find('\n', end) + 1;
  }
  changed += csv.substr(end);
  const json first = score(csv);
  const json second = score(changed);
  EXPECT_EQ(first["ll"], second["ll"]);
  EXPECT_EQ(first["rmse"], second["rmse"]);
}

TEST(WrongCommandLine, ExitsWithTwo) {
  const Scratch scratch;
  const std::string data = scratch.file("wave.csv", wave_csv(10, 1));
  for (const char* options : {"--hidden 5,x", "--hidden 0", "--noise -1", "--noise lots",
                              "--epochs 0", "--rule odd", "--noise input --belief independent",
                              "--ledger odd", "--slope 2", "--frobnicate", "--holdout 2"}) {
    expect_refusal(run("fit " + shell_word(data) + " --target y " + options), "dma: ", 2);
  }
}

// Like run(), in this process: a line that is refused does nothing else, and there are many of them.
Outcome run_here(const std::string& line) {
  std::istringstream all(line);
  std::vector<std::string> words;
  for (std::string word; all >> word;) words.push_back(word);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = dma::cli::run_command_line(words, dma::cli::own_commands);
  return {status, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

// CLI11 would make 18446744073709551615 of -1 and of what is larger, and finds NaN in every range.
TEST(WrongCommandLine, NumbersThatAreOutsideTheirRange) {
  const Scratch scratch;
  const std::string data = scratch.file("wave.csv", wave_csv(10, 1));
  const auto expect_all = [](const std::string& command, const std::string& option,
                             const std::vector<const char*>& values) {
    const bool is_own = !command.starts_with("reproduce") && !command.starts_with("benchmark");
    for (const char* value : values) {
      const std::string line = command + " " + option + "=" + value;
      expect_refusal(is_own ? run_here(line) : run(line), option + ": '" + value + "' is not a", 2);
    }
  };
  const std::vector<const char*> no_counts{"-1",  "1.5",  "1e3", "18446744073709551616",
                                           "nan", "0x10", "+1"};
  const std::vector<const char*> no_shares{"nan", "-nan", "inf", "-0.1", "1.1", "1e999", "0,5"};
  const std::string fit = "fit " + data + " --target y";
  for (const char* option :
       {"--seed", "--threads", "--patience", "--epochs", "--batch-size", "--ensemble"}) {
    expect_all(fit, option, no_counts);
  }
  expect_all(fit, "--threads", {"1025", "100000000"});
  expect_all(fit, "--slope", no_shares);
  expect_all(fit, "--holdout", no_shares);
  expect_all(fit, "--tolerance", {"nan", "inf", "-0.1", "1e999"});
  expect_all(fit, "--hidden", {"-1", "5,-1", "1000001", "18446744073709551617", "5,"});
  expect_all(fit, "--noise", {"nan", "inf", "0", "1e999"});
  expect_all("predict m", "--level", no_shares);
  expect_all("predict m", "--threads", no_counts);
  expect_all("evaluate m d", "--threads", no_counts);
  expect_all("forget m", "--batch", no_counts);
  expect_all("infer g", "--sweeps", no_counts);
  expect_all("infer g", "--tolerance", no_shares);
  expect_all("sample wave", "--seed", no_counts);
  expect_all("reproduce copy", "--tasks", no_counts);
  for (const char* option : {"--splits", "--threads", "--epochs"}) {
    expect_all("benchmark --data d", option, no_counts);
  }
  const std::string ten = run("sample wave --seed 10").out;
  EXPECT_EQ(run("sample wave --seed 010").out, ten) << "decimal, not octal";
  EXPECT_NE(run("sample wave --seed 8").out, ten);
}

TEST(Sample, IsATableThatFits) {
  const Scratch scratch;
  const Outcome sample = run("sample wave");
  EXPECT_EQ(sample.status, 0);
  EXPECT_EQ(lines_of(sample.out), 201U);
  EXPECT_EQ(sample.out, run("sample wave --seed 1").out);
  EXPECT_NE(sample.out, run("sample wave --seed 2").out);
  const std::string data = scratch.file("wave.csv", sample.out);
  const std::string model = shell_word(scratch.path("m"));
  EXPECT_EQ(run("fit " + shell_word(data) + " --target y --epochs 5 --model " + model).status, 0);
  const Outcome plot = run("plot " + model + " " + shell_word(data));
  EXPECT_EQ(plot.status, 0) << plot.err;
  EXPECT_NE(plot.out.find("===="), std::string::npos);
  EXPECT_NE(plot.out.find(":::"), std::string::npos);
  // A row that lacks a cell has no place in the picture.
  const std::string holes = scratch.file("holes.csv", sample.out + ",0\n0,\n");
  EXPECT_EQ(run("plot " + model + " " + shell_word(holes)).out, plot.out);
}

// The shells themselves say whether a script is one.
TEST(Completion, NamesCommandsAndOptions) {
  const Outcome script = run("completion bash");
  EXPECT_EQ(script.status, 0);
  const Outcome words = shell(
      "$DMA completion bash >s; bash -c '. ./s; COMP_WORDS=(dma fit --tol); COMP_CWORD=2; _dma; "
      "echo "
      "${COMPREPLY[@]}; COMP_WORDS=(dma ev); COMP_CWORD=1; _dma; echo ${COMPREPLY[@]}'; rm s");
  EXPECT_EQ(words.out, "--tolerance\nevaluate\n") << words.err;
  EXPECT_NE(run("completion zsh").out.find("bashcompinit"), std::string::npos);
}

}  // namespace
