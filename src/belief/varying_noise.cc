#include "belief/varying_noise.h"

#include <algorithm>
#include <cmath>

#include "likelihood/gaussian.h"
#include "likelihood/log_variance.h"

namespace dma::detail {
namespace {

// Found on training rows held out from training (docs/default-method.md).
constexpr std::size_t most_noise_units = 10;
constexpr std::size_t least_noise_units = 2;
constexpr std::size_t most_noise_weights = 500;  // beyond the least units
constexpr double first_noise_precision = 5;
// A variance that could be e^10 times as much as believed or as little is no belief: with ten units, the log of the noise
// varies by no more than this before any row is seen.
constexpr double least_noise_precision = 1;
constexpr double start_gain = 0.5;
// The scale of the function's value as an input of the noise network, in standard deviations of the target: a
// function that is all but constant has nothing to say about the noise.
constexpr double least_value_deviation = 0.01;

constexpr std::size_t most_noise_epochs = 30;

void measure_scale(const Targets& values, NoiseInputs& known) {
  const double all = values.weight();
  double mean = 0;
  for (std::size_t n = 0; n < values.rows(); ++n) mean += values.weight(n) * values.values[n] / all;
  double square = 0;
  for (std::size_t n = 0; n < values.rows(); ++n) {
    square += values.weight(n) * (values.values[n] - mean) * (values.values[n] - mean) / all;
  }
  known.value_mean = mean;
  known.value_deviation = std::max(std::sqrt(square), least_value_deviation);
}

void measure_range(std::span<const double> inputs, std::span<const double> values,
                   NoiseInputs& known) {
  const std::size_t width = inputs.size() / values.size();
  known.low.assign(width + 1, HUGE_VAL);
  known.high.assign(width + 1, -HUGE_VAL);
  const auto include = [&](double value, std::size_t column) {
    known.low[column] = std::min(known.low[column], value);
    known.high[column] = std::max(known.high[column], value);
  };
  for (std::size_t n = 0; n < values.size(); ++n) {
    for (std::size_t j = 0; j < width; ++j) include(inputs[n * width + j], j);
    include((values[n] - known.value_mean) / known.value_deviation, width);
  }
}

// A value beyond all targets says no more of the noise than the last target.
NoiseInputs inputs_of(const Missed& missed) {
  const auto [least, most] = std::minmax_element(missed.targets.begin(), missed.targets.end());
  std::vector<double> values = missed.values;
  for (double& value : values) value = std::clamp(value, *least, *most);
  NoiseInputs known;
  measure_scale({values, missed.weights}, known);
  measure_range(missed.inputs, values, known);
  return known;
}

// The log of the noise that is most likely if it is the same everywhere.
double log_of_constant(const Missed& missed) {
  return std::log(std::max(most_likely_noise(missed.misses()), least_noise_variance));
}

}  // namespace

std::vector<Miss> Missed::misses() const {
  std::vector<Miss> result;
  const Targets all = weighted_targets();
  for (std::size_t n = 0; n < rows(); ++n) {
    result.push_back({squares[n], variances[n], all.weight(n)});
  }
  return result;
}

std::vector<double> noise_inputs(std::span<const double> inputs, std::span<const double> values,
                                 const NoiseInputs& known) {
  const std::size_t width = inputs.size() / values.size();
  std::vector<double> result;
  result.reserve(inputs.size() + values.size());
  const auto put = [&](double value, std::size_t column) {
    result.push_back(std::clamp(value, known.low[column], known.high[column]));
  };
  for (std::size_t n = 0; n < values.size(); ++n) {
    for (std::size_t j = 0; j < width; ++j) put(inputs[n * width + j], j);
    put((values[n] - known.value_mean) / known.value_deviation, width);
  }
  return result;
}

NoiseNetwork learn_noise(const Missed& missed, const Architecture& function, bool by_column,
                         std::uint64_t seed) {
  Architecture architecture = function;
  const std::size_t inputs_and_value = function.inputs() + 1;
  const std::size_t units =
      std::clamp(most_noise_weights / inputs_and_value, least_noise_units, most_noise_units);
  architecture.widths = {inputs_and_value, units, 1};
  architecture.ramps.clear();
  architecture.uncertain.clear();
  JointNetwork network(architecture, JointUnit::step, first_noise_precision, by_column,
                       least_noise_precision);
  network.draw_start(seed, start_gain);
  network.set_output_bias(log_of_constant(missed));
  const NoiseInputs known = inputs_of(missed);
  const std::vector<double> inputs = noise_inputs(missed.inputs, missed.values, known);
  LogVarianceTerms terms({missed.squares, missed.weights}, missed.variances);
  network.fit(inputs, terms,
              {.epochs = most_noise_epochs, .evidence_from = 2, .evidence_every = 1});
  NoiseNetwork learnt{network.posterior(inputs, terms, false), known, network.bounded_precisions()};
  const OutputMoments moments = outputs_of(learnt.log_noise, inputs, missed.rows());
  const Targets logs{moments.mean, missed.weights};
  double sum = 0;
  for (std::size_t n = 0; n < logs.rows(); ++n) sum += logs.weight(n) * logs.values[n];
  learnt.inputs.log_mean = sum / logs.weight();
  learnt.bounded_rows = static_cast<std::size_t>(std::ranges::count_if(
      moments.variance, [](double v) { return v > most_log_noise_variance; }));
  return learnt;
}

std::vector<double> noise_to_learn_with(const JointPosterior& log_noise, const NoiseInputs& known,
                                        std::span<const double> inputs,
                                        std::span<const double> values) {
  const Vector weights = centre_of(log_noise);
  std::vector<double> result =
      cpu_backend().values({log_noise.architecture, log_noise.unit, weights},
                           noise_inputs(inputs, values, known), values.size());
  for (double& value : result) {
    value = noise_at(known.log_mean ? std::lerp(*known.log_mean, value, trust_in_noise) : value);
  }
  return result;
}

}  // namespace dma::detail
