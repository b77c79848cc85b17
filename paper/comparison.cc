#include "paper/comparison.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "cli/bad_input.h"
#include "cli/report.h"
#include "experiments/statistics.h"

namespace dma::cli {
namespace {

using Json = nlohmann::ordered_json;

template <class Value>
Figure figure_of(const std::vector<SplitScore>& scores, const Value& value) {
  Figure figure;
  const auto count = static_cast<double>(scores.size());
  for (const SplitScore& score : scores) figure.mean += value(score) / count;
  double square = 0;
  for (const SplitScore& score : scores) square += std::pow(value(score) - figure.mean, 2);
  if (scores.size() > 1) figure.error = std::sqrt(square / (count - 1) / count);
  return figure;
}

// ------------------------------------------------------------------------------------------- tables

// Published figures have few digits, and no spread.
std::string shown(const Figure& figure, const char* mean, const char* error) {
  if (std::isnan(figure.error)) return fmt::format("{:.4g}", figure.mean);
  return fmt::format(fmt::runtime(mean), figure.mean) + " ± " +
         fmt::format(fmt::runtime(error), figure.error);
}

using Cell = std::function<std::string(const SetFigures&)>;

Cell cell_of(std::optional<Figure> SetFigures::*part, const char* mean, const char* error) {
  return [part, mean, error](const SetFigures& figures) {
    const auto& figure = figures.*part;
    return figure ? shown(*figure, mean, error) : std::string();
  };
}

std::string coverage_cell(const SetFigures& figures) {
  std::string text;
  if (!figures.coverage) return text;
  for (const double share : *figures.coverage) {
    text += fmt::format("{}{:>5.1f}", text.empty() ? "" : " ", 100 * share);
  }
  return text;
}

// ± takes two bytes and one place.
std::size_t places_of(const std::string& text) {
  return text.size() - static_cast<std::size_t>(std::count(text.begin(), text.end(), '\xc2'));
}

// A row per set, a column per method that has anything to show.
void print_measure(const char* title, const std::vector<std::string>& sets,
                   const std::vector<Method>& methods, const Cell& cell) {
  std::vector<std::vector<std::string>> columns;  // the name first
  for (const Method& method : methods) {
    std::vector<std::string> column{method.name};
    bool any = false;
    for (const std::string& set : sets) {
      const auto figures = method.sets.find(set);
      column.push_back(figures == method.sets.end() ? "" : cell(figures->second));
      any = any || !column.back().empty();
    }
    if (any) columns.push_back(std::move(column));
  }
  if (columns.empty()) return;
  std::size_t first = 0;
  for (const std::string& set : sets) first = std::max(first, set.size());
  fmt::print("\n{}\n", title);
  for (std::size_t row = 0; row <= sets.size(); ++row) {
    fmt::print("  {:<{}}", row == 0 ? "" : sets[row - 1], first);
    for (const auto& column : columns) {
      std::size_t width = 0;
      for (const std::string& text : column) width = std::max(width, places_of(text));
      fmt::print("{}{}", std::string(2 + width - places_of(column[row]), ' '), column[row]);
    }
    fmt::print("\n");
  }
}

// ---------------------------------------------------------------------------------------------- files

std::optional<Figure> figure_at(const Json& set, const std::string& key) {
  if (!set.contains(key)) return {};
  Figure figure{set.at(key).get<double>()};
  if (const auto error = set.find(key + "_se"); error != set.end() && !error->is_null()) {
    figure.error = error->get<double>();
  }
  return figure;
}

SetFigures figures_at(const Json& set) {
  SetFigures figures{.splits = set.value("splits", std::size_t{0})};
  figures.ll = figure_at(set, "ll");
  figures.rmse = figure_at(set, "rmse");
  figures.crps = figure_at(set, "crps");
  figures.seconds = figure_at(set, "seconds");
  figures.brier = figure_at(set, "brier");
  figures.accuracy = figure_at(set, "accuracy");
  figures.balanced_accuracy = figure_at(set, "balanced_accuracy");
  figures.auc = figure_at(set, "auc");
  if (set.contains("calibration_error")) {
    figures.calibration_error = set.at("calibration_error").get<double>();
  }
  if (!set.contains("coverage")) return figures;
  figures.coverage.emplace();
  for (std::size_t k = 0; k < Metrics::levels.size(); ++k) {
    (*figures.coverage)[k] =
        set.at("coverage").at(fmt::format("{:g}", Metrics::levels[k])).get<double>();
  }
  return figures;
}

Method method_at(const std::string& name, const Json& json) {
  Method method{name, {}};
  for (const Json& set : json.at("sets")) {
    method.sets[set.at("name").get<std::string>()] = figures_at(set);
  }
  return method;
}

}  // namespace

namespace {

void summarise_classes(const std::vector<SplitScore>& scores, SetFigures& figures) {
  const auto figure = [&](double ClassMetrics::*part) {
    return figure_of(scores, [part](const auto& one) { return (*one.test.classes).*part; });
  };
  figures.brier = figure(&ClassMetrics::brier);
  figures.accuracy = figure(&ClassMetrics::accuracy);
  figures.balanced_accuracy = figure(&ClassMetrics::balanced_accuracy);
  const bool all_have_auc = std::ranges::all_of(
      scores, [](const auto& one) { return one.test.classes->auc.has_value(); });
  if (all_have_auc) {
    figures.auc = figure_of(scores, [](const auto& one) { return *one.test.classes->auc; });
  }
  ClassMetrics together = *scores.front().test.classes;
  for (std::size_t n = 1; n < scores.size(); ++n) {
    together = merged(together, *scores[n].test.classes);
  }
  figures.calibration_error = together.calibration_error;
}

}  // namespace

SetFigures summarise(const std::vector<SplitScore>& scores) {
  SetFigures figures{.splits = scores.size()};
  figures.ll = figure_of(scores, [](const auto& one) { return -one.test.nll; });
  figures.cavity_ll = figure_of(scores, [](const auto& one) { return -one.cavity_nll; });
  figures.seconds = figure_of(scores, [](const auto& one) { return one.seconds; });
  if (scores.front().test.classes) {
    summarise_classes(scores, figures);
    return figures;
  }
  figures.rmse = figure_of(scores, [](const auto& one) { return one.test.rmse; });
  figures.crps = figure_of(scores, [](const auto& one) { return one.test.crps; });
  figures.coverage.emplace();
  for (std::size_t k = 0; k < figures.coverage->size(); ++k) {
    (*figures.coverage)[k] =
        figure_of(scores, [k](const auto& one) { return one.test.coverage[k]; }).mean;
  }
  return figures;
}

std::vector<Method> published_methods(const std::vector<BenchmarkSet>& sets) {
  std::vector<Method> methods;
  for (std::size_t k = 0; k < rivals.size(); ++k) {
    Method method{rivals[k], {}};
    for (const BenchmarkSet& set : sets) {
      if (set.published == nullptr) continue;
      method.sets[set.name] = {.ll = Figure{set.published->ll[k]},
                               .rmse = Figure{set.published->rmse[k]}};
    }
    if (!method.sets.empty()) methods.push_back(std::move(method));
  }
  return methods;
}

std::vector<Method> read_methods(const std::filesystem::path& file) {
  const std::string text = read_text(file);
  try {
    const Json json = Json::parse(text);
    if (!json.contains("settings")) return {method_at(file.stem().string(), json)};
    std::vector<Method> methods;
    for (const auto& [name, one] : json.at("settings").items()) {
      methods.push_back(method_at(name, one));
    }
    return methods;
  } catch (const Json::exception& error) {
    throw BadInput(file.string() + ": not a report of dma benchmark --json: " + error.what());
  }
}

Ranks average_ranks(const std::vector<std::string>& sets, const std::vector<Method>& methods) {
  const auto likelihood = [](const Method& method, const std::string& set) {
    const auto figures = method.sets.find(set);
    return figures == method.sets.end() ? std::optional<Figure>() : figures->second.ll;
  };
  Ranks ranks;
  std::vector<const Method*> ranked;
  for (const Method& method : methods) {
    const auto has = [&](const std::string& set) { return likelihood(method, set).has_value(); };
    if (std::ranges::any_of(sets, has)) ranked.push_back(&method);
  }
  for (const Method* method : ranked) ranks.methods.push_back({method->name, 0});
  for (const std::string& set : sets) {
    std::vector<double> values;
    for (const Method* method : ranked) {
      if (const auto ll = likelihood(*method, set)) {
        values.push_back(std::round(ll->mean * 100) / 100);
      }
    }
    if (values.size() < ranked.size()) continue;
    ++ranks.sets;
    const auto places = experiments::ranks(values);
    for (std::size_t k = 0; k < places.size(); ++k) ranks.methods[k].mean += places[k];
  }
  for (auto& method : ranks.methods) method.mean /= static_cast<double>(ranks.sets);
  return ranks;
}

void print(const std::vector<std::string>& sets, const std::vector<Method>& methods) {
  const auto measure = [&](const char* title, const Cell& cell) {
    print_measure(title, sets, methods, cell);
  };
  fmt::print("mean over splits ± standard error, in the target's unit\n");
  measure("log-likelihood of test targets", cell_of(&SetFigures::ll, "{:.3f}", "{:.3f}"));
  measure("cavity score of training rows", cell_of(&SetFigures::cavity_ll, "{:.3f}", "{:.3f}"));
  measure("RMSE", cell_of(&SetFigures::rmse, "{:.4g}", "{:.2g}"));
  measure("CRPS", cell_of(&SetFigures::crps, "{:.4g}", "{:.2g}"));
  measure("Brier score", cell_of(&SetFigures::brier, "{:.3f}", "{:.3f}"));
  measure("share of test rows whose class is the most probable",
          cell_of(&SetFigures::accuracy, "{:.3f}", "{:.3f}"));
  measure("the same, mean over the classes",
          cell_of(&SetFigures::balanced_accuracy, "{:.3f}", "{:.3f}"));
  measure("area under the curve", cell_of(&SetFigures::auc, "{:.3f}", "{:.3f}"));
  measure("expected calibration error, all splits together", [](const SetFigures& figures) {
    return figures.calibration_error ? fmt::format("{:.3f}", *figures.calibration_error) : "";
  });
  measure("share of test targets inside the 50, 80, 90 and 95 % interval, %", coverage_cell);
  measure("seconds per fit", cell_of(&SetFigures::seconds, "{:.2f}", "{:.2f}"));
  const Ranks ranks = average_ranks(sets, methods);
  if (ranks.methods.size() < 2 || ranks.sets == 0) return;
  fmt::print("\naverage rank in log-likelihood over {} of {} sets (1 is best):", ranks.sets,
             sets.size());
  for (std::size_t k = 0; k < ranks.methods.size(); ++k) {
    fmt::print("{} {} {:.2f}", k == 0 ? "" : ",", ranks.methods[k].name, ranks.methods[k].mean);
  }
  fmt::print("\n");
}

Json to_json(const std::string& set, const SetFigures& figures) {
  Json json{{"name", set}, {"splits", figures.splits}};
  const auto put = [&](const char* key, const std::optional<Figure>& figure) {
    if (!figure) return;
    json[key] = figure->mean;
    json[std::string(key) + "_se"] = figure->error;  // null if there is one split
  };
  put("rmse", figures.rmse);
  put("ll", figures.ll);
  put("crps", figures.crps);
  put("cavity_ll", figures.cavity_ll);
  put("brier", figures.brier);
  put("accuracy", figures.accuracy);
  put("balanced_accuracy", figures.balanced_accuracy);
  put("auc", figures.auc);
  if (figures.calibration_error) json["calibration_error"] = *figures.calibration_error;
  if (figures.coverage) json["coverage"] = coverage_json(*figures.coverage);
  put("seconds", figures.seconds);
  return json;
}

}  // namespace dma::cli
