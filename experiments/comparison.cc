#include "experiments/comparison.h"

#include <fmt/core.h>

#include "experiments/figures.h"
#include "experiments/statistics.h"
#include "experiments/verdict.h"

namespace dma::experiments {
namespace {

using nlohmann::json;

json nll_verdict(const Scores& scores, const PaperFigures& paper, const std::string& why_not) {
  const std::size_t all = scores.nll.size();
  const std::size_t few = std::min(all, paper_tasks);
  std::string ours = median_text(summarise(scores, few));
  if (all > few) ours += "; " + median_text(summarise(scores, all));
  const std::string figure = "Extrapolation NLL, " + scores.method;
  if (!paper.nll) return verdict(figure, ours, "", Agreement::beyond);
  const bool holds = believable(scores.nll, *paper.nll);
  return verdict(figure, ours,
                 fmt::format("{:.2f} [{:.2f}], 20 tasks", *paper.nll, paper.nll_iqr.value_or(0)),
                 agrees_if(holds), holds ? "" : why_not);
}

}  // namespace

Comparison compare(Run& run, MakeTask make, std::vector<Contestant> contestants, Regions regions) {
  Comparison result;
  result.contestants = std::move(contestants);
  for (const Contestant& one : result.contestants) run.expect(run.tasks(one.tasks));
  for (const Contestant& one : result.contestants) {
    const std::size_t all = run.tasks(one.tasks);
    const std::size_t few = std::min(all, paper_tasks);
    const Scores scores = score(run, make, one.method, all, regions);
    result.summary[one.method.name] = summarise(scores, all);
    result.rows.push_back(table_row(scores, few, one.paper));
    if (all > few) result.rows.push_back(table_row(scores, all, one.paper));
    result.verdicts.push_back(nll_verdict(scores, one.paper, one.why_not));
    append_tasks(scores, few, result.figures);
    result.scores.push_back(scores);
  }
  return result;
}

void append_shown(const Task& task, std::uint64_t seed, Comparison& comparison) {
  append_points(task.train, comparison.figures);
  for (const Contestant& one : comparison.contestants) {
    const Fit fit = one.method.fit(task, seed);
    append_band(one.method.name, fit, task, comparison.figures);
    if (fit.train_nll.size() > 1) {
      append_convergence(one.method.name, fit.train_nll, comparison.figures);
    }
  }
}

json as_result(Comparison comparison, json settings) {
  return {{"settings", std::move(settings)},
          {"summary", std::move(comparison.summary)},
          {"rows", std::move(comparison.rows)},
          {"verdicts", std::move(comparison.verdicts)},
          {"figures", std::move(comparison.figures)}};
}

std::string medians_text(const std::vector<double>& values) {
  const std::size_t few = std::min(values.size(), paper_tasks);
  const std::vector<double> first(values.begin(),
                                  values.begin() + static_cast<std::ptrdiff_t>(few));
  std::string text = fmt::format("{:.2f}, {} tasks", median(first), few);
  if (values.size() > few) text += fmt::format("; {:.2f}, {} tasks", median(values), values.size());
  return text;
}

json median_verdict(const std::string& figure, const std::vector<double>& values, double paper,
                    const std::string& paper_text, const std::string& why_not) {
  const bool holds = believable(values, paper);
  return verdict(figure, medians_text(values), paper_text, agrees_if(holds), holds ? "" : why_not);
}

json one_task_verdict(const std::string& figure, const std::vector<double>& values, double paper,
                      const std::string& paper_text, const std::string& why_not) {
  const bool holds = quantile(values, 0.05) <= paper && paper <= quantile(values, 0.95);
  return verdict(figure,
                 medians_text(values) + fmt::format(", 90 % of them in {:.2f} ... {:.2f}",
                                                    quantile(values, 0.05), quantile(values, 0.95)),
                 paper_text, agrees_if(holds), holds ? "" : why_not);
}

std::vector<Contestant> own_contestants(const PaperFigures& paper, std::size_t slow_tasks) {
  return {{algorithm(Rule::direct), own_tasks, paper},
          {algorithm(Rule::linear), own_tasks},
          {mixture(), slow_tasks},
          {product_default(), slow_tasks}};
}

}  // namespace dma::experiments
