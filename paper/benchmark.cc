// dma benchmark: compares with published figures on the standard splits of the nine UCI sets.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "cli/progress.h"
#include "cli/report.h"
#include "experiments/statistics.h"
#include "paper/commands.h"
#include "paper/uci.h"

namespace dma::cli {
namespace {

using Json = nlohmann::ordered_json;

// The defaults of dma fit, or the defaults with one change.
struct Setting {
  const char* name;
  void (*change)(RegressorOptions&);
};

constexpr Setting settings[]{
    {"default", [](RegressorOptions&) {}},
    {"one-member", [](RegressorOptions& o) { o.ensemble = 1; }},
    {"constant-noise", [](RegressorOptions& o) { o.constant_noise = true; }},
    {"no-calibration", [](RegressorOptions& o) { o.calibration = false; }},
    {"no-selection", [](RegressorOptions& o) { o.selection = false; }},
    {"few-units", [](RegressorOptions& o) { o.hidden = {5}; }},
    {"few-epochs", [](RegressorOptions& o) { o.epochs = 26; }},
    {"independent", [](RegressorOptions& o) { o.belief = BeliefKind::independent; }},
    {"direct", [](RegressorOptions& o) { o.rule = Rule::direct; }},
};

struct Arguments {
  std::filesystem::path data;
  std::vector<std::string> sets;
  std::vector<std::string> settings{"default"};
  std::size_t splits = 0;
  std::size_t threads = 0;
  std::size_t epochs = 0;
  bool inner = false;
  bool json = false;
};

// Mean rank in log-likelihood: dma first, then the others in their order.
std::vector<double> average_ranks(const std::vector<SetScore>& scores) {
  std::vector<double> sums(rivals.size() + 1, 0);
  for (const SetScore& score : scores) {
    // Published figures have two decimals, so ours is compared with as many.
    std::vector<double> values{std::round(score.ll.mean * 100) / 100};
    values.insert(values.end(), score.published->ll.begin(), score.published->ll.end());
    const auto places = experiments::ranks(values);
    for (std::size_t k = 0; k < sums.size(); ++k) {
      sums[k] += places[k] / static_cast<double>(scores.size());
    }
  }
  return sums;
}

// The Gaussian process, a good choice for small tables, on the splits it was run on.
void print_process(const std::vector<SetScore>& scores) {
  bool first = true;
  for (const SetScore& score : scores) {
    const UciSet& set = *score.published;
    if (!set.process_ll || score.splits < 5) continue;
    if (first) fmt::print("\nfirst five splits, log-likelihood and RMSE: dma; Gaussian process\n");
    first = false;
    fmt::print("  {:<9} {:>7.3f} {:>7.4g}; {:>7.2f} {:>7.4g}\n", set.name, score.first_ll.mean,
               score.first_rmse.mean, *set.process_ll, *set.process_rmse);
  }
}

void print_table(const std::vector<SetScore>& scores) {
  const auto row = [&](std::string_view name, const auto& cell) {
    fmt::print("{:<22}", name);
    for (const SetScore& score : scores) fmt::print(" {:>9}", cell(score));
    fmt::print("\n");
  };
  row("", [](const auto& s) { return std::string(s.published->name); });
  fmt::print("test log-likelihood, mean over splits, in the target's unit\n");
  row("dma", [](const auto& s) { return fmt::format("{:.3f}", s.ll.mean); });
  row("  standard error", [](const auto& s) { return fmt::format("{:.3f}", s.ll.error); });
  row("  cavity score", [](const auto& s) { return fmt::format("{:.3f}", s.cavity_ll.mean); });
  for (std::size_t k = 0; k < rivals.size(); ++k) {
    row(rivals[k], [k](const auto& s) { return fmt::format("{:.2f}", s.published->ll[k]); });
  }
  fmt::print("RMSE\n");
  row("dma", [](const auto& s) { return fmt::format("{:.4g}", s.rmse.mean); });
  row("  standard error", [](const auto& s) { return fmt::format("{:.2g}", s.rmse.error); });
  for (std::size_t k = 0; k < rivals.size(); ++k) {
    row(rivals[k], [k](const auto& s) { return fmt::format("{:.4g}", s.published->rmse[k]); });
  }
  fmt::print("share of test targets inside the interval, %\n");
  for (std::size_t k = 0; k < Metrics::levels.size(); ++k) {
    row(fmt::format("  {:g} %", 100 * Metrics::levels[k]),
        [k](const auto& s) { return fmt::format("{:.1f}", 100 * s.coverage[k]); });
  }
  row("seconds per fit", [](const auto& s) { return fmt::format("{:.2f}", s.seconds.mean); });
  print_process(scores);
  fmt::print("\naverage rank in log-likelihood over these sets (1 is best):");
  const auto places = average_ranks(scores);
  for (std::size_t k = 0; k < places.size(); ++k) {
    fmt::print(" {} {:.2f}{}", k == 0 ? "dma" : rivals[k - 1], places[k],
               k + 1 < places.size() ? "," : "\n");
  }
}

Json to_json(const std::vector<SetScore>& scores) {
  Json sets = Json::array();
  for (const SetScore& score : scores) {
    sets.push_back({{"name", score.published->name},
                    {"splits", score.splits},
                    {"rmse", score.rmse.mean},
                    {"rmse_se", score.rmse.error},
                    {"ll", score.ll.mean},
                    {"ll_se", score.ll.error},
                    {"cavity_ll", score.cavity_ll.mean},
                    {"coverage", coverage_json(score.coverage)},
                    {"seconds", score.seconds.mean}});
    if (score.published->process_ll && score.splits >= 5) {
      sets.back()["first_five"] = {{"ll", score.first_ll.mean}, {"rmse", score.first_rmse.mean}};
      sets.back()["published"]["Gaussian process"] = {{"ll", *score.published->process_ll},
                                                      {"rmse", *score.published->process_rmse}};
    }
    for (std::size_t k = 0; k < rivals.size(); ++k) {
      sets.back()["published"][rivals[k]] = {{"ll", score.published->ll[k]},
                                             {"rmse", score.published->rmse[k]}};
    }
  }
  Json places;
  const auto average = average_ranks(scores);
  for (std::size_t k = 0; k < average.size(); ++k)
    places[k == 0 ? "dma" : rivals[k - 1]] = average[k];
  return {{"sets", std::move(sets)}, {"average_rank", std::move(places)}};
}

// One row per setting: what each part of the method is worth.
void print_settings(const std::vector<std::string>& names,
                    const std::vector<std::vector<SetScore>>& scores) {
  const auto print = [&](const char* title, const auto& cell) {
    fmt::print("{:<22}", title);
    for (const SetScore& score : scores.front()) fmt::print(" {:>9}", score.published->name);
    fmt::print("\n");
    for (std::size_t k = 0; k < names.size(); ++k) {
      fmt::print("{:<22}", names[k]);
      for (const SetScore& score : scores[k]) fmt::print(" {:>9}", cell(score));
      fmt::print("\n");
    }
  };
  print("log-likelihood", [](const auto& s) { return fmt::format("{:.3f}", s.ll.mean); });
  print("  standard error", [](const auto& s) { return fmt::format("{:.3f}", s.ll.error); });
  print("cavity score", [](const auto& s) { return fmt::format("{:.3f}", s.cavity_ll.mean); });
  print("RMSE", [](const auto& s) { return fmt::format("{:.4g}", s.rmse.mean); });
  print("% in the 50 % interval",
        [](const auto& s) { return fmt::format("{:.1f}", 100 * s.coverage[0]); });
  print("% in the 95 % interval",
        [](const auto& s) { return fmt::format("{:.1f}", 100 * s.coverage[3]); });
  print("seconds per fit", [](const auto& s) { return fmt::format("{:.2f}", s.seconds.mean); });
}

// Rank correlation of the cavity score with the test log-likelihood, over settings, by set.
std::vector<double> cavity_correlations(const std::vector<std::vector<SetScore>>& scores) {
  std::vector<double> result;
  for (std::size_t s = 0; s < scores.front().size(); ++s) {
    std::vector<double> cavity;
    std::vector<double> test;
    for (const auto& setting : scores) {
      cavity.push_back(setting[s].cavity_ll.mean);
      test.push_back(setting[s].ll.mean);
    }
    result.push_back(experiments::rank_correlation(cavity, test));
  }
  return result;
}

void print_correlations(const std::vector<std::vector<SetScore>>& scores) {
  const auto correlations = cavity_correlations(scores);
  double mean = 0;
  fmt::print("{:<22}", "rank correlation");
  for (const double one : correlations) {
    fmt::print(" {:>9.2f}", one);
    mean += one / static_cast<double>(correlations.size());
  }
  fmt::print(
      "\nof the cavity score with the log-likelihood, over settings; mean over sets {:.2f}\n",
      mean);
}

Json settings_json(const std::vector<std::string>& names,
                   const std::vector<std::vector<SetScore>>& scores) {
  Json json;
  for (std::size_t k = 0; k < names.size(); ++k) json["settings"][names[k]] = to_json(scores[k]);
  json["rank_correlation"] = cavity_correlations(scores);
  return json;
}

RegressorOptions options_of(const std::string& name, const Arguments& arguments) {
  RegressorOptions options;
  for (const Setting& setting : settings) {
    if (name == setting.name) setting.change(options);
  }
  if (arguments.epochs > 0) options.epochs = arguments.epochs;
  return options;
}

void run(const Arguments& arguments) {
  std::vector<UciTable> tables;
  for (const UciSet& published : uci_sets) {
    const bool wanted = arguments.sets.empty() ||
                        std::find(arguments.sets.begin(), arguments.sets.end(), published.name) !=
                            arguments.sets.end();
    if (!wanted) continue;
    tables.push_back(read_uci(arguments.data, published, arguments.splits, arguments.inner));
  }
  const Interruption interruption;
  std::vector<std::vector<SetScore>> scores;
  for (const std::string& name : arguments.settings) {
    if (arguments.settings.size() > 1) fmt::print(stderr, "== {}\n", name);
    const auto splits = run_splits(tables, options_of(name, arguments), arguments.threads);
    scores.emplace_back();
    for (std::size_t s = 0; s < tables.size(); ++s) {
      scores.back().push_back(summarise(tables[s], splits[s]));
    }
  }
  if (scores.size() == 1) {
    arguments.json ? fmt::print("{}\n", to_json(scores.front()).dump())
                   : print_table(scores.front());
  } else if (arguments.json) {
    fmt::print("{}\n", settings_json(arguments.settings, scores).dump());
  } else {
    print_settings(arguments.settings, scores);
    print_correlations(scores);
  }
}

}  // namespace

void add_benchmark(Command app) {
  auto arguments = std::make_shared<Arguments>();
  const Command command =
      app.command("benchmark", "compare with published figures on the UCI sets");
  command.option("--data", arguments->data, "folder with NAME.csv[.gz] and NAME.splits.json[.gz]")
      .text("DIR");
  std::vector<std::string> set_names;
  for (const UciSet& set : uci_sets) set_names.emplace_back(set.name);
  command.option("--sets", arguments->sets, "run only these sets (default: all nine)")
      .one_of(set_names)
      .text("NAME...");
  std::vector<std::string> setting_names;
  std::string list;
  for (const Setting& setting : settings) {
    setting_names.emplace_back(setting.name);
    list += std::string(list.empty() ? "" : ", ") + setting.name;
  }
  command
      .option("--settings", arguments->settings,
              "variants of the method, to see what each part is worth: " + list)
      .one_of(setting_names)
      .text("NAME...");
  command.option("--splits", arguments->splits, "run only the first N splits of each set")
      .whole(0, any_count)
      .text("N");
  command.flag("--inner", arguments->inner,
               "never look at the test rows; score a tenth of the training rows instead");
  command
      .option("--threads", arguments->threads,
              "number of splits to run at once; 0: one per core (default)")
      .whole(0, most_threads)
      .text("N");
  command.option("--epochs", arguments->epochs, "another limit than fit's own")
      .whole(0, most_epochs)
      .text("N");
  command.flag("--json", arguments->json, "print one JSON object");
  command.footer("Every set is fitted with the default options of dma fit; split k has seed k.\n");
  add_gap(command);
  command.run([arguments, command] {
    if (command.is_followed_by_command()) return;
    if (arguments->data.empty()) throw UsageError("--data is required");
    run(*arguments);
  });
}

}  // namespace dma::cli
