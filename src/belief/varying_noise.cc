#include "belief/varying_noise.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/require.h"
#include "likelihood/gaussian.h"
#include "likelihood/log_variance.h"

namespace dma::detail {
namespace {

// Found on training rows held out from training (docs/default-method.md).
constexpr std::size_t noise_units = 10;
constexpr double first_noise_precision = 5;
// A variance that could be e^10 times as much as believed or as little is no belief: with ten units, the log of the noise
// varies by no more than this before any row is seen.
constexpr double least_noise_precision = 1;
constexpr double start_gain = 0.5;
// The scale of the function's value as an input of the noise network, in standard deviations of the target. A
// function that is all but constant has nothing to say about the noise, and may vary more after a refinement.
constexpr double least_value_deviation = 0.01;

void measure_scale(std::span<const double> values, NoiseInputs& known) {
  const auto count = static_cast<double>(values.size());
  double mean = 0;
  for (const double value : values) mean += value / count;
  double square = 0;
  for (const double value : values) square += (value - mean) * (value - mean) / count;
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

}  // namespace

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

Architecture VaryingNoise::architecture_for(const Architecture& function) {
  Architecture architecture = function;
  architecture.widths = {function.inputs() + 1, noise_units, 1};
  return architecture;
}

VaryingNoise::VaryingNoise(const Architecture& function, bool by_column, std::uint64_t seed)
    : network_(architecture_for(function), JointUnit::step, first_noise_precision, by_column,
               least_noise_precision),
      seed_(seed) {}

VaryingNoise::VaryingNoise(const JointPosterior& log_noise, const NoiseInputs& inputs,
                           bool by_column)
    : network_(log_noise, by_column, least_noise_precision), known_(inputs), started_(true) {}

void VaryingNoise::look_at(const Data& rows, std::vector<double> squares,
                           std::span<const double> values) {
  squares_ = std::move(squares);
  if (!started_) measure_scale(values, known_);
  measure_range(rows.inputs, values, known_);
  look_at_inputs(rows.inputs, values);
  if (!std::exchange(started_, true)) start(seed_);
}

void VaryingNoise::look_at_inputs(std::span<const double> inputs, std::span<const double> values) {
  inputs_ = noise_inputs(inputs, values, known_);
}

void VaryingNoise::start(std::uint64_t seed) {
  network_.draw_start(seed, start_gain);
  double mean = 0;
  for (const double square : squares_) mean += square / static_cast<double>(squares_.size());
  network_.set_output_bias(std::log(mean));
}

NetworkFit VaryingNoise::fit(const JointSettings& settings, const NetworkFit& start,
                             const JointNetwork::OnEpoch& after_epoch) {
  LogVarianceTerms terms(squares_);
  return network_.fit(inputs_, terms, settings, start, after_epoch);
}

std::vector<double> VaryingNoise::variances() const {
  std::vector<double> result = network_.values(inputs_, inputs_.size() / known_.low.size());
  for (double& value : result) value = noise_at(value);
  return result;
}

JointPosterior VaryingNoise::posterior() const {
  return network_.posterior(inputs_, LogVarianceTerms(squares_), false);
}

Arrays VaryingNoise::store() const {
  Arrays stored = network_.store();
  stored.put("scale", std::vector<double>{known_.value_mean, known_.value_deviation});
  stored.put("low", known_.low);
  stored.put("high", known_.high);
  stored.put("inputs", inputs_);
  stored.put("squares", squares_);
  return stored;
}

void VaryingNoise::restore(Arrays stored, std::size_t rows) {
  const auto scale = stored.take<double>("scale", {2});
  require(scale[1] > 0 && std::isfinite(scale[1]), "a deviation is not positive");
  const std::size_t width = network_.architecture().inputs();
  known_ = {scale[0], scale[1], stored.take<double>("low", {width}),
            stored.take<double>("high", {width})};
  inputs_ = stored.take<double>("inputs", {rows * width});
  squares_ = stored.take<double>("squares", {rows});
  started_ = true;
  network_.restore(std::move(stored));
}

}  // namespace dma::detail
