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
  // Of classes, whose indicators are the targets: the entropy that a row would have if the function were known, expected.
  std::vector<double> entropy = {};  // rows; empty: the targets are numbers
};

// Correction of predictions. What a network says of the function is multiplied by N(0, 1 / prior_precision). Then, by rows
// that were not learnt, the log of the noise variance gains N(noise_shift, noise_spread^2), that of the function's variance
// N(function_shift, function_spread^2).
struct Calibration {
  double noise_shift = 0, noise_spread = 0;
  double function_shift = 0, function_spread = 0;
  double prior_precision = 0;
  // It is what one of several networks misses rows by that it has not learnt; their mean misses them by less.
  bool of_one = false;
};

// Equal parts, by the mean and variance of their mixture: the spread between parts counts as epistemic. If
// the noise has a spread, its log is mixed in the same way.
Prediction mix(std::span<const Prediction> parts);

}  // namespace dma
