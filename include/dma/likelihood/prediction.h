// likelihood/prediction.h: the moments of targets that are not known yet.
#pragma once

#include <span>
#include <vector>

namespace dma {

// Rows x targets, row-major.
struct Prediction {
  std::vector<double> mean;
  std::vector<double> epistemic_variance;  // of the function: what more data could remove
  std::vector<double> noise_variance;      // of an observation around it; empty: not asked for
  std::vector<double> noise_spread = {};   // of the log of that; empty: the noise is known
};

// Correction of the noise from predictions of rows that were not learnt: its log gains N(shift, spread^2).
struct NoiseShape {
  double shift = 0, spread = 0;
  // It is what one of several networks misses rows by that it has not learnt; their mean misses them by less.
  bool of_one = false;
};

// Equal parts, by the mean and variance of their mixture: the spread between parts counts as epistemic. If
// the noise has a spread, its log is mixed in the same way.
Prediction mix(std::span<const Prediction> parts);

}  // namespace dma
