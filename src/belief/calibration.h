// belief/calibration.h: how far off predictions are, by those of rows that were not learnt.
#pragma once

#include <span>
#include <vector>

#include <dma/data/data.h>
#include <dma/likelihood/prediction.h>
#include <dma/metrics/predicted.h>

#include "likelihood/noise.h"

namespace dma::detail {

// What a prediction of standardised targets says of one of them.
PredictedPart part_at(const Prediction& prediction, std::size_t n, double weight);

void calibrate(const Calibration& calibration, PredictedPart& part);

// What is believed of it, given predictions as mixtures of parts and the values; those whose mean is NaN are left out. It
// is integrated over: with few rows, tails are heavier by what they leave unknown.
Calibration fit_calibration(std::span<const Predicted> predicted, const Targets& values);

// For misses that all have this noise: what they score, mean NLL, if the noise has another level and tails. A few rows
// that are missed by much then say little of how well all others are known.
double nll_with_tails(std::span<const Miss> misses, double noise);

}  // namespace dma::detail
