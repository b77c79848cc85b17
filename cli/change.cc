// dma update and dma forget: add and remove rows without fitting again.
#include <dma/regressor/regressor.h>
#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/csv_arguments.h"
#include "cli/progress.h"
#include "cli/reading_notes.h"
#include "cli/report.h"
#include "cli/unlike.h"

namespace dma::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::filesystem::path model, output;
  std::string rows;
  std::vector<std::string> data;
  std::optional<std::size_t> batch;
  CsvArguments csv;
  bool compare = false;
  SaveOptions save;
  bool json = false;
};

std::string distance_text(const Distance& distance, bool has_classes) {
  if (has_classes) {
    return fmt::format("{:.3g} of the probability on average, {:.3g} at most", distance.mean_shift,
                       distance.largest_shift);
  }
  return fmt::format(
      "{:.3g} standard deviations on average, {:.3g} at most; intervals {:.3g} times as wide",
      distance.mean_shift, distance.largest_shift, distance.mean_std_ratio);
}

void print_report(const ChangeReport& report, const Model& model,
                  const std::filesystem::path& path) {
  const bool has_classes = model.encoder.has_classes();
  if (report.rows_added > 0) {
    print_entry("rows added",
                std::to_string(report.rows_added) +
                    (model.start ? "" : fmt::format(" in {} batches", report.batches_added)));
    print_entry("", fmt::format("{} {:.4f} before they were learnt",
                                has_classes ? "log loss" : "NLL", report.new_rows_nll));
  }
  if (report.rows_known > 0) {
    print_entry("rows known", fmt::format("{} of them were learnt before, and now count again",
                                          report.rows_known));
  }
  for (const std::string& target : report.unbounded) {
    print_entry("bounds",
                "a new row lies beyond those assumed for " + target + ": it has none now");
  }
  if (report.rows_without_target > 0) {
    print_entry("rows left out",
                fmt::format("{}: the target is empty", report.rows_without_target));
  }
  if (report.rows_without_weight > 0) {
    print_entry("rows left out", fmt::format("{}: the weight is 0", report.rows_without_weight));
  }
  if (report.rows_removed > 0) {
    print_entry("rows forgotten",
                std::to_string(report.rows_removed) +
                    (model.start ? ""
                                 : fmt::format(", in {} batches", report.batches_removed.size() +
                                                                      report.batches_reduced)));
    if (!model.start && report.batches_removed.size() <= 20) {
      print_entry("batches", list_text(report.batches_removed, ", "));
    }
  }
  if (report.copies_left > 0) {
    print_entry("copies that stay",
                fmt::format("{} rows like these are still learnt", report.copies_left));
  }
  if (report.rows_lost > 0) {
    print_entry(
        "rows lost",
        fmt::format("{} others in the same batches; --data would put them back", report.rows_lost));
  }
  if (report.rows_put_back > 0) {
    print_entry("rows put back",
                fmt::format("{} others in the same batches", report.rows_put_back));
  }
  if (report.batches_swept > 0) {
    print_entry("batches swept", std::to_string(report.batches_swept));
    print_entry("epochs", epochs_text(report.epochs, report.stopped, model));
  }
  print_entry("moved", fmt::format("predictions for {} ({}): {}", report.moved_on,
                                   report.moved.rows, distance_text(report.moved, has_classes)));
  if (report.compared) {
    print_entry("against a refit", fmt::format("predictions for {}: {}", report.moved_on,
                                               distance_text(*report.compared, has_classes)));
  }
  print_entry("time", fmt::format("{:.2f} s", report.seconds));
  print_entry("model",
              fmt::format("{}, {}", path.string(), bytes_text(std::filesystem::file_size(path))));
}

Json report_json(const ChangeReport& report, const std::filesystem::path& path) {
  Json json{{"rows_added", report.rows_added},
            {"rows_without_target", report.rows_without_target},
            {"rows_without_weight", report.rows_without_weight},
            {"rows_known", report.rows_known},
            {"rows_removed", report.rows_removed},
            {"copies_left", report.copies_left},
            {"rows_lost", report.rows_lost},
            {"rows_put_back", report.rows_put_back},
            {"batches_removed", report.batches_removed},
            {"batches_reduced", report.batches_reduced},
            {"batches_added", report.batches_added},
            {"batches_swept", report.batches_swept},
            {"epochs", report.epochs},
            {"stopped", name_of(report.stopped)},
            {"moved_on", report.moved_on},
            {"moved", distance_json(report.moved)},
            {"seconds", report.seconds},
            {"model", path.string()}};
  if (report.rows_added > 0) {
    json["new_rows_nll"] = report.new_rows_nll;
    json["unlike"] = unlike_json(report.unlike);
    json["unbounded"] = report.unbounded;
  }
  if (report.compared) json["compared"] = distance_json(*report.compared);
  return json;
}

Table read_for(const Regressor& model, const std::string& path, const CsvArguments& csv,
               UseWeights use) {
  CsvOptions options = csv.options();
  options.columns = model.encoder().wanted(true, use);
  Table table = read_csv(path, options);
  ReadingNotes notes;
  notes.add(table);
  print_reading(notes, table.source);
  return table;
}

// Joins several files into one table. Their columns agree, because the model names them.
Table read_all(const Regressor& model, const std::vector<std::string>& paths,
               const CsvArguments& csv) {
  // What the rows count, the model knows.
  Table all = read_for(model, paths.front(), csv, UseWeights::ignored);
  for (std::size_t k = 1; k < paths.size(); ++k) {
    append_rows(all, read_for(model, paths[k], csv, UseWeights::ignored));
  }
  return all;
}

void run(const Arguments& arguments, bool forget) {
  if (arguments.compare && arguments.data.empty()) {
    throw UsageError("--compare fits again, so it needs the training rows: --data");
  }
  std::optional<Working> working("reading");
  Regressor model = Regressor::load(arguments.model);
  const auto path = arguments.output.empty() ? arguments.model : arguments.output;
  std::optional<Table> data;
  if (!arguments.data.empty()) data = read_all(model, arguments.data, arguments.csv);
  working.reset();
  const Interruption interruption;
  ChangeReport report;
  {
    ProgressBar bar;
    const ChangeOptions options{data ? &*data : nullptr, arguments.compare, bar.callback()};
    if (arguments.batch) {
      report = model.forget_batch(*arguments.batch, options);
    } else {
      const Table rows = read_for(model, arguments.rows, arguments.csv,
                                  forget ? UseWeights::ignored : UseWeights::needed);
      report = forget ? model.forget_rows(rows, options) : model.update(rows, options);
    }
  }
  working.emplace("writing " + path.string());
  model.save(path, arguments.save);
  working.reset();
  if (Interruption::asked()) {
    fmt::print(stderr, "Interrupted: {} holds what was learnt so far.\n", path.string());
  }
  if (arguments.json) {
    fmt::print("{}\n", report_json(report, path).dump());
  } else {
    say_unlike(report.unlike, arguments.rows, learnt_as_other);
    print_report(report, model.model(), path);
  }
}

void add_common(Command command, Arguments& arguments) {
  command
      .option("--data", arguments.data,
              "the training rows; with them everything is learnt again, the noise too")
      .text("FILE...");
  command.flag("--compare", arguments.compare,
               "also fit again, and report the distance to that fit (needs --data)");
  command
      .option("-o,--output", arguments.output,
              "file to write the new model to (default: replace the old one)")
      .text("FILE");
  command.flag("--slim", arguments.save.slim, "leave the ledger out of the new model");
  command.flag("--fast-load", arguments.save.fast_load,
               "keep everything in the new model, however large, so that it is read at once");
  add_csv_options(command, arguments.csv);
  command.flag("--json", arguments.json, "print one JSON object");
}

}  // namespace

void add_update(Command app) {
  auto arguments = std::make_shared<Arguments>();
  const Command command = app.command("update", "add new rows without relearning the old ones");
  command.option("model", arguments->model, "model file").required().text("MODEL");
  command.option("rows", arguments->rows, "CSV file with the new rows").required().text("NEW.csv");
  add_common(command, *arguments);
  command.footer(
      "If the model was fitted with --weight, the new rows need that column too.\n"
      "examples:\n"
      "  dma update m.safetensors monday.csv\n"
      "  dma update m.safetensors monday.csv --data train.csv --compare\n");
  command.run([arguments] { run(*arguments, false); });
}

void add_forget(Command app) {
  auto arguments = std::make_shared<Arguments>();
  const Command command = app.command("forget", "remove rows from what was learnt");
  command.option("model", arguments->model, "model file").required().text("MODEL");
  const Option rows = command
                          .option("--rows", arguments->rows,
                                  "CSV file with the rows to forget, features and target")
                          .text("FILE");
  const Option batch = command
                           .option("--batch", arguments->batch,
                                   "number of the batch to forget, from 0 (see dma inspect)")
                           .whole(0, any_count)
                           .text("K");
  rows.excludes(batch);
  add_common(command, *arguments);
  command.footer(
      "A model that was fitted from a start needs no --data: the rows to forget are enough. Of "
      "others:\n"
      "Without --data, whole batches are forgotten, including other rows in them. With --data, the "
      "other rows are put back. Of a row that was learnt several times, as many go as the file "
      "has; "
      "weights are ignored.\n"
      "examples:\n"
      "  dma forget m.safetensors --rows withdrawn.csv --data train.csv\n"
      "  dma forget m.safetensors --batch 3 -o without3.safetensors\n");
  command.run([arguments] {
    if (arguments->rows.empty() && !arguments->batch) {
      throw UsageError("one of --rows and --batch is required");
    }
    run(*arguments, true);
  });
}

}  // namespace dma::cli
