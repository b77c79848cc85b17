// dma fit DATA.csv --target NAME: fits a model to a table. dma prepare: makes a start of such a model.
#include <dma/regressor/merging.h>
#include <dma/regressor/regressor.h>
#include <dma/regressor/stream.h>
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <numeric>
#include <sstream>

#include "cli/bad_input.h"
#include "cli/bounds_argument.h"
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
  std::string data;
  CsvArguments csv;
  std::filesystem::path model;
  RegressorOptions options;
  std::string noise = "auto";
  double slope = -1;  // not given
  double holdout = 0;
  std::string test;
  Checkpoint checkpoint;
  SaveOptions save;
  bool calibrated = false;
  bool json = false;
  std::filesystem::path start = {};  // to fit from
  bool prepare = false;              // make a start of the model
  std::filesystem::path from = {};   // of a model that is there
};

std::vector<std::size_t> parse_hidden(const std::string& text) {
  if (text == "auto") return {};
  std::vector<std::size_t> units;
  std::istringstream parts(text + ",");  // an empty last part too
  for (std::string part; std::getline(parts, part, ',');) {
    std::uint64_t number = 0;
    if (!read_whole(part, 1, most_units, number)) {
      throw UsageError(
          fmt::format("--hidden: '{}' is not auto or a list such as 50,50 of numbers from 1 to {}",
                      text, most_units));
    }
    units.push_back(number);
  }
  return units;
}

std::optional<double> parse_noise(const std::string& text) {
  if (text == "auto" || text == "input" || text == "constant") return std::nullopt;
  double number = 0;
  constexpr double most = std::numeric_limits<double>::max();
  if (!read_real(text, 0, most, number) || number == 0) {
    throw UsageError("--noise: '" + text + "' is not auto, input, constant, or a positive number");
  }
  return number;
}

// What was read.
struct Facts {
  std::string source;
  std::size_t rows, columns, held_out, without_target, without_weight;
  ReadingNotes notes;
};

// Rows by whether they have every target and a weight.
struct RowsWith {
  std::size_t all_there = 0, no_target = 0, no_weight = 0;
};

RowsWith rows_with(const Table& table, const std::vector<std::string>& targets,
                   const std::string& weight) {
  RowsWith rows;
  const Column* weights = table.find(weight);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const bool no_target = std::any_of(targets.begin(), targets.end(), [&](const auto& target) {
      const Column* column = table.find(target);
      return column != nullptr && column->empty(row);
    });
    const bool no_weight = weights != nullptr && !weights->is_text && weights->numbers[row] == 0;
    ++(no_target ? rows.no_target : no_weight ? rows.no_weight : rows.all_there);
  }
  return rows;
}

Facts facts_of(const Table& table, const RegressorOptions& options, std::size_t held_out,
               ReadingNotes notes) {
  const RowsWith rows = rows_with(table, options.target, options.weight);
  return {table.source,   table.rows() + held_out, table.columns.size(), held_out,
          rows.no_target, rows.no_weight,          std::move(notes)};
}

// What the target was taken for, and how to say otherwise.
void print_target(const TargetColumn& target) {
  fmt::print(stderr, "  {:<26} {}\n", "target", target_text(target));
  if (target.bounds.any() && target.bounds.assumed) {
    fmt::print(stderr, "  {:<26} assumed to be {}, as in all rows; if not, use --bounds none\n", "",
               bounds_text(target.bounds));
  }
  if (!target.reason.empty() && !target.text) {
    fmt::print(stderr, "  {:<26} {}; if it is {}a number after all, use --kind {}number\n", "",
               target.reason, target.kind == TargetKind::count ? "a class or " : "",
               target.kind == TargetKind::count ? "class or " : "");
  }
  const auto single = std::count(target.class_rows.begin(), target.class_rows.end(), 1U);
  if (single > 0) {
    fmt::print(stderr, "  {:<26} {} in one row only: little can be learnt of {}\n", "",
               single == 1 ? "one class is" : fmt::format("{} classes are", single),
               single == 1 ? "it" : "them");
  }
}

void print_understood(const Facts& facts, const Encoder& encoder) {
  fmt::print(stderr, "{}: {} rows, {} columns\n", facts.source, facts.rows, facts.columns);
  for (const ReadingNote& note : reading_notes(facts.notes, encoder)) {
    fmt::print(stderr, "  {:<26} {}\n", note.about, note.text);
  }
  for (const TargetColumn& target : encoder.targets) {
    print_target(target);
  }
  for (const auto& [kind, names] : feature_groups(encoder)) {
    fmt::print(stderr, "  {:<26} {}\n", kind, names);
  }
  for (const std::string& text : date_part_texts(encoder)) {
    fmt::print(stderr, "  {:<26} {}\n", "", text);
  }
  if (!encoder.weight.empty()) fmt::print(stderr, "  {:<26} {}\n", "weight", encoder.weight);
  for (const std::string& text : left_out_texts(encoder)) {
    fmt::print(stderr, "  {:<26} {}\n", "left out", text);
  }
  fmt::print(stderr, "  {:<26} {} for training", "rows",
             facts.rows - facts.held_out - facts.without_target - facts.without_weight);
  if (facts.held_out > 0) fmt::print(stderr, ", {} held out", facts.held_out);
  if (facts.without_target > 0) {
    fmt::print(stderr, ", {} left out because the target is empty", facts.without_target);
  }
  if (facts.without_weight > 0) {
    fmt::print(stderr, ", {} left out because the weight is 0", facts.without_weight);
  }
  fmt::print(stderr, "\n");
}

// The rows to learn from, and those to hold out.
std::pair<Table, Table> split(const Table& table, double share, const RegressorOptions& options) {
  const auto rows = [&](bool held_out) {
    return HeldOutRows(share, options.seed, options.target, options.weight).choose(table, held_out);
  };
  return {rows(false), rows(true)};
}

struct Scored {
  std::string name;
  std::vector<Metrics> targets;
};

void print_result(const Model& model, const std::vector<Scored>& tests,
                  const std::filesystem::path& path) {
  print_fit(model);
  for (const Scored& test : tests) {
    for (const Metrics& metrics : test.targets) {
      print_entry(test.name, fmt::format("{} rows: {}", metrics.values, scores_text(metrics)));
    }
  }
  print_entry("model",
              fmt::format("{}, {}", path.string(), bytes_text(std::filesystem::file_size(path))));
}

std::filesystem::path default_model(const std::string& data) {
  std::filesystem::path name = std::filesystem::path(data).filename();
  if (name.extension() == ".gz") name.replace_extension();
  return name.replace_extension(".safetensors");
}

// Once the model is saved the checkpoint is useless, unless an interrupted fit may be resumed.
void save(const Regressor& model, const Arguments& arguments) {
  {
    const Working working("writing " + arguments.model.string());
    if (arguments.prepare) {
      Start::from(model).save(arguments.model);
    } else {
      model.save(arguments.model, arguments.save);
    }
  }
  const std::filesystem::path& checkpoint = arguments.checkpoint.path;
  if (model.report().stopped != Stopped::interrupted) {
    if (!checkpoint.empty()) std::filesystem::remove(checkpoint);
    return;
  }
  fmt::print(stderr, "Interrupted: {} holds what was learnt so far.\n", arguments.model.string());
  if (!checkpoint.empty()) {
    fmt::print(stderr, "Run the same command again to resume from {}.\n", checkpoint.string());
  }
}

void check_checkpoint(const Arguments& arguments) {
  const std::filesystem::path& path = arguments.checkpoint.path;
  if (path.empty()) return;
  if (std::filesystem::weakly_canonical(path) ==
      std::filesystem::weakly_canonical(arguments.model)) {
    throw UsageError("--checkpoint: this is the model's file; choose another");
  }
  if (is_one_pass(arguments.options)) {
    throw UsageError("--checkpoint: a single pass without a ledger cannot be resumed");
  }
}

// Of a model that is fitted from a start, whatever its rows: a triangle and two vectors for each network.
std::size_t part_bytes(const Model& start) {
  std::size_t numbers = 0;
  for (const Member& member : start.members) {
    const std::size_t weights = member.belief->architecture().weight_count();
    numbers += weights * (weights + 1) / 2 + 3 * weights;
  }
  return numbers * sizeof(double);
}

std::string part_text(const Model& start) {
  return bytes_text(part_bytes(start)) + " or more, whatever its rows";
}

void print_outcome(const Regressor& model, const std::vector<Scored>& tests,
                   const Arguments& arguments, const ReadingNotes& notes) {
  if (!arguments.json) {
    print_result(model.model(), tests, arguments.model);
    if (arguments.prepare) print_entry("a part", part_text(model.model()));
    return;
  }
  Json json = fit_json(model.model());
  if (arguments.prepare) {
    json["start"] = start_json(Start::load(arguments.model).model());
    json["part_bytes"] = part_bytes(model.model());
  }
  json["model"] = arguments.model.string();
  json["peak_bytes"] = peak_bytes();
  json["stray_cells"] = notes.stray_cells();
  for (const Scored& scored : tests) {
    Json& entry = json[scored.name == "held out" ? "holdout" : "test"];
    entry = metrics_json(scored.targets.front());
    entry["rows"] = scored.targets.front().values;
  }
  fmt::print("{}\n", json.dump());
}

// Reads the whole file, so that a mistake in it shows at once.
void look_at(const StreamedFile& file, const Encoder& encoder) {
  CsvOptions options = file.csv;
  options.columns = encoder.wanted(true, UseWeights::if_there);
  CsvReader reader(file.path, options);
  Table piece;
  while (reader.read(piece, file.piece_rows)) encoder.encode(piece, UseWeights::if_there);
}

CsvOptions csv_options(const Arguments& arguments) {
  CsvOptions options = arguments.csv.options();
  for (const auto* names : {&arguments.options.categorical, &arguments.options.drop}) {
    options.plain.insert(options.plain.end(), names->begin(), names->end());
  }
  return options;
}

// Streams a file of any size; for a single pass that keeps nothing about the rows.
void run_stream(const Arguments& arguments) {
  const RegressorOptions& options = arguments.options;
  const StreamedFile file{arguments.data, csv_options(arguments), arguments.holdout};
  StreamedTable found = [&] {
    const Working working("reading " + arguments.data);
    return look_through(file, options);
  }();
  print_understood({found.source, found.rows, found.columns, found.held_out, found.without_target,
                    found.without_weight, found.notes},
                   found.encoder);
  const StreamedFile test_file{arguments.test, arguments.csv.options()};
  if (!arguments.test.empty()) look_at(test_file, found.encoder);
  const Interruption interruption;
  const Regressor model = [&] {
    StreamBar bar;
    return fit_stream(file, std::move(found.encoder), options, bar.callback());
  }();
  save(model, arguments);
  std::vector<Scored> tests;
  {
    const Working working("testing");
    if (found.held_out > 0) {
      tests.push_back({"held out", evaluate_stream(model, file, options.threads)});
    }
    if (!arguments.test.empty()) {
      tests.push_back({"test file", evaluate_stream(model, test_file, options.threads)});
    }
  }
  print_outcome(model, tests, arguments, found.notes);
}

// Learns the rows at the centre of a start.
void run_part(Arguments& arguments) {
  const std::size_t threads = arguments.options.threads;
  if (arguments.model.empty()) arguments.model = default_model(arguments.data);
  const Start start = Start::load(arguments.start);
  const auto read = [&](const std::string& path, UseWeights use) {
    CsvOptions csv = arguments.csv.options();
    csv.columns = start.encoder().wanted(true, use);
    return read_csv(path, csv);
  };
  Table table = read(arguments.data, UseWeights::needed);
  ReadingNotes notes;
  notes.add(table);
  print_reading(notes, table.source);
  std::optional<Table> held_out, test;
  if (arguments.holdout > 0) {
    auto [kept, rest] = split(table, arguments.holdout, start.model().options);
    table = std::move(kept);
    held_out = std::move(rest);
  }
  if (!arguments.test.empty()) test = read(arguments.test, UseWeights::if_there);
  say_unlike(start.encoder().encode(table).unlike, table.source, learnt_as_other);
  const Regressor model = [&] {
    const Working working("learning");
    return start.fit(table, threads);
  }();
  save(model, arguments);
  std::vector<Scored> tests;
  if (held_out) tests.push_back({"held out", model.evaluate(*held_out, threads)});
  if (test) tests.push_back({"test file", model.evaluate(*test, threads)});
  print_outcome(model, tests, arguments, notes);
}

// Makes a start of a model that is there.
void run_prepare_from(const Arguments& arguments) {
  const Start start = Start::from(Regressor::load(arguments.from));
  start.save(arguments.model);
  const Model& model = start.model();
  if (arguments.json) {
    Json json = fit_json(model);
    json["model"] = arguments.model.string();
    json["part_bytes"] = part_bytes(model);
    return fmt::print("{}\n", json.dump());
  }
  print_entry("start", start_text(start.shared()));
  print_entry("made of", fmt::format("{}, a model of {} rows, which it has not learnt",
                                     arguments.from.string(), model.report.rows));
  print_entry("network", network_text(model));
  print_entry("a part", part_text(model));
  print_entry("file", fmt::format("{}, {}", arguments.model.string(),
                                  bytes_text(std::filesystem::file_size(arguments.model))));
}

void run(Arguments& arguments) {
  RegressorOptions& options = arguments.options;
  options.constant_noise = arguments.noise == "constant";
  if (!options.features.empty()) options.keep_ids = true;  // they are named
  if (arguments.slope >= 0) options.slope = arguments.slope;
  if (arguments.noise == "input") {
    if (options.belief == BeliefKind::independent) {
      throw UsageError("--noise: input needs --belief joint");
    }
    options.belief = BeliefKind::joint;
  }
  if (arguments.model.empty()) arguments.model = default_model(arguments.data);
  check_checkpoint(arguments);
  const CsvOptions csv = csv_options(arguments);
  if (options.target.empty()) {
    std::string names;
    for (const std::string& name : csv_columns(arguments.data, csv)) {
      names += (names.empty() ? "" : ", ") + name;
    }
    throw UsageError("--target is required: which column should be predicted? " + arguments.data +
                     " has " + names);
  }
  if (arguments.calibrated && arguments.holdout == 0) {
    throw UsageError("--intervals calibrated needs rows that are not learnt: --holdout 0.2");
  }
  if (is_one_pass(options) && can_stream(arguments.data)) {
    if (arguments.calibrated) {
      throw UsageError("--intervals calibrated: not if the file is learnt in one pass");
    }
    return run_stream(arguments);
  }
  Table table = [&] {
    const Working working("reading " + arguments.data);
    return read_csv(arguments.data, csv);
  }();
  ReadingNotes notes;
  notes.add(table);
  std::optional<Table> held_out;
  if (arguments.holdout > 0) {
    auto [kept, rest] = split(table, arguments.holdout, options);
    require_split(arguments.holdout, rows_with(kept, options.target, options.weight).all_there,
                  rest.rows(), table.source);
    table = std::move(kept);
    held_out = std::move(rest);
  }
  Encoder encoder = [&] {
    const Working working("looking at the columns");
    return Regressor::encoder_for(table, options);
  }();
  print_understood(facts_of(table, options, held_out ? held_out->rows() : 0, notes), encoder);
  CsvOptions test_csv = arguments.csv.options();
  test_csv.columns = encoder.wanted(true, UseWeights::if_there);
  std::optional<Table> test;  // read before the fit, so that a mistake in it shows at once
  if (!arguments.test.empty()) test = read_csv(arguments.test, test_csv);
  for (const auto* rows : {&held_out, &test}) {
    if (!*rows) continue;
    say_unlike(encoder.encode(**rows, UseWeights::if_there).unlike, (*rows)->source,
               predicted_as_any);
  }

  const Interruption interruption;
  Regressor model = [&] {
    ProgressBar bar;
    return Regressor::fit(std::move(table), std::move(encoder), options, bar.callback(),
                          arguments.checkpoint);
  }();
  if (arguments.calibrated) model.calibrate_intervals(*held_out);
  save(model, arguments);
  std::vector<Scored> tests;
  {
    const Working working("testing");
    if (held_out) tests.push_back({"held out", model.evaluate(*held_out, options.threads)});
    if (test) tests.push_back({"test file", model.evaluate(*test, options.threads)});
  }
  print_outcome(model, tests, arguments, notes);
}

}  // namespace

namespace {

// What the fit of a sample is told, too.
void add_fit_options(Command command, const std::shared_ptr<Arguments>& arguments) {
  RegressorOptions& options = arguments->options;
  command
      .option("--target", static_cast<std::vector<std::string>&>(options.target),
              "column to predict, or several: --target a b")
      .text("NAME...");
  command
      .choice<TargetKind>(
          "--kind", options.kind,
          {{"auto", TargetKind::automatic},
           {"number", TargetKind::number},
           {"class", TargetKind::classes},
           {"amount", TargetKind::amount},
           {"count", TargetKind::count}},
          "what the target is: a number; a class, one of up to 200; an amount, positive and "
          "skewed, such as a price; a count, a whole number from 0 on; auto (default): found out "
          "from the column, and said")
      .text("KIND");
  const auto names = [&](const char* option, Names& list, const char* help) {
    command.option(option, static_cast<std::vector<std::string>&>(list), help).text("NAME...");
  };
  command
      .option(
          "--weight", options.weight,
          "column that says how much each row counts: 2 is like two rows, 0 leaves the row out; "
          "it is not used to predict (default: every row counts once)")
      .text("NAME");
  add_bounds_option(command, options.bounds,
                    "where a number to predict lies, such as 0,100 or 0, (default: found out, and "
                    "said)");
  names("--features", options.features, "use only these columns (default: all others)");
  names("--drop", options.drop, "do not use these columns");
  names("--categorical", options.categorical,
        "treat these columns as categories, even if they hold numbers");
  command.flag("--keep-ids", options.keep_ids,
               "use columns that look like an id or a row number (default: leave them out)");
  add_csv_options(command, arguments->csv);

  command
      .parsed(
          "--hidden", [&options](const std::string& text) { options.hidden = parse_hidden(text); },
          "units per hidden layer, such as 50,50; or auto (default): several shapes, weighed by "
          "rows "
          "they have not learnt")
      .text("N,N,...")
      .group("Network");
  command
      .option("--slope", arguments->slope,
              "slope of the units below zero (default: 0 if the belief is joint, otherwise 0.1)")
      .real(0, 1)
      .text("X")
      .group("Network");
  command
      .choice<BeliefKind>(
          "--belief", options.belief,
          {{"auto", BeliefKind::automatic},
           {"joint", BeliefKind::joint},
           {"independent", BeliefKind::independent}},
          "joint: one Gaussian over all weights of a network; independent: one per weight; "
          "auto (default): joint unless it would take too long")
      .text("BELIEF")
      .group("Network");
  command
      .choice<Rule>("--rule", options.rule, {{"linear", Rule::linear}, {"direct", Rule::direct}},
                    "rule for backward messages: linear (default) or direct (the paper's)")
      .text("RULE")
      .group("Network");
  command
      .parsed(
          "--noise",
          [&noise = arguments->noise, &options](const std::string& text) {
            options.noise = parse_noise(text);
            noise = text;
          },
          "standard deviation of the noise, in the target's unit; or how to learn it: input "
          "(depends on the inputs), constant (one number), auto (default; input if the belief "
          "is joint)")
      .text("X")
      .group("Network");
  command
      .flag_off("--no-selection", options.selection,
                "learn no prior precision per input column, so that none is switched off")
      .group("Network");
  command
      .flag_off("--no-calibration", options.calibration,
                "do not fit the noise's level and tails to the held-out predictions")
      .group("Network");
  command
      .option(
          "--ensemble", options.ensemble,
          "number of networks of each shape to mix, each from another start (default: 4; if the "
          "belief is joint 6 to 3, fewer with more rows)")
      .whole(1, 1000)
      .text("M")
      .group("Network");

  command
      .option(
          "--epochs", options.epochs,
          "maximum passes over the rows (default: as many as it needs; at most 40 if the belief is "
          "independent)")
      .whole(1, most_epochs)
      .text("N")
      .group("Training");
  command
      .option("--time", options.seconds,
              "return the best found in about so many seconds (default: take as long as it needs)")
      .real(0, any_size)
      .text("SECONDS")
      .group("Training");
  command
      .option("--tolerance", options.tolerance,
              "a fit that gains less than this has settled, in nats per row; 0: none does "
              "(default: 0.0001)")
      .real(0, any_size)
      .text("X")
      .group("Training");
  command
      .option(
          "--patience", options.patience,
          "stop after so many settled epochs or looks in a row; 0: only --epochs stops (default: "
          "3)")
      .whole(0, most_epochs)
      .text("N")
      .group("Training");
  command
      .option("--batch-size", options.batch_size,
              "rows that share one message in the ledger (default: 1, or the fewest that fit into "
              "64 MB)")
      .whole(1, any_count)
      .text("N")
      .group("Training");
  command
      .choice<LedgerMode>(
          "--ledger", options.ledger,
          {{"full", LedgerMode::full},
           {"average", LedgerMode::average},
           {"none", LedgerMode::none}},
          "what to remember of each batch: full (default), average or none; with none and "
          "--epochs 1 the file is streamed, whatever its size")
      .text("MODE")
      .group("Training");
  command.option("--seed", options.seed, "random seed (default: 1)")
      .whole(0, any_count)
      .text("N")
      .group("Training");
  command
      .option("--threads", options.threads,
              "number of threads; 0: all cores (default); the result does not depend on it")
      .whole(0, most_threads)
      .text("N")
      .group("Training");
  command.flag("--float", options.single_precision, "compute in single precision")
      .group("Training");

  command
      .option("--holdout", arguments->holdout,
              "share of the rows with a target to hold out and test on, such as 0.1")
      .real(0, 0.9)
      .text("SHARE")
      .group("Output");
  command.option("--test", arguments->test, "CSV file to test on").text("FILE").group("Output");
  command
      .option("--checkpoint", arguments->checkpoint.path,
              "save progress to this file, and resume from it if it exists; deleted once the "
              "model is saved")
      .text("FILE")
      .group("Output");
  command
      .option("--checkpoint-every", arguments->checkpoint.seconds,
              "seconds between checkpoints; 0: after every epoch (default: 10)")
      .real(0, any_size)
      .text("SECONDS")
      .group("Output");
  arguments->checkpoint.say = [](const std::string& line) {
    fmt::print(stderr, "note: {}\n", line);
  };
  command.flag("--json", arguments->json, "print one JSON object").group("Output");
}

}  // namespace

void add_fit(Command app) {
  auto arguments = std::make_shared<Arguments>();
  const Command command = app.command("fit", "fit a model to a table");
  command.option("data", arguments->data, "CSV file, plain or gzipped").required().text("DATA.csv");
  command
      .option("-o,--model", arguments->model,
              "file to write the model to (default: DATA.safetensors in this folder)")
      .text("FILE");
  command
      .option("--start", arguments->start,
              "file of 'dma prepare': learn the rows so that the model can be merged with others "
              "that were fitted from it (docs/merging.md)")
      .text("START");
  add_fit_options(command, arguments);
  command
      .choice<bool>("--intervals", arguments->calibrated, {{"model", false}, {"calibrated", true}},
                    "calibrated: the rows held out say how wide 'predict --intervals calibrated' "
                    "makes the intervals, which then hold as often as they say (docs/tables.md)")
      .text("HOW")
      .group("Output");
  command
      .flag("--slim", arguments->save.slim,
            "leave the ledger out of the model file: smaller, but nothing can be forgotten")
      .group("Output");
  command
      .flag("--fast-load", arguments->save.fast_load,
            "keep everything in the model file, however large, so that it is read at once")
      .group("Output");
  command.footer(
      "examples:\n"
      "  dma fit houses.csv --target price\n"
      "  dma fit titanic.csv --target survived --kind class\n"
      "  dma fit survey.csv --target income --weight respondents\n"
      "  dma fit houses.csv.gz --target price --drop id --holdout 0.1 --model m.safetensors\n"
      "  dma fit weather.csv --target temperature rain --hidden 50,50 --json\n"
      "  dma fit larger_than_memory.csv --target y --ledger none --epochs 1\n"
      "  dma fit houses.csv --target price --hidden 200 --checkpoint houses.checkpoint\n"
      "  dma fit north.csv --start houses.start -o north.dma\n");
  command.run([arguments, command] {
    if (arguments->start.empty()) return run(*arguments);
    command.require_only(
        "this is decided by the start, so it does not go with --start",
        {"data", "--start", "--model", "--holdout", "--test", "--threads", "--slim", "--json",
         "--no-header", "--delimiter", "--decimal", "--strict"});
    run_part(*arguments);
  });
}

void add_prepare(Command app) {
  auto arguments = std::make_shared<Arguments>();
  arguments->prepare = true;
  const Command command = app.command(
      "prepare", "make a start, from which models are fitted in several places to be merged");
  command
      .option("sample", arguments->data,
              "CSV file with rows like those of all places; they are not learnt")
      .text("SAMPLE.csv");
  command
      .option("--from", arguments->from,
              "instead of a sample: a model that is there; of a merged one, for another round")
      .text("MODEL");
  command.option("-o,--output", arguments->model, "file to write the start to")
      .required()
      .text("START");
  add_fit_options(command, arguments);
  command.footer(
      "The places then run 'dma fit ROWS.csv --start START', and 'dma merge' puts their models "
      "together (docs/merging.md).\n"
      "examples:\n"
      "  dma prepare sample.csv --target price -o houses.start\n"
      "  dma prepare --from all.dma -o round2.start\n");
  command.run([arguments, command] {
    if (!arguments->from.empty()) {
      command.require_only("all comes from the model, so this does not go with --from",
                           {"--from", "--output", "--json"});
      return run_prepare_from(*arguments);
    }
    if (arguments->data.empty()) {
      throw UsageError("prepare needs a sample (SAMPLE.csv) or a model (--from MODEL)");
    }
    run(*arguments);
  });
}

}  // namespace dma::cli
