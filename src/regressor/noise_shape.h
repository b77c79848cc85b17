// regressor/noise_shape.h: the noise's level and tails, fitted to the cavity predictions.
#pragma once

#include <span>

#include <dma/belief/posterior.h>
#include <dma/regressor/model.h>

namespace dma::detail {

// One shape per target; the prediction is rows x targets.
void apply_shapes(std::span<const NoiseShape> shapes, Prediction& prediction);

// The most likely shape of one target, given its cavity predictions and standardised values.
NoiseShape fit_shape(const Prediction& cavity, std::span<const double> values, std::size_t target,
                     std::size_t targets);

}  // namespace dma::detail
