// dma reproduce NAME... --out DIR: the paper's claims, measured.
#include <CLI/CLI.hpp>
#include <dma/data/atomic_file.h>
#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "bad_input.h"
#include "commands.h"
#include "validation/experiment.h"

namespace dma::cli {
namespace {

using experiments::Experiment;
using nlohmann::json;

struct Arguments {
  std::vector<std::string> names;
  std::filesystem::path out = "reproduction";
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
  std::erase_if(result, [&](const Experiment& one) { return !named("all") && !named(one.name); });
  return result;
}

// The figures of a summary, one per line; lists are left to the file.
void print_figures(const json& figures, int indent) {
  for (const auto& [key, value] : figures.items()) {
    if (value.is_object()) {
      fmt::print("{:{}}{}\n", "", indent, key);
      print_figures(value, indent + 2);
    } else if (value.is_number_float()) {
      fmt::print("{:{}}{}  {:.4g}\n", "", indent, key, value.get<double>());
    } else if (value.is_string()) {
      fmt::print("{:{}}{}  {}\n", "", indent, key, value.get<std::string>());
    } else if (!value.is_array()) {
      fmt::print("{:{}}{}  {}\n", "", indent, key, value.dump());
    }
  }
}

void run(const Arguments& arguments) {
  std::error_code error;
  std::filesystem::create_directories(arguments.out, error);
  if (error) throw BadInput(arguments.out.string() + ": cannot be created: " + error.message());
  json report = json::object();
  for (const Experiment& experiment : chosen(arguments.names)) {
    const auto start = std::chrono::steady_clock::now();
    json result = experiment.run();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    result["experiment"] = experiment.name;
    const auto path = arguments.out / (std::string(experiment.name) + ".json");
    AtomicFile file(path);
    file.write(result.dump(1) + "\n");
    file.commit();
    fmt::print(stderr, "{:<15} {:6.1f} s  {}\n", experiment.name, seconds.count(), path.string());
    if (!arguments.json) {
      fmt::print("{}\n", experiment.name);
      print_figures(result["summary"], 2);
      std::fflush(stdout);
    }
    report[std::string(experiment.name)] = std::move(result["summary"]);
  }
  if (arguments.json) fmt::print("{}\n", report.dump());
}

}  // namespace

void add_reproduce(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("reproduce", "measure what the paper claims");
  std::vector<std::string> known{"all"};
  std::string footer = "experiments:\n";
  for (const Experiment& experiment : all_experiments()) {
    known.emplace_back(experiment.name);
    footer += fmt::format("  {:<15} {}\n", experiment.name, experiment.about);
  }
  command->add_option("names", arguments->names, "experiments, or all")
      ->required()
      ->check(CLI::IsMember(known))
      ->option_text("NAME...");
  command->add_option("--out", arguments->out, "folder for NAME.json (default: reproduction)")
      ->option_text("DIR");
  command->add_flag("--json", arguments->json, "print the summaries as one JSON object");
  command->footer(footer);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace dma::cli
