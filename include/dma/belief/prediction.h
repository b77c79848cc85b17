// belief/prediction.h: what a belief says of rows.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace dma {

// Per row and output: rows x outputs, row-major.
struct Prediction {
  std::vector<double> mean;
  std::vector<double> epistemic_variance;  // of the function: what more data could remove
  std::vector<double> noise_variance;      // of an observation around it; empty: not asked for
  std::vector<double> noise_spread = {};   // of the log of that; empty: the noise is known
};

// Inputs or weights are so large that a prediction has no number.
struct NoPrediction : std::runtime_error {
  NoPrediction(std::size_t row, const std::string& why);
};

// Equal parts, by the mean and variance of their mixture: the spread between parts counts as epistemic. If
// the noise has a spread, its log is mixed in the same way.
Prediction mix(std::span<const Prediction> parts);

// A belief made ready for many rows; the belief itself is no longer needed.
class Predictor {
 public:
  virtual ~Predictor() = default;
  // The answer does not depend on the number of threads; 0 means all cores.
  virtual Prediction predict(std::span<const double> inputs, std::size_t rows,
                             std::size_t threads = 1) const = 0;
};

}  // namespace dma
