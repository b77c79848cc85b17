// belief/varying_noise.h: noise that depends on the inputs: the log of its variance is a joint network of its own.
#pragma once

#include <span>
#include <vector>

#include <dma/belief/joint_posterior.h>

#include "belief/joint_network.h"

namespace dma::detail {

// The inputs and the function's standardised value, row by row; nothing further out than the rows the noise
// was learnt from: noise is not extrapolated.
std::vector<double> noise_inputs(std::span<const double> inputs, std::span<const double> values,
                                 const NoiseInputs& known);

// Rows that a function was not learnt from, and what it says of them.
struct Missed {
  std::vector<double> inputs, targets;
  std::vector<double> values, variances;  // of the function
  std::vector<double> squares;            // see Likelihood::squares

  std::size_t rows() const { return targets.size(); }
};

struct NoiseNetwork {
  JointPosterior log_noise;
  NoiseInputs inputs;
  std::size_t bounded_precisions = 0;
};

// The seed draws the weights that it starts from.
NoiseNetwork learn_noise(const Missed& missed, const Architecture& function, bool by_column,
                         std::uint64_t seed);

// Variance of the noise at rows where the function has these values.
std::vector<double> noise_variances(const JointPosterior& log_noise, const NoiseInputs& known,
                                    std::span<const double> inputs, std::span<const double> values);

}  // namespace dma::detail
