// The 83-weight tasks of App. E (regression) and App. F (mismatch): both rules, a mixture of ten prior
// draws, and what dma fit does without options, on 200 tasks, with the first 20 beside the paper's 20.
#include <dma/network/trainer.h>
#include <dma/regressor/regressor.h>

#include <tbb/parallel_for.h>

#include <cmath>
#include <functional>

#include "experiments/experiment.h"
#include "experiments/statistics.h"
#include "experiments/task.h"

namespace dma::experiments {
namespace {

using nlohmann::json;

constexpr std::size_t tasks = 200;
constexpr std::size_t paper_tasks = 20;
constexpr std::size_t members = 10;

struct Outcome {
  std::vector<double> nll, delta, epochs;  // by task
  std::vector<std::size_t> repaired, failures;

  explicit Outcome(std::size_t count)
      : nll(count), delta(count), epochs(count), repaired(count), failures(count) {}
};

void score(const Task& task, const std::vector<Predicted>& extrapolation,
           const std::vector<Predicted>& calibration, std::size_t index, Outcome& outcome) {
  outcome.nll[index] = mean_nll(extrapolation, task.extrapolation.truth);
  outcome.delta[index] = calibration_delta(calibration, task.calibration.truth);
}

// The paper's network and noise.
template <Rule rule, std::size_t draws>
void run_paper(const Task& task, std::uint64_t seed, std::size_t index, Outcome& outcome) {
  const TrainingOptions options{
      .rule = rule, .noise = {.variance = {task.noise_deviation * task.noise_deviation}}};
  std::vector<std::uint64_t> seeds;
  for (std::size_t m = 0; m < draws; ++m) seeds.push_back(prior_seed(seed, m));
  const Data data{task.train.features, task.train.targets, task.train.size()};
  const auto mixture = fit_mixture<double>(task.model, seeds, data, options);
  const std::span<const Posterior<double>> posteriors = mixture.members;
  for (const FitResult& result : mixture.results) {
    outcome.epochs[index] += static_cast<double>(result.epochs) / static_cast<double>(draws);
    outcome.repaired[index] += result.certificate.repaired;
  }
  const auto predicted = [&](const Rows& rows) {
    return as_predicted(predict(posteriors, rows.features, rows.size()));
  };
  score(task, predicted(task.extrapolation), predicted(task.calibration), index, outcome);
}

Table table_of(const Rows& rows) {
  Table table;
  const std::size_t width = rows.features.size() / rows.size();
  for (std::size_t j = 0; j < width; ++j) {
    table.columns.push_back({.name = "feature" + std::to_string(j)});
    for (std::size_t n = 0; n < rows.size(); ++n) {
      table.columns.back().numbers.push_back(rows.features[n * width + j]);
    }
  }
  table.columns.push_back({.name = "y", .numbers = rows.targets});
  return table;
}

// Neither the network nor the noise is given.
void run_default(const Task& task, std::uint64_t seed, std::size_t index, Outcome& outcome) {
  const Regressor model =
      Regressor::fit(table_of(task.train), {.target = "y", .seed = seed, .threads = 1});
  outcome.epochs[index] = static_cast<double>(model.report().epochs);
  outcome.repaired[index] = model.report().certificate.repaired;
  const auto predicted = [&](const Rows& rows) { return model.predict(table_of(rows), 1); };
  score(task, predicted(task.extrapolation), predicted(task.calibration), index, outcome);
}

struct Method {
  const char* name;
  void (*run)(const Task& task, std::uint64_t seed, std::size_t index, Outcome& outcome);
};

constexpr Method methods[]{{"direct", run_paper<Rule::direct, 1>},
                           {"linear", run_paper<Rule::linear, 1>},
                           {"mixture", run_paper<Rule::linear, members>},
                           {"default", run_default}};

void run_task(const Method& method, const Task& task, std::uint64_t seed, std::size_t index,
              Outcome& outcome) {
  try {
    method.run(task, seed, index, outcome);
  } catch (const NumericalBreakdown&) {
    ++outcome.failures[index];
  }
  if (!std::isfinite(outcome.nll[index])) ++outcome.failures[index];
}

json summarise(const Outcome& outcome, std::size_t count) {
  const auto first = [&](const auto& values) {
    return std::vector(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count));
  };
  std::size_t failures = 0;
  std::size_t repaired = 0;
  for (std::size_t n = 0; n < count; ++n) {
    failures += outcome.failures[n];
    repaired += outcome.repaired[n];
  }
  return {{"seeds", count},
          {"extrapolation_nll_median", median(first(outcome.nll))},
          {"extrapolation_nll_iqr", interquartile_range(first(outcome.nll))},
          {"calibration_delta_median", median(first(outcome.delta))},
          {"epochs_median", median(first(outcome.epochs))},
          {"failures", failures},
          {"repaired", repaired}};
}

struct PaperFigures {
  double nll, nll_iqr, delta, epochs;
};

json run(Task (*make)(std::uint64_t), const char* about, const PaperFigures& paper) {
  json summary = json::object();
  json rows = json::array();
  for (const Method& method : methods) {
    Outcome outcome(tasks);
    tbb::parallel_for(std::size_t{0}, tasks, [&](std::size_t n) {
      const std::uint64_t seed = n + 1;
      run_task(method, make(seed), seed, n, outcome);
    });
    summary[method.name] = summarise(outcome, tasks);
    for (const std::size_t count : {paper_tasks, tasks}) {
      json row = summarise(outcome, count);
      row["method"] = method.name;
      row["paper_extrapolation_nll_median"] = paper.nll;
      row["paper_extrapolation_nll_iqr"] = paper.nll_iqr;
      if (std::isfinite(paper.delta)) row["paper_calibration_delta_median"] = paper.delta;
      if (std::isfinite(paper.epochs)) row["paper_epochs_median"] = paper.epochs;
      rows.push_back(std::move(row));
    }
  }
  return {{"settings",
           {{"task", about},
            {"tasks", tasks},
            {"task_seeds", "1 ... 200"},
            {"batch_size", 20},
            {"tolerance", 0.1},
            {"max_epochs", 200},
            {"mixture_members", members},
            {"nll",
             "60 evenly spaced points outside the training range, against the noiseless "
             "function under N(mean, Var f + noise)"},
            {"default", "dma fit without options: network and noise are its own"},
            {"calibration", "500 evenly spaced points there, levels 0.05 ... 0.95"}}},
          {"summary", std::move(summary)},
          {"rows", std::move(rows)}};
}

}  // namespace

json regression() {
  return run(regression_task, "8-6-5-1, N = 200 in [-2.5, 1.5], noise 0.2 (App. E)",
             {0.80, 1.95, -0.09, 16});
}

json mismatch() {
  const double not_given = std::nan("");
  return run(mismatch_task, "data from 8-12-10-1, model 8-6-5-1, N = 200 in [-5, 5] (App. F)",
             {0.01, 0.44, not_given, not_given});
}

}  // namespace dma::experiments
