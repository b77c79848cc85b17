// dma reproduce NAME... --out DIR: the paper's claims, measured.
#include <dma/data/atomic_file.h>
#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>

#include "baselines/torch_baselines.h"
#include "cli/bad_input.h"
#include "cli/page.h"
#include "cli/progress.h"
#include "paper/commands.h"
#include "paper/reproduction_page.h"
#include "validation/experiment.h"

namespace dma::cli {
namespace {

using experiments::Experiment;
using nlohmann::json;

struct Arguments {
  std::vector<std::string> names;
  std::filesystem::path out = "reproduction";
  std::size_t tasks = std::numeric_limits<std::size_t>::max();
  bool json = false;
};

std::vector<Experiment> all_experiments() {
  std::vector<Experiment> all;
  for (const auto list : {validation::experiments(), experiments::network_experiments()}) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

std::vector<Experiment> chosen(const std::vector<std::string>& names) {
  const auto named = [&](std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::vector<Experiment> result = all_experiments();
  const bool all = names.empty() || named("all");
  std::erase_if(result, [&](const Experiment& one) { return !all && !named(one.name); });
  return result;
}

void print_verdicts(const json& result) {
  fmt::print("{}\n", result["experiment"].get<std::string>());
  for (const json& one : result.at("verdicts")) {
    const auto text = [&](const char* key) { return one[key].get<std::string>(); };
    fmt::print("  {:<8} {}: {}", text("verdict"), text("figure"), text("ours"));
    if (!text("paper").empty()) fmt::print(" (paper: {})", text("paper"));
    fmt::print("\n");
  }
  std::fflush(stdout);
}

void require_torch(const std::vector<Experiment>& all) {
  std::string names;
  for (const Experiment& one : all) {
    if (one.needs_torch) names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
  }
  if (names.empty() || baselines::torch_available()) return;
  throw BadInput(names + ": needs libtorch, which this build does not have; ./dev reproduce " +
                 "installs it; the other experiments run without it");
}

json measure(const Experiment& experiment, std::size_t tasks) {
  ProgressLine line;
  const auto show = [&](std::size_t done, std::size_t expected) {
    if (!line.due()) return;
    line.draw(expected == 0 ? 0 : static_cast<double>(done) / static_cast<double>(expected),
              expected == 0 ? std::string(experiment.name)
                            : fmt::format("{}: {} of {}", experiment.name, done, expected));
  };
  show(0, 0);
  const auto start = std::chrono::steady_clock::now();
  experiments::Run run(tasks, show);
  json result = experiment.run(run);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  result["experiment"] = experiment.name;
  result["about"] = experiment.about;
  result["seconds"] = seconds.count();
  return result;
}

void run(const Arguments& arguments) {
  const auto experiments = chosen(arguments.names);
  require_torch(experiments);
  std::error_code error;
  std::filesystem::create_directories(arguments.out, error);
  if (error) throw BadInput(arguments.out.string() + ": cannot be created: " + error.message());
  json report = json::object();
  for (const Experiment& experiment : experiments) {
    json result = measure(experiment, arguments.tasks);
    const auto path = arguments.out / (std::string(experiment.name) + ".json");
    AtomicFile file(path);
    file.write(result.dump(1) + "\n");
    file.commit();
    fmt::print(stderr, "{:<15} {:6.1f} s  {}\n", experiment.name, result["seconds"].get<double>(),
               path.string());
    write_reproduction_page(arguments.out, all_experiments());
    if (!arguments.json) print_verdicts(result);
    report[std::string(experiment.name)] = std::move(result["summary"]);
  }
  fmt::print(stderr, "{}\n",
             has_page() ? (arguments.out / "index.html").string()
                        : "no page, because this dma was built without npm");
  if (arguments.json) fmt::print("{}\n", report.dump());
}

}  // namespace

void add_reproduce(Command app) {
  auto arguments = std::make_shared<Arguments>();
  const Command command = app.command("reproduce", "measure what the paper claims");
  std::vector<std::string> known{"all"};
  std::string footer = "experiments:\n";
  for (const Experiment& experiment : all_experiments()) {
    known.emplace_back(experiment.name);
    footer += fmt::format("  {:<15} {}\n", experiment.name, experiment.about);
  }
  command.option("names", arguments->names, "experiments to run (default: all)")
      .one_of(known)
      .text("NAME...");
  command
      .option("--out", arguments->out,
              "folder for NAME.json and index.html (default: reproduction)")
      .text("DIR");
  command
      .option(
          "--tasks", arguments->tasks,
          "maximum number of random tasks per table (default: 20 as in the paper, 200 for our own "
          "methods)")
      .whole(1, any_count)
      .text("N");
  command.flag("--json", arguments->json, "print the summaries as one JSON object");
  command.footer(footer);
  command.run([arguments] { run(*arguments); });
}

}  // namespace dma::cli
