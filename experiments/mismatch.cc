// Data from a wider network than the model's (App. F).
#include "experiments/comparison.h"
#include "experiments/experiment.h"
#include "experiments/rivals.h"

namespace dma::experiments {

using nlohmann::json;

json mismatch(Run& run) {
  auto contestants = own_contestants({.nll = 0.01, .nll_iqr = 0.44, .mean = 0.29}, own_tasks);
  if (baselines::torch_available()) {
    contestants.push_back({trained_by_adam("adam 0.1", {.learning_rate = 0.1}),
                           paper_tasks,
                           {.nll = 0.50, .nll_iqr = 2.23, .epochs = 200, .mean = 2.21},
                           unknown_start});
    contestants.push_back(
        {trained_by_adam("adamw 0.1, decay 0.1", {.learning_rate = 0.1, .weight_decay = 0.1}),
         paper_tasks,
         {.nll = -0.36, .nll_iqr = 0.73, .epochs = 200, .mean = -0.11},
         unknown_start});
  }
  auto result = compare(run, mismatch_task, std::move(contestants));
  append_shown(mismatch_task(shown_seed), shown_seed, result);
  return as_result(
      std::move(result),
      {{"task", "data from 8-12-10-1, model 8-6-5-1, N = 200 in [-5, 5], noise 0.2 (App. F)"},
       {"task seeds", "1 ... 20 and 1 ... 200; task shown: 1"},
       {"extrapolation NLL", "60 evenly spaced points in [-6.5, -5] and [5, 6.5], noiseless"},
       {"adam, adamw",
        baselines::torch_available()
            ? "libtorch's, 200 epochs of one step, from the prior means of Algorithm 1"
            : "left out: built without libtorch"}});
}

}  // namespace dma::experiments
