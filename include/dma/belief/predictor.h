// belief/predictor.h: a belief made ready for many rows.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>

#include <dma/likelihood/likelihood.h>

namespace dma {

// Inputs or weights are so large that a prediction has no number.
struct NoPrediction : std::runtime_error {
  NoPrediction(std::size_t row, const std::string& why);
};

// The belief itself is no longer needed.
class Predictor {
 public:
  virtual ~Predictor() = default;
  // What is believed of the network's outputs. The answer does not depend on the number of threads; 0 means all cores.
  virtual OutputMoments outputs(std::span<const double> inputs, std::size_t rows,
                                std::size_t threads = 1) const = 0;
  // What the likelihood makes of it: the moments of the targets.
  virtual Prediction predict(std::span<const double> inputs, std::size_t rows,
                             std::size_t threads = 1) const = 0;
};

}  // namespace dma
