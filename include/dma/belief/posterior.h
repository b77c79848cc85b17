// belief/posterior.h: what a trained network is: a Gaussian per weight, and the noise.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <dma/layers/architecture.h>

namespace dma {

// Natural parameters of every weight, in the flat order of the architecture.
template <std::floating_point T>
struct Posterior {
  Architecture architecture;
  std::vector<T> tau, rho;
  std::vector<double> noise_variance;  // per output
};

// Per row and output: rows x outputs, row-major.
struct Prediction {
  std::vector<double> mean;
  std::vector<double> epistemic_variance;  // of the function: what more data could remove
  std::vector<double> noise_variance;      // of an observation around it
  std::vector<double> noise_spread = {};   // of the log of that; empty: the noise is known
};

// Inputs or weights are so large that a prediction has no number.
struct NoPrediction : std::runtime_error {
  NoPrediction(std::size_t row, const std::string& why);
};

// One forward sweep per row. The answer does not depend on the number of threads; 0 means all cores.
template <std::floating_point T>
Prediction predict(const Posterior<T>& posterior, std::span<const double> inputs, std::size_t rows,
                   std::size_t threads = 1);

// The mixture of several posteriors with equal weights, by its mean and variance: the spread between
// members counts as epistemic.
template <std::floating_point T>
Prediction predict(std::span<const Posterior<T>> members, std::span<const double> inputs,
                   std::size_t rows, std::size_t threads = 1);

// Equal parts, by the mean and variance of their mixture: the spread between parts counts as epistemic. If
// the noise has a spread, its log is mixed in the same way.
Prediction mix(std::span<const Prediction> parts);

// The network as a plain function: values holds one row of inputs and becomes the outputs.
void evaluate(const Architecture& architecture, std::span<const double> weights,
              std::vector<double>& values);

// `count` functions drawn from the posterior, each evaluated at all rows: count x rows x outputs.
template <std::floating_point T>
std::vector<double> sample_functions(const Posterior<T>& posterior, std::span<const double> inputs,
                                     std::size_t rows, std::size_t count, std::uint64_t seed);

}  // namespace dma
