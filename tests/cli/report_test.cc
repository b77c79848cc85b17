// dma report: the page about a fit agrees with the model.
#include <dma/belief/joint.h>
#include <dma/data/csv.h>
#include <dma/regressor/regressor.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "cli/expect.h"
#include "cli/fitted.h"

namespace {

using dma::Metrics;
using dma::Predicted;
using dma::Regressor;
using dma::test::content;
using dma::test::expect_refusal;
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

const std::string left_out_rows = "training rows, left out in turn";

json page_of(const std::string& model, const std::string& more = "") {
  return parsed(run("report " + shell_word(model) + " --json " + more));
}

json figure(const json& page, const std::string& name) { return page.at("figures").at(name); }

// The objects of a list in which this key has this value.
std::vector<json> where(const json& list, const std::string& key, const json& value) {
  std::vector<json> found;
  for (const json& object : list) {
    if (object.at(key) == value) found.push_back(object);
  }
  return found;
}

std::string fact(const json& page, const std::string& name) {
  const auto found = where(page.at("facts"), "name", name);
  return found.empty() ? "" : found.front().at("value").get<std::string>();
}

std::vector<double> numbers(const std::vector<json>& objects, const std::string& key) {
  std::vector<double> result;
  for (const json& object : objects) result.push_back(object.at(key));
  return result;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

void expect_predicted(const json& point, const Predicted& p, double tolerance = 1e-9) {
  const double epistemic = 1.959963984540054 * p.epistemic_std;
  EXPECT_NEAR(point.at("mean"), p.mean, tolerance);
  EXPECT_NEAR(point.at("lower"), p.lower(0.95), tolerance);
  EXPECT_NEAR(point.at("upper"), p.upper(0.95), tolerance);
  EXPECT_NEAR(point.at("epistemic_lower"), p.mean - epistemic, tolerance);
  EXPECT_NEAR(point.at("epistemic_upper"), p.mean + epistemic, tolerance);
}

// Coverage and PIT of these rows are those of the metrics.
void expect_scores(const json& page, const std::string& region, const Metrics& metrics) {
  const auto calibration = where(figure(page, "calibration"), "region", region);
  ASSERT_EQ(calibration.size(), 19U);
  EXPECT_EQ(numbers(calibration, "coverage"), metrics.coverage_curve);
  for (std::size_t k = 0; k < Metrics::levels.size(); ++k) {
    const auto at = where(calibration, "level", Metrics::levels[k]);
    ASSERT_EQ(at.size(), 1U);
    EXPECT_EQ(at.front().at("coverage"), metrics.coverage[k]);
  }
  const auto pit = where(figure(page, "pit"), "region", region);
  ASSERT_EQ(pit.size(), 20U);
  double sum = 0;
  for (std::size_t k = 0; k < pit.size(); ++k) {
    EXPECT_NEAR(pit[k].at("low"), 0.05 * static_cast<double>(k), 1e-12);
    EXPECT_NEAR(pit[k].at("high"), 0.05 * static_cast<double>(k + 1), 1e-12);
    EXPECT_NEAR(pit[k].at("share").get<double>() * static_cast<double>(metrics.values),
                metrics.pit[k], 1e-9);
    sum += pit[k].at("share").get<double>();
  }
  EXPECT_NEAR(sum, 1, 1e-12);
}

// A row of squares per input would be longer than anybody reads.
TEST(Report, DrawsNoWeightsOfManyInputs) {
  const Scratch scratch;
  std::string csv = "y";
  for (int k = 0; k < 80; ++k) csv += ",x" + std::to_string(k);
  for (int n = 0; n < 30; ++n) {
    csv += "\n" + std::to_string(n * n % 17);
    for (int k = 0; k < 80; ++k) csv += ',' + std::to_string((n + 1) * (k + 2) % 13);
  }
  const std::string model = scratch.path("m.safetensors");
  const std::string data = scratch.file("wide.csv", csv + '\n');
  ASSERT_EQ(run("fit " + shell_word(data) + " --target y --kind number --model " +
                shell_word(model) + " --hidden 2 --epochs 1 --ensemble 2")
                .status,
            0);
  const json page = page_of(model);
  EXPECT_TRUE(figure(page, "weights").empty());
  EXPECT_EQ(fact(page, "weights drawn"), "none: there are too many");
}

TEST(Report, SaysWhatItIsAbout) {
  const Fitted fitted;
  const json page = page_of(fitted.model);
  EXPECT_EQ(page.at("kind"), "report");
  EXPECT_EQ(page.at("version").get<std::string>() + "\n", run("--version").out);
  EXPECT_EQ(page.at("model"), "m.safetensors");
  EXPECT_EQ(fact(page, "rows"), "100");
  EXPECT_EQ(fact(page, "network"), "2-8-1, 33 weights, 2 members, joint belief");
  EXPECT_EQ(fact(page, "shape 8").find("carries 100 %; 33 weights"), 0U);
  EXPECT_EQ(fact(page, "epochs"), "20: the limit given");
  EXPECT_EQ(fact(page, "changed since"), "");
  for (const json& entry : page.at("facts")) EXPECT_TRUE(entry.at("value").is_string()) << entry;
  EXPECT_EQ(where(figure(page, "certificate"), "name", "rows alone").at(0).at("value"), "0");
  for (const json& entry : figure(page, "certificate")) {
    EXPECT_TRUE(entry.at("value").is_string() && entry.at("about").is_string()) << entry;
  }
}

TEST(Report, CavityFiguresAreTheModels) {
  for (const char* belief : {"joint", "independent"}) {
    const Fitted fitted(std::string("--belief ") + belief);
    const Regressor model = Regressor::load(fitted.model);
    const json page = page_of(fitted.model);
    expect_scores(page, left_out_rows, model.report().cavity.front());
    EXPECT_EQ(figure(page, "calibration").size(), 19U);
    EXPECT_EQ(figure(page, "pit").size(), 20U);
  }
}

TEST(Report, TrainingCurveHasEveryEpochOfEveryMember) {
  for (const char* belief : {"joint", "independent"}) {
    const Fitted fitted(std::string("--noise constant --belief ") + belief);
    const Regressor model = Regressor::load(fitted.model);
    const json page = page_of(fitted.model);
    for (std::size_t m = 0; m < 2; ++m) {
      const auto curve = where(figure(page, "training"), "member", m + 1);
      ASSERT_EQ(curve.size(), 20U);
      EXPECT_EQ(numbers(curve, "nll"), model.report().training[m]);
      EXPECT_EQ(curve.back().at("epoch"), 20);
    }
  }
}

TEST(Report, WeightsAreThePosteriors) {
  const std::vector<std::string> inputs{"a", "b", "bias"};
  for (const char* belief : {"joint", "independent"}) {
    const Fitted fitted(std::string("--belief ") + belief);
    const Regressor model = Regressor::load(fitted.model);
    const auto [mean, variance, prior_variance] = model.model().members.front().belief->weights();
    const json weights = figure(page_of(fitted.model), "weights");
    ASSERT_EQ(weights.size(), mean.size());
    std::set<std::size_t> places;
    for (const json& weight : weights) {
      const std::size_t unit = weight.at("unit").get<std::size_t>() - 1;
      const std::string input = weight.at("input");
      std::size_t place = 24;  // of the second layer
      if (weight.at("layer") == 1) {
        place = 3 * unit + static_cast<std::size_t>(std::find(inputs.begin(), inputs.end(), input) -
                                                    inputs.begin());
      } else {
        place += input == "bias" ? 8 : std::stoul(input.substr(5)) - 1;
      }
      ASSERT_LT(place, mean.size()) << weight;
      places.insert(place);
      EXPECT_EQ(weight.at("mean"), mean[place]) << weight;
      EXPECT_EQ(weight.at("std"), std::sqrt(variance[place])) << weight;
    }
    EXPECT_EQ(places.size(), mean.size());
  }
}

TEST(Report, ResponsesArePredictions) {
  for (const char* belief : {"joint", "independent"}) {
    const Fitted fitted(std::string("--belief ") + belief);
    const Regressor model = Regressor::load(fitted.model);
    const dma::Table data = dma::read_csv(fitted.data);
    const json page = page_of(fitted.model);
    for (const std::size_t varied : {0U, 1U}) {
      const auto& features = model.encoder().features;
      const auto points = where(figure(page, "response"), "input", features[varied].name);
      ASSERT_EQ(points.size(), 41U);
      dma::Table rows;
      const bool remembers = std::string(belief) == "joint";
      for (const auto& feature : features) {
        const double other = remembers ? median(data.find(feature.name)->numbers) : feature.mean;
        rows.columns.push_back({.name = feature.name, .numbers = std::vector<double>(41, other)});
      }
      rows.columns[varied].numbers = numbers(points, "x");
      const auto predicted = model.predict(rows);
      for (std::size_t n = 0; n < 41; ++n) expect_predicted(points[n], predicted[n]);
      // The column runs over the range of the training rows, but not beyond two deviations.
      const auto& seen = data.columns[varied].numbers;
      const double least = *std::min_element(seen.begin(), seen.end());
      const double reach = 2 * features[varied].deviation;
      EXPECT_NEAR(points.front().at("x"),
                  std::max(features[varied].mean - reach, remembers ? least : -HUGE_VAL), 1e-9);
      EXPECT_EQ(points.front().at("kind"), "numeric");
    }
  }
}

TEST(Report, RowsOfYourOwnAreScoredAsByEvaluate) {
  const Fitted fitted;
  const std::string test = fitted.scratch.file("test rows.csv", wave_csv(61, 7));
  const json page = page_of(fitted.model, "--data " + shell_word(test));
  const Regressor model = Regressor::load(fitted.model);
  expect_scores(page, left_out_rows, model.report().cavity.front());
  expect_scores(page, "test rows.csv", model.evaluate(dma::read_csv(test)).front());
  const json evaluated =
      parsed(run("evaluate --json " + shell_word(fitted.model) + " " + shell_word(test)));
  const auto calibration = where(figure(page, "calibration"), "region", "test rows.csv");
  EXPECT_EQ(where(calibration, "level", 0.8).at(0).at("coverage"), evaluated["coverage"]["0.8"]);
  EXPECT_EQ(fact(page, "test rows.csv").find("61 rows: "), 0U) << fact(page, "test rows.csv");
  // The other column is at the median of these rows.
  dma::Table rows = dma::read_csv(test);
  const double middle = median(rows.columns[1].numbers);
  const auto points = where(figure(page, "response"), "input", "a");
  dma::Table varied{.columns = {{.name = "a", .numbers = numbers(points, "x")},
                                {.name = "b", .numbers = std::vector<double>(41, middle)}}};
  const auto predicted = model.predict(varied);
  for (std::size_t n = 0; n < 41; ++n) expect_predicted(points[n], predicted[n]);
}

// Names, dates and categories go out as they can come in again.
TEST(Report, RespondsToColumnsOfEveryKind) {
  const Scratch scratch;
  std::string text = "when,size,kind,ok,only,y\n";
  for (int n = 0; n < 90; ++n) {
    text += "2024-01-" + std::to_string(10 + n % 20) + "," +
            (n % 6 == 0 ? "" : std::to_string(n % 7)) + "," +
            (n % 3 == 0   ? "<red>"
             : n % 5 == 0 ? ""
                          : "blue") +
            "," + (n % 4 == 0 ? "no" : "yes") + "," + (n % 2 == 0 ? "" : "5") + "," +
            std::to_string(n % 7 + (n % 3 == 0 ? 5 : 0)) + "\n";
  }
  const std::string data = scratch.file("t.csv", text);
  const std::string model_path = scratch.path("m");
  ASSERT_EQ(run("fit " + shell_word(data) + " --target y --kind number --model " +
                shell_word(model_path) + quick)
                .status,
            0);
  const json response = figure(page_of(model_path), "response");
  const auto x_of = [&](const std::string& input) {
    json list = json::array();
    for (const json& point : where(response, "input", input)) list.push_back(point.at("x"));
    return list;
  };
  EXPECT_EQ(x_of("kind"), json({"blue", "<red>", "(empty)"}));  // no value that never occurred
  EXPECT_EQ(x_of("ok"), json({"no", "yes"}));
  EXPECT_EQ(x_of("size"), json({0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(x_of("only"), json({"(not empty)", "(empty)"}));
  EXPECT_EQ(x_of("when").size(), 41U);
  EXPECT_EQ(x_of("when").at(0), "2024-01-10T00:00:00Z");
  // The same rows as a file: the others are typical, none is empty.
  const Regressor model = Regressor::load(model_path);
  std::string rows = "when,size,kind,ok,only\n";
  for (const json& x : x_of("when")) {
    rows += x.get<std::string>() + ",3,blue,yes,5\n";  // the median of 0 to 6
  }
  const std::string file = scratch.file("rows.csv", rows);
  dma::CsvOptions csv;
  csv.columns = model.encoder().wanted(false);
  const auto predicted = model.predict(dma::read_csv(file, csv));
  const auto points = where(response, "input", "when");
  // Dates are rounded to the second.
  for (std::size_t n = 0; n < 41; ++n) expect_predicted(points[n], predicted[n], 1e-4);
}

// Rare values share an input of independent weights, which is shown because rows were learnt there.
TEST(Report, ShowsOthersIfTheyWereLearnt) {
  const Scratch scratch;
  std::string text = "kind,y\n";
  for (int n = 0; n < 160; ++n) {
    text += "k" + std::to_string(n % 60) + "," + std::to_string(n % 60 + n / 60) + "\n";
  }
  const std::string path = scratch.path("m");
  ASSERT_EQ(run("fit " + shell_word(scratch.file("t.csv", text)) + " --target y --model " +
                shell_word(path) + " --categorical kind --belief independent" + quick)
                .status,
            0);
  const json response = figure(page_of(path), "response");
  EXPECT_EQ(where(response, "x", "(other)").size(), 1U);
}

// New values of the rows that are shown were not learnt, and no row with one is typical; those of an update were.
TEST(Report, ShowsNoOthersThatWereNotLearnt) {
  const Scratch scratch;
  std::string text = "kind,size,y\n";
  for (int n = 0; n < 60; ++n) {
    text +=
        (n % 3 == 0 ? "red," : "blue,") + std::to_string(n % 7) + "," + std::to_string(n) + "\n";
  }
  const std::string path = scratch.file(
      "m", dma::test::fit_once("t.csv", text, "--target y --kind number" + quick).model);
  std::string rows = "kind,size,y\n";
  for (int n = 0; n < 9; ++n) rows += "green," + std::to_string(n % 7) + ",1\n";
  const std::string data = shell_word(scratch.file("new.csv", rows + "red,1,2\n"));
  const auto others = [&](const std::string& more) {
    return where(figure(page_of(path, more), "response"), "x", "(other)").size();
  };
  EXPECT_EQ(others(""), 0U);
  EXPECT_EQ(others("--data " + data), 0U);
  const auto title = [&] {
    return run("plot " + shell_word(path) + " " + data + " --input size").out;
  };
  EXPECT_NE(title().find("typical row: kind red\n"), std::string::npos) << title();
  ASSERT_EQ(run("update " + shell_word(path) + " " + data).status, 0);
  EXPECT_EQ(others(""), 1U);
  EXPECT_NE(title().find("typical row: kind (other)\n"), std::string::npos) << title();
}

TEST(Report, SeveralTargetsAreToldApart) {
  for (const char* belief : {"joint", "independent"}) {
    const Scratch scratch;
    const std::string data = scratch.file("wave.csv", wave_csv(60, 1));
    const std::string path = scratch.path("m");
    ASSERT_EQ(run("fit " + shell_word(data) + " --target y b --model " + shell_word(path) + quick +
                  "--belief " + belief)
                  .status,
              0);
    const json page = page_of(path);
    const Regressor model = Regressor::load(path);
    for (const std::size_t k : {0U, 1U}) {
      const std::string target = k == 0 ? "y" : "b";
      EXPECT_EQ(numbers(where(figure(page, "calibration"), "target", target), "coverage"),
                model.report().cavity[k].coverage_curve);
      const auto points = where(figure(page, "response"), "target", target);
      ASSERT_EQ(points.size(), 41U);
      const dma::Table rows{.columns = {{.name = "a", .numbers = numbers(points, "x")}}};
      const auto predicted = model.predict(rows);
      for (std::size_t n = 0; n < 41; ++n) expect_predicted(points[n], predicted[2 * n + k]);
    }
    const json weights = figure(page, "weights");
    if (model.model().options.belief == dma::BeliefKind::joint) {
      const auto of_b = where(weights, "target", "b");
      const dma::Member& first_of_b = model.model().members[model.model().members.size() / 2];
      EXPECT_EQ(of_b.at(0).at("mean"), first_of_b.belief->weights().mean[0]);
      EXPECT_EQ(weights.size(), 2 * model.report().weights);
    } else {
      EXPECT_EQ(weights.size(), model.report().weights);
    }
  }
}

TEST(Report, ManyColumnsAreTheThirtyThatMatterMost) {
  const Scratch scratch;
  std::string header;
  std::string text;
  for (int k = 1; k <= 33; ++k) header += "x" + std::to_string(k) + ",";
  for (int n = 0; n < 60; ++n) {
    for (int k = 1; k <= 33; ++k) text += std::to_string((n * (k + 6) + n * n * k) % 31) + ",";
    text += std::to_string(3 * ((n * 39 + n * n * 33) % 31)) + "\n";  // three times x33
  }
  const std::string data = scratch.file("t.csv", header + "y\n" + text);
  const std::string path = scratch.path("m");
  ASSERT_EQ(run("fit " + shell_word(data) + " --target y --hidden 4 --ensemble 2 --model " +
                shell_word(path))
                .status,
            0);
  const json page = page_of(path);
  std::set<std::string> inputs;
  for (const json& point : figure(page, "response")) inputs.insert(point.at("input"));
  EXPECT_EQ(inputs.size(), 30U);
  EXPECT_EQ(inputs.count("x33"), 1U);
  EXPECT_NE(fact(page, "responses").find("of 33"), std::string::npos) << fact(page, "responses");
}

TEST(Report, SaysThatRowsCameSince) {
  const Fitted fitted;
  const std::string more = fitted.scratch.file("more.csv", wave_csv(7, 3));
  const std::string model = shell_word(fitted.model);
  ASSERT_EQ(run("update " + model + " " + shell_word(more)).status, 0);
  const json page = page_of(fitted.model);
  EXPECT_EQ(fact(page, "rows"), "107");
  EXPECT_EQ(fact(page, "changed since").find("7 rows"), 0U) << fact(page, "changed since");
  const Fitted other;
  const std::string data = " --data " + shell_word(other.data);
  ASSERT_EQ(run("update " + shell_word(other.model) + " " + shell_word(more) + data).status, 0);
  EXPECT_EQ(fact(page_of(other.model), "changed since"), "");
}

TEST(Report, WritesOnePage) {
  const Fitted fitted;
  const std::string enter = "cd " + shell_word(fitted.scratch.path("")) + "; ";
  const Outcome outcome = shell(enter + "$DMA report m.safetensors");
  if (outcome.err.find("built without the page") != std::string::npos) GTEST_SKIP();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  const std::string page = content(fitted.scratch.path("report.html"));
  EXPECT_NE(page.find(page_of(fitted.model).dump()), std::string::npos);
  // Writes again, elsewhere, over an existing file.
  fitted.scratch.file("o.html", "old");
  EXPECT_EQ(shell(enter + "$DMA report m.safetensors -o o.html").status, 0);
  EXPECT_EQ(content(fitted.scratch.path("o.html")), page);
  EXPECT_EQ(fitted.scratch.files(), 4U);  // nothing else is left behind
}

TEST(Report, RefusesInOneLine) {
  const Fitted fitted;
  const std::string model = shell_word(fitted.model);
  const std::string old = fitted.scratch.file("o.html", "old");
  const std::string to = " -o " + shell_word(old);
  expect_refusal(run("report " + shell_word(fitted.scratch.path("none")) + to), "cannot be opened");
  expect_refusal(run("report " + shell_word(fitted.data) + to), "is not a dma model");
  const std::string less = fitted.scratch.file("less.csv", "a,y\n1,2\n");
  expect_refusal(run("report " + model + to + " --data " + shell_word(less)), "'b'");
  const std::string empty = fitted.scratch.file("empty.csv", "a,b,y\n1,2,\n");
  expect_refusal(run("report " + model + to + " --data " + shell_word(empty)),
                 "no row has a target");
  EXPECT_EQ(content(old), "old");
  expect_refusal(run("report " + model + " --dat " + shell_word(less)), "--dat", 2);
  expect_refusal(run("report"), "model", 2);
  const Outcome nowhere = run("report " + model + " -o /no/such/folder/o.html");
  if (nowhere.err.find("built without the page") != std::string::npos) GTEST_SKIP();
  expect_refusal(nowhere, "/no/such/folder/o.html");
}

}  // namespace
