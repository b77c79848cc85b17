#include "belief/joint_arrays.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/require.h"

namespace dma::detail {
namespace {

void put(const JointPosterior& posterior, const std::string& name, Arrays& stored) {
  stored.put(name + "mean", posterior.mean);
  stored.put(name + "prior_precision", posterior.prior_precision);
  stored.put(name + "factor", posterior.factor);
  if (!posterior.centre.empty()) stored.put(name + "centre", posterior.centre);
}

void put_noise(const JointPosterior& log_noise, const NoiseInputs& inputs, Arrays& stored) {
  const auto& widths = log_noise.architecture.widths;
  stored.put("log_noise.widths", std::vector<std::uint64_t>(widths.begin(), widths.end()));
  put(log_noise, "log_noise.", stored);
  stored.put("noise_inputs.scale", std::vector<double>{inputs.value_mean, inputs.value_deviation});
  stored.put("noise_inputs.low", inputs.low);
  stored.put("noise_inputs.high", inputs.high);
}

bool all_finite(const std::vector<double>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double n) { return std::isfinite(n); });
}

JointPosterior take_posterior(const Architecture& architecture, JointUnit unit,
                              const std::string& name, Arrays& stored) {
  const std::size_t weights = architecture.weight_count();
  std::size_t square = 0;
  require(!__builtin_mul_overflow(weights, weights + 1, &square),
          "says that an array is larger than can be");
  JointPosterior posterior{architecture, unit, stored.take<double>(name + "mean", {weights}),
                           stored.take<double>(name + "prior_precision", {weights}),
                           stored.take<double>(name + "factor", {square / 2})};
  if (stored.has(name + "centre")) {
    posterior.centre = stored.take<double>(name + "centre", {weights});
  }
  for (const auto* numbers :
       {&posterior.mean, &posterior.prior_precision, &posterior.factor, &posterior.centre}) {
    require(all_finite(*numbers), "a joint posterior is not finite");
  }
  for (std::size_t i = 0; i < weights; ++i) {
    require(posterior.factor[i * (i + 3) / 2] > 0 && posterior.prior_precision[i] > 0,
            "a joint posterior is not a proper Gaussian");
  }
  return posterior;
}

JointLedger take_ledger(std::size_t rows, const Architecture& architecture, Arrays& stored) {
  if (rows == 0) return {};
  std::size_t messages = 0;
  std::size_t size = 0;
  require(!__builtin_mul_overflow(rows, architecture.outputs(), &messages) &&
              !__builtin_mul_overflow(messages, architecture.weight_count(), &size),
          "says that an array is larger than can be");
  JointLedger ledger{stored.take<double>("function.ledger.gradients", {size}),
                     stored.take<double>("function.ledger.shifts", {messages})};
  require(all_finite(ledger.gradients) && all_finite(ledger.shifts),
          "a message of the ledger is not finite");
  return ledger;
}

NoiseInputs take_noise_inputs(std::size_t width, Arrays& stored) {
  const auto scale = stored.take<double>("noise_inputs.scale", {2});
  NoiseInputs inputs{scale[0], scale[1], stored.take<double>("noise_inputs.low", {width}),
                     stored.take<double>("noise_inputs.high", {width})};
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
  architecture.validate(Rule::linear);
  require(architecture.inputs() == function.inputs() + 1 && architecture.outputs() == 1,
          "a noise network does not fit its function");
  known.noise_inputs = take_noise_inputs(architecture.inputs(), stored);
  known.log_noise = take_posterior(architecture, JointUnit::step, "log_noise.", stored);
}

}  // namespace

Arrays store(const JointKnowledge& known) {
  Arrays stored;
  put(known.function, "function.", stored);
  if (!known.ledger.shifts.empty()) {
    stored.put("function.ledger.gradients", known.ledger.gradients);
    stored.put("function.ledger.shifts", known.ledger.shifts);
  }
  known.likelihood->store(stored);
  if (known.log_noise) put_noise(*known.log_noise, known.noise_inputs, stored);
  return stored;
}

JointKnowledge restore(const Architecture& architecture, std::unique_ptr<Likelihood> likelihood,
                       std::size_t ledger_rows, Arrays stored) {
  JointKnowledge known;
  known.function = take_posterior(architecture, JointUnit::leaky_relu, "function.", stored);
  known.ledger = take_ledger(ledger_rows, architecture, stored);
  likelihood->restore(stored);
  known.likelihood = std::move(likelihood);
  take_noise(architecture, stored, known);
  return known;
}

}  // namespace dma::detail
