// dma plot MODEL DATA.csv and dma demo: the band of a prediction, or probabilities, in the terminal.
#include <dma/regressor/regressor.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/bad_input.h"
#include "cli/band.h"
#include "cli/class_map.h"
#include "cli/commands.h"
#include "cli/csv_arguments.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/typical.h"
#include "experiments/task/task.h"

namespace dma::cli {
namespace {

constexpr std::size_t picture_width = 72;
constexpr std::size_t picture_height = 18;
constexpr double beyond = 0.4;  // shown on either side of the data, as a share of their range

struct Arguments {
  std::filesystem::path model;
  std::string data;
  CsvArguments csv;
  std::vector<std::string> inputs;
  std::string target;
};

constexpr const char* legend =
    "- mean   : within two standard deviations   o a row   = where the rows are\n";

std::size_t target_index(const Encoder& encoder, const std::string& name) {
  for (std::size_t k = 0; k < encoder.targets.size(); ++k) {
    if (name.empty() || encoder.targets[k].name == name) return k;
  }
  throw BadInput("the model does not predict '" + name + "'");
}

// The features to vary: those named, or all numbers if they are at most so many, or all dates if there is no number.
std::vector<std::string> inputs_of(const Encoder& encoder, const std::vector<std::string>& named,
                                   std::size_t most) {
  std::vector<std::string> numbers, possible;
  for (const FeatureColumn& column : encoder.features) {
    const bool is_number = column.kind == ColumnKind::numeric;
    if (!column.has_number() || (!is_number && column.kind != ColumnKind::datetime)) continue;
    possible.push_back(column.name);
    if (is_number) numbers.push_back(column.name);
  }
  if (possible.empty()) throw BadInput("the model uses no column of numbers or dates");
  const std::string all = fmt::format("{}", fmt::join(possible, ", "));
  const std::string wanted = fmt::format("name {} to vary with --input; the model has {}",
                                         most == 1 ? "the column" : "one or two columns", all);
  for (const std::string& name : named) {
    if (name.empty()) throw BadInput(wanted);
    if (std::find(possible.begin(), possible.end(), name) == possible.end()) {
      throw BadInput("the model has no column of numbers or dates '" + name + "'; it has " + all);
    }
  }
  const auto& chosen = !named.empty() ? named : numbers.empty() ? possible : numbers;
  if (chosen.size() > most || (chosen.size() == 2 && chosen[0] == chosen[1])) {
    throw BadInput(wanted);
  }
  return chosen;
}

// Features that take the given values.
struct Varied {
  std::string name;
  std::vector<double> values;
};

// The others are those of the typical row.
std::vector<Predicted> predict_varied(const Regressor& model, const std::vector<Varied>& features,
                                      const std::vector<double>& typical) {
  const std::size_t rows = features.front().values.size();
  std::vector<double> inputs;
  for (std::size_t n = 0; n < rows; ++n) {
    inputs.insert(inputs.end(), typical.begin(), typical.end());
  }
  for (const Place& place : model.encoder().places()) {
    for (const Varied& one : features) {
      if (one.name != place.feature.name) continue;
      for (std::size_t n = 0; n < rows; ++n) {
        place.feature.encode(one.values[n], inputs.data() + n * typical.size() + place.first);
      }
    }
  }
  return model.predict_encoded(inputs, rows);
}

// What is drawn, and where the columns stand that are not.
std::string title_text(const Encoder& encoder, const std::string& what,
                       const std::vector<std::string>& drawn, const std::vector<double>& typical) {
  const std::string row = row_text(encoder, typical, drawn);
  const std::string title = fmt::format("{} by {}", what, fmt::join(drawn, " and "));
  return row.empty() ? title : title + ", the other columns as in a typical row: " + row;
}

const FeatureColumn& feature_of(const Encoder& encoder, const std::string& name) {
  return *std::find_if(encoder.features.begin(), encoder.features.end(),
                       [&](const FeatureColumn& one) { return one.name == name; });
}

// Dates are whole weeks, or at least whole days, apart, so that weekday and time of day stay the same along an axis.
double step_of_dates(double step) {
  constexpr double week = 7;
  if (step <= 1) return step;
  return step < week / 2 ? std::round(step) : week * std::round(step / week);
}

Axis axis_of(const FeatureColumn& feature, const Table& data, std::size_t places) {
  Axis axis{feature.name, {}, HUGE_VAL, -HUGE_VAL, feature.kind == ColumnKind::datetime};
  for (const double value : feature.numbers(*data.find(feature.name))) {
    if (std::isnan(value)) continue;
    axis.data_low = std::min(axis.data_low, value);
    axis.data_high = std::max(axis.data_high, value);
  }
  const double range = axis.data_high - axis.data_low;
  if (!(range > 0)) {
    throw BadInput(data.source + ", column '" + feature.name + "': all values are the same");
  }
  const auto steps = static_cast<double>(places - 1);
  double step = (1 + 2 * beyond) * range / steps;
  double before = beyond * range;
  if (axis.dates) {
    step = step_of_dates(step);
    before = step * std::floor((steps - range / step) / 2);
  }
  for (std::size_t c = 0; c < places; ++c) {
    axis.values.push_back(axis.data_low - before + step * static_cast<double>(c));
  }
  return axis;
}

std::string class_picture(const Regressor& model, const Table& data,
                          const std::vector<std::string>& named) {
  const Encoder& encoder = model.encoder();
  const std::vector<std::string>& classes = encoder.targets.front().classes;
  const std::vector<std::string> inputs = inputs_of(encoder, named, 2);
  const EncodedRows rows = encoder.encode_inputs(data);
  const std::vector<double> typical = typical_inputs(encoder, &rows);
  const std::string title = title_text(encoder, "probability", inputs, typical) + "\n";
  const Axis across = axis_of(feature_of(encoder, inputs[0]), data, picture_width);
  if (inputs.size() == 1) {
    const auto predicted = predict_varied(model, {{across.name, across.values}}, typical);
    return draw_curves(across, predicted, classes, picture_height + 1) + title;
  }
  const Axis up = axis_of(feature_of(encoder, inputs[1]), data, picture_height);
  Varied first{across.name, {}}, second{up.name, {}};
  for (const double y : up.values) {
    for (const double x : across.values) {
      first.values.push_back(x);
      second.values.push_back(y);
    }
  }
  return draw_map(across, up, predict_varied(model, {first, second}, typical), classes) + title;
}

// What is drawn, and the typical row that it is drawn at.
struct BandAt {
  std::string input, target;
  Band band;
  std::vector<double> typical;
};

BandAt band_of(const Regressor& model, const Table& data, const std::vector<std::string>& named,
               const std::string& target) {
  const Encoder& encoder = model.encoder();
  const std::string input = inputs_of(encoder, named, 1).front();
  const std::size_t k = target_index(encoder, target);
  const FeatureColumn& feature = feature_of(encoder, input);
  const std::vector<double> x = feature.numbers(*data.find(input));
  const Column* y = data.find(encoder.targets[k].name);
  Band band{.across = axis_of(feature, data, picture_width), .predicted = {}};
  const EncodedRows rows = encoder.encode_inputs(data);
  std::vector<double> typical = typical_inputs(encoder, &rows);
  const auto predicted = predict_varied(model, {{input, band.across.values}}, typical);
  for (std::size_t n = k; n < predicted.size(); n += encoder.targets.size()) {
    band.predicted.push_back(predicted[n]);
  }
  for (std::size_t n = 0; y != nullptr && n < x.size(); ++n) {
    if (std::isnan(x[n]) || std::isnan(y->numbers[n])) continue;
    band.data_x.push_back(x[n]);
    band.data_y.push_back(y->numbers[n]);
  }
  return {input, encoder.targets[k].name, std::move(band), std::move(typical)};
}

void print_band(const Encoder& encoder, const BandAt& drawn) {
  fmt::print("{}\n{}\n{}", draw(drawn.band, picture_height),
             title_text(encoder, drawn.target, {drawn.input}, drawn.typical), legend);
}

void run_plot(const Arguments& arguments) {
  std::optional<Working> working("drawing");
  const Regressor model = Regressor::load(arguments.model);
  CsvOptions csv = arguments.csv.options();
  csv.columns = model.encoder().wanted(true, UseWeights::if_there);
  const Table data = read_csv(arguments.data, csv);
  if (model.encoder().has_classes()) {
    const std::string picture = class_picture(model, data, arguments.inputs);
    working.reset();
    fmt::print("{}", picture);
    return;
  }
  const BandAt drawn = band_of(model, data, arguments.inputs, arguments.target);
  working.reset();
  print_band(model.encoder(), drawn);
}

void run_demo() {
  const experiments::Task task = experiments::regression_task(1);
  Table table{.source = "wave.csv",
              .columns = {{.name = "x", .numbers = task.train.x},
                          {.name = "y", .numbers = task.train.targets}}};
  fmt::print(
      "$ dma sample wave > wave.csv\n"
      "{} rows: x, and a function of x plus noise of standard deviation {:g} (the paper's\n"
      "one-dimensional task).\n\n"
      "$ dma fit wave.csv --target y\n",
      table.rows(), task.noise_deviation);
  const Table data = table;
  const Regressor model = Regressor::fit(std::move(table), {.target = "y"});
  print_fit(model.model());
  fmt::print("\n$ dma plot wave.safetensors wave.csv\n");
  const BandAt drawn = band_of(model, data, {"x"}, "y");
  print_band(model.encoder(), drawn);
  const auto& middle = drawn.band.predicted[picture_width / 2];
  const auto& edge = drawn.band.predicted.front();
  fmt::print(
      "\nWhere there are rows, the interval is about as wide as the noise (std {:.2g} in the "
      "middle);\n"
      "outside it widens (std {:.2g} at the left edge), because there are none.\n",
      middle.stddev(), edge.stddev());
}

}  // namespace

void add_plot(Command app) {
  auto arguments = std::make_shared<Arguments>();
  const Command command = app.command("plot", "draw predictions with their band in the terminal");
  command.option("model", arguments->model, "model file").required().text("MODEL");
  command.option("data", arguments->data, "CSV file with the training rows")
      .required()
      .text("DATA.csv");
  command
      .option("--input", arguments->inputs,
              "column of numbers or dates to vary, of a class one or two; the others stay at those "
              "of a typical "
              "row of DATA.csv: medians and most frequent categories")
      .text("NAME...");
  command.option("--target", arguments->target, "target to draw, if there are several")
      .text("NAME");
  add_csv_options(command, arguments->csv);
  command.footer(
      "examples:\n"
      "  dma plot m.safetensors train.csv --input age\n"
      "  dma plot classes.safetensors train.csv --input age fare\n");
  command.run([arguments] { run_plot(*arguments); });
}

void add_demo(Command app) {
  const Command command = app.command("demo", "fit a small table and draw it");
  command.run([] { run_demo(); });
}

}  // namespace dma::cli
