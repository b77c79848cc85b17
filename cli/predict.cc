// dma predict MODEL [DATA.csv]: predictions with intervals, row by row.
#include <dma/data/atomic_file.h>
#include <dma/regressor/regressor.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>

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
  std::string keep;
  std::size_t digits = 3;  // 0: all
  Intervals intervals = Intervals::model;
  std::optional<Bounds> bounds;
};

// What is written of each row.
struct Layout {
  const Encoder& encoder;
  std::vector<std::string> kept;  // columns of the input
  std::optional<std::size_t> most_counted;
  std::size_t digits;
  CentralLevel level;
  std::vector<Tails> tails;  // per target, if the intervals are calibrated
};

// A name may need quotes.
std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

// class,p_NAME,...,doubt
std::vector<std::string> class_names(const TargetColumn& target) {
  std::vector<std::string> names{"class"};
  for (const std::string& name : target.classes) names.push_back("p_" + name);
  names.emplace_back("doubt");
  return names;
}

// mean,std,...; with several targets y.mean,y.std,...,z.mean,...
std::vector<std::string> names_of_predictions(const Layout& layout) {
  const std::vector<TargetColumn>& targets = layout.encoder.targets;
  if (layout.encoder.has_classes()) return class_names(targets.front());
  std::vector<std::string> names;
  for (const TargetColumn& target : targets) {
    const char* centre = target.kind == TargetKind::amount ? "median" : "mean";
    for (const char* what : {centre, "std", "epistemic_std", "noise_std", "lower", "upper"}) {
      names.push_back(targets.size() == 1 ? what : target.name + "." + what);
    }
  }
  if (layout.most_counted) {
    for (std::size_t count = 0; count <= *layout.most_counted; ++count) {
      names.push_back("p_" + std::to_string(count));
    }
    names.emplace_back("p_more");
  }
  return names;
}

std::string header(const Layout& layout) {
  const std::vector<std::string> predicted = names_of_predictions(layout);
  std::string line;
  for (const std::string& name : layout.kept) {
    if (std::find(predicted.begin(), predicted.end(), name) != predicted.end()) {
      throw BadInput("--keep: the column '" + name +
                     "' would have the name of one that predict writes; rename it or leave it out");
    }
    line += cell(name) + ",";
  }
  for (const std::string& name : predicted) {
    line += cell(name) + (&name == &predicted.back() ? "\n" : ",");
  }
  return line;
}

// With so many digits of the deviation; those of the value that are smaller are unknown anyway. 0: all.
void write_number(double value, double deviation, std::size_t digits, fmt::memory_buffer& text) {
  const auto out = std::back_inserter(text);
  const bool has_size = deviation > 0 && std::isfinite(deviation) && std::isfinite(value);
  if (digits == 0 || !has_size) {
    fmt::format_to(out, "{}", value);
    return;
  }
  constexpr int most_decimals = 12, most_digits = 17;
  constexpr double most_in_full = 1e15;
  const int place = static_cast<int>(std::floor(std::log10(deviation)));
  const int decimals = static_cast<int>(digits) - 1 - place;
  if (decimals <= most_decimals && std::abs(value) < most_in_full) {
    const std::string number = fmt::format("{:.{}f}", value, std::max(decimals, 0));
    const bool is_zero = number.find_first_of("123456789") == std::string::npos;
    fmt::format_to(out, "{}", is_zero && number.front() == '-' ? number.substr(1) : number);
    return;
  }
  const double size = std::max(std::abs(value), deviation);
  const int needed =
      static_cast<int>(digits) + static_cast<int>(std::floor(std::log10(size))) - place;
  fmt::format_to(out, "{:.{}g}", value, std::min(needed, most_digits));
}

void write_own_digits(double value, std::size_t digits, fmt::memory_buffer& text) {
  write_number(value, std::abs(value), digits, text);
}

void write_probability(double probability, std::size_t digits, fmt::memory_buffer& text) {
  const auto out = std::back_inserter(text);
  if (digits == 0) {
    fmt::format_to(out, ",{}", probability);
  } else {
    fmt::format_to(out, ",{:.{}g}", probability, digits + 1);
  }
}

// p_0,...,p_more
void write_probabilities(const Predicted& p, const Layout& layout, fmt::memory_buffer& text) {
  const std::size_t most = *layout.most_counted;
  for (std::size_t count = 0; count <= most; ++count) {
    write_probability(std::exp(p.log_density(static_cast<double>(count))), layout.digits, text);
  }
  write_probability(1 - p.cdf(static_cast<double>(most)), layout.digits, text);
}

Interval interval_of(const Predicted& p, std::size_t target, const Layout& layout) {
  if (layout.tails.empty()) return p.interval(layout.level);
  const Tails& tails = layout.tails[target];
  return {p.quantile(tails.lower), p.quantile(tails.upper)};
}

void write_prediction(const Predicted& p, std::size_t target, const Layout& layout,
                      fmt::memory_buffer& text) {
  const std::size_t digits = layout.digits;
  const Interval interval = interval_of(p, target, layout);
  const double deviation = p.stddev();
  // An amount may be far less than its deviation, and yet known.
  const auto write = [&](double value) {
    const double own =
        p.family == Family::amount ? std::min(deviation, std::abs(value)) : deviation;
    write_number(value, own, digits, text);
  };
  const auto next = [&] { text.push_back(','); };
  write(p.mean);
  for (const double part : {deviation, p.epistemic_std, p.noise_std}) {
    next();
    write_own_digits(part, digits, text);
  }
  for (const double end : {interval.lower, interval.upper}) {
    next();
    p.family == Family::count ? write_number(end, 0, 0, text) : write(end);
  }
  if (layout.most_counted) write_probabilities(p, layout, text);
}

void write_class(const Predicted& p, const Layout& layout, fmt::memory_buffer& text) {
  const TargetColumn& target = layout.encoder.targets.front();
  fmt::format_to(std::back_inserter(text), "{}", cell(target.classes[p.most_probable()]));
  for (const double probability : p.probabilities) {
    write_probability(probability, layout.digits, text);
  }
  write_probability(p.doubt(), layout.digits, text);
}

void write_rows(const std::vector<Predicted>& predicted, const std::vector<Column>& kept,
                const Layout& layout, fmt::memory_buffer& text) {
  const std::size_t targets = layout.encoder.targets.size();
  for (std::size_t n = 0; n < predicted.size(); ++n) {
    const std::size_t row = n / targets;
    for (std::size_t k = 0; n % targets == 0 && k < kept.size(); ++k) {
      const std::string own = kept[k].empty(row) ? "" : cell(kept[k].values[kept[k].codes[row]]);
      fmt::format_to(std::back_inserter(text), "{},", own);
    }
    if (layout.encoder.has_classes()) {
      write_class(predicted[n], layout, text);
    } else {
      write_prediction(predicted[n], n % targets, layout, text);
    }
    text.push_back((n + 1) % targets == 0 ? '\n' : ',');
  }
}

std::vector<std::string> kept_columns(const Arguments& arguments) {
  if (arguments.keep.empty()) return {};
  if (arguments.keep == "all") {
    if (arguments.data == "-") {
      throw UsageError("--keep all needs a file; of standard input name the columns: --keep A,B");
    }
    return csv_columns(arguments.data, arguments.csv.options());
  }
  std::vector<std::string> names;
  std::istringstream parts(arguments.keep);
  for (std::string part; std::getline(parts, part, ',');) names.push_back(part);
  return names;
}

// Per target, if the intervals are calibrated.
std::vector<Tails> tails_of(const Regressor& model, const Arguments& arguments) {
  std::vector<Tails> tails;
  if (arguments.intervals == Intervals::model) return tails;
  for (std::size_t k = 0; k < model.encoder().targets.size(); ++k) {
    tails.push_back(model.calibrated_tails(arguments.level, k));
  }
  return tails;
}

// The kept columns come after those that the model needs; they are taken out.
std::vector<Column> take_kept(Table& piece, std::size_t count) {
  const auto first = piece.columns.end() - static_cast<std::ptrdiff_t>(count);
  std::vector<Column> kept(std::make_move_iterator(first),
                           std::make_move_iterator(piece.columns.end()));
  piece.columns.erase(first, piece.columns.end());
  return kept;
}

void run(const Arguments& arguments) {
  if (arguments.json && arguments.output.empty()) {
    throw UsageError("--json prints one JSON object, so the predictions need a file: -o");
  }
  Regressor model = Regressor::load(arguments.model);
  if (arguments.bounds) model.set_bounds(*arguments.bounds);
  if (arguments.most_counted && !model.encoder().has_counts()) {
    throw UsageError("--counts needs a model of a count; the target of this one is not");
  }
  CsvOptions csv = arguments.csv.options();
  csv.columns = model.encoder().wanted(false);
  csv.block = std::size_t{1} << 16U;  // not far ahead of the rows, so that share() is theirs
  const Layout layout{model.encoder(),  kept_columns(arguments),       arguments.most_counted,
                      arguments.digits, CentralLevel(arguments.level), tails_of(model, arguments)};
  for (const std::string& name : layout.kept) csv.columns.push_back({name, CellType::text});
  CsvReader reader(arguments.data, csv);
  std::optional<AtomicFile> file;
  if (!arguments.output.empty()) file.emplace(arguments.output);
  const auto put = [&](std::string_view text) {
    if (file) return file->write(text);
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
      throw FileError("standard output: cannot be written");
    }
  };
  std::size_t rows = 0;
  std::vector<UnseenCells> unlike;
  std::size_t pulled_in = 0;
  ReadingNotes notes;
  Table piece;
  fmt::memory_buffer text;
  // The header goes out with the first rows: if these cannot be read, nothing is written.
  text.append(header(layout));
  // Where the rows themselves go to the terminal, they show that it goes on.
  std::optional<Working> working;
  if (file || ::isatty(STDOUT_FILENO) != 1) working.emplace("predicting");
  while (reader.read(piece, rows_at_once)) {
    const std::vector<Column> kept = take_kept(piece, layout.kept.size());
    const EncodedRows encoded = model.encoder().encode_inputs(piece);
    write_rows(model.predict_encoded(encoded, arguments.threads), kept, layout, text);
    put({text.data(), text.size()});
    text.clear();
    rows += piece.rows();
    notes.add(piece);
    pulled_in += encoded.pulled_in;
    add(encoded.unlike, unlike);
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
                                              {"stray_cells", notes.stray_cells()},
                                              {"unlike", unlike_json(unlike)}}
                           .dump());
    return;
  }
  if (file) fmt::print(stderr, "{} rows predicted: {}\n", rows, arguments.output.string());
  print_reading(notes, piece.source);
  say_unlike(unlike, piece.source, predicted_as_any);
  if (arguments.intervals == Intervals::calibrated) {
    fmt::print(stderr, "{}\n", calibrated_text(model.model()));
  }
  if (pulled_in > 0) {
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
  command
      .option("--keep", arguments->keep,
              "columns of the input to write too, such as id,name; or all")
      .text("NAME,...");
  command
      .parsed(
          "--digits",
          [&digits = arguments->digits](const std::string& text) {
            std::uint64_t number = 0;
            if (text != "all" && !read_whole(text, 1, 17, number)) {
              throw UsageError("--digits: '" + text + "' is not all or a number from 1 to 17");
            }
            digits = number;
          },
          "digits of the deviation, which the other numbers have too; or all (default: 3)")
      .text("N");
  add_intervals_option(command, arguments->intervals);
  add_bounds_option(
      command, arguments->bounds,
      "where the predicted numbers lie, such as 0,100 or 0, (default: as in the fit)");
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
      "  dma predict m.safetensors new.csv --keep id,name\n"
      "  zcat big.csv.gz | dma predict m.safetensors --level 0.9 > predictions.csv\n");
  command.run([arguments] { run(*arguments); });
}

}  // namespace dma::cli
