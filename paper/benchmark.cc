// dma benchmark: fits and scores the sets of a folder on their splits, beside published and measured figures of others.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/bad_input.h"
#include "cli/progress.h"
#include "experiments/statistics.h"
#include "paper/commands.h"
#include "paper/comparison.h"
#include "paper/sets.h"

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
    {"three-members", [](RegressorOptions& o) { o.ensemble = 3; }},
    {"six-members", [](RegressorOptions& o) { o.ensemble = 6; }},
    {"constant-noise", [](RegressorOptions& o) { o.constant_noise = true; }},
    {"no-calibration", [](RegressorOptions& o) { o.calibration = false; }},
    {"no-selection", [](RegressorOptions& o) { o.selection = false; }},
    {"shape-5", [](RegressorOptions& o) { o.hidden = {5}; }},
    {"shape-20", [](RegressorOptions& o) { o.hidden = {20}; }},
    {"shape-20-20",
     [](RegressorOptions& o) {
       o.hidden = {20, 20};
     }},
    {"shape-30-30-30",
     [](RegressorOptions& o) {
       o.hidden = {30, 30, 30};
     }},
    {"few-epochs", [](RegressorOptions& o) { o.epochs = 26; }},
    {"independent", [](RegressorOptions& o) { o.belief = BeliefKind::independent; }},
    {"direct", [](RegressorOptions& o) { o.rule = Rule::direct; }},
};

struct Arguments {
  std::filesystem::path data;
  std::vector<std::string> sets;
  std::vector<std::string> settings{"default"};
  std::vector<std::string> compare;  // files
  TargetKind kind = TargetKind::automatic;
  std::size_t splits = 0;
  std::size_t threads = 0;
  std::size_t epochs = 0;
  bool inner = false;
  bool json = false;
};

// What the runs of one setting gave.
struct SettingScores {
  Method method;
  std::vector<std::vector<SplitScore>> splits;  // by set
};

// The Gaussian process, a good choice for small tables, on the splits it was run on.
constexpr std::size_t process_splits = 5;

bool has_process(const BenchmarkSet& set) {
  return set.published != nullptr && set.published->process_ll &&
         set.test_rows.size() >= process_splits;
}

SetFigures first_splits(const std::vector<SplitScore>& splits) {
  return summarise({splits.begin(), splits.begin() + process_splits});
}

void print_process(const std::vector<BenchmarkSet>& sets, const SettingScores& scores) {
  bool first = true;
  for (std::size_t s = 0; s < sets.size(); ++s) {
    if (!has_process(sets[s])) continue;
    if (first) fmt::print("\nfirst five splits, log-likelihood and RMSE: dma; Gaussian process\n");
    first = false;
    const SetFigures own = first_splits(scores.splits[s]);
    const UciSet& set = *sets[s].published;
    fmt::print("  {:<9} {:>7.3f} {:>7.4g}; {:>7.2f} {:>7.4g}\n", set.name, own.ll->mean,
               own.rmse->mean, *set.process_ll, *set.process_rmse);
  }
}

Json published_json(const BenchmarkSet& set) {
  Json json;
  if (has_process(set)) {
    json["Gaussian process"] = {{"ll", *set.published->process_ll},
                                {"rmse", *set.published->process_rmse}};
  }
  for (std::size_t k = 0; k < rivals.size(); ++k) {
    json[rivals[k]] = {{"ll", set.published->ll[k]}, {"rmse", set.published->rmse[k]}};
  }
  return json;
}

Json to_json(const std::vector<BenchmarkSet>& sets, const SettingScores& scores,
             const std::vector<Method>& others) {
  Json list = Json::array();
  std::vector<std::string> names;
  for (std::size_t s = 0; s < sets.size(); ++s) {
    names.push_back(sets[s].name);
    list.push_back(to_json(sets[s].name, scores.method.sets.at(sets[s].name)));
    if (sets[s].published != nullptr) list.back()["published"] = published_json(sets[s]);
    if (!has_process(sets[s])) continue;
    const SetFigures own = first_splits(scores.splits[s]);
    list.back()["first_five"] = {{"ll", own.ll->mean}, {"rmse", own.rmse->mean}};
  }
  std::vector<Method> methods{scores.method};
  methods.insert(methods.end(), others.begin(), others.end());
  const Ranks ranks = average_ranks(names, methods);
  Json places = Json::object();
  for (const auto& [name, mean] : ranks.methods) {
    if (ranks.sets > 0) places[name] = mean;
  }
  return {{"sets", std::move(list)}, {"average_rank", std::move(places)}};
}

// Rank correlation of the cavity score with the test log-likelihood, over settings, by set.
std::vector<double> cavity_correlations(const std::vector<std::string>& sets,
                                        const std::vector<SettingScores>& scores) {
  std::vector<double> result;
  for (const std::string& set : sets) {
    std::vector<double> cavity;
    std::vector<double> test;
    for (const SettingScores& setting : scores) {
      cavity.push_back(setting.method.sets.at(set).cavity_ll->mean);
      test.push_back(setting.method.sets.at(set).ll->mean);
    }
    result.push_back(experiments::rank_correlation(cavity, test));
  }
  return result;
}

void print_correlations(const std::vector<std::string>& sets,
                        const std::vector<SettingScores>& scores) {
  const auto correlations = cavity_correlations(sets, scores);
  double mean = 0;
  fmt::print("\nrank correlation of the cavity score with the log-likelihood, over settings:");
  for (std::size_t s = 0; s < sets.size(); ++s) {
    fmt::print("{} {} {:.2f}", s == 0 ? "" : ",", sets[s], correlations[s]);
    mean += correlations[s] / static_cast<double>(sets.size());
  }
  fmt::print("; mean {:.2f}\n", mean);
}

RegressorOptions options_of(const std::string& name, const Arguments& arguments) {
  RegressorOptions options;
  for (const Setting& setting : settings) {
    if (name == setting.name) setting.change(options);
  }
  if (arguments.epochs > 0) options.epochs = arguments.epochs;
  return options;
}

std::vector<BenchmarkSet> read_sets(const Arguments& arguments) {
  const std::vector<FoundSet> found = sets_in(arguments.data);
  std::vector<BenchmarkSet> sets;
  for (const std::string& name : arguments.sets) {
    if (std::ranges::find(found, name, &FoundSet::name) != found.end()) continue;
    std::string list;
    for (const FoundSet& set : found) list += (list.empty() ? "" : ", ") + set.name;
    throw BadInput(arguments.data.string() + ": no set '" + name + "'; the sets are " + list);
  }
  for (const FoundSet& set : found) {
    const auto& names = arguments.sets;
    if (!names.empty() && std::ranges::find(names, set.name) == names.end()) continue;
    sets.push_back(
        read_set(arguments.data, set, arguments.kind, arguments.splits, arguments.inner));
  }
  return sets;
}

SettingScores run_setting(const std::string& name, const std::vector<BenchmarkSet>& sets,
                          const Arguments& arguments) {
  SettingScores scores;
  scores.splits = run_splits(sets, options_of(name, arguments), arguments.threads);
  scores.method.name = arguments.settings.size() > 1 ? name : "dma";
  for (std::size_t s = 0; s < sets.size(); ++s) {
    scores.method.sets[sets[s].name] = summarise(scores.splits[s]);
  }
  return scores;
}

Json report_json(const std::vector<BenchmarkSet>& sets, const std::vector<std::string>& names,
                 const std::vector<SettingScores>& scores, const std::vector<Method>& others) {
  if (scores.size() == 1) return to_json(sets, scores.front(), others);
  Json json;
  for (const SettingScores& one : scores) {
    json["settings"][one.method.name] = to_json(sets, one, others);
  }
  json["rank_correlation"] = cavity_correlations(names, scores);
  return json;
}

bool has_figures(const Method& method, const std::vector<BenchmarkSet>& sets) {
  return std::ranges::any_of(
      sets, [&](const BenchmarkSet& set) { return method.sets.contains(set.name); });
}

void run(const Arguments& arguments) {
  std::vector<Method> others;
  for (const std::string& file : arguments.compare) {
    for (Method& method : read_methods(file)) others.push_back(std::move(method));
  }
  const std::vector<BenchmarkSet> sets = read_sets(arguments);
  std::erase_if(others, [&](const Method& method) { return !has_figures(method, sets); });
  for (Method& method : published_methods(sets)) others.push_back(std::move(method));
  std::vector<std::string> names;
  for (const BenchmarkSet& set : sets) names.push_back(set.name);
  const Interruption interruption;
  std::vector<SettingScores> scores;
  for (const std::string& name : arguments.settings) {
    if (arguments.settings.size() > 1) fmt::print(stderr, "== {}\n", name);
    scores.push_back(run_setting(name, sets, arguments));
  }
  if (arguments.json) {
    fmt::print("{}\n", report_json(sets, names, scores, others).dump());
    return;
  }
  std::vector<Method> methods;
  for (const SettingScores& one : scores) methods.push_back(one.method);
  methods.insert(methods.end(), others.begin(), others.end());
  print(names, methods);
  if (scores.size() == 1) print_process(sets, scores.front());
  if (scores.size() > 1) print_correlations(names, scores);
}

}  // namespace

void add_benchmark(Command app) {
  auto arguments = std::make_shared<Arguments>();
  const Command command =
      app.command("benchmark", "fit and score sets on given splits, beside the figures of others");
  command.option("--data", arguments->data, "folder with NAME.csv[.gz] and NAME.splits.json[.gz]")
      .text("DIR");
  command.option("--sets", arguments->sets, "run only these sets (default: all in the folder)")
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
  command
      .choice<TargetKind>(
          "--kind", arguments->kind,
          {{"auto", TargetKind::automatic},
           {"number", TargetKind::number},
           {"class", TargetKind::classes},
           {"amount", TargetKind::amount},
           {"count", TargetKind::count}},
          "what the targets are; auto (default): classes in the ten usual sets with "
          "classes, otherwise numbers")
      .text("KIND");
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
  command
      .option("--compare", arguments->compare,
              "show the figures in these files too, from --json, bench/rivals.py or "
              "bench/class_rivals.py")
      .text("FILE...");
  command.flag("--json", arguments->json, "print one JSON object");
  command.footer(
      "The last column of a set is its target (of titanic it is survived). Every set is fitted "
      "with the default options of dma "
      "fit;\n"
      "split k has seed k. Published figures stand beside the UCI sets on their standard "
      "splits.\n");
  add_gap(command);
  command.run([arguments, command] {
    if (command.is_followed_by_command()) return;
    if (arguments->data.empty()) throw UsageError("--data is required");
    run(*arguments);
  });
}

}  // namespace dma::cli
