#include <dma/regressor/model_file.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <dma/data/atomic_file.h>

#include "data/message.h"
#include "regressor/fit.h"
#include "regressor/model_json.h"
#include "regressor/safetensors.h"
#include "regressor/strict_json.h"

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
bool all_finite(const std::vector<T>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](T value) { return std::isfinite(value); });
}

// Of lengths that the file states.
std::size_t product(const SafetensorsFile& file, std::size_t a, std::size_t b) {
  std::size_t result = 0;
  require(file, !__builtin_mul_overflow(a, b, &result), "says that an array is larger than can be");
  return result;
}

template <class T>
Tensor tensor(std::string name, const std::vector<T>& numbers) {
  return {std::move(name),
          {detail::number_type<T>(), {numbers.size()}},
          {std::as_bytes(std::span(numbers))}};
}

template <class T>
Tensor ledger_tensor(std::string name, const Ledger<T>& ledger,
                     std::vector<T> BatchMessage<T>::*part, std::size_t weights) {
  Tensor result{std::move(name), {detail::number_type<T>(), {ledger.messages.size(), weights}}, {}};
  for (const auto& message : ledger.messages) {
    result.pieces.push_back(std::as_bytes(std::span(message.*part)));
  }
  return result;
}

std::string member_name(std::size_t member) { return "member." + std::to_string(member) + "."; }

template <class T>
void add_tensors(const Members<T>& members, std::vector<Tensor>& tensors) {
  for (std::size_t m = 0; m < members.posteriors.size(); ++m) {
    const std::string name = member_name(m);
    const auto& posterior = members.posteriors[m];
    const auto& ledger = members.ledgers[m];
    tensors.push_back(tensor(name + "prior.mean", members.priors[m].mean));
    tensors.push_back(tensor(name + "prior.variance", members.priors[m].variance));
    tensors.push_back(tensor(name + "posterior.tau", posterior.tau));
    tensors.push_back(tensor(name + "posterior.rho", posterior.rho));
    tensors.push_back(tensor(name + "noise_variance", posterior.noise_variance));
    if (ledger.mode != LedgerMode::full) continue;
    const std::size_t weights = posterior.tau.size();
    tensors.push_back(ledger_tensor(name + "ledger.tau", ledger, &BatchMessage<T>::tau, weights));
    tensors.push_back(ledger_tensor(name + "ledger.rho", ledger, &BatchMessage<T>::rho, weights));
  }
}

void add_tensors(const JointPosterior& posterior, const std::string& name,
                 std::vector<Tensor>& tensors) {
  tensors.push_back(tensor(name + "mean", posterior.mean));
  tensors.push_back(tensor(name + "prior_precision", posterior.prior_precision));
  tensors.push_back(tensor(name + "factor", posterior.factor));
  if (!posterior.centre.empty()) tensors.push_back(tensor(name + "centre", posterior.centre));
}

void add_tensors(const JointMembers& joint, std::vector<Tensor>& tensors) {
  for (std::size_t m = 0; m < joint.members.size(); ++m) {
    const JointMember& member = joint.members[m];
    const std::string function = member_name(m) + "function.";
    add_tensors(member.function, function, tensors);
    if (!member.ledger.shifts.empty()) {
      tensors.push_back(tensor(function + "ledger.gradients", member.ledger.gradients));
      tensors.push_back(tensor(function + "ledger.shifts", member.ledger.shifts));
    }
    if (member.log_noise) add_tensors(*member.log_noise, member_name(m) + "log_noise.", tensors);
  }
}

// What a joint member has beside its arrays.
Json joint_json(const JointMembers& joint) {
  Json members = Json::array();
  for (const JointMember& member : joint.members) {
    members.push_back(
        {{"noise_variance", member.noise_variance},
         {"noise_inputs", member.noise_inputs},
         {"log_noise", member.log_noise ? to_json(member.log_noise->architecture) : Json()}});
  }
  return members;
}

JointPosterior read_joint(const SafetensorsFile& file, const std::string& name,
                          const Architecture& architecture, JointUnit unit) {
  for (std::size_t l = 0; l < architecture.layers(); ++l) {
    require(file, architecture.has_bias(l), "a layer of a joint network has no bias");
  }
  const std::size_t weights = architecture.weight_count();
  const std::size_t triangle = product(file, weights, weights + 1) / 2;
  JointPosterior posterior{architecture, unit, file.read<double>(name + "mean", {weights}),
                           file.read<double>(name + "prior_precision", {weights}),
                           file.read<double>(name + "factor", {triangle})};
  if (file.has(name + "centre")) {
    posterior.centre = file.read<double>(name + "centre", {weights});
  }
  for (const auto* numbers :
       {&posterior.mean, &posterior.prior_precision, &posterior.factor, &posterior.centre}) {
    require(file, all_finite(*numbers), "a joint posterior is not finite");
  }
  for (std::size_t i = 0; i < weights; ++i) {
    require(file, posterior.factor[i * (i + 3) / 2] > 0 && posterior.prior_precision[i] > 0,
            "a joint posterior is not a proper Gaussian");
  }
  return posterior;
}

JointLedger read_joint_ledger(const SafetensorsFile& file, const std::string& name,
                              std::size_t rows, std::size_t weights) {
  if (rows == 0) return {};
  JointLedger ledger{file.read<double>(name + "ledger.gradients", {product(file, rows, weights)}),
                     file.read<double>(name + "ledger.shifts", {rows})};
  require(file, all_finite(ledger.gradients) && all_finite(ledger.shifts),
          "a message of the ledger is not finite");
  return ledger;
}

void check_inputs(const SafetensorsFile& file, const NoiseInputs& inputs, std::size_t width) {
  bool sound =
      inputs.value_deviation > 0 && inputs.low.size() == width && inputs.high.size() == width;
  for (std::size_t k = 0; sound && k < width; ++k) sound = inputs.low[k] <= inputs.high[k];
  require(file, sound, "the range of a noise network's inputs is not one");
}

JointMembers read_joint_members(const SafetensorsFile& file, const Architecture& architecture,
                                const Json& members, std::size_t rows_in_ledger) {
  JointMembers joint;
  for (std::size_t m = 0; m < members.size(); ++m) {
    const Json& json = members[m];
    JointMember member;
    const std::string function = member_name(m) + "function.";
    member.function = read_joint(file, function, architecture, JointUnit::leaky_relu);
    member.ledger = read_joint_ledger(file, function, rows_in_ledger, architecture.weight_count());
    json.at("noise_variance").get_to(member.noise_variance);
    json.at("noise_inputs").get_to(member.noise_inputs);
    require(file, member.noise_variance > 0, "the noise variance is not one");
    if (!json.at("log_noise").is_null()) {
      const std::string noise = member_name(m) + "log_noise.";
      const Architecture own = architecture_from(json.at("log_noise"));
      own.validate(Rule::linear);
      require(file, own.inputs() == architecture.inputs() + 1 && own.outputs() == 1,
              "a noise network does not fit its function");
      check_inputs(file, member.noise_inputs, own.inputs());
      member.log_noise = read_joint(file, noise, own, JointUnit::step);
    }
    joint.members.push_back(std::move(member));
  }
  return joint;
}

void check_shapes(const SafetensorsFile& file, const std::vector<NoiseShape>& shapes,
                  std::size_t targets) {
  const auto sound = [](const NoiseShape& shape) {
    return std::isfinite(shape.shift) && std::isfinite(shape.spread) && shape.spread >= 0;
  };
  require(file, shapes.size() == targets && std::all_of(shapes.begin(), shapes.end(), sound),
          "a shape of the noise is not one");
}

template <class T>
Ledger<T> read_ledger(const SafetensorsFile& file, const std::string& name, std::size_t batches,
                      std::size_t weights) {
  Ledger<T> ledger;
  const std::vector<std::size_t> shape{batches, weights};
  for (std::size_t b = 0; b < batches; ++b) {
    ledger.messages.push_back(
        {file.read_part<T>(name + "ledger.tau", shape, b * weights, weights),
         file.read_part<T>(name + "ledger.rho", shape, b * weights, weights)});
    require(file, all_finite(ledger.messages.back().tau) && all_finite(ledger.messages.back().rho),
            "a message of the ledger is not finite");
  }
  return ledger;
}

// The checksum has vouched for the bytes; this is for a file that another program made.
template <class T>
void check_numbers(const SafetensorsFile& file, const Posterior<T>& posterior) {
  for (std::size_t k = 0; k < posterior.tau.size(); ++k) {
    require(
        file,
        std::isfinite(posterior.tau[k]) && std::isfinite(posterior.rho[k]) && posterior.rho[k] > 0,
        "a weight's posterior is not a proper Gaussian");
  }
  for (const double noise : posterior.noise_variance) {
    require(file, std::isfinite(noise) && noise >= 0, "the noise variance is not one");
  }
}

template <class T>
Members<T> read_members(const SafetensorsFile& file, const Architecture& architecture,
                        const RegressorOptions& options, std::size_t batches) {
  Members<T> members;
  const std::size_t weights = architecture.weight_count();
  for (std::size_t m = 0; m < options.ensemble; ++m) {
    const std::string name = member_name(m);
    members.priors.push_back({file.read<double>(name + "prior.mean", {weights}),
                              file.read<double>(name + "prior.variance", {weights})});
    members.priors.back().validate(architecture);
    members.posteriors.push_back(
        {architecture, file.read<T>(name + "posterior.tau", {weights}),
         file.read<T>(name + "posterior.rho", {weights}),
         file.read<double>(name + "noise_variance", {architecture.outputs()})});
    check_numbers(file, members.posteriors.back());
    const bool full = options.ledger == LedgerMode::full;
    members.ledgers.push_back(full ? read_ledger<T>(file, name, batches, weights)
                                   : Ledger<T>{options.ledger, {}});
  }
  return members;
}

std::vector<std::size_t> read_sizes(const SafetensorsFile& file, const std::string& name) {
  const auto numbers = file.read<std::uint64_t>(name, file.shape(name));
  return {numbers.begin(), numbers.end()};
}

// Of a format that can be read.
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

// Says that what an older format did not hold is not known, and reads a number that is not known as NaN.
void complete(Json& report, int version) {
  if (report.at("train_nll").is_null()) {
    report["train_nll"] = std::numeric_limits<double>::quiet_NaN();
  }
  if (version >= 6) {
    report["seconds"] = report["sweep_seconds"] = std::numeric_limits<double>::quiet_NaN();
  }
  if (version < 5) {
    report["stream"] = false;
    report["sweep_seconds"] = 0;
  }
  if (version > 2) return;
  report["training"] = Json::array();
  report["rows_changed"] = std::size_t{0};
  for (Json& metrics : report.at("cavity")) metrics["coverage_curve"] = Json::array();
}

void check_encoder(const SafetensorsFile& file, const Encoder& encoder) {
  require(file, !encoder.targets.empty(), "has no target");
  for (const TargetColumn& target : encoder.targets) {
    require(file, target.deviation > 0, "the deviation of a target is not positive");
  }
  for (const FeatureColumn& feature : encoder.features) {
    require(file, feature.deviation >= 0, "the deviation of a feature is negative");
    const std::set<std::string> different(feature.categories.begin(), feature.categories.end());
    require(file, different.size() == feature.categories.size(), "a category stands twice");
  }
}

// Sums up the batches' rows.
std::size_t count_rows(const SafetensorsFile& file, const Model& model) {
  std::size_t rows = 0;
  bool sound = true;
  for (const std::size_t batch : model.batch_rows) {
    sound = sound && !__builtin_add_overflow(rows, batch, &rows);
  }
  require(file, sound && rows == model.row_hashes.size(),
          "its batches and its rows do not fit together");
  return rows;
}

// Charts are drawn from these, and changes are planned by them.
void check_report(const SafetensorsFile& file, const Model& model) {
  const FitReport& report = model.report;
  const std::size_t targets = model.encoder.targets.size();
  require(file,
          report.cavity.size() == targets && report.noise_std.size() == targets &&
              report.noise_at_floor.size() == targets,
          "its report is of other targets");
  const Architecture& architecture = architecture_of(model);
  require(file,
          report.layers == architecture.widths && report.weights == architecture.weight_count(),
          "its report is of another network");
  require(file, report.batch_size > 0 && report.rows >= model.row_hashes.size(),
          "its report is of other rows");
  require(file, report.training.empty() || report.training.size() == model.options.ensemble,
          "its training curves are of other members");
  for (const Metrics& metrics : report.cavity) {
    const std::size_t levels = metrics.coverage_curve.size();
    require(file, levels == 0 || levels == Metrics::curve_levels.size(),
            "a coverage curve has other levels");
  }
}

Model model_from(const SafetensorsFile& file, int version) {
  Json json = detail::parse_json(file.metadata("model"), deepest);
  complete(json.at("report"), version);
  Model model;
  model.options = options_from(json.at("options"));
  detail::validate(model.options);
  json.at("encoder").get_to(model.encoder);
  check_encoder(file, model.encoder);
  json.at("report").get_to(model.report);
  const Architecture architecture = architecture_from(json.at("architecture"));
  architecture.validate(model.options.rule);
  const bool joint = model.options.belief == Belief::joint;
  const std::size_t targets = model.encoder.targets.size();
  require(file,
          architecture.inputs() == model.encoder.width() &&
              architecture.outputs() == (joint ? 1 : targets),
          "its encoder and its network do not fit together");
  require(file, model.options.ensemble > 0, "has no members");
  model.batch_rows = read_sizes(file, "batch_rows");
  model.row_hashes = file.read<std::uint64_t>("row_hashes", file.shape("row_hashes"));
  const std::size_t rows = count_rows(file, model);
  const std::size_t batches = model.batch_rows.size();
  if (joint) {
    const Json& members = json.at("members");
    require(file,
            members.size() % targets == 0 && members.size() / targets == model.options.ensemble,
            "has another number of members than it says");
    const bool full = model.options.ledger == LedgerMode::full;
    JointMembers read = read_joint_members(file, architecture, members, full ? rows : 0);
    json.at("noise_shapes").get_to(read.shapes);
    check_shapes(file, read.shapes, targets);
    model.members = std::move(read);
  } else if (model.options.single_precision) {
    model.members = read_members<float>(file, architecture, model.options, batches);
  } else {
    model.members = read_members<double>(file, architecture, model.options, batches);
  }
  check_report(file, model);
  return model;
}

const Architecture& architecture_of(const JointMembers& joint) {
  return joint.members.front().function.architecture;
}

template <class T>
const Architecture& architecture_of(const Members<T>& members) {
  return members.posteriors.front().architecture;
}

}  // namespace

const Architecture& architecture_of(const Model& model) {
  const auto find = [](const auto& members) -> const Architecture& {
    return architecture_of(members);
  };
  return std::visit(find, model.members);
}

namespace {

Json report_json(const FitReport& report) {
  Json json = report;
  json.erase("seconds");
  json.erase("sweep_seconds");
  return json;
}

// A model as the layout's metadata and arrays, handed to `take`; the arrays are the model's own.
template <class Take>
auto lay_out(const Model& model, const Take& take) {
  const std::vector<std::uint64_t> batch_rows(model.batch_rows.begin(), model.batch_rows.end());
  std::vector<Tensor> tensors{tensor("batch_rows", batch_rows),
                              tensor("row_hashes", model.row_hashes)};
  std::visit([&](const auto& members) { add_tensors(members, tensors); }, model.members);
  const auto* joint = std::get_if<JointMembers>(&model.members);
  Json json{{"options", to_json(model.options)},
            {"encoder", model.encoder},
            {"architecture", to_json(architecture_of(model))},
            {"report", report_json(model.report)}};
  if (joint != nullptr) {
    json["members"] = joint_json(*joint);
    json["noise_shapes"] = joint->shapes;
  }
  const detail::Metadata metadata{
      {"format", "dma-model"},
      {"version", std::to_string(model_format_version)},
      {"precision", model.options.single_precision ? "float" : "double"},
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

void write_model(const Model& model, const std::filesystem::path& path) {
  try {
    lay_out(model, [&](const auto& metadata, const auto& tensors) {
      detail::write_safetensors(path, metadata, tensors);
    });
  } catch (const FileError& error) {
    throw ModelError(error.what());
  }
}

std::vector<std::byte> model_bytes(const Model& model) {
  return lay_out(model, [](const auto& metadata, const auto& tensors) {
    return detail::safetensors_bytes(metadata, tensors);
  });
}

Model read_model(const std::filesystem::path& path) { return read(SafetensorsFile(path)); }

Model read_model(std::span<const std::byte> bytes) {
  return read(SafetensorsFile("the model's bytes", bytes));
}

}  // namespace dma
