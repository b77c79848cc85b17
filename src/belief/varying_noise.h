// belief/varying_noise.h: noise that depends on the inputs: the log of its variance is a joint network of its own.
#pragma once

#include <span>
#include <vector>

#include <dma/belief/joint_posterior.h>

#include "belief/joint_network.h"
#include "likelihood/noise.h"

namespace dma::detail {

// The units of a noise network are bounded, which its linearisation does not know: far out, or with many columns, it says
// that the noise could be anything. No more than this is believed: a noise variance e^2 times as large or as small is
// within one deviation.
inline constexpr double most_log_noise_variance = 4;

// The inputs and the function's standardised value, row by row; nothing further out than the rows the noise
// was learnt from: noise is not extrapolated.
std::vector<double> noise_inputs(std::span<const double> inputs, std::span<const double> values,
                                 const NoiseInputs& known);

// Rows that a function was not learnt from, and what it says of them.
struct Missed {
  std::vector<double> inputs, targets;
  std::vector<double> values, variances;  // of the function: rows x outputs
  std::vector<double> covariances = {};   // rows x outputs x outputs; empty: there is one output
  std::vector<double> squares = {};       // see Likelihood::squares
  std::vector<double> weights = {};       // of the rows; empty: each counts once

  std::size_t rows() const { return targets.size(); }
  Targets weighted_targets() const { return {targets, weights}; }
  Outputs outputs() const { return {values, variances, covariances}; }
  std::vector<Miss> misses() const;
};

struct NoiseNetwork {
  JointPosterior log_noise;
  NoiseInputs inputs;
  std::size_t bounded_precisions = 0;
  std::size_t bounded_rows = 0;  // of those it was learnt from: see most_log_noise_variance
};

// The seed draws the weights that it starts from.
NoiseNetwork learn_noise(const Missed& missed, const Architecture& function, bool by_column,
                         std::uint64_t seed);

// The noise that a function learns rows with, where it has these values. A noise network is never quite right, and a
// function that believed all it says would give up rows that are only hard. So, with s of the row and m the mean of log s
// over the rows that the noise was learnt from, it is exp(trust log s + (1 - trust) m).
inline constexpr double trust_in_noise = 0.75;
std::vector<double> noise_to_learn_with(const JointPosterior& log_noise, const NoiseInputs& known,
                                        std::span<const double> inputs,
                                        std::span<const double> values);

}  // namespace dma::detail
