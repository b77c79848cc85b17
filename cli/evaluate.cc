// dma evaluate MODEL DATA.csv: how good a model's predictions are.
#include <dma/regressor/regressor.h>
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "cli/bad_input.h"
#include "cli/bounds_argument.h"
#include "cli/commands.h"
#include "cli/csv_arguments.h"
#include "cli/intervals_argument.h"
#include "cli/progress.h"
#include "cli/reading_notes.h"
#include "cli/report.h"
#include "cli/unlike.h"

namespace dma::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_groups = 1000;

struct Arguments {
  std::filesystem::path model;
  std::string data;
  CsvArguments csv;
  std::string by;
  std::size_t threads = 0;
  std::optional<Bounds> bounds;
  Intervals intervals = Intervals::model;
  bool json = false;
};

Json all_targets_json(const std::vector<Metrics>& metrics, const Encoder& encoder) {
  Json json = metrics_json(metrics.front());
  json["rows"] = metrics.front().values;
  json["weight"] = count_json(metrics.front().weight);
  if (metrics.size() == 1) return json;
  json = {{"rows", metrics.front().values}, {"weight", count_json(metrics.front().weight)}};
  for (std::size_t k = 0; k < metrics.size(); ++k) {
    json["targets"][encoder.targets[k].name] = metrics_json(metrics[k]);
  }
  return json;
}

void print_class_header(std::string_view first) {
  fmt::print("{:<20} {:>8} {:>9} {:>8} {:>9} {:>9} {:>7} {:>7}\n", first, "rows", "log loss",
             "Brier", "right %", "balanced", "AUC", "error");
}

void print_class_line(const std::string& name, const ClassMetrics& metrics) {
  fmt::print("{:<20} {:>8} {:>9.4f} {:>8.4f} {:>9.1f} {:>9.1f} {:>7} {:>7.3f}\n", name,
             metrics.rows, metrics.log_loss, metrics.brier, 100 * metrics.accuracy,
             100 * metrics.balanced_accuracy,
             metrics.auc ? fmt::format("{:.3f}", *metrics.auc) : "-", metrics.calibration_error);
}

void print_header(std::string_view first, const Encoder& encoder) {
  if (encoder.has_classes()) return print_class_header(first);
  fmt::print("{:<20} {:>8} {:>11} {:>11} {:>9} {:>11}", first, "rows", "RMSE", "MAE", "NLL",
             "CRPS");
  for (const double level : Metrics::levels)
    fmt::print(" {:>7}", fmt::format("{:g} %", 100 * level));
  fmt::print(" {:>7}\n", "error");
}

void print_line(const std::string& name, const Metrics& metrics) {
  if (metrics.classes) return print_class_line(name, *metrics.classes);
  fmt::print("{:<20} {:>8} {:>11.5g} {:>11.5g} {:>9.4f} {:>11.5g}", name, metrics.values,
             metrics.rmse, metrics.mae, metrics.nll, metrics.crps);
  for (const double share : metrics.coverage) fmt::print(" {:>7.1f}", 100 * share);
  fmt::print(" {:>7.3f}\n", metrics.calibration_error);
}

// How often rows were right, by how probable their class was said to be.
void print_reliability(const ClassMetrics& metrics) {
  fmt::print("\n{:>12} {:>8} {:>8} {:>8}\n", "probability", "rows", "said %", "right %");
  for (std::size_t k = 0; k < ClassMetrics::bins; ++k) {
    const ReliabilityBin& bin = metrics.reliability[k];
    if (bin.rows == 0) continue;
    const double width = 1.0 / ClassMetrics::bins;
    fmt::print("{:>12} {:>8} {:>8.1f} {:>8.1f}\n",
               fmt::format("{:.2f}-{:.2f}", static_cast<double>(k) * width,
                           static_cast<double>(k + 1) * width),
               count_text(bin.rows), 100 * bin.confidence, 100 * bin.accuracy);
  }
}

void print_all(const std::string& name, const std::vector<Metrics>& metrics,
               const Encoder& encoder) {
  for (std::size_t k = 0; k < metrics.size(); ++k) {
    print_line(metrics.size() == 1 ? name : name + " " + encoder.targets[k].name, metrics[k]);
  }
}

// The rows of each value of the column, in the order of values: numbers by size, text by first appearance.
std::vector<std::pair<std::string, std::vector<std::size_t>>> groups_of(const Table& table,
                                                                        const std::string& by) {
  const Column& column = *table.find(by);
  std::map<double, std::vector<std::size_t>> rows;  // key: the number, or the text's place
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (column.empty(row)) continue;
    rows[column.is_text ? column.codes[row] : column.numbers[row]].push_back(row);
    if (rows.size() > most_groups) {
      throw BadInput(table.source + ", column '" + by + "': more than " +
                     std::to_string(most_groups) +
                     " different values; --by needs a column of groups");
    }
  }
  std::vector<std::pair<std::string, std::vector<std::size_t>>> groups;
  for (auto& [key, list] : rows) {
    groups.emplace_back(
        column.is_text ? column.values[static_cast<std::size_t>(key)] : fmt::format("{:g}", key),
        std::move(list));
  }
  return groups;
}

void run(const Arguments& arguments) {
  Regressor model = Regressor::load(arguments.model);
  if (arguments.bounds) model.set_bounds(*arguments.bounds);
  const Encoder& encoder = model.encoder();
  CsvOptions csv = arguments.csv.options();
  csv.columns = encoder.wanted(true, UseWeights::if_there);
  const auto is_by = [&](const WantedColumn& column) { return column.name == arguments.by; };
  if (!arguments.by.empty() && std::none_of(csv.columns.begin(), csv.columns.end(), is_by)) {
    csv.columns.push_back({arguments.by, CellType::detect});
  }
  std::optional<Working> working("scoring");
  const Table table = read_csv(arguments.data, csv);
  ReadingNotes notes;
  notes.add(table);
  if (!arguments.json) print_reading(notes, table.source);
  const auto metrics = model.evaluate(table, arguments.threads, arguments.intervals);
  working.reset();
  Json json = all_targets_json(metrics, encoder);
  const bool weighted = table.find(encoder.weight) != nullptr;
  json["stray_cells"] = notes.stray_cells();
  json["weighted_by"] = weighted ? Json(encoder.weight) : Json();
  const auto unlike = encoder.encode(table, UseWeights::if_there).unlike;
  json["unlike"] = unlike_json(unlike);
  const bool calibrated = arguments.intervals == Intervals::calibrated;
  json["intervals"] = calibrated ? "calibrated" : "model";
  if (!arguments.json) {
    say_unlike(unlike, table.source, predicted_as_any);
    if (calibrated) fmt::print(stderr, "{}\n", calibrated_text(model.model()));
    print_header(arguments.by, encoder);
    print_all("all", metrics, encoder);
  }
  if (!arguments.by.empty()) {
    for (const auto& [name, rows] : groups_of(table, arguments.by)) {
      const Table group = select_rows(table, rows);
      const auto scores = model.evaluate(group, arguments.threads, arguments.intervals);
      json["by"][name] = all_targets_json(scores, encoder);
      if (!arguments.json) print_all(name, scores, encoder);
    }
  }
  if (weighted && !arguments.json) {
    fmt::print("\nMeans and shares are weighted by {}.\n", encoder.weight);
  }
  if (arguments.json) {
    fmt::print("{}\n", json.dump());
  } else if (encoder.has_classes()) {
    fmt::print(
        "\nLog loss and Brier: smaller is better. balanced: the mean over the classes of the share "
        "of their rows\nthat are right, in %. error: by how much the probability of the class that "
        "was predicted differs from\nhow often it was right.\n");
    print_reliability(*metrics.front().classes);
  } else if (encoder.has_counts()) {
    fmt::print(
        "\nNLL: of the probability of each count. CRPS: the ranked probability score. Smaller is "
        "better.\nUnder each level: the share of targets inside that interval, in %; its ends are "
        "whole numbers, so that\nit may contain more. error: mean difference between share and "
        "level over 19 levels, allowing for that.\n");
  } else {
    fmt::print(
        "\nNLL and CRPS: smaller is better. Under each level: the share of targets inside that "
        "interval, in %.\nerror: mean difference between share and level over 19 levels.\n");
  }
}

}  // namespace

void add_evaluate(Command app) {
  auto arguments = std::make_shared<Arguments>();
  const Command command = app.command("evaluate", "score predictions and their intervals");
  command.option("model", arguments->model, "model file").required().text("MODEL");
  command.option("data", arguments->data, "CSV file with the targets").required().text("DATA.csv");
  command.option("--by", arguments->by, "also score each value of this column").text("COLUMN");
  command.option("--threads", arguments->threads, "number of threads; 0: all cores (default)")
      .whole(0, most_threads)
      .text("N");
  add_bounds_option(
      command, arguments->bounds,
      "where the predicted numbers lie, such as 0,100 or 0, (default: as in the fit)");
  add_intervals_option(command, arguments->intervals);
  add_csv_options(command, arguments->csv);
  command.flag("--json", arguments->json, "print one JSON object");
  command.footer(
      "If the model was fitted with --weight and the file has that column, scores are weighted by "
      "it.\nexample:\n  dma evaluate m.safetensors test.csv --by region\n");
  command.run([arguments] { run(*arguments); });
}

}  // namespace dma::cli
