#include "belief/noise_shape.h"

#include <array>
#include <cmath>

#include <dma/special/normal.h>
#include <dma/special/quadrature.h>

namespace dma::detail {
namespace {

constexpr double most_spread = 2;
constexpr double first_step = 0.5;

// Both have a prior N(0, 1), so that a handful of rows does not count too much.
double log_prior(const NoiseShape& shape) {
  return -(shape.shift * shape.shift + shape.spread * shape.spread) / 2;
}

double log_likelihood(const NoiseShape& shape, std::span<const Predicted> predicted,
                      std::span<const double> values) {
  double sum = 0;
  for (std::size_t n = 0; n < values.size(); ++n) {
    if (std::isnan(predicted[n].mean)) continue;
    Predicted shaped = predicted[n];
    for (PredictedPart& part : shaped.parts) apply_shape(shape, part);
    sum += shaped.log_density(values[n]);
  }
  return sum;
}

// y - f ~ N(0, variance + s), log s ~ N(log noise + shift, spread^2).
double log_likelihood(const NoiseShape& shape, std::span<const Miss> misses, double noise) {
  constexpr std::size_t nodes = 9;
  static const special::QuadratureRule rule = special::gauss_hermite(nodes);
  std::array<double, nodes> variance{};
  for (std::size_t k = 0; k < nodes; ++k) {
    variance[k] = noise * std::exp(shape.shift + shape.spread * rule.nodes[k]);
  }
  LogSum logs;
  double exponents = 0;
  for (const Miss& miss : misses) {
    // The widest node has the largest exponent.
    const double largest = -miss.square / (2 * (miss.variance + variance[nodes - 1]));
    double sum = 0;
    for (std::size_t k = 0; k < nodes; ++k) {
      const double all = miss.variance + variance[k];
      sum += rule.weights[k] * std::exp(-miss.square / (2 * all) - largest) / std::sqrt(all);
    }
    logs.add(sum);
    exponents += largest;
  }
  return exponents + logs.value() - static_cast<double>(misses.size()) * special::log_sqrt_two_pi;
}

// Moves to the best of eight neighbours while there is a better one, then halves the step.
template <class LogLikelihood>
NoiseShape most_likely(const LogLikelihood& log_likelihood, double last_step) {
  NoiseShape best;
  double most = log_likelihood(best);
  for (double step = first_step; step >= last_step;) {
    const NoiseShape centre = best;
    for (const int right : {-1, 0, 1}) {
      for (const int up : {-1, 0, 1}) {
        const NoiseShape other{centre.shift + right * step, centre.spread + up * step};
        if ((right == 0 && up == 0) || other.spread < 0 || other.spread > most_spread) continue;
        const double now = log_likelihood(other) + log_prior(other);
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

NoiseShape fit_shape(std::span<const Predicted> predicted, std::span<const double> values) {
  constexpr double last_step = 1.0 / 64;
  return most_likely(
      [&](const NoiseShape& shape) { return log_likelihood(shape, predicted, values); }, last_step);
}

double nll_with_tails(std::span<const Miss> misses, double noise) {
  constexpr double last_step = 1.0 / 16;  // a score needs no more
  const auto of_misses = [&](const NoiseShape& shape) {
    return log_likelihood(shape, misses, noise);
  };
  return -of_misses(most_likely(of_misses, last_step)) / static_cast<double>(misses.size());
}

}  // namespace dma::detail
