// Beyond the paper: the posterior that Algorithm 1 approximates, by Hamiltonian Monte Carlo. No method that assumes
// this model can be expected to do better.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "experiments/comparison.h"
#include "experiments/experiment.h"
#include "experiments/figures.h"
#include "experiments/rivals.h"
#include "experiments/statistics.h"
#include "experiments/verdict.h"

namespace dma::experiments {

namespace {

using nlohmann::json;

// The prior means that Algorithm 1 has drawn.
WeightPrior drawn_prior(const Task& task, std::uint64_t seed) {
  return draw_prior(task.model, prior_seed(seed));
}

// The prior of the weights before the means are drawn: N(0, (1 + 1 / layers) / fan_in), where the paper counts one
// layer more.
WeightPrior integrated_prior(const Task& task, std::uint64_t seed) {
  WeightPrior prior = drawn_prior(task, seed);
  const Architecture& network = task.model;
  for (std::size_t l = 0; l < network.layers(); ++l) {
    const Dense layer = network.layer(l);
    layer.each_weight([&](std::size_t k, std::size_t, std::size_t) {
      prior.mean[k] = 0;
      prior.variance[k] += 1 / static_cast<double>(layer.inputs);
    });
  }
  return prior;
}

// Hamiltonian Monte Carlo as a method, and the diagnostics of its chains, by task.
struct Chains {
  std::string name;
  WeightPrior (*prior)(const Task& task, std::uint64_t seed);
  std::vector<double> rhat, mixture_nll;
  std::vector<std::size_t> divergences;
  json band = json::object();

  Chains(std::string method, WeightPrior (*weights)(const Task&, std::uint64_t), std::size_t tasks)
      : name(std::move(method)),
        prior(weights),
        rhat(tasks),
        mixture_nll(tasks),
        divergences(tasks) {}

  // Its runs may be concurrent.
  Method method(const baselines::HamiltonianOptions& options) {
    return {name, [this, options](const Task& task, std::uint64_t seed) {
              baselines::HamiltonianOptions own = options;
              own.seed = seed;
              ExactPosterior exact = exact_posterior(task, prior(task, seed), own);
              rhat[seed - 1] = exact.max_rhat;
              mixture_nll[seed - 1] = exact.mixture_nll;
              divergences[seed - 1] = exact.divergences;
              if (seed == shown_seed) append_band(name, exact.fit, task, band);
              return exact.fit;
            }};
  }

  void append_rows(const Scores& scores, json& rows) const {
    for (std::size_t n = 0; n < rhat.size(); ++n) {
      rows.push_back({{"method", name},
                      {"seed", n + 1},
                      {"extrapolation_nll", scores.nll[n]},
                      {"extrapolation_nll_of_mixture", mixture_nll[n]},
                      {"max_rhat", rhat[n]},
                      {"divergences", divergences[n]}});
    }
  }

  json summary(const json& scored) const {
    json result = scored;
    result["extrapolation_nll_of_mixture_median"] = median(mixture_nll);
    result["max_rhat"] = *std::max_element(rhat.begin(), rhat.end());
    result["median_rhat"] = median(rhat);
    return result;
  }
};

}  // namespace

json exact(Run& run) {
  const std::size_t tasks = run.tasks(paper_tasks);
  baselines::HamiltonianOptions options{.warmup = 1000, .draws = 2000};
  baselines::HamiltonianOptions integrated_options{.warmup = 800, .draws = 1200};
  if (run.is_short()) options = integrated_options = {.warmup = 150, .draws = 150};
  Chains drawn("exact", drawn_prior, tasks);
  // A wider prior needs shorter steps: a task costs three times as much.
  const std::size_t integrated_tasks = run.tasks(10);
  Chains integrated("exact, means unknown", integrated_prior, integrated_tasks);
  auto result = compare(run, regression_task,
                        {{drawn.method(options)},
                         {integrated.method(integrated_options), integrated_tasks},
                         {algorithm(Rule::direct)},
                         {algorithm(Rule::linear)},
                         {mixture()},
                         {product_default()}},
                        Regions::both);
  drawn.append_rows(result.scores[0], result.rows);
  integrated.append_rows(result.scores[1], result.rows);
  const Task task = regression_task(shown_seed);
  append_points(task.train, result.figures);
  for (Chains* chains : {&drawn, &integrated}) {
    for (const json& at : chains->band["band"]) result.figures["band"].push_back(at);
  }
  for (const Rule rule : {Rule::direct, Rule::linear}) {
    const Method method = algorithm(rule);
    append_band(method.name, method.fit(task, shown_seed), task, result.figures);
  }
  for (const Scores& scores : result.scores) {
    append_calibration(scores, scores.nll.size(), result.figures);
  }
  json summary = drawn.summary(result.summary[drawn.name]);
  summary[integrated.name] = integrated.summary(result.summary[integrated.name]);
  for (std::size_t k = 2; k < result.contestants.size(); ++k) {
    const std::string& name = result.contestants[k].method.name;
    summary[name] = result.summary[name];
  }
  result.verdicts.push_back(verdict(
      "Largest R-hat of the exact predictions",
      fmt::format("median {:.3f}, largest {:.3f}; means unknown: {:.3f}, {:.3f}",
                  median(drawn.rhat), summary["max_rhat"].get<double>(), median(integrated.rhat),
                  summary[integrated.name]["max_rhat"].get<double>()),
      "", Agreement::beyond,
      "near 1 the chains agree; where it is larger, they visited the modes unevenly"));
  result.summary = std::move(summary);
  return as_result(
      std::move(result),
      {{"task", "8-6-5-1, N = 200 in [-2.5, 1.5], noise 0.2 (App. E)"},
       {"task seeds", "1 ... 20; means unknown: 1 ... 10; task shown: 1"},
       {"chains",
        fmt::format(
            "{}, of {} draws to warm up and {} to keep (means unknown: {} and {}), from draws "
            "of the prior",
            options.chains, options.warmup, options.draws, integrated_options.warmup,
            integrated_options.draws)},
       {"exact", "network, noise and prior, drawn means included, are those of Algorithm 1"},
       {"exact, means unknown",
        "the prior with its random means integrated out, from which the "
        "data's weights were drawn: the limit for any method"},
       {"extrapolation NLL",
        "under N(mean, Var f + noise) like every row; of the mixture: under the mean density of "
        "the draws"},
       {"R-hat", "split, of the outputs at the 60 extrapolation points, the largest"}});
}

}  // namespace dma::experiments
