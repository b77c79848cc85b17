// dma plot MODEL DATA.csv and dma demo: the band of a prediction in the terminal.
#include <dma/regressor/regressor.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "cli/bad_input.h"
#include "cli/band.h"
#include "cli/commands.h"
#include "cli/csv_arguments.h"
#include "cli/report.h"
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
  std::string input, target;
};

constexpr const char* legend =
    "- mean   : within two standard deviations   o a row   = where the training rows are\n";

std::size_t target_index(const Encoder& encoder, const std::string& name) {
  for (std::size_t k = 0; k < encoder.targets.size(); ++k) {
    if (name.empty() || encoder.targets[k].name == name) return k;
  }
  throw BadInput("the model does not predict '" + name + "'");
}

// The feature to vary: the one named, or the only numeric one.
const FeatureColumn& feature_of(const Encoder& encoder, const std::string& name) {
  const FeatureColumn* found = nullptr;
  for (const FeatureColumn& column : encoder.features) {
    if (column.kind != ColumnKind::numeric || (!name.empty() && column.name != name)) continue;
    if (found != nullptr) {
      throw BadInput("the model has several numeric features: name the one to vary with --input");
    }
    found = &column;
  }
  if (found == nullptr) throw BadInput("the model has no numeric feature '" + name + "'");
  return *found;
}

// One feature takes the given values; the others are empty cells, which stand for their means.
Table varied(const Encoder& encoder, const std::string& name, const std::vector<double>& values) {
  Table table;
  for (const FeatureColumn& column : encoder.features) {
    Column cells{.name = column.name, .is_text = column.text};
    if (column.name == name) {
      cells.numbers = values;
    } else if (column.text) {
      cells.codes.assign(values.size(), Column::empty_cell);
    } else {
      cells.numbers.assign(values.size(), std::nan(""));
    }
    table.columns.push_back(std::move(cells));
  }
  return table;
}

Band band_of(const Regressor& model, const Table& data, const std::string& input,
             const std::string& target) {
  const Encoder& encoder = model.encoder();
  const FeatureColumn& feature = feature_of(encoder, input);
  const std::size_t k = target_index(encoder, target);
  const std::vector<double>& x = data.find(feature.name)->numbers;
  const Column* y = data.find(encoder.targets[k].name);
  Band band;
  band.data_low = std::numeric_limits<double>::infinity();
  band.data_high = -band.data_low;
  for (const double value : x) {
    if (std::isnan(value)) continue;
    band.data_low = std::min(band.data_low, value);
    band.data_high = std::max(band.data_high, value);
  }
  const double range = band.data_high - band.data_low;
  if (!(range > 0))
    throw BadInput(data.source + ", column '" + feature.name + "': all values are the same");
  for (std::size_t c = 0; c < picture_width; ++c) {
    const double place = static_cast<double>(c) / (picture_width - 1);
    band.x.push_back(band.data_low - beyond * range + (1 + 2 * beyond) * range * place);
  }
  const auto predicted = model.predict(varied(encoder, feature.name, band.x));
  for (std::size_t n = k; n < predicted.size(); n += encoder.targets.size()) {
    band.predicted.push_back(predicted[n]);
  }
  // Other features are held at their means, so rows belong in the picture only if there are none.
  if (encoder.features.size() == 1 && y != nullptr) {
    for (std::size_t n = 0; n < x.size(); ++n) {
      if (std::isnan(x[n]) || std::isnan(y->numbers[n])) continue;
      band.data_x.push_back(x[n]);
      band.data_y.push_back(y->numbers[n]);
    }
  }
  return band;
}

void run_plot(const Arguments& arguments) {
  const Regressor model = Regressor::load(arguments.model);
  CsvOptions csv = arguments.csv.options();
  csv.columns = model.encoder().wanted(true);
  const Table data = read_csv(arguments.data, csv);
  const Band band = band_of(model, data, arguments.input, arguments.target);
  fmt::print("{}\n{}", draw(band, picture_height), legend);
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
  const Band band = band_of(model, data, "x", "y");
  fmt::print("{}\n{}", draw(band, picture_height), legend);
  const auto middle = band.predicted[picture_width / 2];
  const auto edge = band.predicted.front();
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
  command.option("--input", arguments->input, "feature to vary; the others stay at their means")
      .text("NAME");
  command.option("--target", arguments->target, "target to draw, if there are several")
      .text("NAME");
  add_csv_options(command, arguments->csv);
  command.footer("example:\n  dma plot m.safetensors train.csv --input age\n");
  command.run([arguments] { run_plot(*arguments); });
}

void add_demo(Command app) {
  const Command command = app.command("demo", "fit a small table and draw it");
  command.run([] { run_demo(); });
}

}  // namespace dma::cli
