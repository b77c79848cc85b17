#include "cli/fit_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "cli/report.h"
#include "cli/response.h"
#include "cli/typical.h"

namespace dma::cli {
namespace {

using Json = nlohmann::json;

constexpr const char* method = "dma";
constexpr const char* left_out_rows = "training rows, left out in turn";
constexpr std::size_t most_responses = 30;
constexpr std::size_t most_weights = 20000;   // drawn
constexpr std::size_t most_weight_rows = 60;  // of the drawing: inputs of a layer
constexpr std::size_t most_confused = 30;     // classes whose confusion is drawn

// How well a set of rows was predicted: one Metrics per target.
struct Scored {
  std::string region;
  std::vector<Metrics> metrics;
};

// With several targets each object of a list names its target.
Json of_target(const Encoder& encoder, std::size_t target, Json object) {
  if (encoder.targets.size() > 1) object["target"] = encoder.targets[target].name;
  return object;
}

// ------------------------------------------------------------------------------------------- figures

Json training_figure(const Model& model) {
  Json list = Json::array();
  const auto& training = model.report.training;
  for (std::size_t m = 0; m < training.size(); ++m) {
    const std::string shape = shape_text(model.members[m].belief->architecture());
    for (std::size_t n = 0; n < training[m].size(); ++n) {
      list.push_back(
          {{"member", m + 1}, {"shape", shape}, {"epoch", n + 1}, {"nll", training[m][n]}});
    }
  }
  return list;
}

void add_calibration(const Encoder& encoder, const Scored& scored, Json& list) {
  for (std::size_t k = 0; k < scored.metrics.size(); ++k) {
    const auto& coverage = scored.metrics[k].coverage_curve;
    for (std::size_t n = 0; n < coverage.size(); ++n) {
      list.push_back(of_target(encoder, k,
                               {{"method", method},
                                {"region", scored.region},
                                {"level", Metrics::curve_levels[n]},
                                {"coverage", coverage[n]}}));
    }
  }
}

void add_pit(const Encoder& encoder, const Scored& scored, Json& list) {
  for (std::size_t k = 0; k < scored.metrics.size(); ++k) {
    const Metrics& metrics = scored.metrics[k];
    if (metrics.classes) return;
    const auto bins = static_cast<double>(metrics.pit.size());
    for (std::size_t n = 0; n < metrics.pit.size(); ++n) {
      const double share = metrics.pit[n] / metrics.weight;
      list.push_back(of_target(encoder, k,
                               {{"region", scored.region},
                                {"low", static_cast<double>(n) / bins},
                                {"high", static_cast<double>(n + 1) / bins},
                                {"share", share}}));
    }
  }
}

// Rows that were predicted by members that had not learnt them.
void add_held_out(const Model& model, Json& list) {
  const auto& held_out = model.report.held_out;
  for (std::size_t k = 0; k < held_out.size(); ++k) {
    for (const HeldOutRow& row : held_out[k]) {
      list.push_back(of_target(model.encoder, k,
                               {{"region", left_out_rows},
                                {"actual", row.actual},
                                {"predicted", row.predicted},
                                {"lower", row.lower},
                                {"upper", row.upper}}));
    }
  }
}

// Of the rows with a target, evenly many of any order.
void add_predicted(const Regressor& model, const NamedRows& rows, Json& list) {
  const Encoder& encoder = model.encoder();
  if (encoder.has_classes()) return;
  const EncodedRows encoded = encoder.encode(rows.table, UseWeights::ignored);
  const std::size_t step = encoded.rows / most_held_out_rows + 1;
  std::vector<std::size_t> chosen;
  std::vector<std::size_t> table_rows;
  for (std::size_t n = 0; n < encoded.rows; n += step) {
    chosen.push_back(n);
    table_rows.push_back(encoded.table_rows[n]);
  }
  const auto predicted = model.predict(select_rows(rows.table, table_rows));
  const std::size_t targets = encoder.targets.size();
  const CentralLevel level(0.95);
  for (std::size_t n = 0; n < predicted.size(); ++n) {
    const std::size_t k = n % targets;
    const Interval interval = predicted[n].interval(level);
    const double actual = encoded.targets[chosen[n / targets] * targets + k];
    list.push_back(of_target(encoder, k,
                             {{"region", rows.name},
                              {"actual", encoder.targets[k].decoded(actual)},
                              {"predicted", predicted[n].mean},
                              {"lower", interval.lower},
                              {"upper", interval.upper}}));
  }
}

Json importance_figure(const Regressor& model, const NamedRows* rows) {
  auto all = model.column_importance(rows != nullptr ? &rows->table : nullptr);
  for (auto& columns : all) columns.resize(std::min(columns.size(), most_responses));
  if (all.empty()) return Json::array();
  return importance_json(model.model(), all);
}

void add_reliability(const Scored& scored, Json& list) {
  const auto& classes = scored.metrics.front().classes;
  if (!classes) return;
  for (const ReliabilityBin& bin : classes->reliability) {
    if (bin.rows == 0) continue;
    list.push_back({{"region", scored.region},
                    {"rows", count_json(bin.rows)},
                    {"confidence", bin.confidence},
                    {"accuracy", bin.accuracy}});
  }
}

void add_confusion(const Encoder& encoder, const Scored& scored, Json& list) {
  const auto& metrics = scored.metrics.front().classes;
  if (!metrics || metrics->classes > most_confused) return;
  const std::vector<std::string>& names = encoder.targets.front().classes;
  for (std::size_t k = 0; k < metrics->classes; ++k) {
    const auto row = metrics->confusion_of(k);
    const double rows = std::accumulate(row.begin(), row.end(), 0.0);
    for (std::size_t j = 0; j < metrics->classes; ++j) {
      list.push_back({{"region", scored.region},
                      {"class", names[k]},
                      {"predicted", names[j]},
                      {"rows", count_json(row[j])},
                      {"share", rows == 0 ? 0 : row[j] / rows}});
    }
  }
}

// An input's value in the unit of its column, if it has one.
std::string input_text(const Encoder& encoder, std::size_t input, double value) {
  for (const Place& place : encoder.places()) {
    if (place.first == input && place.feature.has_number()) return cell_text(place.feature, value);
  }
  return number_text(value, 3);
}

// Names of the columns and their ramps, or of the units below; the bias comes last.
std::vector<std::string> input_names(const Encoder& encoder, const Architecture& architecture,
                                     std::size_t layer) {
  std::vector<std::string> names;
  if (layer == 0) {
    names = encoder.input_names();
    for (const Ramp& ramp : architecture.ramps) {
      names.push_back(fmt::format("{}, ramp to {}", names[ramp.input],
                                  input_text(encoder, ramp.input, ramp.to)));
    }
  }
  for (std::size_t j = names.size(); j < architecture.widths[layer]; ++j) {
    names.push_back(fmt::format("unit {}", j + 1));
  }
  if (architecture.layer(layer).bias) names.emplace_back("bias");
  return names;
}

void add_weights(const Model& model, const Member& member, Json& list) {
  const Architecture& architecture = member.belief->architecture();
  const WeightMoments network = member.belief->weights();
  const bool one_each = member.belief->likelihood().targets() < model.encoder.targets.size();
  for (std::size_t l = 0; l < architecture.layers(); ++l) {
    const auto inputs = input_names(model.encoder, architecture, l);
    architecture.layer(l).each_weight([&](std::size_t place, std::size_t unit, std::size_t input) {
      Json weight{{"method", method},
                  {"layer", l + 1},
                  {"unit", unit + 1},
                  {"input", inputs[input]},
                  {"mean", network.mean[place]},
                  {"std", std::sqrt(network.variance[place])}};
      if (one_each) weight["target"] = model.encoder.targets[member.target].name;
      list.push_back(std::move(weight));
    });
  }
}

// The first of every target.
std::vector<const Member*> first_members(const Model& model) {
  std::vector<const Member*> first;
  for (const Member& member : model.members) {
    if (first.empty() || first.back()->target != member.target) first.push_back(&member);
  }
  return first;
}

bool can_be_drawn(const Model& model, const Architecture& architecture) {
  if (architecture.weight_count() > most_weights) return false;
  for (std::size_t l = 0; l < architecture.layers(); ++l) {
    if (input_names(model.encoder, architecture, l).size() > most_weight_rows) return false;
  }
  return true;
}

bool weights_are_drawn(const Model& model) {
  const auto members = first_members(model);
  return std::all_of(members.begin(), members.end(), [&](const Member* member) {
    return can_be_drawn(model, member->belief->architecture());
  });
}

Json weights_figure(const Model& model) {
  Json list = Json::array();
  if (!weights_are_drawn(model)) return list;
  for (const Member* member : first_members(model)) add_weights(model, *member, list);
  return list;
}

// Whole numbers are drawn like categories if they are few.
std::string_view kind_of(const Response& response) {
  return response.few_whole ? "whole" : name_of(response.kind);
}

Json class_response_figure(const std::vector<Response>& responses, const Encoder& encoder) {
  Json list = Json::array();
  const std::vector<std::string>& classes = encoder.targets.front().classes;
  for (const Response& response : responses) {
    for (std::size_t n = 0; n < response.predicted.size(); ++n) {
      for (std::size_t k = 0; k < classes.size(); ++k) {
        list.push_back({{"input", response.column},
                        {"kind", kind_of(response)},
                        {"x", response.x[n]},
                        {"class", classes[k]},
                        {"probability", response.predicted[n].probabilities[k]}});
      }
    }
  }
  return list;
}

Json response_figure(const std::vector<Response>& responses, const Encoder& encoder) {
  if (encoder.has_classes()) return class_response_figure(responses, encoder);
  Json list = Json::array();
  const std::size_t targets = encoder.targets.size();
  for (const Response& response : responses) {
    for (std::size_t n = 0; n < response.predicted.size(); ++n) {
      const Predicted& p = response.predicted[n];
      const Interval function = p.function_interval(CentralLevel(0.95));
      list.push_back(of_target(encoder, n % targets,
                               {{"input", response.column},
                                {"kind", kind_of(response)},
                                {"x", response.x[n / targets]},
                                {"mean", p.mean},
                                {"lower", p.lower()},
                                {"upper", p.upper()},
                                {"epistemic_lower", function.lower},
                                {"epistemic_upper", function.upper}}));
    }
  }
  return list;
}

// A list of names and values, some with an explanation.
class Entries {
 public:
  void add(const std::string& name, const std::string& value) {
    list_.push_back({{"name", name}, {"value", value}});
  }
  void add(const std::string& name, const std::string& value, const std::string& about) {
    list_.push_back({{"name", name}, {"value", value}, {"about", about}});
  }
  Json take() { return std::move(list_); }

 private:
  Json list_ = Json::array();
};

void add_layer(std::size_t number, const LayerCertificate& layer, Entries& entries) {
  const std::string name = fmt::format("layer {}: ", number);
  entries.add(name + "precisions",
              fmt::format("{:.3g} to {:.3g}", layer.smallest_precision, layer.largest_precision),
              "The smallest and the largest posterior precision of a weight.");
  if (layer.product_messages == 0) return;
  entries.add(
      name + "outside the theorem",
      fmt::format("{:.1f} % of {}", 100 * layer.share_below_two, layer.product_messages),
      "Product messages with a signal-to-noise ratio below 2, which the error bound does not "
      "cover.");
  entries.add(name + "signal to noise", fmt::format("{:.2g}", layer.signal_to_noise[2]),
              "Median over the product messages.");
  entries.add(name + "silent", std::to_string(layer.uniform_messages),
              "Messages without information, because the unit received none from above.");
}

void add_joint(const JointCertificate& joint, Entries& entries) {
  entries.add("linearisation", fmt::format("{:.3g}", joint.linearisation_error),
              "How far the network, at weights drawn from the belief, is from the linear function "
              "used for predictions, in standard deviations of a prediction.");
  entries.add("largest leverage", fmt::format("{:.3g}", joint.largest_leverage),
              "The largest share of a row in its own prediction.");
  entries.add("rows alone", std::to_string(joint.rows_alone),
              "Rows whose share rounds to 1: they have no cavity prediction.");
  entries.add("next step", fmt::format("{:.2g}", joint.step_left),
              "How far the next epoch would have moved the weights, in their standard deviations.");
  entries.add("damping", fmt::format("{:.2g}", joint.damping),
              "Damping of the last step; if it is far from 0, the fit had not settled.");
}

Json certificate_figure(const Model& model) {
  const Certificate& certificate = model.report.certificate;
  const Bounded& bounded = certificate.bounded;
  Entries entries;
  entries.add("examples", std::to_string(certificate.examples),
              "Rows examined in the first member.");
  if (certificate.negative_messages) {
    entries.add("negative messages", std::to_string(*certificate.negative_messages),
                "Messages from a batch to a weight with negative precision; the paper proves that "
                "there are none.");
  }
  if (certificate.joint) add_joint(*certificate.joint, entries);
  if (model.options.belief == BeliefKind::joint) {
    entries.add("prior precisions at a bound", std::to_string(bounded.prior_precisions),
                fmt::format("Learnt precisions equal to {:g} or {:g}; at the upper bound their "
                            "weights, often those of one column, are switched off.",
                            least_prior_precision, most_prior_precision));
  }
  if (model.options.belief == BeliefKind::joint && !model.encoder.has_classes() &&
      !model.encoder.has_counts()) {
    entries.add("noise at a bound", std::to_string(bounded.noise_variances),
                fmt::format("Rows, over all members, whose noise variance is {:g} of the target's, "
                            "or of whose noise little more is known than nothing.",
                            least_noise_variance));
    entries.add(
        "noise levels bounded", std::to_string(bounded.noise_levels),
        "Members whose weights had used up more than nine tenths of the rows when the noise was "
        "learnt.");
  }
  for (std::size_t l = 0; l < certificate.layers.size(); ++l) {
    add_layer(l + 1, certificate.layers[l], entries);
  }
  return entries.take();
}

// --------------------------------------------------------------------------------------------- facts

void add_targets(const Model& model, Entries& facts) {
  const auto& targets = model.encoder.targets;
  for (std::size_t k = 0; k < targets.size(); ++k) {
    facts.add("target", target_text(targets[k]));
    if (targets[k].kind == TargetKind::classes) continue;
    const auto [name, text] = noise_text(model, k);
    facts.add(name, text);
  }
}

void add_scores(const Encoder& encoder, const Scored& scored, Entries& facts) {
  for (std::size_t k = 0; k < scored.metrics.size(); ++k) {
    const Metrics& metrics = scored.metrics[k];
    const std::string of = encoder.targets.size() == 1 ? "" : " (" + encoder.targets[k].name + ")";
    if (metrics.classes) {
      facts.add(scored.region,
                fmt::format("{} rows: {}", metrics.values, class_scores_text(*metrics.classes)));
      continue;
    }
    facts.add(scored.region + of,
              fmt::format("{} rows: RMSE {}, NLL {:.4f}, {}", metrics.values,
                          number_text(metrics.rmse), metrics.nll, coverage_text(metrics.coverage)));
  }
}

void add_network(const Model& model, Entries& facts) {
  const FitReport& report = model.report;
  for (const auto& [kind, names] : feature_groups(model.encoder)) facts.add(kind, names);
  for (const std::string& text : date_part_texts(model.encoder)) facts.add("parts of dates", text);
  for (const std::string& text : left_out_texts(model.encoder)) facts.add("left out", text);
  facts.add("network inputs", std::to_string(model.encoder.width()));
  facts.add("network", network_text(model));
  for (const ShapeReport& shape : report.shapes) {
    const std::string of = model.encoder.targets.size() == 1
                               ? ""
                               : " (" + model.encoder.targets[shape.target].name + ")";
    facts.add("shape " + shape_text(shape) + of,
              fmt::format("{}; {} weights, held-out {} {:.4f} alone", share_text(shape),
                          shape.weights, score_name(model), shape.held_out_nll));
  }
  facts.add("rule", std::string(name_of(model.options.rule)));
}

void add_training(const Model& model, Entries& facts) {
  const FitReport& report = model.report;
  facts.add("epochs", epochs_text(model));
  if (report.stream) {
    facts.add("training curve, NLL", "unknown: in a stream every row is seen only once");
  } else if (report.training.empty()) {
    facts.add("training curve, calibration", "not in this file, which has format 2");
  }
  if (!std::isnan(report.train_nll)) {
    facts.add(fmt::format("training {}", score_name(model)),
              fmt::format("{:.4f}", report.train_nll));
  }
}

void add_gaps(const Model& model, Entries& facts) {
  const FitReport& report = model.report;
  if (report.rows_changed > 0) {
    facts.add(
        "changed since",
        fmt::format("{} rows were added or forgotten without the training rows: training curve, "
                    "noise, NLL, calibration and certificate describe the fit before",
                    report.rows_changed));
  }
  if (model.encoder.features.size() > most_responses) {
    facts.add("responses", fmt::format("the {} columns that move the prediction most, of {}",
                                       most_responses, model.encoder.features.size()));
  }
  if (!weights_are_drawn(model)) facts.add("weights drawn", "none: there are too many");
}

Json facts_of(const Regressor& regressor, const std::vector<Scored>& scored,
              const NamedRows* rows) {
  const Model& model = regressor.model();
  Entries facts;
  facts.add("rows", rows_text(model));
  add_targets(model, facts);
  add_network(model, facts);
  add_training(model, facts);
  for (const Scored& one : scored) add_scores(model.encoder, one, facts);
  const Table* given = rows == nullptr ? nullptr : &rows->table;
  facts.add(rows == nullptr ? "typical row" : "typical row of " + rows->name,
            row_text(model.encoder, typical_row(regressor, given), {}));
  add_gaps(model, facts);
  return facts.take();
}

}  // namespace

namespace {

std::vector<std::string> names_of_targets(const Encoder& encoder) {
  std::vector<std::string> names;
  for (const TargetColumn& target : encoder.targets) names.push_back(target.name);
  return names;
}

}  // namespace

Json fit_page(const Regressor& model, const std::string& name, const NamedRows* rows) {
  const Encoder& encoder = model.encoder();
  std::vector<Scored> scored{{left_out_rows, model.report().cavity}};
  if (rows != nullptr) scored.push_back({rows->name, model.evaluate(rows->table)});
  const auto shown =
      widest(responses(model, rows != nullptr ? &rows->table : nullptr), encoder, most_responses);
  const bool of_amounts = encoder.targets.front().kind == TargetKind::amount;
  Json calibration = Json::array();
  Json pit = Json::array();
  Json reliability = Json::array();
  Json confusion = Json::array();
  Json predicted = Json::array();
  add_held_out(model.model(), predicted);
  if (rows != nullptr) add_predicted(model, *rows, predicted);
  for (const Scored& one : scored) {
    add_calibration(encoder, one, calibration);
    add_pit(encoder, one, pit);
    add_reliability(one, reliability);
    add_confusion(encoder, one, confusion);
  }
  return {{"kind", "report"},
          {"version", DMA_VERSION},
          {"model", name},
          {"targets", names_of_targets(encoder)},
          {"target_scale", of_amounts ? "log" : "linear"},
          {"facts", facts_of(model, scored, rows)},
          {"figures",
           {{"predicted", std::move(predicted)},
            {"importance", importance_figure(model, rows)},
            {"training", training_figure(model.model())},
            {"calibration", std::move(calibration)},
            {"pit", std::move(pit)},
            {"reliability", std::move(reliability)},
            {"confusion", std::move(confusion)},
            {"weights", weights_figure(model.model())},
            {"response", response_figure(shown, encoder)},
            {"certificate", certificate_figure(model.model())}}}};
}

}  // namespace dma::cli
