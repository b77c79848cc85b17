#include <dma/regressor/model_file.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <dma/base/parallel.h>
#include <dma/data/atomic_file.h>

#include "belief/joint_arrays.h"
#include "data/message.h"
#include "data/safetensors.h"
#include "data/strict_json.h"
#include "regressor/fit.h"
#include "regressor/model_json.h"
#include "regressor/older_formats.h"

namespace dma {

using Json = detail::StrictJson;
using detail::architecture_from;
using detail::options_from;
using detail::to_json;

namespace {

using detail::SafetensorsFile;
using detail::Tensor;

constexpr int deepest = 16;  // the description has six levels

void require(const SafetensorsFile& file, bool condition, const char* reason) {
  if (!condition) file.fail(reason);
}

template <class T>
Tensor tensor(std::string name, const std::vector<T>& numbers) {
  return {std::move(name),
          {detail::number_type<T>(), {numbers.size()}},
          {std::as_bytes(std::span(numbers))}};
}

std::string below_name(std::size_t target) {
  return "probabilities_below." + std::to_string(target);
}
std::string member_name(std::size_t member) { return "member." + std::to_string(member) + "."; }

// Formats 2 to 7 hold some numbers of a joint member as JSON; adds them as arrays.
void add_old_arrays(const SafetensorsFile& file, const Json& member, const Json& architecture,
                    Arrays& arrays) {
  arrays.put("noise_variance", member.at("noise_variance").get<double>());
  const Json& noise = member.at("log_noise");
  if (noise.is_null()) return;
  require(file,
          noise.at("slopes") == architecture.at("slopes") &&
              noise.at("bias") == architecture.at("bias"),
          "a noise network does not match its function");
  arrays.put("log_noise.widths", noise.at("widths").get<std::vector<std::uint64_t>>());
  const Json& inputs = member.at("noise_inputs");
  arrays.put("noise_inputs.scale", std::vector<double>{inputs.at("value_mean").get<double>(),
                                                       inputs.at("value_deviation").get<double>()});
  arrays.put("noise_inputs.low", inputs.at("low").get<std::vector<double>>());
  arrays.put("noise_inputs.high", inputs.at("high").get<std::vector<double>>());
}

void check_network(const SafetensorsFile& file, const Architecture& architecture,
                   const Model& model) {
  architecture.validate(model.options.rule);
  const bool joint = model.options.belief == BeliefKind::joint;
  require(file,
          architecture.inputs() == model.encoder.width() &&
              architecture.outputs() == detail::outputs_of_network(model.encoder, joint),
          "its encoder does not match its network");
}

// What a stored belief has to be told.
Heard heard_by(const Model& model) {
  return {model.batch_rows, !model.start && known_rows(model) == model.report.rows};
}

// Before format 11 all members had one architecture and one weight, and those of a draw, one per target if they were
// joint, stood together.
void read_old_members(const SafetensorsFile& file, int version, const Json& json, Model& model) {
  const RegressorOptions& options = model.options;
  const Architecture architecture = architecture_from(json.at("architecture"));
  check_network(file, architecture, model);
  const std::size_t outputs = architecture.outputs();
  const std::size_t beliefs = model.encoder.targets.size() / outputs;  // of a draw
  std::size_t count = 0;
  require(file, !__builtin_mul_overflow(options.ensemble, beliefs, &count),
          "does not have the number of members that it says");
  const bool old = options.belief == BeliefKind::joint && version < 8;
  require(file, !old || json.at("members").size() == count,
          "does not have the number of members that it says");
  for (std::size_t m = 0; m < count; ++m) {
    Arrays arrays = file.read_arrays(member_name(m));
    if (old) add_old_arrays(file, json.at("members")[m], json.at("architecture"), arrays);
    model.members.push_back(
        {detail::stored_belief(architecture, model, std::move(arrays), heard_by(model)),
         m % beliefs * outputs, 1 / static_cast<double>(options.ensemble)});
  }
  std::stable_sort(model.members.begin(), model.members.end(),
                   [](const Member& a, const Member& b) { return a.target < b.target; });
}

void read_members(const SafetensorsFile& file, const Json& json, Model& model) {
  std::vector<double> weights(model.encoder.targets.size());
  std::vector<Architecture> architectures;
  std::vector<Arrays> stored;
  for (std::size_t m = 0; m < json.size(); ++m) {
    const Architecture architecture = architecture_from(json[m].at("architecture"));
    check_network(file, architecture, model);
    const auto target = json[m].at("target").get<std::size_t>();
    const auto weight = json[m].at("weight").get<double>();
    const std::size_t targets = model.encoder.has_classes() ? 1 : architecture.outputs();
    require(file,
            target < weights.size() && targets <= weights.size() - target &&
                (m == 0 || target >= model.members.back().target),
            "a member has no target");
    require(file, weight > 0 && std::isfinite(weight), "a member has no weight");
    for (std::size_t k = 0; k < targets; ++k) weights[target + k] += weight;
    model.members.push_back({nullptr, target, weight});
    architectures.push_back(architecture);
    stored.push_back(file.read_arrays(member_name(m)));
  }
  detail::parallel_for(stored.size(), model.options.threads, [&](std::size_t m) {
    model.members[m].belief =
        detail::stored_belief(architectures[m], model, std::move(stored[m]), heard_by(model));
  });
  for (const double weight : weights) {
    require(file, std::abs(weight - 1) < 1e-9, "the weights of its members do not sum to 1");
  }
}

void check_calibrations(const SafetensorsFile& file, const std::vector<Calibration>& all,
                        std::size_t targets) {
  const auto sound = [](double shift, double spread) {
    return std::isfinite(shift) && std::isfinite(spread) && spread >= 0;
  };
  const auto both_sound = [&](const Calibration& one) {
    return sound(one.noise_shift, one.noise_spread) &&
           sound(one.function_shift, one.function_spread) && sound(0, one.prior_precision);
  };
  require(file, all.size() == targets && std::all_of(all.begin(), all.end(), both_sound),
          "its calibration is not valid");
}

std::vector<std::size_t> read_sizes(const SafetensorsFile& file, const std::string& name) {
  const auto numbers = file.read<std::uint64_t>(name, file.shape(name));
  return {numbers.begin(), numbers.end()};
}

// The format version, if it can be read.
int format_version(const SafetensorsFile& file) {
  require(file, file.metadata("format") == "dma-model",
          "is a safetensors file, but not a dma model");
  const std::string version = file.metadata("version");
  for (int known = oldest_model_format_version; known <= model_format_version; ++known) {
    if (version == std::to_string(known)) return known;
  }
  file.fail("has model format " + csv::escaped(version.substr(0, 20)) +
            ", this program reads formats " + std::to_string(oldest_model_format_version) + " to " +
            std::to_string(model_format_version) + "; use the version of dma that wrote it");
}

void check_effects(const SafetensorsFile& file, const FeatureColumn& feature) {
  const auto at_least_0 = [](double value) { return value >= 0 && std::isfinite(value); };
  const auto is_sound = [&](const Effects& effects) {
    return at_least_0(effects.between) && effects.within > 0 && std::isfinite(effects.within) &&
           effects.sums.size() == feature.value_weights.size() &&
           std::all_of(effects.sums.begin(), effects.sums.end(),
                       [](double sum) { return std::isfinite(sum); });
  };
  const std::size_t values = feature.has_effects() ? feature.categories.size() : 0;
  require(file,
          feature.value_weights.size() == values &&
              (values == 0 || feature.kind == ColumnKind::categorical) &&
              std::all_of(feature.value_weights.begin(), feature.value_weights.end(), at_least_0) &&
              std::all_of(feature.effects.begin(), feature.effects.end(), is_sound),
          "the effects of a feature are not valid");
}

void check_encoder(const SafetensorsFile& file, const Encoder& encoder) {
  require(file, !encoder.targets.empty(), "has no target");
  for (const TargetColumn& target : encoder.targets) {
    require(file, target.deviation > 0, "the standard deviation of a target is not positive");
    require(file, (target.kind == TargetKind::classes) == !target.classes.empty(),
            "a target is not of its kind");
    const bool is_alone = target.kind == TargetKind::classes || target.kind == TargetKind::count;
    require(file, !is_alone || encoder.targets.size() == 1,
            "a class or a count is not the only target");
    require(file, target.kind != TargetKind::automatic, "a target is not of its kind");
    const Bounds& bounds = target.bounds;
    require(file, bounds.low < bounds.high && (!bounds.any() || target.kind == TargetKind::number),
            "the bounds of a target are not valid");
    require(file,
            target.kind != TargetKind::count ||
                (target.mean > 0 && target.largest >= target.mean && std::isfinite(target.largest)),
            "the mean of a count is not positive, or more than the largest");
    const std::set<std::string> different(target.classes.begin(), target.classes.end());
    require(file,
            different.size() == target.classes.size() &&
                target.class_rows.size() == target.classes.size(),
            "its classes are not valid");
  }
  for (const FeatureColumn& feature : encoder.features) {
    require(file, feature.deviation >= 0, "the standard deviation of a feature is negative");
    require(file, feature.reach >= 0, "the reach of a feature is negative");
    require(file, feature.parts.empty() || feature.kind == ColumnKind::datetime,
            "a feature that is no date has parts of one");
    const std::set<std::string> different(feature.categories.begin(), feature.categories.end());
    require(file, different.size() == feature.categories.size(), "a category appears twice");
    check_effects(file, feature);
  }
}

void check_weights(const SafetensorsFile& file, const Model& model) {
  const auto fits = [&](std::size_t size) { return size == 0 || size == model.row_hashes.size(); };
  require(file, fits(model.row_weights.size()) && fits(model.row_copies.size()),
          "its weights do not match its rows");
  for (const double weight : model.row_weights) {
    require(file, weight > 0 && std::isfinite(weight), "the weight of a row is not positive");
  }
  std::size_t sum = 0;
  for (const std::size_t copies : model.row_copies) {
    require(file, copies > 0 && !__builtin_add_overflow(sum, copies, &sum),
            "a row stands for no row of a table");
  }
}

void check_rows(const SafetensorsFile& file, const Model& model) {
  std::size_t rows = 0;
  bool sound = true;
  for (const std::size_t batch : model.batch_rows) {
    sound = sound && !__builtin_add_overflow(rows, batch, &rows);
  }
  const std::size_t in_batches = model.start ? 0 : model.row_hashes.size();
  require(file, sound && rows == in_batches, "its batches do not match its rows");
  check_weights(file, model);
  require(file, model.report.batch_size > 0 && model.report.rows >= known_rows(model),
          "its report does not match its rows");
}

// Only a start has networks that nothing was told, and only it may.
void check_start(const SafetensorsFile& file, const Model& model) {
  require(file, !model.start || model.options.belief == BeliefKind::joint,
          "says that it has a start, but its belief is not joint");
  for (const Member& member : model.members) {
    const auto* joint = dynamic_cast<const JointBelief*>(member.belief.get());
    if (joint == nullptr) continue;
    const JointPosterior& function = joint->knowledge().function;
    const bool is_told = !function.factor.empty() || !function.ledger.empty();
    require(file, is_told != is_start(model), "a network does not know what its model knows");
    require(file, !model.start || (!function.centre.empty() && function.ledger.empty()),
            "a network has no centre to share");
  }
}

void check_classes(const SafetensorsFile& file, const ClassMetrics& metrics,
                   const TargetColumn& target) {
  const std::size_t classes = target.classes.size();
  require(file, metrics.classes == classes && metrics.confusion.size() == classes * classes,
          "its report does not match its classes");
}

// Charts and changes rely on these.
void check_report(const SafetensorsFile& file, const Model& model) {
  const FitReport& report = model.report;
  const std::size_t targets = model.encoder.targets.size();
  require(file,
          report.cavity.size() == targets && report.noise_std.size() == targets &&
              report.noise_at_floor.size() == targets,
          "its report does not match its targets");
  const Architecture& architecture = architecture_of(model);
  require(file,
          report.layers == architecture.widths && report.weights == architecture.weight_count(),
          "its report does not match its network");
  require(file, report.training.empty() || report.training.size() == model.members.size(),
          "its training curves do not match its members");
  for (const Metrics& metrics : report.cavity) {
    require(file, metrics.classes.has_value() == model.encoder.has_classes() || metrics.values == 0,
            "its report does not match its targets");
    if (metrics.classes) check_classes(file, *metrics.classes, model.encoder.targets.front());
    const std::size_t levels = metrics.coverage_curve.size();
    require(file, levels == 0 || levels == Metrics::curve_levels.size(),
            "a coverage curve has the wrong number of levels");
  }
}

std::string held_out_name(std::size_t target) { return "held_out." + std::to_string(target); }

std::vector<HeldOutRow> read_held_out(const SafetensorsFile& file, std::size_t target) {
  const std::string name = held_out_name(target);
  const std::vector<double> numbers = file.read<double>(name, file.shape(name));
  const bool sound =
      numbers.size() % 4 == 0 && std::all_of(numbers.begin(), numbers.end(),
                                             [](double number) { return std::isfinite(number); });
  require(file, sound, "its held-out rows are not valid");
  std::vector<HeldOutRow> rows;
  for (std::size_t n = 0; n < numbers.size(); n += 4) {
    rows.push_back({numbers[n], numbers[n + 1], numbers[n + 2], numbers[n + 3]});
  }
  return rows;
}

std::vector<double> numbers_of(const std::vector<HeldOutRow>& rows) {
  std::vector<double> numbers;
  for (const HeldOutRow& row : rows) {
    for (const double one : {row.actual, row.predicted, row.lower, row.upper}) {
      numbers.push_back(one);
    }
  }
  return numbers;
}

void read_probabilities_below(const SafetensorsFile& file, const Json& json, Model& model) {
  json.at("held_out_below").get_to(model.held_out_below);
  std::size_t targets = 0;
  json.at("probabilities_below").get_to(targets);
  require(file, targets == 0 || targets == model.encoder.targets.size(),
          "its calibration does not match its targets");
  for (std::size_t k = 0; k < targets; ++k) {
    const std::string name = below_name(k);
    model.probabilities_below.push_back(file.read<double>(name, file.shape(name)));
    const std::vector<double>& below = model.probabilities_below.back();
    require(file,
            std::is_sorted(below.begin(), below.end()) &&
                std::all_of(below.begin(), below.end(), [](double p) { return p >= 0 && p <= 1; }),
            "its calibration is not valid");
  }
}

Model model_from(const SafetensorsFile& file, int version) {
  Json json = detail::parse_json(file.metadata("model"), deepest);
  detail::complete(json, version);
  Model model;
  model.options = options_from(json.at("options"));
  detail::validate(model.options);
  json.at("encoder").get_to(model.encoder);
  check_encoder(file, model.encoder);
  json.at("report").get_to(model.report);
  const bool joint = model.options.belief == BeliefKind::joint;
  const std::size_t targets = model.encoder.targets.size();
  require(file, model.options.ensemble > 0, "has no members");
  model.batch_rows = read_sizes(file, "batch_rows");
  model.row_hashes = file.read<std::uint64_t>("row_hashes", file.shape("row_hashes"));
  if (version >= 17) {
    model.row_weights = file.read<double>("row_weights", file.shape("row_weights"));
    model.row_copies = read_sizes(file, "row_copies");
  }
  json.at("start").get_to(model.start);
  check_rows(file, model);
  if (version < 11) {
    read_old_members(file, version, json, model);
  } else {
    read_members(file, json.at("members"), model);
  }
  check_start(file, model);
  read_probabilities_below(file, json, model);
  if (joint) {
    json.at("calibrations").get_to(model.calibrations);
    check_calibrations(file, model.calibrations, targets);
  }
  for (std::size_t k = 0; version >= 18 && k < targets; ++k) {
    model.report.held_out.push_back(read_held_out(file, k));
  }
  check_report(file, model);
  return model;
}

Json report_json(const FitReport& report) {
  Json json = report;
  json.erase("seconds");
  json.erase("sweep_seconds");
  return json;
}

std::vector<Arrays> stored_members(const Model& model, bool slim) {
  std::vector<Arrays> all;
  for (const Member& member : model.members) {
    if (slim && model.options.belief == BeliefKind::independent) {
      auto copy = member.belief->copy(detail::training_options(model.encoder, model.options, 1));
      copy->drop_ledger();
      all.push_back(copy->store());
    } else {
      all.push_back(member.belief->store());
    }
  }
  return all;
}

std::size_t bytes_of(const std::vector<Tensor>& tensors) {
  std::size_t sum = 0;
  for (const Tensor& tensor : tensors) {
    for (const auto& piece : tensor.pieces) sum += piece.size();
  }
  return sum;
}

void append_members(const std::vector<Arrays>& stored, std::vector<Tensor>& tensors) {
  for (std::size_t m = 0; m < stored.size(); ++m) {
    for (Tensor& tensor : detail::tensors_of(stored[m], member_name(m))) {
      tensors.push_back(std::move(tensor));
    }
  }
}

Model without_rows(Model model) {
  model.batch_rows.clear();
  model.row_hashes.clear();
  model.row_weights.clear();
  model.row_copies.clear();
  model.report.held_out.clear();
  return model;
}

// Of a file, in bytes.
std::size_t usual_size(const Model& model) {
  constexpr std::size_t times_the_table = 10;
  constexpr std::size_t always_fine = 1 << 20;
  const std::size_t cells =
      model.report.rows * (model.encoder.features.size() + model.encoder.targets.size());
  return std::max(always_fine, times_the_table * cells * sizeof(double));
}

// The largest factors first, until the rest is small enough.
void leave_factors_out(const Model& model, std::vector<Arrays>& stored) {
  std::vector<Tensor> tensors;
  append_members(stored, tensors);
  detail::take_copies(tensors);
  std::size_t size = bytes_of(tensors);
  std::vector<std::size_t> largest_first(stored.size());
  std::iota(largest_first.begin(), largest_first.end(), std::size_t{0});
  const auto weights = [&](std::size_t m) {
    return model.members[m].belief->architecture().weight_count();
  };
  std::stable_sort(largest_first.begin(), largest_first.end(),
                   [&](std::size_t a, std::size_t b) { return weights(a) > weights(b); });
  for (const std::size_t m : largest_first) {
    if (size <= usual_size(model)) return;
    size -= detail::leave_factor_out(model.members[m].belief->architecture(), stored[m]);
  }
}

// Passes a model's metadata and arrays to `take`.
template <class Take>
auto lay_out(const Model& whole, const SaveOptions& options, const Take& take) {
  const bool joint = whole.options.belief == BeliefKind::joint;
  std::vector<Arrays> stored = stored_members(whole, options.slim);
  if (joint && !options.fast_load && heard_by(whole).all) leave_factors_out(whole, stored);
  for (Arrays& member : stored) {
    if (joint && options.slim) detail::drop_ledger(member);
  }
  const Model slim = options.slim ? without_rows(whole) : Model{};
  const Model& model = options.slim ? slim : whole;
  const std::vector<std::uint64_t> batch_rows(model.batch_rows.begin(), model.batch_rows.end());
  const std::vector<std::uint64_t> row_copies(model.row_copies.begin(), model.row_copies.end());
  std::vector<Tensor> tensors{
      tensor("batch_rows", batch_rows), tensor("row_hashes", model.row_hashes),
      tensor("row_weights", model.row_weights), tensor("row_copies", row_copies)};
  for (std::size_t k = 0; k < model.probabilities_below.size(); ++k) {
    tensors.push_back(tensor(below_name(k), model.probabilities_below[k]));
  }
  std::vector<std::vector<double>> held_out(model.encoder.targets.size());
  for (std::size_t k = 0; k < held_out.size(); ++k) {
    if (k < model.report.held_out.size()) held_out[k] = numbers_of(model.report.held_out[k]);
    tensors.push_back(tensor(held_out_name(k), held_out[k]));
  }
  Json members = Json::array();
  for (const Member& member : model.members) {
    members.push_back({{"target", member.target},
                       {"weight", member.weight},
                       {"architecture", to_json(member.belief->architecture())}});
  }
  append_members(stored, tensors);
  const std::string copies = detail::take_copies(tensors);
  Json json{{"options", to_json(model.options)},
            {"encoder", model.encoder},
            {"members", std::move(members)},
            {"probabilities_below", model.probabilities_below.size()},
            {"held_out_below", model.held_out_below},
            {"start", model.start},
            {"report", report_json(model.report)}};
  if (!model.calibrations.empty()) json["calibrations"] = model.calibrations;
  const detail::Metadata metadata{
      {"format", "dma-model"},
      {"version", std::to_string(model_format_version)},
      {"precision", model.options.single_precision ? "float" : "double"},
      {"copies", copies},
      {"model", json.dump()}};
  return take(metadata, tensors);
}

Model read(const SafetensorsFile& file) {
  const int version = format_version(file);
  try {
    return model_from(file, version);
  } catch (const detail::NotMeant& error) {
    file.fail(std::string("its description cannot be read: ") + error.what());
  } catch (const Json::exception& error) {
    file.fail(std::string("its description cannot be read: ") + error.what());
  } catch (const NetworkError& error) {
    file.fail(error.what());
  }
}

}  // namespace

void write_model(const Model& model, const std::filesystem::path& path,
                 const SaveOptions& options) {
  try {
    lay_out(model, options, [&](const auto& metadata, const auto& tensors) {
      detail::write_safetensors(path, metadata, tensors);
    });
  } catch (const FileError& error) {
    throw ModelError(error.what());
  }
}

std::vector<std::byte> model_bytes(const Model& model) {
  return lay_out(model, {}, [](const auto& metadata, const auto& tensors) {
    return detail::safetensors_bytes(metadata, tensors);
  });
}

Model read_model(const std::filesystem::path& path) { return read(SafetensorsFile(path)); }

Model read_model(std::span<const std::byte> bytes) {
  return read(SafetensorsFile("the model's bytes", bytes));
}

}  // namespace dma
