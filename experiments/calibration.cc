// Coverage inside and outside the training range (App. E, Calibration): the paper's 20 tasks, and 200.
#include <fmt/core.h>

#include "experiments/comparison.h"
#include "experiments/experiment.h"
#include "experiments/rivals.h"
#include "experiments/statistics.h"
#include "experiments/verdict.h"

namespace dma::experiments {

using nlohmann::json;

json calibration(Run& run) {
  auto contestants =
      own_contestants({.nll = 0.82, .nll_iqr = 1.96, .delta = -0.09, .delta_iqr = 0.44}, own_tasks);
  if (baselines::torch_available()) {
    contestants.push_back({diagonal_laplace(),
                           paper_tasks,
                           {.nll = 0.77, .nll_iqr = 1.91, .delta = -0.10, .delta_iqr = 0.35}});
  }
  auto result = compare(run, regression_task, std::move(contestants), Regions::both);
  for (std::size_t k = 0; k < result.scores.size(); ++k) {
    const Scores& scores = result.scores[k];
    append_calibration(scores, scores.nll.size(), result.figures);
    const auto& paper = result.contestants[k].paper;
    const std::string figure = "Calibration outside, Δ, " + scores.method;
    result.verdicts.push_back(
        paper.delta
            ? median_verdict(
                  figure, scores.delta, *paper.delta,
                  fmt::format("{:.2f} [{:.2f}], 20 tasks", *paper.delta, *paper.delta_iqr), "")
            : verdict(figure, medians_text(scores.delta), "", Agreement::beyond));
  }
  return as_result(
      std::move(result),
      {{"task", "8-6-5-1, N = 200 in [-2.5, 1.5], noise 0.2 (App. E)"},
       {"task seeds", "1 ... 20 and 1 ... 200"},
       {"coverage",
        "share of noiseless values in the central interval of N(mean, Var f + noise), 500 points "
        "inside "
        "and 500 outside; the curves are means over tasks"},
       {"inside",
        "noiseless values lie closer to the mean than noisy ones, so curves above the diagonal are "
        "expected"},
       {"Δ",
        "mean of coverage - level over levels 0.05 ... 0.95: above 0 too wide, below 0 too narrow"},
       {"laplace",
        baselines::torch_available() ? "20 tasks" : "left out: built without libtorch"}});
}

}  // namespace dma::experiments
