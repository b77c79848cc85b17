// dma predict MODEL [DATA.csv]: predictions with intervals, row by row.
#include <dma/data/atomic_file.h>
#include <dma/regressor/regressor.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/csv_arguments.h"
#include "cli/progress.h"
#include "cli/reading_notes.h"
#include "cli/report.h"

namespace dma::cli {
namespace {

constexpr std::size_t rows_at_once = 8192;

struct Arguments {
  std::filesystem::path model;
  std::string data = "-";
  CsvArguments csv;
  std::filesystem::path output;
  double level = 0.95;
  std::size_t threads = 0;
  bool json = false;
  std::optional<std::size_t> most_counted;
};

// A name may need quotes.
std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

// class,p_NAME,...,doubt
std::string class_header(const TargetColumn& target) {
  std::string line = "class";
  for (const std::string& name : target.classes) line += "," + cell("p_" + name);
  return line + ",doubt\n";
}

// mean,std,...; with several targets y.mean,y.std,...,z.mean,...
std::string header(const Encoder& encoder, std::optional<std::size_t> most_counted) {
  if (encoder.has_classes()) return class_header(encoder.targets.front());
  std::string line;
  for (const TargetColumn& target : encoder.targets) {
    const char* centre = target.kind == TargetKind::amount ? "median" : "mean";
    for (const char* what : {centre, "std", "epistemic_std", "noise_std", "lower", "upper"}) {
      line += line.empty() ? "" : ",";
      line += encoder.targets.size() == 1 ? what : cell(target.name + "." + what);
    }
  }
  if (most_counted) {
    for (std::size_t count = 0; count <= *most_counted; ++count) {
      line += fmt::format(",p_{}", count);
    }
    line += ",p_more";
  }
  return line + "\n";
}

// p_0,...,p_more
void write_probabilities(const Predicted& p, std::size_t most_counted, fmt::memory_buffer& text) {
  const auto out = std::back_inserter(text);
  for (std::size_t count = 0; count <= most_counted; ++count) {
    fmt::format_to(out, ",{}", std::exp(p.log_density(static_cast<double>(count))));
  }
  fmt::format_to(out, ",{}", 1 - p.cdf(static_cast<double>(most_counted)));
}

void write_rows(const std::vector<Predicted>& predicted, std::size_t targets,
                const CentralLevel& level, std::optional<std::size_t> most_counted,
                fmt::memory_buffer& text) {
  const auto out = std::back_inserter(text);
  for (std::size_t n = 0; n < predicted.size(); ++n) {
    const Predicted& p = predicted[n];
    const Interval interval = p.interval(level);
    fmt::format_to(out, "{},{},{},{},{},{}", p.mean, p.stddev(), p.epistemic_std, p.noise_std,
                   interval.lower, interval.upper);
    if (most_counted) write_probabilities(p, *most_counted, text);
    fmt::format_to(out, "{}", (n + 1) % targets == 0 ? "\n" : ",");
  }
}

void write_classes(const std::vector<Predicted>& predicted, const TargetColumn& target,
                   fmt::memory_buffer& text) {
  const auto out = std::back_inserter(text);
  for (const Predicted& p : predicted) {
    fmt::format_to(out, "{}", cell(target.classes[p.most_probable()]));
    for (const double probability : p.probabilities) fmt::format_to(out, ",{}", probability);
    fmt::format_to(out, ",{}\n", p.doubt());
  }
}

void run(const Arguments& arguments) {
  if (arguments.json && arguments.output.empty()) {
    throw UsageError("--json prints one JSON object, so the predictions need a file: -o");
  }
  const Regressor model = Regressor::load(arguments.model);
  if (arguments.most_counted && !model.encoder().has_counts()) {
    throw UsageError("--counts needs a model of a count; the target of this one is not");
  }
  CsvOptions csv = arguments.csv.options();
  csv.columns = model.encoder().wanted(false);
  csv.block = std::size_t{1} << 16U;  // not far ahead of the rows, so that share() is theirs
  CsvReader reader(arguments.data, csv);
  std::optional<AtomicFile> file;
  if (!arguments.output.empty()) file.emplace(arguments.output);
  const auto put = [&](std::string_view text) {
    if (file) return file->write(text);
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
      throw FileError("standard output: cannot be written");
    }
  };
  const std::size_t targets = model.encoder().targets.size();
  const CentralLevel level(arguments.level);
  std::size_t rows = 0;
  std::size_t pulled_in = 0;
  ReadingNotes notes;
  Table piece;
  fmt::memory_buffer text;
  // The header goes out with the first rows: if these cannot be read, nothing is written.
  text.append(header(model.encoder(), arguments.most_counted));
  // Where the rows themselves go to the terminal, they show that it goes on.
  std::optional<Working> working;
  if (file || ::isatty(STDOUT_FILENO) != 1) working.emplace("predicting");
  while (reader.read(piece, rows_at_once)) {
    const EncodedRows encoded = model.encoder().encode_inputs(piece);
    const auto predicted = model.predict_encoded(encoded.inputs, encoded.rows, arguments.threads);
    if (model.encoder().has_classes()) {
      write_classes(predicted, model.encoder().targets.front(), text);
    } else {
      write_rows(predicted, targets, level, arguments.most_counted, text);
    }
    put({text.data(), text.size()});
    text.clear();
    rows += piece.rows();
    notes.add(piece);
    pulled_in += encoded.pulled_in;
    if (working && reader.share() > 0) {
      working->tell(fmt::format("{} rows predicted", rows), reader.share());
    }
  }
  working.reset();
  put({text.data(), text.size()});
  if (file) file->commit();
  if (std::fflush(stdout) != 0) throw FileError("standard output: cannot be written");
  if (arguments.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"rows", rows},
                                              {"output", arguments.output.string()},
                                              {"pulled_in", pulled_in},
                                              {"stray_cells", notes.stray_cells()}}
                           .dump());
  } else if (file) {
    fmt::print(stderr, "{} rows predicted: {}\n", rows, arguments.output.string());
  }
  if (!arguments.json) print_reading(notes, piece.source);
  if (pulled_in > 0 && !arguments.json) {
    fmt::print(stderr,
               "{} more than twice as far out as any in training and counted as less far: "
               "do not trust these rows\n",
               pulled_in == 1 ? "1 value is" : fmt::format("{} values are", pulled_in));
  }
}

}  // namespace

void add_predict(Command app) {
  auto arguments = std::make_shared<Arguments>();
  const Command command = app.command("predict", "predict with intervals");
  command.option("model", arguments->model, "model file").required().text("MODEL");
  command.option("data", arguments->data, "CSV file; - or none: standard input").text("[DATA.csv]");
  command.option("-o,--output", arguments->output, "CSV file to write (default: standard output)")
      .text("FILE");
  command
      .option("--level", arguments->level,
              "probability that lower and upper enclose the value (default: 0.95)")
      .real(0.001, 0.999999)
      .text("P");
  command
      .option("--threads", arguments->threads,
              "number of threads; 0: all cores (default); the result does not depend on it")
      .whole(0, most_threads)
      .text("N");
  command
      .option("--counts", arguments->most_counted,
              "of a count: also write the probabilities of 0 to N, and of more")
      .whole(0, 10'000)
      .text("N");
  add_csv_options(command, arguments->csv);
  command.flag("--json", arguments->json, "print one JSON object (needs -o)");
  command.footer(
      "columns written: mean, std, epistemic_std (more data could remove it), noise_std, lower, "
      "upper\n"
      "of an amount: median instead of mean; of a count lower and upper are whole numbers that\n"
      "belong to the interval, and --counts adds p_0, p_1, ..., p_more\n"
      "of a class: class (the most probable), p_NAME for each class, doubt (what more rows could\n"
      "remove of the uncertainty, in nats)\n"
      "examples:\n"
      "  dma predict m.safetensors new.csv -o predictions.csv\n"
      "  zcat big.csv.gz | dma predict m.safetensors --level 0.9 > predictions.csv\n");
  command.run([arguments] { run(*arguments); });
}

}  // namespace dma::cli
