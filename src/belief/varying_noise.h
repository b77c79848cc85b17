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

class VaryingNoise {
 public:
  // Noise around this function. The seed draws the weights that it starts from.
  VaryingNoise(const Architecture& function, bool by_column, std::uint64_t seed);
  // One that is known.
  VaryingNoise(const JointPosterior& log_noise, const NoiseInputs& inputs, bool by_column);

  static Architecture architecture_for(const Architecture& function);

  // What there is to learn from: see Likelihood::squares; and the function's values at the rows.
  void look_at(const Data& rows, std::vector<double> squares, std::span<const double> values);
  bool has_looked() const { return !squares_.empty(); }
  // Rows of which the noise is asked for, with the function's values there.
  void look_at_inputs(std::span<const double> inputs, std::span<const double> values);

  NetworkFit fit(const JointSettings& settings, const NetworkFit& start,
                 const JointNetwork::OnEpoch& after_epoch);
  // Noise variance of the rows that it looks at.
  std::vector<double> variances() const;
  JointPosterior posterior() const;
  const NoiseInputs& inputs() const { return known_; }
  std::size_t bounded_precisions() const { return network_.bounded_precisions(); }

  Arrays store() const;
  void restore(Arrays stored, std::size_t rows);

 private:
  void start(std::uint64_t seed);

  JointNetwork network_;
  NoiseInputs known_;
  std::uint64_t seed_ = 0;
  bool started_ = false;
  std::vector<double> inputs_;   // rows x (inputs + 1)
  std::vector<double> squares_;  // rows; empty: not looked at
};

}  // namespace dma::detail
