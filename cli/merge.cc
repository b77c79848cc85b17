// dma merge A B ... -o ALL: models of different rows as one.
#include <dma/regressor/merging.h>
#include <fmt/core.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/report.h"

namespace dma::cli {
namespace {

struct Arguments {
  std::vector<std::string> models;
  std::filesystem::path output;
  SaveOptions save;
  bool json = false;
};

struct Merged {
  Regressor model;
  std::size_t alike = 0;  // rows
};

// One after the other, so that memory does not grow with their number.
Merged merge_files(const std::vector<std::string>& paths) {
  Merged all{Regressor::load(paths.front())};
  for (std::size_t k = 1; k < paths.size(); ++k) {
    const std::array parts{all.model, Regressor::load(paths[k])};
    const std::array names{k == 1 ? paths.front() : "what was merged before it", paths[k]};
    all.alike += rows_in_several(parts);
    all.model = Regressor::merge(parts, names);
  }
  return all;
}

void run(const Arguments& arguments) {
  if (arguments.models.size() < 2) throw UsageError("merge needs two models at least");
  const Merged merged = [&] {
    const Working working("merging");
    return merge_files(arguments.models);
  }();
  merged.model.save(arguments.output, arguments.save);
  const Model& model = merged.model.model();
  if (merged.alike > 0) {
    fmt::print(stderr,
               "note: {} rows are alike in several models: if they were learnt twice, they count "
               "twice\n",
               merged.alike);
  }
  if (arguments.json) {
    auto json = fit_json(model);
    json["rows_alike"] = merged.alike;
    json["model"] = arguments.output.string();
    return fmt::print("{}\n", json.dump());
  }
  print_entry("rows", rows_text(model));
  print_entry("start", start_text(*model.start));
  print_entry("network", network_text(model));
  print_entry("model", fmt::format("{}, {}", arguments.output.string(),
                                   bytes_text(std::filesystem::file_size(arguments.output))));
}

}  // namespace

void add_merge(Command app) {
  auto arguments = std::make_shared<Arguments>();
  const Command command =
      app.command("merge", "put models together that learnt different rows from one start");
  command.option("models", arguments->models, "model files, two at least")
      .required()
      .text("MODEL...");
  command.option("-o,--output", arguments->output, "file to write the merged model to")
      .required()
      .text("FILE");
  command.flag("--slim", arguments->save.slim,
               "leave out the hashes of rows: then no row can be forgotten");
  command.flag("--json", arguments->json, "print one JSON object");
  command.footer(
      "The models must have been fitted from one start (dma prepare, dma fit --start). The result "
      "is the model of all their rows, and can be merged further (docs/merging.md).\n"
      "example:\n"
      "  dma merge north.dma south.dma west.dma -o all.dma\n");
  command.run([arguments] { run(*arguments); });
}

}  // namespace dma::cli
