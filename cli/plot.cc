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

// The features to vary: those named, or all numeric ones if they are at most so many.
std::vector<std::string> inputs_of(const Encoder& encoder, const std::vector<std::string>& named,
                                   std::size_t most) {
  std::vector<std::string> numeric;
  for (const FeatureColumn& column : encoder.features) {
    if (column.kind == ColumnKind::numeric) numeric.push_back(column.name);
  }
  if (numeric.empty()) throw BadInput("the model uses no column of numbers");
  const std::string all = fmt::format("{}", fmt::join(numeric, ", "));
  const std::string wanted = fmt::format("name {} to vary with --input; the model has {}",
                                         most == 1 ? "the column" : "one or two columns", all);
  for (const std::string& name : named) {
    if (name.empty()) throw BadInput(wanted);
    if (std::find(numeric.begin(), numeric.end(), name) == numeric.end()) {
      throw BadInput("the model has no column of numbers '" + name + "'; it has " + all);
    }
  }
  const auto& chosen = named.empty() ? numeric : named;
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

// The cells of these features alone; the others are empty.
Table varied_cells(const Encoder& encoder, const std::vector<Varied>& features) {
  const std::size_t rows = features.front().values.size();
  Table table;
  for (const FeatureColumn& column : encoder.features) {
    Column cells{.name = column.name, .is_text = column.text};
    const auto own = std::find_if(features.begin(), features.end(),
                                  [&](const Varied& one) { return one.name == column.name; });
    if (own != features.end()) {
      cells.numbers = own->values;
    } else if (column.text) {
      cells.codes.assign(rows, Column::empty_cell);
    } else {
      cells.numbers.assign(rows, std::nan(""));
    }
    table.columns.push_back(std::move(cells));
  }
  return table;
}

// The others are those of the typical row.
std::vector<Predicted> predict_varied(const Regressor& model, const std::vector<Varied>& features,
                                      const std::vector<double>& typical) {
  const Encoder& encoder = model.encoder();
  EncodedRows rows = encoder.encode_inputs(varied_cells(encoder, features));
  for (const Place& place : places_of(encoder)) {
    const bool varies = std::any_of(features.begin(), features.end(), [&](const Varied& one) {
      return one.name == place.feature.name;
    });
    for (std::size_t n = 0; !varies && n < rows.rows; ++n) {
      const std::size_t first = n * typical.size() + place.first;
      std::copy_n(typical.begin() + static_cast<std::ptrdiff_t>(place.first), place.feature.width(),
                  rows.inputs.begin() + static_cast<std::ptrdiff_t>(first));
    }
  }
  return model.predict_encoded(rows.inputs, rows.rows);
}

// What is drawn, and where the columns stand that are not.
std::string title_text(const Encoder& encoder, const std::string& what,
                       const std::vector<std::string>& drawn, const std::vector<double>& typical) {
  const std::string row = row_text(encoder, typical, drawn);
  const std::string title = fmt::format("{} by {}", what, fmt::join(drawn, " and "));
  return row.empty() ? title : title + ", the other columns as in a typical row: " + row;
}

Axis axis_of(const Table& data, const std::string& name, std::size_t places) {
  Axis axis{name, {}, HUGE_VAL, -HUGE_VAL};
  for (const double value : data.find(name)->numbers) {
    if (std::isnan(value)) continue;
    axis.data_low = std::min(axis.data_low, value);
    axis.data_high = std::max(axis.data_high, value);
  }
  const double range = axis.data_high - axis.data_low;
  if (!(range > 0)) {
    throw BadInput(data.source + ", column '" + name + "': all values are the same");
  }
  for (std::size_t c = 0; c < places; ++c) {
    const double place = static_cast<double>(c) / static_cast<double>(places - 1);
    axis.values.push_back(axis.data_low - beyond * range + (1 + 2 * beyond) * range * place);
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
  const Axis across = axis_of(data, inputs[0], picture_width);
  if (inputs.size() == 1) {
    const auto predicted = predict_varied(model, {{across.name, across.values}}, typical);
    return draw_curves(across, predicted, classes, picture_height + 1) + title;
  }
  const Axis up = axis_of(data, inputs[1], picture_height);
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
  const std::vector<double>& x = data.find(input)->numbers;
  const Column* y = data.find(encoder.targets[k].name);
  const Axis axis = axis_of(data, input, picture_width);
  Band band{
      .x = axis.values, .predicted = {}, .data_low = axis.data_low, .data_high = axis.data_high};
  const EncodedRows rows = encoder.encode_inputs(data);
  std::vector<double> typical = typical_inputs(encoder, &rows);
  const auto predicted = predict_varied(model, {{input, band.x}}, typical);
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
      .option(
          "--input", arguments->inputs,
          "column of numbers to vary, of a class one or two; the others stay at those of a typical "
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
