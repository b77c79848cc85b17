// Algorithm 1 compared with the diagonal Laplace approximation (App. E).
#include "experiments/comparison.h"
#include "experiments/experiment.h"
#include "experiments/rivals.h"

namespace dma::experiments {

using nlohmann::json;

json laplace(Run& run) {
  auto result =
      compare(run, regression_task,
              {{algorithm(Rule::direct),
                paper_tasks,
                {.nll = 0.82, .nll_iqr = 1.96, .delta = -0.09, .delta_iqr = 0.44}},
               {algorithm(Rule::linear)},
               {product_default()},
               {diagonal_laplace(),
                paper_tasks,
                {.nll = 0.77, .nll_iqr = 1.91, .delta = -0.10, .delta_iqr = 0.35, .epochs = 200}}});
  const Scores& laplace = result.scores.back();
  result.verdicts.push_back(median_verdict("Calibration of Laplace outside, Δ", laplace.delta,
                                           -0.10, "-0.10, 20 tasks", ""));
  append_shown(regression_task(shown_seed), shown_seed, result);
  std::size_t negative = 0;
  for (const std::size_t count : laplace.negative) negative += count;
  result.summary["laplace"]["weights_without_curvature"] = negative;
  return as_result(
      std::move(result),
      {{"task", "8-6-5-1, N = 200 in [-2.5, 1.5], noise 0.2 (App. E)"},
       {"task seeds", "1 ... 20; task shown: 1"},
       {"laplace",
        "MAP by libtorch's Adam (0.1, 200 epochs of one step) under N(0, 2 / fan_in), diagonal of "
        "the "
        "exact Hessian by automatic differentiation, 1,000 draws"},
       {"negative",
        "for laplace: weights whose curvature is not positive; they keep the prior's variance"}});
}

}  // namespace dma::experiments
