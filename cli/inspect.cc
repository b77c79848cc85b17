// dma inspect MODEL: what is in a model file.
#include <dma/regressor/regressor.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/bounds_argument.h"
#include "cli/commands.h"
#include "cli/csv_arguments.h"
#include "cli/progress.h"
#include "cli/report.h"

namespace dma::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::filesystem::path model;
  std::string data;
  CsvArguments csv;
  bool json = false;
};

using Importance = std::vector<std::vector<ColumnShare>>;

// One layer's weights, over the members that have the shape of the first.
struct LayerSummary {
  std::size_t outputs = 0, inputs = 0;
  double mean_size = 0;  // root mean square of the posterior means
  double mean_std = 0;   // root mean variance
  double sure = 0;       // share with |mean| > 2 deviations
  double gained = 0;     // mean of log2(posterior precision / prior precision) / 2: bits per weight
};

std::vector<LayerSummary> summarise(const Model& model) {
  const Architecture& architecture = architecture_of(model);
  std::vector<WeightMoments> networks;
  for (const Member& member : model.members) {
    if (member.belief->architecture().has_shape_of(architecture)) {
      networks.push_back(member.belief->weights());
    }
  }
  std::vector<LayerSummary> layers;
  for (std::size_t l = 0; l < architecture.layers(); ++l) {
    const Dense layer = architecture.layer(l);
    LayerSummary summary{layer.units, layer.inputs};
    for (const WeightMoments& weights : networks) {
      layer.each_weight([&](std::size_t k, std::size_t, std::size_t) {
        const double square = weights.mean[k] * weights.mean[k];
        summary.mean_size += square;
        summary.mean_std += weights.variance[k];
        summary.sure += square > 4 * weights.variance[k] ? 1 : 0;
        summary.gained += std::log2(weights.prior_variance[k] / weights.variance[k]) / 2;
      });
    }
    const auto count = static_cast<double>(networks.size() * layer.weights());
    summary.mean_size = std::sqrt(summary.mean_size / count);
    summary.mean_std = std::sqrt(summary.mean_std / count);
    summary.sure /= count;
    summary.gained /= count;
    layers.push_back(summary);
  }
  return layers;
}

std::size_t ledger_size(const Model& model) {
  std::size_t bytes = 0;
  for (const Member& member : model.members) bytes += member.belief->ledger_bytes();
  return bytes;
}

const char* ledger_name(LedgerMode mode) {
  return mode == LedgerMode::full ? "full" : mode == LedgerMode::average ? "average" : "none";
}

Json to_json(const Model& model, const Importance& importance) {
  Json json = fit_json(model);
  json["column_importance"] = importance_json(model, importance);
  json["input_names"] = model.encoder.input_names();
  Json left_out = Json::object();
  for (const DroppedColumn& column : model.encoder.dropped) left_out[column.name] = column.reason;
  json["left_out"] = std::move(left_out);
  json["posterior"] = Json::array();
  for (const LayerSummary& layer : summarise(model)) {
    json["posterior"].push_back({{"outputs", layer.outputs},
                                 {"inputs", layer.inputs},
                                 {"mean_size", layer.mean_size},
                                 {"mean_std", layer.mean_std},
                                 {"share_beyond_two_std", layer.sure},
                                 {"bits_gained_per_weight", layer.gained}});
  }
  json["ledger"] = {{"mode", ledger_name(model.options.ledger)},
                    {"batches", model.batch_rows.size()},
                    {"batch_rows", model.batch_rows},
                    {"rows", model.row_hashes.size()},
                    {"bytes", ledger_size(model)}};
  return json;
}

// Numbers that would look bad if the fit could not be trusted.
void print_certificate(const Certificate& certificate) {
  fmt::print("\ncertificate, over {} rows\n", certificate.examples);
  if (certificate.negative_messages) {
    fmt::print("  messages of negative precision: {}\n", *certificate.negative_messages);
  }
  if (const auto& joint = certificate.joint) {
    fmt::print("  linearisation error: {:.3g} standard deviations of a prediction\n",
               joint->linearisation_error);
    fmt::print("  largest share of a row in its own prediction: {:.3g}{}\n",
               joint->largest_leverage,
               joint->rows_alone == 0
                   ? ""
                   : fmt::format("; {} rows have no cavity prediction", joint->rows_alone));
    fmt::print("  next step: {:.2g} standard deviations of the weights; damping {:.2g}\n",
               joint->step_left, joint->damping);
  }
  const Bounded& bounded = certificate.bounded;
  if (bounded.prior_precisions + bounded.noise_variances + bounded.noise_levels > 0) {
    fmt::print(
        "  at a bound, over all members: {} prior precisions, the noise of {} rows, {} noise "
        "levels\n",
        bounded.prior_precisions, bounded.noise_variances, bounded.noise_levels);
  }
  for (std::size_t l = 0; l < certificate.layers.size(); ++l) {
    const LayerCertificate& layer = certificate.layers[l];
    fmt::print("  layer {}: precisions {:.3g} to {:.3g}", l + 1, layer.smallest_precision,
               layer.largest_precision);
    if (layer.product_messages > 0) {
      fmt::print(
          "; {:.1f} % of {} product messages outside the theorem (signal to noise below 2), "
          "median {:.2g}",
          100 * layer.share_below_two, layer.product_messages, layer.signal_to_noise[2]);
    }
    fmt::print("\n");
  }
}

std::string rows_in(const FitReport& report) {
  if (report.copies == 0) return std::to_string(report.rows);
  return fmt::format("{} ({} different)", report.rows, report.rows - report.copies);
}

// Never -0.0.
std::string percent_text(double share) {
  return fmt::format("{:.1f}", std::round(1000 * share) / 10 + 0.0);
}

void print_importance(const Importance& all, const Model& model, const Arguments& arguments) {
  fmt::print("\nwhich columns matter: ");
  if (all.empty()) {
    return fmt::print("the model has not kept its rows; give them or others with --data\n");
  }
  fmt::print("share of the variance of what is predicted, and where it is with 90 %\n");
  constexpr std::size_t most = 30;
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (all.size() > 1) fmt::print("of {}\n", model.encoder.targets[k].name);
    for (std::size_t j = 0; j < std::min(most, all[k].size()); ++j) {
      const ColumnShare& one = all[k][j];
      fmt::print("  {:<22} {:>6} %   {:>6} to {} %\n", one.column, percent_text(one.share),
                 percent_text(one.lower), percent_text(one.upper));
    }
    if (all[k].size() > most) {
      fmt::print("  and {} more, each with {} % or less; --json has them all\n",
                 all[k].size() - most, percent_text(all[k][most].share));
    }
  }
  fmt::print("  over {}\n", arguments.data.empty() ? "the training rows" : arguments.data);
}

void print_start(const SharedStart& start) {
  print_entry("start", start_text(start));
  constexpr std::size_t most = 20;
  for (std::size_t k = 0; k < std::min(most, start.parts.size()); ++k) {
    print_entry("", fmt::format("part {}: {} rows", digest_text(start.parts[k].digest),
                                start.parts[k].rows));
  }
  if (start.parts.size() > most) {
    print_entry("", fmt::format("and {} more; --json has them all", start.parts.size() - most));
  }
}

void print_columns(const Model& model) {
  for (const TargetColumn& target : model.encoder.targets) {
    print_entry("target", target_text(target));
    if (!target.reason.empty()) print_entry("", "chosen: " + target.reason);
    if (target.bounds.any()) {
      print_entry("", fmt::format("{} {}", target.bounds.assumed ? "assumed to be" : "is",
                                  bounds_text(target.bounds)));
    }
  }
  for (const auto& [kind, names] : feature_groups(model.encoder)) {
    print_entry("columns", fmt::format("{}: {}", kind, names));
  }
  for (const std::string& text : date_part_texts(model.encoder)) print_entry("", text);
  for (const std::string& text : left_out_texts(model.encoder)) print_entry("left out", text);
  if (!model.encoder.weight.empty()) print_entry("weight", model.encoder.weight);
}

void print_model(const Model& model, const Importance& importance, const Arguments& arguments) {
  const std::filesystem::path& path = arguments.model;
  const FitReport& report = model.report;
  fmt::print("{}: {}, {}\n", path.string(), bytes_text(std::filesystem::file_size(path)),
             model.options.single_precision ? "single precision" : "double precision");
  print_columns(model);
  print_entry("network", network_text(model));
  print_entry("units", fmt::format("slope {:g} below zero, rule {}",
                                   architecture_of(model).slope(0), name_of(model.options.rule)));
  print_shapes(model);
  print_entry("rows", rows_in(report));
  if (model.start) {
    print_start(*model.start);
  } else {
    print_entry("epochs", epochs_text(model));
  }
  for (std::size_t k = 0; !model.encoder.has_classes() && k < report.noise_std.size(); ++k) {
    const auto [name, text] = noise_text(model, k);
    print_entry(name, text);
  }
  print_scores(model);
  if (!model.start) {
    print_entry("ledger", fmt::format("{}, {} batches of up to {} rows, {} rows, {}",
                                      ledger_name(model.options.ledger), model.batch_rows.size(),
                                      report.batch_size, model.row_hashes.size(),
                                      bytes_text(ledger_size(model))));
  }
  print_importance(importance, model, arguments);
  fmt::print(
      "\nposterior of {}         weights  size of means       std  beyond 2 std  bits gained\n",
      list_text(report.layers, "-"));
  const auto layers = summarise(model);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const LayerSummary& layer = layers[l];
    fmt::print("  {:<22} {:>9} {:>14.3g} {:>9.3g} {:>11.1f} % {:>12.2f}\n",
               fmt::format("{}: {} -> {}", l + 1, layer.inputs, layer.outputs),
               layer.inputs * layer.outputs, layer.mean_size, layer.mean_std, 100 * layer.sure,
               layer.gained);
  }
  if (report.certificate.examples > 0) print_certificate(report.certificate);
}

// What a start is, which has no belief to look at.
void print_start_file(const Start& start, const std::filesystem::path& path) {
  const Model& model = start.model();
  fmt::print("{}: {}, a start\n", path.string(), bytes_text(std::filesystem::file_size(path)));
  print_columns(model);
  print_entry("network", network_text(model));
  print_shapes(model);
  print_entry("start", start_text(start.shared()));
  print_entry("made of",
              fmt::format("a model of {} rows, which it has not learnt", model.report.rows));
  print_scores(model);
}

Json start_file_json(const Start& start) {
  Json json = fit_json(start.model());
  json["input_names"] = start.encoder().input_names();
  return json;
}

void run(const Arguments& arguments) {
  std::optional<Working> working("looking at the model");
  Model read = read_model(arguments.model);
  if (is_start(read)) {
    const Start start = Start::load(arguments.model);
    working.reset();
    if (arguments.json) return fmt::print("{}\n", start_file_json(start).dump());
    return print_start_file(start, arguments.model);
  }
  const Regressor model(std::move(read));
  std::optional<Table> rows;
  if (!arguments.data.empty()) {
    CsvOptions csv = arguments.csv.options();
    csv.columns = model.encoder().wanted(false);
    rows = read_csv(arguments.data, csv);
  }
  const Importance importance = model.column_importance(rows ? &*rows : nullptr);
  working.reset();
  if (arguments.json) {
    fmt::print("{}\n", to_json(model.model(), importance).dump());
  } else {
    print_model(model.model(), importance, arguments);
  }
}

}  // namespace

void add_inspect(Command app) {
  auto arguments = std::make_shared<Arguments>();
  const Command command = app.command("inspect", "show what is in a model");
  command.option("model", arguments->model, "model file").required().text("MODEL");
  command
      .option("--data", arguments->data,
              "CSV file with the rows over which to say which columns matter (default: the "
              "training rows, as far as the model has kept them)")
      .text("FILE");
  add_csv_options(command, arguments->csv);
  command.flag("--json", arguments->json, "print one JSON object");
  command.footer(
      "example:\n"
      "  dma inspect m.safetensors\n"
      "  dma inspect m.safetensors --data new.csv\n");
  command.run([arguments] { run(*arguments); });
}

}  // namespace dma::cli
