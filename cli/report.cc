#include "cli/report.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace dma::cli {

using Json = nlohmann::ordered_json;

std::string bytes_text(std::size_t bytes) {
  constexpr std::array units{"bytes", "kB", "MB", "GB", "TB"};
  auto amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; amount >= 1000 && unit + 1 < units.size(); ++unit) amount /= 1000;
  return fmt::format("{:.3g} {}", amount, units[unit]);
}

std::string number_text(double number, int digits) {
  constexpr double largest = 1e15;
  const double size = std::abs(number);
  if (size >= std::pow(10, digits) && size < largest) return fmt::format("{:.0f}", number);
  return fmt::format("{:.{}g}", number, digits);
}

std::string list_text(const std::vector<std::size_t>& numbers, std::string_view between) {
  std::string text;
  for (const std::size_t number : numbers) {
    if (!text.empty()) text += between;
    text += std::to_string(number);
  }
  return text;
}

std::string coverage_text(const std::array<double, 4>& coverage) {
  std::string shares;
  std::string levels;
  for (std::size_t k = 0; k < coverage.size(); ++k) {
    const char* comma = k == 0 ? "" : ", ";
    shares += fmt::format("{}{:.1f}", comma, 100 * coverage[k]);
    levels += fmt::format("{}{:g}", comma, 100 * Metrics::levels[k]);
  }
  return shares + " % in the " + levels + " % intervals";
}

std::size_t peak_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;  // Linux counts in kB
}

namespace {

// As many as fit into a line, and how many more there are.
std::string names_text(const std::vector<std::string>& names) {
  constexpr std::size_t widest = 100;
  std::string text;
  std::size_t shown = 0;
  for (const std::string& name : names) {
    if (shown > 0 && text.size() + name.size() > widest) break;
    text += (shown++ == 0 ? "" : ", ") + name;
  }
  if (shown < names.size()) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

// Names by what they have in common, in the order of their first appearance.
class Groups {
 public:
  void add(const std::string& common, const std::string& name) {
    auto group = std::find_if(groups_.begin(), groups_.end(),
                              [&](const auto& one) { return one.first == common; });
    if (group == groups_.end()) group = groups_.insert(group, {common, {}});
    group->second.push_back(name);
  }
  const auto& all() const { return groups_; }

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> groups_;
};

std::string kind_text(const FeatureColumn& column) {
  std::string text(name_of(column.kind));
  if (column.kind == ColumnKind::categorical) {
    text += fmt::format(", {} values", column.categories.size());
  }
  if (column.has_effects()) {
    text += column.effects.size() == 1
                ? ", learnt as one effect"
                : fmt::format(", learnt as {} effects", column.effects.size());
  }
  if (column.indicator) text += ", with empty cells";
  return text;
}

}  // namespace

std::vector<ColumnGroup> feature_groups(const Encoder& encoder) {
  Groups groups;
  for (const FeatureColumn& column : encoder.features) groups.add(kind_text(column), column.name);
  std::vector<ColumnGroup> result;
  for (const auto& [kind, names] : groups.all()) result.push_back({kind, names_text(names)});
  return result;
}

std::vector<std::string> date_part_texts(const Encoder& encoder) {
  std::vector<std::string> result;
  for (const FeatureColumn& column : encoder.features) {
    if (!column.parts.empty()) result.push_back(column.name + ": also " + column.parts_text());
  }
  return result;
}

std::vector<std::string> left_out_texts(const Encoder& encoder) {
  constexpr std::string_view constant = "constant: ";
  const auto of = [&](const DroppedColumn& column) {
    return column.reason.starts_with(constant) ? "constant" : column.reason;
  };
  Groups groups;
  for (const DroppedColumn& column : encoder.dropped) groups.add(of(column), column.name);
  std::vector<std::string> result;
  for (const auto& [reason, names] : groups.all()) {
    if (names.size() > 1) {
      result.push_back(fmt::format("{} columns, {}: {}", names.size(), reason, names_text(names)));
      continue;
    }
    const std::string& name = names.front();
    const auto own = std::find_if(encoder.dropped.begin(), encoder.dropped.end(),
                                  [&](const auto& one) { return one.name == name; });
    result.push_back(own->name + ": " + own->reason);
  }
  return result;
}

std::string epochs_text(std::size_t epochs, Stopped stopped, const Model& model) {
  const auto why = [&]() -> std::string_view {
    switch (stopped) {
      case Stopped::interrupted:
        return "interrupted";
      case Stopped::time:
        return "the time was used up";
      case Stopped::max_epochs:
        if (model.report.stream) return "one pass over the file";
        return model.options.epochs > 0
                   ? "the limit given"
                   : "the limit if none is given; a higher one rarely gains much";
      default:
        return "it stopped by itself";
    }
  };
  return fmt::format("{}: {}", epochs, why());
}

std::string epochs_text(const Model& model) {
  return epochs_text(model.report.epochs, model.report.stopped, model);
}

void print_entry(std::string_view name, std::string_view value) {
  fmt::print("  {:<18} {}\n", name, value);
}

std::string network_text(const Model& model) {
  const FitReport& report = model.report;
  const bool joint = model.options.belief == BeliefKind::joint;
  const std::string belief = joint ? "joint" : "independent";
  if (report.shapes.size() > model.encoder.targets.size()) {
    return fmt::format("{} networks of the shapes below, {} belief", model.members.size(), belief);
  }
  return fmt::format("{}, {} weights, {} member{}, {} belief", list_text(report.layers, "-"),
                     report.weights, model.members.size(), model.members.size() == 1 ? "" : "s",
                     belief);
}

namespace {

std::string shape_text(const std::vector<std::size_t>& hidden, bool ramps) {
  if (hidden.empty()) return ramps ? "additive" : "linear";
  return list_text(hidden, "-") + (ramps ? ", ramps" : "");
}

}  // namespace

std::string shape_text(const ShapeReport& shape) {
  return shape_text(shape.hidden, shape.ramps > 0);
}

std::string shape_text(const Architecture& network) {
  return shape_text({network.widths.begin() + 1, network.widths.end() - 1}, !network.ramps.empty());
}

std::string share_text(const ShapeReport& shape) {
  return shape.weight > 0 ? fmt::format("carries {:.0f} %", 100 * shape.weight) : "dropped";
}

std::string_view score_name(const Model& model) {
  return model.encoder.has_classes() ? "log loss" : "NLL";
}

void print_shapes(const Model& model) {
  const FitReport& report = model.report;
  const std::size_t targets = model.encoder.targets.size();
  if (report.shapes.size() <= targets) return;
  for (const ShapeReport& shape : report.shapes) {
    const std::string of =
        targets == 1 ? "" : " (" + model.encoder.targets[shape.target].name + ")";
    print_entry(
        "shape " + shape_text(shape) + of,
        fmt::format("{}; held-out {} {:.4f} alone, {} weights, {} epochs", share_text(shape),
                    score_name(model), shape.held_out_nll, shape.weights, shape.epochs));
  }
}

namespace {

std::string class_text(const TargetColumn& target) {
  constexpr std::size_t most = 6;
  std::string list;
  for (std::size_t k = 0; k < std::min(most, target.classes.size()); ++k) {
    list += fmt::format("{}{} ({})", k == 0 ? "" : ", ", target.classes[k], target.class_rows[k]);
  }
  if (target.classes.size() > most) list += ", ...";
  return fmt::format("{}: class, {} of them (rows): {}", target.name, target.classes.size(), list);
}

}  // namespace

std::string target_text(const TargetColumn& target) {
  switch (target.kind) {
    case TargetKind::classes:
      return class_text(target);
    case TargetKind::amount:
      return fmt::format("{}: amount, usually {}, a factor of {:.3g} up or down", target.name,
                         number_text(std::exp(target.mean)), std::exp(target.deviation));
    default:
      return fmt::format("{}: {}, mean {}, std {}", target.name, name_of(target.kind),
                         number_text(target.mean), number_text(target.deviation));
  }
}

std::pair<std::string, std::string> noise_text(const Model& model, std::size_t target) {
  const double noise = model.report.noise_std[target];
  const std::vector<TargetColumn>& targets = model.encoder.targets;
  const std::string of = targets.size() == 1 ? "" : " (" + targets[target].name + ")";
  const std::string floor = model.report.noise_at_floor[target]
                                ? ", the smallest allowed: the rows are fitted exactly"
                                : "";
  switch (targets[target].kind) {
    case TargetKind::amount:
      return {"noise" + of, fmt::format("a factor of {:.3g} up or down{}", std::exp(noise), floor)};
    case TargetKind::count:
      return {"over-dispersion",
              fmt::format("{0:.3g}: the variance is mean + {0:.3g} mean^2", noise * noise)};
    default:
      return {"noise std" + of, number_text(noise) + floor};
  }
}

std::string scores_text(const Metrics& metrics) {
  if (metrics.classes) return class_scores_text(*metrics.classes);
  return fmt::format("RMSE {}, NLL {:.4f}, {:.1f} % in the 95 % interval",
                     number_text(metrics.rmse), metrics.nll, 100 * metrics.coverage[3]);
}

std::string class_scores_text(const ClassMetrics& metrics) {
  std::string text =
      fmt::format("log loss {:.4f}, {:.1f} % right, calibration error {:.3f}", metrics.log_loss,
                  100 * metrics.accuracy, metrics.calibration_error);
  if (metrics.auc) text += fmt::format(", AUC {:.3f}", *metrics.auc);
  return text;
}

std::string rows_text(const Model& model) {
  const FitReport& report = model.report;
  std::string text = std::to_string(report.rows);
  if (report.copies > 0) {
    text += fmt::format(", of which {} {} another and {} with it", report.copies,
                        report.copies == 1 ? "repeats" : "repeat",
                        report.copies == 1 ? "counts" : "count");
  }
  if (!model.encoder.weight.empty()) text += ", weighted by " + model.encoder.weight;
  if (report.rows_without_weight > 0) {
    text += fmt::format("; {} left out because the weight is 0", report.rows_without_weight);
  }
  return text;
}

std::string count_text(double count) {
  return count == std::floor(count) ? fmt::format("{:.0f}", count) : fmt::format("{:.1f}", count);
}

Json count_json(double count) {
  constexpr double most = 9e15;  // beyond, not every whole number is a double
  const bool whole = count == std::floor(count) && count < most;
  return whole ? Json(static_cast<std::uint64_t>(count)) : Json(count);
}

std::optional<std::size_t> level_that_is_off(const Metrics& metrics) {
  constexpr double allowed = 3;  // deviations of a binomial share
  std::optional<std::size_t> worst;
  double most = allowed;
  for (std::size_t k = 0; k < Metrics::levels.size() && metrics.values > 0; ++k) {
    const double level = Metrics::levels[k];
    const auto rows = static_cast<double>(metrics.values);
    const double off = std::max(0.0, std::abs(metrics.coverage[k] - level) - 0.5 / rows) /
                       std::sqrt(level * (1 - level) / rows);
    if (off <= most) continue;
    most = off;
    worst = k;
  }
  return worst;
}

namespace {

std::string coverage_note(const Metrics& metrics, std::size_t level) {
  const double share = metrics.coverage[level];
  return fmt::format(
      "{:.1f} % in the {:g} % interval is further off than chance explains: intervals of that "
      "level "
      "are too {}; 'predict --intervals calibrated' makes them fit",
      100 * share, 100 * Metrics::levels[level],
      share < Metrics::levels[level] ? "narrow" : "wide");
}

}  // namespace

std::string calibrated_text(const Model& model) {
  return fmt::format("intervals calibrated by {} rows that {}",
                     model.probabilities_below.front().size(),
                     model.held_out_below ? "the model has not learnt"
                                          : "were predicted before they were learnt: about right, "
                                            "without a guarantee");
}

void print_scores(const Model& model) {
  const FitReport& report = model.report;
  const bool held_out = !report.shapes.empty();
  const std::string name = held_out ? "held-out" : "cavity";
  const std::string what = model.encoder.has_classes() ? " scores" : " NLL";
  if (model.start) {
    if (report.cavity.front().values == 0) return;
    return print_entry("sample's scores", fmt::format("{} {:.4f}; this model has not been scored, "
                                                      "see dma evaluate",
                                                      score_name(model), report.cavity_nll()));
  }
  if (report.cavity.front().values == 0) {
    return print_entry(name + what, "unknown: there are too few rows to leave one out");
  }
  const std::string how = held_out || report.stream ? "each row scored before it was learnt"
                                                    : "estimate for held-out rows";
  if (const auto& classes = report.cavity.front().classes) {
    print_entry(name + what, class_scores_text(*classes));
    return print_entry("", how);
  }
  print_entry(name + what, fmt::format("{:.4f}, {}", report.cavity_nll(), how));
  print_entry(name + " coverage", coverage_text(report.cavity_coverage()));
  for (const Metrics& metrics : report.cavity) {
    const auto level = level_that_is_off(metrics);
    if (level && !model.encoder.has_counts()) {  // whose intervals may hold more
      print_entry("", coverage_note(metrics, *level));
      break;
    }
  }
}

std::string start_text(const SharedStart& start) {
  std::string own = fmt::format("{}, round {}", digest_text(start.digest), start.round);
  if (start.parts.empty()) return own;
  return fmt::format("{}; learnt from it: {} part{}", own, start.parts.size(),
                     start.parts.size() == 1 ? "" : "s");
}

Json start_json(const Model& model) {
  if (!model.start) return nullptr;
  Json parts = Json::array();
  for (const SharedStart::Part& part : model.start->parts) {
    parts.push_back({{"digest", digest_text(part.digest)}, {"rows", part.rows}});
  }
  return {{"digest", digest_text(model.start->digest)},
          {"round", model.start->round},
          {"parts", std::move(parts)}};
}

void print_fit(const Model& model) {
  const FitReport& report = model.report;
  // How many they are was said before, but not when a start is learnt from.
  const std::string rows = rows_text(model);
  if (model.start || rows != std::to_string(report.rows)) print_entry("rows", rows);
  print_entry("network", network_text(model));
  print_shapes(model);
  if (model.start) {
    print_entry("start", start_text(*model.start));
  } else {
    print_entry("epochs", epochs_text(model));
  }
  for (std::size_t k = 0; !model.encoder.has_classes() && k < report.noise_std.size(); ++k) {
    const auto [name, text] = noise_text(model, k);
    print_entry(name, text);
  }
  if (!std::isnan(report.train_nll) || !model.start) {
    print_entry(fmt::format("training {}", score_name(model)),
                std::isnan(report.train_nll) ? "unknown: every row was seen only once"
                                             : fmt::format("{:.4f}", report.train_nll));
  }
  print_scores(model);
  if (!model.start && model.options.belief == BeliefKind::joint &&
      model.options.ledger != LedgerMode::full) {
    print_entry("ledger", "not kept, because it would be too large: forgetting rows needs --data");
  }
  if (report.stream) {
    print_entry("stream", fmt::format("one pass; learning alone: {:.0f} rows a second",
                                      report.rows_per_second()));
  }
  print_entry("time, memory",
              fmt::format("{:.2f} s, {} peak", report.seconds, bytes_text(peak_bytes())));
}

Json coverage_json(const std::array<double, 4>& coverage) {
  Json json;
  for (std::size_t k = 0; k < coverage.size(); ++k) {
    json[fmt::format("{:g}", Metrics::levels[k])] = coverage[k];
  }
  return json;
}

Json class_metrics_json(const ClassMetrics& metrics) {
  Json reliability = Json::array();
  for (const ReliabilityBin& bin : metrics.reliability) {
    reliability.push_back({{"rows", count_json(bin.rows)},
                           {"confidence", bin.confidence},
                           {"accuracy", bin.accuracy}});
  }
  Json confusion = Json::array();
  for (std::size_t k = 0; k < metrics.classes; ++k) {
    Json counts = Json::array();
    for (const double count : metrics.confusion_of(k)) counts.push_back(count_json(count));
    confusion.push_back(std::move(counts));
  }
  return {{"log_loss", metrics.log_loss},
          {"brier", metrics.brier},
          {"accuracy", metrics.accuracy},
          {"balanced_accuracy", metrics.balanced_accuracy},
          {"calibration_error", metrics.calibration_error},
          {"auc", metrics.auc ? Json(*metrics.auc) : Json()},
          {"reliability", std::move(reliability)},
          {"confusion", std::move(confusion)}};
}

Json metrics_json(const Metrics& metrics) {
  if (metrics.classes) return class_metrics_json(*metrics.classes);
  return {{"rmse", metrics.rmse},
          {"mae", metrics.mae},
          {"nll", metrics.nll},
          {"crps", metrics.crps},
          {"coverage", coverage_json(metrics.coverage)},
          {"calibration_error", metrics.calibration_error}};
}

Json importance_json(const Model& model, const std::vector<std::vector<ColumnShare>>& all) {
  if (all.empty()) return {};
  Json list = Json::array();
  for (std::size_t k = 0; k < all.size(); ++k) {
    for (const ColumnShare& one : all[k]) {
      list.push_back({{"column", one.column},
                      {"share", one.share},
                      {"lower", one.lower},
                      {"upper", one.upper}});
      if (all.size() > 1) list.back()["target"] = model.encoder.targets[k].name;
    }
  }
  return list;
}

Json certificate_json(const Certificate& certificate) {
  Json layers = Json::array();
  for (const LayerCertificate& layer : certificate.layers) {
    layers.push_back({{"product_messages", layer.product_messages},
                      {"share_below_two", layer.share_below_two},
                      {"signal_to_noise", layer.signal_to_noise},
                      {"uniform_messages", layer.uniform_messages},
                      {"smallest_precision", layer.smallest_precision},
                      {"largest_precision", layer.largest_precision}});
  }
  Json json{{"examples", certificate.examples},
            {"bounded",
             {{"prior_precisions", certificate.bounded.prior_precisions},
              {"noise_variances", certificate.bounded.noise_variances},
              {"noise_levels", certificate.bounded.noise_levels}}},
            {"layers", std::move(layers)}};
  if (certificate.negative_messages) json["negative_messages"] = *certificate.negative_messages;
  if (const auto& joint = certificate.joint) {
    json["joint"] = {{"linearisation_error", joint->linearisation_error},
                     {"largest_leverage", joint->largest_leverage},
                     {"rows_alone", joint->rows_alone},
                     {"damping", joint->damping},
                     {"step_left", joint->step_left}};
  }
  return json;
}

Json per_target(const std::vector<double>& values) {
  return values.size() == 1 ? Json(values.front()) : Json(values);
}

Json shapes_json(const Model& model) {
  Json list = Json::array();
  for (const ShapeReport& shape : model.report.shapes) {
    list.push_back({{"target", model.encoder.targets[shape.target].name},
                    {"hidden", shape.hidden},
                    {"ramps", shape.ramps},
                    {"weights", shape.weights},
                    {"weight", shape.weight},
                    {"epochs", shape.epochs},
                    {"held_out_nll", shape.held_out_nll}});
  }
  return list;
}

namespace {

Json bounds_json(const Bounds& bounds) {
  if (!bounds.any()) return {};
  const auto end = [](double value) { return std::isinf(value) ? Json() : Json(value); };
  return {{"low", end(bounds.low)}, {"high", end(bounds.high)}, {"assumed", bounds.assumed}};
}

}  // namespace

Json fit_json(const Model& model) {
  const FitReport& report = model.report;
  std::vector<std::string> targets;
  for (const TargetColumn& target : model.encoder.targets) targets.push_back(target.name);
  Json json{{"rows", report.rows},
            {"rows_without_target", report.rows_without_target},
            {"rows_without_weight", report.rows_without_weight},
            {"copies", report.copies},
            {"weight", model.encoder.weight.empty() ? Json() : Json(model.encoder.weight)},
            {"target", targets},
            {"kind", name_of(model.encoder.targets.front().kind)},
            {"features", model.encoder.features.size()},
            {"inputs", model.encoder.width()},
            {"weights", report.weights},
            {"layers", report.layers},
            {"shapes", shapes_json(model)},
            {"ensemble", model.options.ensemble},
            {"members", model.members.size()},
            {"belief", model.options.belief == BeliefKind::joint ? "joint" : "independent"},
            {"rule", name_of(model.options.rule)},
            {"precision", model.options.single_precision ? "float" : "double"},
            {"epochs", report.epochs},
            {"stopped", name_of(report.stopped)},
            {"train_nll", report.train_nll},
            {"cavity_nll", report.cavity_nll()},
            {"seconds", report.seconds},
            {"stream", report.stream},
            {"rows_per_second", report.stream ? Json(report.rows_per_second()) : Json()},
            {"batches", report.batches},
            {"batch_size", report.batch_size},
            {"ledger_bytes", report.ledger_bytes},
            {"start", start_json(model)},
            {"certificate", certificate_json(report.certificate)}};
  if (model.encoder.has_classes()) {
    json["classes"] = model.encoder.targets.front().classes;
    json["cavity"] = metrics_json(report.cavity.front());
  } else {
    json["noise_std"] = per_target(report.noise_std);
    json["noise_at_floor"] = report.noise_at_floor;
    json["cavity_coverage"] = coverage_json(report.cavity_coverage());
    const auto off = level_that_is_off(report.cavity.front());
    json["coverage_off"] =
        off && !model.encoder.has_counts() ? Json(Metrics::levels[*off]) : Json();
    json["bounds"] = bounds_json(model.encoder.targets.front().bounds);
  }
  return json;
}

Json distance_json(const Distance& distance) {
  return {{"rows", distance.rows},
          {"mean_shift", distance.mean_shift},
          {"largest_shift", distance.largest_shift},
          {"mean_std_ratio", distance.mean_std_ratio}};
}

}  // namespace dma::cli
