// dma reproduce NAME... --out DIR: the paper's claims, measured.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>

#include "bad_input.h"
#include "commands.h"
#include "validation/experiment.h"

namespace dma::cli {
namespace {

using nlohmann::json;
using validation::Experiment;

struct Arguments {
  std::vector<std::string> names;
  std::filesystem::path out = "reproduction";
  bool json = false;
};

std::vector<const Experiment*> chosen(const std::vector<std::string>& names) {
  std::vector<const Experiment*> result;
  for (const Experiment& experiment : validation::experiments()) {
    const bool named = std::find(names.begin(), names.end(), experiment.name) != names.end();
    const bool all = std::find(names.begin(), names.end(), "all") != names.end();
    if (named || all) result.push_back(&experiment);
  }
  return result;
}

// Written beside its place and renamed, so that a file that is there is whole.
void write(const std::filesystem::path& path, const json& content) {
  auto partial = path;
  partial += ".partial";
  std::ofstream file(partial);
  file << content.dump(1) << "\n";
  file.close();
  if (!file) throw BadInput(partial.string() + ": cannot be written");
  std::filesystem::rename(partial, path);
}

void run(const Arguments& arguments) {
  std::error_code error;
  std::filesystem::create_directories(arguments.out, error);
  if (error) throw BadInput(arguments.out.string() + ": cannot be created: " + error.message());
  json report = json::object();
  for (const Experiment* experiment : chosen(arguments.names)) {
    const auto start = std::chrono::steady_clock::now();
    json result = experiment->run();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    result["experiment"] = experiment->name;
    const auto path = arguments.out / (std::string(experiment->name) + ".json");
    write(path, result);
    fmt::print(stderr, "{:<15} {:6.1f} s  {}\n", experiment->name, seconds.count(), path.string());
    if (!arguments.json) fmt::print("{}: {}\n", experiment->name, result["summary"].dump());
    report[std::string(experiment->name)] = std::move(result["summary"]);
  }
  if (arguments.json) fmt::print("{}\n", report.dump());
}

}  // namespace

void add_reproduce(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("reproduce", "check the paper's claims about messages");
  std::vector<std::string> known{"all"};
  std::string footer = "experiments:\n";
  for (const Experiment& experiment : validation::experiments()) {
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
