#include "regressor/noise_shape.h"

#include <cmath>
#include <vector>

#include <dma/metrics/predicted.h>

namespace dma::detail {
namespace {

constexpr double most_spread = 2;
constexpr double first_step = 0.5;
constexpr double last_step = 1.0 / 64;

struct Row {
  double value, mean, epistemic_std, noise_variance, noise_spread;
};

std::vector<Row> rows_of(const Prediction& cavity, std::span<const double> values,
                         std::size_t target, std::size_t targets) {
  std::vector<Row> rows;
  for (std::size_t n = target; n < values.size(); n += targets) {
    if (std::isnan(cavity.mean[n])) continue;
    rows.push_back({values[n], cavity.mean[n], std::sqrt(cavity.epistemic_variance[n]),
                    cavity.noise_variance[n], cavity.noise_spread[n]});
  }
  return rows;
}

// E[exp(g)] if g gains N(shift, spread^2).
double shaped_variance(const NoiseShape& shape, double variance) {
  return variance * std::exp(shape.shift + shape.spread * shape.spread / 2);
}

// Both have a prior N(0, 1), so that a handful of rows does not count too much.
double log_posterior(const NoiseShape& shape, const std::vector<Row>& rows) {
  double sum = -(shape.shift * shape.shift + shape.spread * shape.spread) / 2;
  for (const Row& row : rows) {
    const Predicted predicted{row.mean, row.epistemic_std,
                              std::sqrt(shaped_variance(shape, row.noise_variance)),
                              std::hypot(row.noise_spread, shape.spread)};
    sum += predicted.log_density(row.value);
  }
  return sum;
}

}  // namespace

void apply_shapes(std::span<const NoiseShape> shapes, Prediction& prediction) {
  for (std::size_t n = 0; n < prediction.mean.size(); ++n) {
    const NoiseShape& shape = shapes[n % shapes.size()];
    prediction.noise_variance[n] = shaped_variance(shape, prediction.noise_variance[n]);
    prediction.noise_spread[n] = std::hypot(prediction.noise_spread[n], shape.spread);
  }
}

// Moves to the best of eight neighbours while there is a better one, then halves the step.
NoiseShape fit_shape(const Prediction& cavity, std::span<const double> values, std::size_t target,
                     std::size_t targets) {
  const std::vector<Row> rows = rows_of(cavity, values, target, targets);
  NoiseShape best;
  double most = log_posterior(best, rows);
  for (double step = first_step; step >= last_step;) {
    const NoiseShape centre = best;
    for (const int right : {-1, 0, 1}) {
      for (const int up : {-1, 0, 1}) {
        const NoiseShape other{centre.shift + right * step, centre.spread + up * step};
        if (other.spread < 0 || other.spread > most_spread) continue;
        const double now = log_posterior(other, rows);
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
