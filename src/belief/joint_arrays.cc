#include "belief/joint_arrays.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/require.h"
#include "belief/joint_algebra.h"
#include "belief/joint_backend.h"

namespace dma::detail {
namespace {

// A factor of more weights takes too long to compute whenever a file is read.
constexpr std::size_t most_weights_left_out = 5000;
constexpr const char* left_out = "factor_left_out";  // an array without numbers says so

bool can_be_left_out(const Architecture& architecture, std::size_t messages) {
  return architecture.weight_count() <= most_weights_left_out &&
         !messages_are_cheaper(architecture, messages);
}

void put(const JointPosterior& posterior, const std::string& name, Arrays& stored) {
  stored.put(name + "mean", posterior.mean);
  stored.put(name + "prior_precision", posterior.prior_precision);
  if (!posterior.in_messages()) stored.put(name + "factor", posterior.factor);
  if (!posterior.centre.empty()) stored.put(name + "centre", posterior.centre);
  if (posterior.ledger.empty()) return;
  stored.put(name + "ledger.inputs", posterior.ledger.inputs);
  stored.put(name + "ledger.roots", posterior.ledger.roots);
  stored.put(name + "ledger.shifts", posterior.ledger.shifts);
}

void put_noise(const JointPosterior& log_noise, const NoiseInputs& inputs, Arrays& stored) {
  const auto& widths = log_noise.architecture.widths;
  stored.put("log_noise.widths", std::vector<std::uint64_t>(widths.begin(), widths.end()));
  put(log_noise, "log_noise.", stored);
  stored.put("noise_inputs.scale", std::vector<double>{inputs.value_mean, inputs.value_deviation});
  stored.put("noise_inputs.low", inputs.low);
  stored.put("noise_inputs.high", inputs.high);
  if (inputs.log_mean) stored.put("noise_inputs.log_mean", *inputs.log_mean);
}

bool all_finite(const std::vector<double>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double n) { return std::isfinite(n); });
}

std::size_t product(std::size_t a, std::size_t b) {
  std::size_t result = 0;
  require(!__builtin_mul_overflow(a, b, &result), "says that an array is larger than can be");
  return result;
}

JointLedger take_ledger(const Architecture& architecture, const std::string& name, Arrays& stored) {
  JointLedger ledger{stored.take<double>(name + "ledger.inputs"),
                     stored.take<double>(name + "ledger.roots"),
                     stored.take<double>(name + "ledger.shifts")};
  const std::size_t outputs = architecture.outputs();
  const std::size_t rows = ledger.shifts.size() / outputs;
  require(ledger.shifts.size() == rows * outputs &&
              ledger.inputs.size() == product(rows, architecture.inputs()) &&
              ledger.roots.size() == product(ledger.shifts.size(), outputs),
          "the arrays of a ledger are of different rows");
  require(all_finite(ledger.inputs) && all_finite(ledger.roots) && all_finite(ledger.shifts),
          "a message of the ledger is not finite");
  return ledger;
}

// Before format 10 the ledger held the gradients g = J' R of one output. The weight of the last bias has the derivative 1,
// so g holds R there; in the first layer g is R times an outer product with the inputs and 1, so that they are its
// ratio to the bias, best seen at the unit that matters most.
JointLedger take_old_ledger(const Architecture& architecture, const std::string& name,
                            Arrays& stored) {
  const std::size_t weights = architecture.weight_count();
  JointLedger ledger;
  ledger.shifts = stored.take<double>(name + "ledger.shifts");
  const auto gradients =
      stored.take<double>(name + "ledger.gradients", {product(ledger.shifts.size(), weights)});
  require(all_finite(gradients) && all_finite(ledger.shifts),
          "a message of the ledger is not finite");
  const Dense first = architecture.layer(0);
  for (std::size_t n = 0; n < ledger.shifts.size(); ++n) {
    const double* own = gradients.data() + n * weights;
    ledger.roots.push_back(own[weights - 1]);
    std::size_t most = 0;
    const auto bias = [&](std::size_t unit) { return own[first.weight(unit, first.inputs - 1)]; };
    for (std::size_t unit = 1; unit < first.units; ++unit) {
      if (std::abs(bias(unit)) > std::abs(bias(most))) most = unit;
    }
    for (std::size_t input = 0; input + 1 < first.inputs; ++input) {
      const double value = own[first.weight(most, input)] / bias(most);
      require(std::isfinite(value), "a message of the ledger does not show its row");
      ledger.inputs.push_back(value);
    }
  }
  return ledger;
}

// Without a factor it is in the form of messages, for which units of a layer must share their prior precisions. Without a
// message it is the prior, and has a centre for messages to come.
void check(const JointPosterior& posterior) {
  for (const auto* numbers :
       {&posterior.mean, &posterior.prior_precision, &posterior.factor, &posterior.centre}) {
    require(all_finite(*numbers), "a joint posterior is not finite");
  }
  for (std::size_t i = 0; i < posterior.mean.size(); ++i) {
    require(posterior.prior_precision[i] > 0, "a joint posterior is not a proper Gaussian");
    require(posterior.in_messages() || posterior.factor[i * (i + 3) / 2] > 0,
            "a joint posterior is not a proper Gaussian");
  }
  if (!posterior.in_messages()) return;
  require(!posterior.ledger.empty() || !posterior.centre.empty(),
          "a joint posterior has neither factor nor messages");
  const Architecture& architecture = posterior.architecture;
  for (std::size_t l = 0; l < architecture.layers(); ++l) {
    const Dense layer = architecture.layer(l);
    layer.each_weight([&](std::size_t weight, std::size_t, std::size_t input) {
      require(
          posterior.prior_precision[weight] == posterior.prior_precision[layer.weight(0, input)],
          "the units of a layer have different prior precisions");
    });
  }
}

JointPosterior take_posterior(const Architecture& architecture, JointUnit unit,
                              const std::string& name, Arrays& stored) {
  const std::size_t weights = architecture.weight_count();
  JointPosterior posterior{architecture,
                           unit,
                           stored.take<double>(name + "mean", {weights}),
                           stored.take<double>(name + "prior_precision", {weights}),
                           {}};
  if (stored.has(name + "factor")) {
    posterior.factor = stored.take<double>(name + "factor", {product(weights, weights + 1) / 2});
  }
  if (stored.has(name + "centre")) {
    posterior.centre = stored.take<double>(name + "centre", {weights});
  }
  if (stored.has(name + "ledger.inputs")) {
    posterior.ledger = take_ledger(architecture, name, stored);
  } else if (stored.has(name + "ledger.gradients")) {
    posterior.ledger = take_old_ledger(architecture, name, stored);
  }
  check(posterior);
  if (stored.has(name + left_out)) {
    stored.take<std::uint64_t>(name + left_out, {0});
    require(posterior.in_messages() && posterior.centre.empty() &&
                can_be_left_out(architecture, posterior.ledger.shifts.size()),
            "a factor cannot be left out");
    take_factor_from_ledger(posterior);
  }
  return posterior;
}

NoiseInputs take_noise_inputs(std::size_t width, Arrays& stored) {
  const auto scale = stored.take<double>("noise_inputs.scale", {2});
  NoiseInputs inputs{scale[0], scale[1], stored.take<double>("noise_inputs.low", {width}),
                     stored.take<double>("noise_inputs.high", {width})};
  if (stored.has("noise_inputs.log_mean")) {
    inputs.log_mean = stored.take<double>("noise_inputs.log_mean", {1}).front();
  }
  require(std::isfinite(inputs.log_mean.value_or(0)), "the mean of the log noise is not a number");
  bool sound = inputs.value_deviation > 0;
  for (std::size_t k = 0; sound && k < width; ++k) sound = inputs.low[k] <= inputs.high[k];
  require(sound, "the range of a noise network's inputs is empty");
  return inputs;
}

void take_noise(const Architecture& function, Arrays& stored, JointKnowledge& known) {
  if (!stored.has("log_noise.widths")) return;
  Architecture architecture = function;
  const auto widths = stored.take<std::uint64_t>("log_noise.widths");
  architecture.widths.assign(widths.begin(), widths.end());
  architecture.ramps.clear();
  architecture.validate(Rule::linear);
  require(architecture.inputs() == function.inputs() + 1 && architecture.outputs() == 1,
          "a noise network does not fit its function");
  known.noise_inputs = take_noise_inputs(architecture.inputs(), stored);
  known.log_noise = take_posterior(architecture, JointUnit::step, "log_noise.", stored);
  require(!known.log_noise->in_messages() || !known.log_noise->ledger.empty(),
          "a noise network knows nothing");
}

}  // namespace

Arrays store(const JointKnowledge& known) {
  Arrays stored;
  put(known.function, "function.", stored);
  known.likelihood->store(stored);
  if (known.log_noise) put_noise(*known.log_noise, known.noise_inputs, stored);
  return stored;
}

std::size_t leave_factor_out(const Architecture& architecture, Arrays& stored) {
  const std::string name = "function.";
  const bool is_said_again = stored.has(name + "factor") && stored.has(name + "ledger.shifts") &&
                             !stored.has(name + "centre");
  if (!is_said_again || !can_be_left_out(architecture, stored.size(name + "ledger.shifts"))) {
    return 0;
  }
  stored.put(name + left_out, std::vector<std::uint64_t>{});
  return stored.take<double>(name + "factor").size() * sizeof(double);
}

void drop_ledger(Arrays& stored) {
  if (stored.has("function.factor")) stored.take_part("function.ledger.");
}

JointKnowledge restore(const Architecture& architecture, std::unique_ptr<Likelihood> likelihood,
                       std::size_t ledger_rows, Arrays stored) {
  JointKnowledge known;
  known.function = take_posterior(architecture, JointUnit::leaky_relu, "function.", stored);
  if (ledger_rows == 0 && !known.function.in_messages()) known.function.ledger = {};
  const std::size_t messages = known.function.ledger.shifts.size();
  const std::size_t heard = product(ledger_rows, architecture.outputs());
  require(
      ledger_rows == 0 || messages == heard || (known.function.in_messages() && messages > heard),
      "its ledger does not match its rows");
  likelihood->restore(stored);
  known.likelihood = std::move(likelihood);
  take_noise(architecture, stored, known);
  return known;
}

}  // namespace dma::detail
