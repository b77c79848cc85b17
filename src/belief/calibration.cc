#include "belief/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <dma/special/normal.h>
#include <dma/special/quadrature.h>

namespace dma::detail {
namespace {

constexpr std::size_t nodes = 9;
constexpr double most_spread = 2;
constexpr double first_step = 0.5;
// Numbers that the rows have determined before: the level of the noise is the most likely one given the same rows, and so
// are the weights of the shapes, so that these rows are missed by less than others will be. n rows that have determined d
// numbers say of a variance what n - d others would.
constexpr double determined_before = 2;

// What is searched. The noise's first, then the function's.
enum Place : std::size_t { noise_shift, spread, function_shift };
template <std::size_t Count>
using Numbers = std::array<double, Count>;

// Each has a prior N(0, 1), so that a handful of rows does not count too much.
template <std::size_t Count>
double log_prior(const Numbers<Count>& numbers) {
  double squares = 0;
  for (const double number : numbers) squares += number * number;
  return -squares / 2;
}

// The noise's level and tails trade for each other, so that they are moved together too.
template <std::size_t Count>
std::vector<Numbers<Count>> directions() {
  std::vector<Numbers<Count>> all;
  for (const double level : {-1.0, 0.0, 1.0}) {
    for (const double tails : {-1.0, 0.0, 1.0}) {
      if (level != 0 || tails != 0) all.push_back({level, tails});
    }
  }
  for (std::size_t k = 2; k < Count; ++k) {
    for (const double way : {-1.0, 1.0}) {
      all.push_back({});
      all.back()[k] = way;
    }
  }
  return all;
}

// Moves to the best of the neighbours while there is a better one, then halves the step.
template <std::size_t Count, class LogLikelihood>
Numbers<Count> most_likely(const LogLikelihood& log_likelihood, double last_step) {
  const std::vector<Numbers<Count>> ways = directions<Count>();
  Numbers<Count> best{};
  double most = log_likelihood(best);
  for (double step = first_step; step >= last_step;) {
    const Numbers<Count> centre = best;
    for (const Numbers<Count>& direction : ways) {
      Numbers<Count> other = centre;
      for (std::size_t k = 0; k < Count; ++k) other[k] += step * direction[k];
      if (other[spread] < 0 || other[spread] > most_spread) continue;
      const double now = log_likelihood(other) + log_prior(other);
      if (now > most) {
        most = now;
        best = other;
      }
    }
    if (best == centre) step /= 2;
  }
  return best;
}

// What is believed of the three numbers.
struct Believed {
  Numbers<3> mean{}, mean_square{};

  double variance(std::size_t k) const { return mean_square[k] - mean[k] * mean[k]; }
};

// Where the log density has fallen by `fall` on one side of `most`, its maximum, or a little beyond.
template <class LogDensity>
double end_of(const LogDensity& log_density, const Numbers<3>& most_likely, double most,
              std::size_t k, double way) {
  constexpr double fall = 8;  // four deviations of a Gaussian
  constexpr double first_reach = 1.0 / 64, growth = 1.5;
  for (double reach = first_reach;; reach *= growth) {
    Numbers<3> other = most_likely;
    other[k] += way * reach;
    if (k == spread && (other[k] <= 0 || other[k] >= most_spread)) {
      return std::clamp(other[k], 0.0, most_spread);
    }
    if (log_density(other) < most - fall) return other[k];
  }
}

// The moments of a density, by the trapezoidal rule: about one node per deviation of a Gaussian.
template <class LogDensity>
Believed moments(const LogDensity& log_density, const Numbers<3>& most_likely) {
  constexpr std::size_t steps = 8;
  const double most = log_density(most_likely);
  Numbers<3> low{}, high{};
  for (std::size_t k = 0; k < 3; ++k) {
    low[k] = end_of(log_density, most_likely, most, k, -1);
    high[k] = end_of(log_density, most_likely, most, k, 1);
  }
  Believed believed;
  double total = 0;
  for (std::size_t node = 0; node < (steps + 1) * (steps + 1) * (steps + 1); ++node) {
    const std::array<std::size_t, 3> place{node % (steps + 1), node / (steps + 1) % (steps + 1),
                                           node / (steps + 1) / (steps + 1)};
    Numbers<3> at{};
    double weight = 1;
    for (std::size_t k = 0; k < 3; ++k) {
      at[k] = low[k] + (high[k] - low[k]) * static_cast<double>(place[k]) / steps;
      if (place[k] == 0 || place[k] == steps) weight /= 2;
    }
    weight *= std::exp(log_density(at) - most);
    total += weight;
    for (std::size_t k = 0; k < 3; ++k) {
      believed.mean[k] += weight * at[k];
      believed.mean_square[k] += weight * at[k] * at[k];
    }
  }
  for (std::size_t k = 0; k < 3; ++k) {
    believed.mean[k] /= total;
    believed.mean_square[k] /= total;
  }
  return believed;
}

// A row may be unlike the others in what is known of its function as in its noise: the tails are those of both. What is
// not known of a shift is one more reason for tails: N(shift, tails^2) with shift ~ N(mean, variance) is
// N(mean, tails^2 + variance).
Calibration calibration_by(const Believed& believed) {
  const double tails = believed.mean_square[spread];
  return {.noise_shift = believed.mean[noise_shift],
          .noise_spread = std::sqrt(tails + believed.variance(noise_shift)),
          .function_shift = believed.mean[function_shift],
          .function_spread = std::sqrt(tails + believed.variance(function_shift))};
}

const special::QuadratureRule& hermite() {
  static const special::QuadratureRule rule = special::gauss_hermite(nodes);
  return rule;
}

// Predictions and the values, ready to be scored for one calibration after the other: what Predicted::log_density says of
// calibrated parts, three times as fast.
class Misses {
 public:
  Misses(std::span<const Predicted> predicted, const Targets& values) {
    for (std::size_t n = 0; n < values.rows(); ++n) {
      if (std::isnan(predicted[n].mean)) continue;
      for (const PredictedPart& part : predicted[n].parts) {
        const double miss = values.values[n] - part.mean;
        parts_.push_back({miss * miss, part.epistemic_std * part.epistemic_std,
                          part.noise_std * part.noise_std, part.noise_spread, part.weight});
      }
      ends_.push_back(parts_.size());
      weights_.push_back(values.weight(n));
      weight_ += weights_.back();
    }
  }

  double log_likelihood(const Numbers<3>& numbers) const {
    const std::array<double, nodes> growth = function_growth(numbers);
    std::vector<Gaussian> row;
    LogSum logs;
    double exponents = 0;
    std::size_t first = 0;
    for (std::size_t n = 0; n < ends_.size(); ++n) {
      row.clear();
      double largest = -HUGE_VAL;
      for (; first < ends_[n]; ++first) {
        append(parts_[first], numbers, growth, row);
        largest = std::max(largest, row.back().exponent);  // the widest node's
      }
      double sum = 0;
      for (const Gaussian& one : row) sum += one.weight * std::exp(one.exponent - largest);
      logs.add(sum, weights_[n]);
      exponents += weights_[n] * largest;
    }
    return exponents + logs.value() - weight_ * special::log_sqrt_two_pi;
  }

 private:
  struct Part {
    double square, function, noise, noise_spread, weight;
  };
  struct Gaussian {
    double weight, exponent;
  };

  static std::array<double, nodes> function_growth(const Numbers<3>& numbers) {
    std::array<double, nodes> growth{};
    for (std::size_t k = 0; k < nodes; ++k) {
      growth[k] = std::exp(numbers[function_shift] + numbers[spread] * hermite().nodes[k]);
    }
    return growth;
  }
  static void append(const Part& part, const Numbers<3>& numbers,
                     const std::array<double, nodes>& of_function, std::vector<Gaussian>& row) {
    const special::QuadratureRule& rule = hermite();
    const double level = numbers[noise_shift] + numbers[spread] * numbers[spread] / 2;
    const double own = std::hypot(part.noise_spread, numbers[spread]);
    for (std::size_t k = 0; k < nodes; ++k) {
      const double noise = part.noise * std::exp(level + own * (rule.nodes[k] - own / 2));
      const double precision = 1 / (part.function * of_function[k] + noise);
      row.push_back(
          {part.weight * rule.weights[k] * std::sqrt(precision), -part.square * precision / 2});
    }
  }

  std::vector<Part> parts_;
  std::vector<std::size_t> ends_;  // of the parts of each row
  std::vector<double> weights_;    // of each row
  double weight_ = 0;              // of all
};

double weight_of(std::span<const Miss> misses) {
  double sum = 0;
  for (const Miss& miss : misses) sum += miss.weight;
  return sum;
}

// y - f ~ N(0, variance + s), log s ~ N(log noise + shift, spread^2).
double log_likelihood(const Numbers<2>& of_noise, std::span<const Miss> misses, double noise) {
  const special::QuadratureRule& rule = hermite();
  std::array<double, nodes> variance{};
  for (std::size_t k = 0; k < nodes; ++k) {
    variance[k] = noise * std::exp(of_noise[noise_shift] + of_noise[spread] * rule.nodes[k]);
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
    logs.add(sum, miss.weight);
    exponents += miss.weight * largest;
  }
  return exponents + logs.value() - weight_of(misses) * special::log_sqrt_two_pi;
}

// E[exp(g)] if g gains N(shift, spread^2), as a factor of a deviation.
double growth(double shift, double spread) { return std::exp((shift + spread * spread / 2) / 2); }

}  // namespace

PredictedPart part_at(const Prediction& prediction, std::size_t n, double weight) {
  return {prediction.mean[n], std::sqrt(prediction.epistemic_variance[n]),
          std::sqrt(prediction.noise_variance[n]),
          prediction.noise_spread.empty() ? 0 : prediction.noise_spread[n], weight};
}

void calibrate(const Calibration& calibration, PredictedPart& part) {
  // N(f; m, v) N(f; 0, 1 / tau) ~ N(f; m / (1 + v tau), v / (1 + v tau))
  const double gained = 1 + part.epistemic_std * part.epistemic_std * calibration.prior_precision;
  part.mean /= gained;
  part.epistemic_std /= std::sqrt(gained);
  part.noise_std *= growth(calibration.noise_shift, calibration.noise_spread);
  part.noise_spread = std::hypot(part.noise_spread, calibration.noise_spread);
  part.epistemic_std *= growth(calibration.function_shift, calibration.function_spread);
  part.epistemic_spread = std::hypot(part.epistemic_spread, calibration.function_spread);
}

Calibration fit_calibration(std::span<const Predicted> predicted, const Targets& values) {
  constexpr double last_step = 1.0 / 64;
  const Misses misses(predicted, values);
  const auto of_rows = [&](const Numbers<3>& numbers) {
    return misses.log_likelihood(numbers) + determined_before / 2 * numbers[noise_shift];
  };
  const auto log_posterior = [&](const Numbers<3>& numbers) {
    return of_rows(numbers) + log_prior(numbers);
  };
  return calibration_by(moments(log_posterior, most_likely<3>(of_rows, last_step)));
}

double nll_with_tails(std::span<const Miss> misses, double noise) {
  constexpr double last_step = 1.0 / 16;  // a score needs no more
  const auto of_misses = [&](const Numbers<2>& of_noise) {
    return log_likelihood(of_noise, misses, noise);
  };
  return -of_misses(most_likely<2>(of_misses, last_step)) / weight_of(misses);
}

}  // namespace dma::detail
