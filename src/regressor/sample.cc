// Regressor::sample: draws what could be observed from the belief.
#include <cmath>

#include <dma/regressor/regressor.h>
#include <dma/special/random.h>

#include "regressor/fit.h"

namespace dma {
namespace {

// The draws, in the targets' own units: rows x targets each.
struct Draws {
  std::span<const double> inputs;
  std::size_t rows, targets;
  const Encoder& encoder;
  std::vector<double>& values;

  // Sets a target's values of draw `draw` from standardised ones, for all rows.
  void put(std::size_t draw, std::size_t target, std::span<const double> standardised) const {
    const TargetColumn& column = encoder.targets[target];
    for (std::size_t n = 0; n < rows; ++n) {
      values[(draw * rows + n) * targets + target] =
          column.mean + column.deviation * standardised[n];
    }
  }
};

// Draws the functions of one belief; its outputs are the targets from `first` on.
void draw_from(const Belief& belief, std::size_t first, std::span<const std::size_t> draws,
               special::Random& random, const Draws& to) {
  const std::size_t outputs = belief.outputs();
  const auto functions = belief.sample_functions(to.inputs, to.rows, draws.size(), random.seed());
  std::vector<double> own(to.rows);
  for (std::size_t s = 0; s < draws.size(); ++s) {
    for (std::size_t k = 0; k < outputs; ++k) {
      for (std::size_t n = 0; n < to.rows; ++n) {
        own[n] = functions[(s * to.rows + n) * outputs + k];
      }
      to.put(draws[s], first + k, own);
    }
  }
}

// Noise whose variance is itself drawn (metrics/predicted.h).
void add_noise(const std::vector<Predicted>& predicted, special::Random& random,
               std::vector<double>& values) {
  for (std::size_t n = 0; n < values.size(); ++n) {
    const Predicted& p = predicted[n % predicted.size()];
    const double log_ratio = p.noise_spread * (random.normal() - p.noise_spread / 2) / 2;
    values[n] += p.noise_std * std::exp(log_ratio) * random.normal();
  }
}

}  // namespace

std::vector<double> Regressor::sample(const Table& table, std::size_t count, std::uint64_t seed,
                                      bool noise) const {
  const EncodedRows rows = encoder().encode_inputs(table);
  const std::size_t targets = encoder().targets.size();
  special::Random random(seed);
  std::vector<std::vector<std::size_t>> draws_of(model_.options.ensemble);
  for (std::size_t s = 0; s < count; ++s) {
    const double place = random.uniform() * static_cast<double>(draws_of.size());
    draws_of[static_cast<std::size_t>(place)].push_back(s);
  }
  std::vector<double> values(count * rows.rows * targets);
  const Draws to{rows.inputs, rows.rows, targets, encoder(), values};
  for (std::size_t m = 0; m < draws_of.size(); ++m) {
    if (draws_of[m].empty()) continue;
    const std::size_t beliefs = model_.members.size() / draws_of.size();
    std::size_t first = 0;
    for (std::size_t k = 0; k < beliefs; ++k) {
      const Belief& belief = *model_.members[m * beliefs + k];
      draw_from(belief, first, draws_of[m], random, to);
      first += belief.outputs();
    }
  }
  if (noise) {
    add_noise(predict_encoded(rows.inputs, rows.rows, model_.options.threads), random, values);
  }
  return values;
}

}  // namespace dma
