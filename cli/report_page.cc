// dma report MODEL: one page about a fit.
#include <dma/data/atomic_file.h>
#include <dma/regressor/regressor.h>
#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/csv_arguments.h"
#include "cli/fit_page.h"
#include "cli/page.h"
#include "cli/progress.h"

namespace dma::cli {
namespace {

struct Arguments {
  std::filesystem::path model;
  std::string data;
  CsvArguments csv;
  std::filesystem::path output = "report.html";
  bool json = false;
};

std::optional<NamedRows> rows_of(const Arguments& arguments, const Encoder& encoder) {
  if (arguments.data.empty()) return std::nullopt;
  CsvOptions csv = arguments.csv.options();
  csv.columns = encoder.wanted(true, UseWeights::if_there);
  const bool piped = arguments.data == "-";
  return NamedRows{
      piped ? "standard input" : std::filesystem::path(arguments.data).filename().string(),
      read_csv(arguments.data, csv)};
}

void run(const Arguments& arguments) {
  std::optional<Working> working("predicting and drawing");
  const Regressor model = Regressor::load(arguments.model);
  const auto rows = rows_of(arguments, model.encoder());
  const nlohmann::json page =
      fit_page(model, arguments.model.filename().string(), rows ? &*rows : nullptr);
  if (arguments.json) {
    working.reset();
    fmt::print("{}\n", page.dump());
    return;
  }
  const std::string text = page_with(page);
  AtomicFile file(arguments.output);
  file.write(text);
  file.commit();
  working.reset();
  fmt::print(stderr, "report: {}\n", arguments.output.string());
}

}  // namespace

void add_report(Command app) {
  auto arguments = std::make_shared<Arguments>();
  const Command command = app.command("report", "write an HTML page about a fit");
  command.option("model", arguments->model, "model file").required().text("MODEL");
  command
      .option("--data", arguments->data,
              "CSV file with targets, to compare predictions with; -: standard input")
      .text("FILE");
  command.option("-o,--output", arguments->output, "HTML file to write (default: report.html)")
      .text("FILE");
  add_csv_options(command, arguments->csv);
  command.flag("--json", arguments->json, "print the page's data as one JSON object instead");
  command.footer(
      "on the page: predicted against actual, which columns matter, responses to one column at a\n"
      "time, calibration, PIT, training curve, weights, certificate\n"
      "example:\n"
      "  dma report m.safetensors --data test.csv -o m.html\n");
  command.run([arguments] { run(*arguments); });
}

}  // namespace dma::cli
