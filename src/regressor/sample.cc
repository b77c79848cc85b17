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

// Draws the functions of one member, for the draws that it was chosen for.
void draw_from(const Member& member, std::span<const std::size_t> draws, special::Random& random,
               const Draws& to) {
  const std::size_t outputs = member.belief->outputs();
  const auto functions =
      member.belief->sample_functions(to.inputs, to.rows, draws.size(), random.seed());
  std::vector<double> own(to.rows);
  for (std::size_t s = 0; s < draws.size(); ++s) {
    for (std::size_t k = 0; k < outputs; ++k) {
      for (std::size_t n = 0; n < to.rows; ++n) {
        own[n] = functions[(s * to.rows + n) * outputs + k];
      }
      to.put(draws[s], member.target + k, own);
    }
  }
}

// Which draws are made from each member, for every target: as often as its weight says.
class Choice {
 public:
  Choice(const std::vector<Member>& members, std::size_t count, special::Random& random)
      : draws_(members.size()) {
    for (std::size_t first = 0; first < members.size();) {
      std::size_t end = first;
      while (end < members.size() && members[end].target == members[first].target) ++end;
      for (std::size_t s = 0; s < count; ++s) {
        double place = random.uniform();
        std::size_t m = first;
        while (m + 1 < end && place >= members[m].weight) place -= members[m++].weight;
        draws_[m].push_back(s);
      }
      first = end;
    }
  }

  std::span<const std::size_t> of(std::size_t member) const { return draws_[member]; }

 private:
  std::vector<std::vector<std::size_t>> draws_;
};

// Noise of the member that the function was drawn from; its variance is itself drawn (metrics/predicted.h).
double draw_noise(const PredictedPart& part, special::Random& random) {
  const double log_ratio = part.noise_spread * (random.normal() - part.noise_spread / 2) / 2;
  return part.noise_std * std::exp(log_ratio) * random.normal();
}

}  // namespace

std::vector<double> Regressor::sample(const Table& table, std::size_t count, std::uint64_t seed,
                                      bool noise) const {
  const EncodedRows rows = encoder().encode_inputs(table);
  const std::size_t targets = encoder().targets.size();
  special::Random random(seed);
  const std::vector<Member>& members = model_.members;
  const Choice choice(members, count, random);
  std::vector<double> values(count * rows.rows * targets);
  const Draws to{rows.inputs, rows.rows, targets, encoder(), values};
  for (std::size_t m = 0; m < members.size(); ++m) {
    if (!choice.of(m).empty()) draw_from(members[m], choice.of(m), random, to);
  }
  if (!noise) return values;
  const auto predicted = predict_encoded(rows.inputs, rows.rows, model_.options.threads);
  std::vector<std::size_t> part_of(targets);  // of the member, among those of each target
  for (std::size_t m = 0; m < members.size(); ++m) {
    for (std::size_t k = 0; k < members[m].belief->outputs(); ++k) {
      const std::size_t target = members[m].target + k;
      for (const std::size_t s : choice.of(m)) {
        for (std::size_t n = 0; n < rows.rows; ++n) {
          values[(s * rows.rows + n) * targets + target] +=
              draw_noise(predicted[n * targets + target].parts[part_of[target]], random);
        }
      }
      ++part_of[target];
    }
  }
  return values;
}

}  // namespace dma
