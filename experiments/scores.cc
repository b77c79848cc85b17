#include "experiments/scores.h"

#include <dma/special/random.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/statistics.h"

namespace dma::experiments {
namespace {

using nlohmann::json;

std::vector<double> finite_of(const std::vector<double>& values, std::size_t count) {
  std::vector<double> result;
  for (std::size_t n = 0; n < count; ++n) {
    if (std::isfinite(values[n])) result.push_back(values[n]);
  }
  return result;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

void take(const Fit& fit, const Task& task, Regions regions, std::size_t n, Scores& scores) {
  scores.epochs[n] = fit.epochs;
  scores.seconds[n] = fit.seconds;
  scores.negative[n] = fit.negative;
  if (fit.failed()) return;
  if (!fit.train_nll.empty()) scores.train_nll[n] = fit.train_nll.back();
  const auto outside = fit.predict(task.calibration);
  scores.nll[n] = mean_nll(fit.predict(task.extrapolation), task.extrapolation.truth);
  scores.delta[n] = calibration_delta(outside, task.calibration.truth);
  scores.outside_curve[n] = coverage_curve(outside, task.calibration.truth);
  if (regions == Regions::outside) return;
  const auto inside = fit.predict(task.inside);
  scores.inside_delta[n] = calibration_delta(inside, task.inside.truth);
  scores.inside_curve[n] = coverage_curve(inside, task.inside.truth);
}

void append_curve(const std::string& method, const char* region,
                  const std::vector<std::vector<double>>& curves, std::size_t tasks, json& list) {
  const auto levels = calibration_levels();
  for (std::size_t k = 0; k < levels.size(); ++k) {
    double sum = 0;
    double count = 0;
    for (std::size_t n = 0; n < tasks; ++n) {
      if (curves[n].empty()) continue;
      sum += curves[n][k];
      count += 1;
    }
    list.push_back({{"method", method},
                    {"region", region},
                    {"level", levels[k]},
                    {"coverage", count > 0 ? json(sum / count) : json()}});
  }
}

}  // namespace

Scores score(Run& run, MakeTask make, const Method& method, std::size_t tasks, Regions regions) {
  const double failed = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> none(tasks, failed);
  const std::vector<std::vector<double>> no_curves(tasks);
  Scores scores{.method = method.name,
                .nll = none,
                .delta = none,
                .inside_delta = none,
                .train_nll = none,
                .epochs = none,
                .seconds = none,
                .outside_curve = no_curves,
                .inside_curve = no_curves,
                .negative = std::vector<std::size_t>(tasks)};
  run.each(tasks, [&](std::size_t n) {
    const std::uint64_t seed = n + 1;
    const Task task = make(seed);
    take(method.fit(task, seed), task, regions, n, scores);
  });
  return scores;
}

json summarise(const Scores& scores, std::size_t tasks) {
  const auto nll = finite_of(scores.nll, tasks);
  const auto delta = finite_of(scores.delta, tasks);
  std::size_t negative = 0;
  for (std::size_t n = 0; n < tasks; ++n) negative += scores.negative[n];
  json result{{"seeds", tasks}, {"failures", tasks - nll.size()}, {"negative", negative}};
  const auto put = [&](const char* key, double (*of)(const std::vector<double>&),
                       const std::vector<double>& values) {
    result[key] = values.empty() ? json() : json(of(values));
  };
  const auto middle = [](const std::vector<double>& values) { return median(values); };
  const auto spread = [](const std::vector<double>& values) { return interquartile_range(values); };
  put("extrapolation_nll_median", middle, nll);
  put("extrapolation_nll_iqr", spread, nll);
  put("extrapolation_nll_mean", mean_of, nll);
  put("calibration_delta_median", middle, delta);
  put("calibration_delta_iqr", spread, delta);
  const auto inside_delta = finite_of(scores.inside_delta, tasks);
  if (!inside_delta.empty()) put("inside_delta_median", middle, inside_delta);
  put("train_nll_median", middle, finite_of(scores.train_nll, tasks));
  put("epochs_median", middle, finite_of(scores.epochs, tasks));
  put("seconds_median", middle, finite_of(scores.seconds, tasks));
  return result;
}

json table_row(const Scores& scores, std::size_t tasks, const PaperFigures& paper) {
  json row = summarise(scores, tasks);
  row["method"] = scores.method;
  const auto put = [&](const char* key, const std::optional<double>& value) {
    if (value) row[key] = *value;
  };
  put("paper_extrapolation_nll_median", paper.nll);
  put("paper_extrapolation_nll_iqr", paper.nll_iqr);
  put("paper_extrapolation_nll_mean", paper.mean);
  put("paper_calibration_delta_median", paper.delta);
  put("paper_calibration_delta_iqr", paper.delta_iqr);
  put("paper_epochs_median", paper.epochs);
  return row;
}

void append_tasks(const Scores& scores, std::size_t tasks, json& figures) {
  for (std::size_t n = 0; n < tasks; ++n) {
    figures["tasks"].push_back({{"method", scores.method},
                                {"seed", n + 1},
                                {"extrapolation_nll", scores.nll[n]},
                                {"calibration_delta", scores.delta[n]}});
  }
}

void append_calibration(const Scores& scores, std::size_t tasks, json& figures) {
  append_curve(scores.method, "inside", scores.inside_curve, tasks, figures["calibration"]);
  append_curve(scores.method, "outside", scores.outside_curve, tasks, figures["calibration"]);
}

std::string median_text(const json& summary) {
  const auto& middle = summary["extrapolation_nll_median"];
  const auto seeds = summary["seeds"].get<std::size_t>();
  if (middle.is_null()) return fmt::format("failed on all {} tasks", seeds);
  return fmt::format("{:.2f} [{:.2f}], {} tasks", middle.get<double>(),
                     summary["extrapolation_nll_iqr"].get<double>(), seeds);
}

bool believable(const std::vector<double>& values, double other_median) {
  constexpr std::size_t other_tasks = 20;
  constexpr int resamples = 1000;
  const auto finite = finite_of(values, values.size());
  if (finite.empty()) return false;
  special::Random random(1);
  const auto median_of = [&](std::size_t count) {
    std::vector<double> drawn(count);
    for (double& one : drawn) {
      const double at = random.uniform(0, static_cast<double>(finite.size()));
      one = finite[std::min(static_cast<std::size_t>(at), finite.size() - 1)];
    }
    return median(drawn);
  };
  std::vector<double> distances;
  for (int r = 0; r < resamples; ++r) {
    const double theirs = median_of(other_tasks);
    distances.push_back(std::abs(theirs - median_of(finite.size())));
  }
  return std::abs(other_median - median(finite)) <= quantile(distances, 0.95);
}

}  // namespace dma::experiments
