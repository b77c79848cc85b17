// experiments/scores.h: how well a method predicts, over many tasks.
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

#include "experiments/method.h"
#include "experiments/run.h"

namespace dma::experiments {

// Scores by task, in the order of seeds 1, 2, ...; NaN where the method failed.
struct Scores {
  std::string method;
  std::vector<double> nll;           // extrapolation
  std::vector<double> delta;         // calibration, extrapolation
  std::vector<double> inside_delta;  // calibration, within the training range
  std::vector<double> train_nll;     // after the last epoch
  std::vector<double> epochs, seconds;
  std::vector<std::vector<double>> outside_curve, inside_curve;  // coverage by level
  std::vector<std::size_t> negative;
};

using MakeTask = Task (*)(std::uint64_t seed);

// Where predictions are scored; calibration within the training range doubles the cost.
enum class Regions { outside, both };

// One step of the run per task.
Scores score(Run& run, MakeTask make, const Method& method, std::size_t tasks, Regions regions);

// Summary of the first `tasks`: seeds, medians and interquartile ranges of those that did not fail, failures.
nlohmann::json summarise(const Scores& scores, std::size_t tasks);

// The paper's figures for a method; missing ones are left out of the row.
struct PaperFigures {
  std::optional<double> nll = {}, nll_iqr = {}, delta = {}, delta_iqr = {}, epochs = {}, mean = {};
};

// The summary as a row of a table, with the paper's figures.
nlohmann::json table_row(const Scores& scores, std::size_t tasks, const PaperFigures& paper = {});

// Lists of web/README.md.
void append_tasks(const Scores& scores, std::size_t tasks, nlohmann::json& figures);
// The mean of the coverage curves over the tasks that did not fail.
void append_calibration(const Scores& scores, std::size_t tasks, nlohmann::json& figures);

// "0.80 [1.95], 200 tasks"
std::string median_text(const nlohmann::json& summary);

// Whether someone else's median over 20 tasks is compatible with ours: as close as 95 of 100 such pairs of medians
// would be if both came from tasks like ours. By bootstrap, which underestimates the spread of a median over few tasks:
// with 20 of ours it is nearer to 90 (tests/experiments/scores_test.cc).
bool believable(const std::vector<double>& values, double other_median);

}  // namespace dma::experiments
