#include "regressor/noise_shape.h"

#include <cmath>

namespace dma::detail {
namespace {

constexpr double most_spread = 2;
constexpr double first_step = 0.5;
constexpr double last_step = 1.0 / 64;

// Both have a prior N(0, 1), so that a handful of rows does not count too much.
double log_posterior(const NoiseShape& shape, std::span<const Predicted> predicted,
                     std::span<const double> values) {
  double sum = -(shape.shift * shape.shift + shape.spread * shape.spread) / 2;
  for (std::size_t n = 0; n < values.size(); ++n) {
    if (std::isnan(predicted[n].mean)) continue;
    Predicted shaped = predicted[n];
    for (PredictedPart& part : shaped.parts) apply_shape(shape, part);
    sum += shaped.log_density(values[n]);
  }
  return sum;
}

}  // namespace

PredictedPart part_at(const Prediction& prediction, std::size_t n, double weight) {
  return {prediction.mean[n], std::sqrt(prediction.epistemic_variance[n]),
          std::sqrt(prediction.noise_variance[n]),
          prediction.noise_spread.empty() ? 0 : prediction.noise_spread[n], weight};
}

// E[exp(g)] if g gains N(shift, spread^2).
void apply_shape(const NoiseShape& shape, PredictedPart& part) {
  part.noise_std *= std::exp((shape.shift + shape.spread * shape.spread / 2) / 2);
  part.noise_spread = std::hypot(part.noise_spread, shape.spread);
}

// Moves to the best of eight neighbours while there is a better one, then halves the step.
NoiseShape fit_shape(std::span<const Predicted> predicted, std::span<const double> values) {
  NoiseShape best;
  double most = log_posterior(best, predicted, values);
  for (double step = first_step; step >= last_step;) {
    const NoiseShape centre = best;
    for (const int right : {-1, 0, 1}) {
      for (const int up : {-1, 0, 1}) {
        const NoiseShape other{centre.shift + right * step, centre.spread + up * step};
        if ((right == 0 && up == 0) || other.spread < 0 || other.spread > most_spread) continue;
        const double now = log_posterior(other, predicted, values);
        if (now > most) {
          most = now;
          best = other;
        }
      }
    }
    if (best.shift == centre.shift && best.spread == centre.spread) step /= 2;
  }
  return best;
}

}  // namespace dma::detail
