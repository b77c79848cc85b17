// dma benchmark gap DATA.csv --target NAME: whether intervals widen where there is no data.
#include <dma/data/csv.h>
#include <dma/regressor/regressor.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>

#include "cli/bad_input.h"
#include "cli/csv_arguments.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "experiments/statistics.h"
#include "paper/adam.h"
#include "paper/commands.h"
#include "paper/jobs.h"
#include "paper/part.h"

namespace dma::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t least_values = 5;     // different ones, of a column that nobody named
constexpr std::size_t least_held_out = 10;  // rows to score on

struct Arguments {
  std::string data;
  CsvArguments csv;
  std::string target;
  std::vector<std::string> columns;
  std::vector<std::string> parts;
  std::uint64_t seed = 1;
  std::size_t threads = 0;
  bool json = false;
};

struct Case {
  std::string column;
  Part part;
  std::vector<std::size_t> held_out;
  std::string reason = {};   // why there is nothing to compare
  std::string failure = {};  // why dma's predictions have no score: counted as behind
  Metrics dma = {}, adam = {};

  double difference() const { return adam.nll - dma.nll; }
};

struct Columns {
  std::vector<std::string> chosen, few_values;
};

struct Comparison {
  std::size_t rows = 0, rows_without_target = 0;
  std::vector<std::string> few_values;  // columns left out because nobody named them
  std::vector<Case> cases;
};

Table with_target(const Table& table, const std::string& target) {
  const Column& column = *table.find(target);
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (!column.empty(row)) rows.push_back(row);
  }
  return select_rows(table, rows);
}

bool has_few_values(const Column& column) {
  std::set<double> values;
  for (std::size_t row = 0; row < column.rows() && values.size() < least_values; ++row) {
    if (!column.empty(row)) values.insert(column.numbers[row]);
  }
  return values.size() < least_values;
}

// Refuses a named column that cannot have a gap.
void refuse_what_is_no_number(const Table& table, const Encoder& encoder) {
  const auto refuse = [&](const std::string& name, std::string_view reason) {
    throw BadInput(fmt::format("{}, column '{}': {}", table.source, name, reason));
  };
  for (const DroppedColumn& column : encoder.dropped) refuse(column.name, column.reason);
  for (const FeatureColumn& feature : encoder.features) {
    if (feature.kind == ColumnKind::numeric) continue;
    refuse(feature.name,
           fmt::format("{}, but only a numeric column can have a gap", name_of(feature.kind)));
  }
}

Columns choose_columns(const Table& table, const Encoder& encoder, bool named) {
  if (named) refuse_what_is_no_number(table, encoder);
  Columns columns;
  for (const FeatureColumn& feature : encoder.features) {
    if (feature.kind != ColumnKind::numeric) continue;
    const bool few = !named && has_few_values(*table.find(feature.name));
    (few ? columns.few_values : columns.chosen).push_back(feature.name);
  }
  if (!columns.chosen.empty()) return columns;
  throw BadInput(
      fmt::format("{}: no column has {} different numbers; use --column to take one with fewer",
                  table.source, least_values));
}

std::vector<Case> cases_of(const Table& table, const std::vector<std::string>& columns,
                           const std::vector<std::string>& parts) {
  std::vector<Case> cases;
  for (const std::string& column : columns) {
    for (const Part part : {Part::middle, Part::low, Part::high}) {
      if (!parts.empty() && std::find(parts.begin(), parts.end(), name_of(part)) == parts.end()) {
        continue;
      }
      cases.push_back({column, part, held_out_rows(table.find(column)->numbers, part)});
    }
  }
  return cases;
}

Metrics score_adam(const Table& train, const Table& test, const Encoder& encoder,
                   std::uint64_t seed) {
  const AdamFit fit = fit_adam(encoder.encode(train), seed, [] { return !Interruption::asked(); });
  const EncodedRows encoded = encoder.encode_inputs(test);
  const TargetColumn& target = encoder.targets.front();
  std::vector<double> means;
  for (std::size_t row = 0; row < encoded.rows; ++row) {
    const auto input = std::span(encoded.inputs).subspan(row * encoder.width(), encoder.width());
    means.push_back(target.mean + target.deviation * fit.network.predict(input));
  }
  const std::vector<double> deviations(means.size(), target.deviation * std::sqrt(fit.variance));
  return score(test.find(target.name)->numbers, means, deviations);
}

bool varies(const Encoder& encoder, const std::string& column) {
  return std::any_of(encoder.features.begin(), encoder.features.end(), [&](const auto& feature) {
    return feature.name == column && feature.deviation > 0;
  });
}

// Scores of predictions that are not finite, which give the targets no density.
Metrics no_score() {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  Metrics metrics{.rmse = unknown, .nll = std::numeric_limits<double>::infinity()};
  metrics.coverage.fill(unknown);
  return metrics;
}

// Held-out rows never reach a fit: they are removed from the table first.
void compare(const Table& table, const RegressorOptions& options, Case& one) {
  if (one.held_out.size() < least_held_out) {
    one.reason = fmt::format("fewer than {} rows there", least_held_out);
    return;
  }
  const Table train = select_rows(table, other_rows(one.held_out, table.rows()));
  const Table test = select_rows(table, one.held_out);
  const Encoder encoder = Regressor::encoder_for(train, options);
  if (!varies(encoder, one.column)) {
    one.reason = "the column is constant in the other rows";
    return;
  }
  one.adam = score_adam(train, test, encoder, options.seed);
  const Regressor model =
      Regressor::fit(train, encoder, options, [](const auto&) { return !Interruption::asked(); });
  try {
    one.dma = model.evaluate(test, 1).front();
  } catch (const std::invalid_argument& error) {
    one.failure = error.what();
    one.dma = no_score();
  }
}

void print_understood(const Comparison& comparison, const std::string& source) {
  fmt::print(stderr, "{}: {} rows, {} gaps\n", source, comparison.rows, comparison.cases.size());
  if (comparison.rows_without_target > 0) {
    fmt::print(stderr, "  {} rows left out because the target is empty\n",
               comparison.rows_without_target);
  }
  for (const std::string& column : comparison.few_values) {
    fmt::print(stderr,
               "  no gap in {}: fewer than {} different values; use --column to take it anyway\n",
               column, least_values);
  }
}

void print_progress(const Case& one) {
  const std::string result =
      one.reason.empty() ? fmt::format("LL {:.4f}, Adam {:.4f}", -one.dma.nll, -one.adam.nll)
                         : one.reason;
  fmt::print(stderr, "{} {}, {} rows: {}{}{}\n", one.column, name_of(one.part), one.held_out.size(),
             result, one.failure.empty() ? "" : "; ", one.failure);
}

void compare_all(const Table& table, const Arguments& arguments, std::vector<Case>& cases) {
  RegressorOptions options;
  options.target = arguments.target;
  options.seed = arguments.seed;
  options.threads = 1;
  const Interruption interruption;
  run_jobs(cases.size(), arguments.threads, [&](std::size_t k) {
    Case& one = cases[k];
    try {
      compare(table, options, one);
    } catch (const DataError& error) {
      one.reason = error.what();
    }
    if (!Interruption::asked()) print_progress(one);
  });
  if (Interruption::asked()) throw BadInput("interrupted before all gaps were finished");
}

std::vector<double> differences(const std::vector<Case>& cases) {
  std::vector<double> values;
  for (const Case& one : cases) {
    if (one.reason.empty()) values.push_back(one.difference());
  }
  return values;
}

std::size_t count_positive(const std::vector<double>& values) {
  return static_cast<std::size_t>(
      std::count_if(values.begin(), values.end(), [](double value) { return value > 0; }));
}

void print_line(const Case& one, std::size_t width) {
  fmt::print("{:<{}} {:<6} {:>6}", one.column, width, name_of(one.part), one.held_out.size());
  if (!one.reason.empty()) {
    fmt::print("   {}\n", one.reason);
    return;
  }
  fmt::print(" {:>9.3f} {:>9.3f} {:>9.4g} {:>9.4g} {:>9.1f} {:>9.1f}{}\n", -one.dma.nll,
             -one.adam.nll, one.dma.rmse, one.adam.rmse, 100 * one.dma.coverage.back(),
             100 * one.adam.coverage.back(), one.failure.empty() ? "" : "   " + one.failure);
}

void print_summary(const std::vector<double>& values) {
  if (values.empty()) {
    fmt::print("\nNothing to compare.\n");
    return;
  }
  fmt::print(
      "\ndma is ahead in log-likelihood in {} of {} gaps; median difference {:.3f} per row\n",
      count_positive(values), values.size(), experiments::median(values));
}

void print_table(const std::vector<Case>& cases) {
  std::size_t width = std::string_view("column").size();
  for (const Case& one : cases) width = std::max(width, one.column.size());
  fmt::print("{:<{}} {:<6} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "column", width, "part",
             "rows", "LL dma", "LL Adam", "RMSE dma", "RMSE Adam", "95 % dma", "95 % Adam");
  for (const Case& one : cases) print_line(one, width);
  print_summary(differences(cases));
  fmt::print(
      "LL: mean log-likelihood of the held-out rows, in the target's unit.\n"
      "95 %: share of these rows inside that interval, in %.\n");
}

Json score_json(const Metrics& metrics) {
  return {
      {"ll", -metrics.nll}, {"rmse", metrics.rmse}, {"coverage", coverage_json(metrics.coverage)}};
}

Json case_json(const Case& one) {
  Json json{{"column", one.column}, {"part", name_of(one.part)}, {"rows", one.held_out.size()}};
  if (!one.reason.empty()) {
    json["reason"] = one.reason;
    return json;
  }
  json["dma"] = score_json(one.dma);
  if (!one.failure.empty()) json["dma"]["failure"] = one.failure;
  json["adam"] = score_json(one.adam);
  json["difference"] = one.difference();
  return json;
}

Json to_json(const Comparison& comparison, const std::string& target) {
  Json cases = Json::array();
  for (const Case& one : comparison.cases) cases.push_back(case_json(one));
  const auto values = differences(comparison.cases);
  return {{"target", target},
          {"rows", comparison.rows},
          {"rows_without_target", comparison.rows_without_target},
          {"few_values", comparison.few_values},
          {"cases", std::move(cases)},
          {"compared", values.size()},
          {"dma_ahead", count_positive(values)},
          {"median_difference", values.empty() ? Json() : Json(experiments::median(values))}};
}

void run(const Arguments& arguments) {
  const Table all = read_csv(arguments.data, arguments.csv.options());
  // Knows the kinds of the columns that were named, or of all, and refuses an unknown name.
  const Encoder encoder =
      Regressor::encoder_for(all, {.target = arguments.target, .features = arguments.columns});
  const Table table = with_target(all, arguments.target);
  const Columns columns = choose_columns(table, encoder, !arguments.columns.empty());
  Comparison comparison{table.rows(), all.rows() - table.rows(), columns.few_values,
                        cases_of(table, columns.chosen, arguments.parts)};
  print_understood(comparison, table.source);
  compare_all(table, arguments, comparison.cases);
  if (arguments.json) {
    fmt::print("{}\n", to_json(comparison, arguments.target).dump());
  } else {
    print_table(comparison.cases);
  }
}

}  // namespace

void add_gap(Command benchmark) {
  auto arguments = std::make_shared<Arguments>();
  const Command command =
      benchmark.command("gap", "check whether intervals widen where there is no data");
  command.excludes_options_of(benchmark);
  command.option("data", arguments->data, "CSV file, plain or gzipped").required().text("DATA.csv");
  command.option("--target", arguments->target, "column to predict").required().text("NAME");
  command
      .option("--column", arguments->columns,
              "columns to make gaps in (default: all with at least 5 different numbers)")
      .text("NAME...");
  command
      .option("--where", arguments->parts,
              "which third of the column's values to hold out: middle, low, high (default: "
              "each in turn)")
      .one_of({"middle", "low", "high"})
      .text("PART...");
  command.option("--seed", arguments->seed, "random seed (default: 1)")
      .whole(0, any_count)
      .text("N");
  command
      .option("--threads", arguments->threads,
              "number of gaps to run at once; 0: one per core (default)")
      .whole(0, most_threads)
      .text("N");
  add_csv_options(command, arguments->csv);
  command.flag("--json", arguments->json, "print one JSON object");
  command.footer(
      "In each gap, dma fit with default options is compared with a network of 50 hidden units\n"
      "trained by Adam. Its noise is one number: its error on a tenth of the rows, held out from\n"
      "training.\n"
      "example:\n"
      "  dma benchmark gap houses.csv --target price --column area --where high\n");
  command.run([arguments] { run(*arguments); });
}

}  // namespace dma::cli
