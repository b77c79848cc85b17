// Regressor::sample: draws what could be observed from the belief.
#include <cmath>
#include <utility>

#include <dma/likelihood/classes.h>
#include <dma/likelihood/counts.h>
#include <dma/regressor/regressor.h>
#include <dma/special/random.h>

#include "base/require.h"
#include "metrics/counts.h"
#include "regressor/mixture.h"

namespace dma {
namespace {

// What is drawn from: all members, each by itself and as a part of the mixture.
struct Sources {
  const EncodedRows& rows;
  const Model& model;
  std::vector<Prediction> said;
  std::vector<Predicted> predicted;

  std::size_t targets() const { return model.encoder.targets.size(); }
  // Where a draw's value of a row and target stands.
  std::size_t place(std::size_t draw, std::size_t row, std::size_t target) const {
    return (draw * rows.rows + row) * targets() + target;
  }
  // Which of the parts of its targets' predictions a member is.
  std::size_t part_of(std::size_t member) const {
    std::size_t before = 0;
    for (std::size_t m = 0; m < member; ++m) {
      if (model.members[m].target == model.members[member].target) ++before;
    }
    return before;
  }
  const PredictedPart& part(std::size_t row, std::size_t target, std::size_t index) const {
    return predicted[row * targets() + target].parts[index];
  }
};

// A value of a member's function, as a part of the mixture: that may stand elsewhere and be narrower than what the member
// says by itself (take_together).
double as_part(double drawn, const Prediction& said, std::size_t n, const TargetColumn& target,
               const PredictedPart& part) {
  const double own = std::sqrt(said.epistemic_variance[n]);
  const double apart = drawn - said.mean[n];
  return part.mean + (own == 0 ? apart * target.deviation : apart / own * part.epistemic_std);
}

// Draws the functions of one member, for the draws that it was chosen for.
void draw_from(std::size_t m, std::span<const std::size_t> draws, special::Random& random,
               const Sources& from, std::vector<double>& values) {
  const Member& member = from.model.members[m];
  const std::size_t part = from.part_of(m);
  const std::size_t outputs = member.belief->outputs();
  const std::size_t rows = from.rows.rows;
  const auto functions =
      member.belief->sample_functions(from.rows.inputs, rows, draws.size(), random.seed());
  for (std::size_t s = 0; s < draws.size(); ++s) {
    for (std::size_t k = 0; k < outputs; ++k) {
      const std::size_t target = member.target + k;
      for (std::size_t n = 0; n < rows; ++n) {
        values[from.place(draws[s], n, target)] =
            as_part(functions[(s * rows + n) * outputs + k], from.said[m], n * outputs + k,
                    from.model.encoder.targets[target], from.part(n, target, part));
      }
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

// What is observed of a function drawn from this part: its variances are themselves drawn (metrics/predicted.h).
double observe(double function, const PredictedPart& part, special::Random& random) {
  const double t = random.normal();
  return part.mean + growth_at(t, part.epistemic_spread) * (function - part.mean) +
         growth_at(t, part.noise_spread) * part.noise_std * random.normal();
}

void observe_all(std::size_t m, std::span<const std::size_t> draws, special::Random& random,
                 const Sources& from, std::vector<double>& values) {
  const Member& member = from.model.members[m];
  const std::size_t part = from.part_of(m);
  for (std::size_t k = 0; k < member.belief->outputs(); ++k) {
    const std::size_t target = member.target + k;
    for (const std::size_t s : draws) {
      for (std::size_t n = 0; n < from.rows.rows; ++n) {
        double& value = values[from.place(s, n, target)];
        value = observe(value, from.part(n, target, part), random);
      }
    }
  }
}

// A class by its probabilities.
double draw_class(std::span<const double> probabilities, special::Random& random) {
  double place = random.uniform();
  std::size_t k = 0;
  while (k + 1 < probabilities.size() && place >= probabilities[k]) place -= probabilities[k++];
  return static_cast<double>(k);
}

// Outputs of a row that were drawn, and what is believed of them.
struct Drawn {
  std::span<const double> value, mean, variance;
};

// Calls f(place of the value, likelihood, drawn) for draws of a model with one target.
template <class Own, class F>
void for_each_draw(const Model& model, const EncodedRows& rows, std::size_t count,
                   special::Random& random, const F& f) {
  const Choice choice(model.members, count, random);
  for (std::size_t m = 0; m < model.members.size(); ++m) {
    const auto draws = choice.of(m);
    if (draws.empty()) continue;
    const Belief& belief = *model.members[m].belief;
    const auto& likelihood = dynamic_cast<const Own&>(belief.likelihood());
    const std::size_t outputs = belief.outputs();
    const OutputMoments moments =
        belief.predictor()->outputs(rows.inputs, rows.rows, model.options.threads);
    const auto functions =
        belief.sample_functions(rows.inputs, rows.rows, draws.size(), random.seed());
    for (std::size_t s = 0; s < draws.size(); ++s) {
      for (std::size_t n = 0; n < rows.rows; ++n) {
        const auto row_of = [outputs](const std::vector<double>& all, std::size_t row) {
          return std::span(all).subspan(row * outputs, outputs);
        };
        f(draws[s] * rows.rows + n, likelihood,
          Drawn{row_of(functions, s * rows.rows + n), row_of(moments.mean, n),
                row_of(moments.variance, n)});
      }
    }
  }
}

std::vector<double> sample_classes(const Model& model, const EncodedRows& rows, std::size_t count,
                                   std::uint64_t seed) {
  special::Random random(seed);
  std::vector<double> values(count * rows.rows);
  for_each_draw<ClassLikelihood>(
      model, rows, count, random,
      [&](std::size_t place, const ClassLikelihood& likelihood, const Drawn& drawn) {
        values[place] = draw_class(likelihood.probabilities(drawn.value, drawn.mean), random);
      });
  return values;
}

// The rate, or with noise what is counted.
double draw_count(double log_rate, const CountLikelihood& likelihood, bool noise,
                  special::Random& random) {
  const double rate = std::exp(log_rate);
  if (!noise) return rate;
  detail::CountPart known{1, 1 / likelihood.dispersion()};
  known.mean[0] = rate;
  return detail::quantile(known, random.uniform());
}

std::vector<double> sample_counts(const Model& model, const EncodedRows& rows, std::size_t count,
                                  std::uint64_t seed, bool noise) {
  special::Random random(seed);
  std::vector<double> values(count * rows.rows);
  for_each_draw<CountLikelihood>(
      model, rows, count, random,
      [&](std::size_t place, const CountLikelihood& likelihood, const Drawn& drawn) {
        values[place] =
            draw_count(likelihood.drawn_log_rate(drawn.value[0], drawn.mean[0], drawn.variance[0]),
                       likelihood, noise, random);
      });
  return values;
}

}  // namespace

std::vector<double> Regressor::sample(const Table& table, std::size_t count, std::uint64_t seed,
                                      bool noise) const {
  const EncodedRows rows = encoder().encode_inputs(table);
  if (rows.rows == 0) return {};
  if (encoder().has_classes()) {
    detail::require(noise, "a class can only be drawn with its noise");
    return sample_classes(model_, rows, count, seed);
  }
  if (encoder().has_counts()) return sample_counts(model_, rows, count, seed, noise);
  const detail::Mixture mixture(model_);
  std::vector<Prediction> said = mixture.said(rows.inputs, rows.rows, model_.options.threads);
  std::vector<Predicted> predicted = detail::Mixture::together(model_, said, rows.rows);
  const Sources from{rows, model_, std::move(said), std::move(predicted)};
  special::Random random(seed);
  const std::vector<Member>& members = model_.members;
  const Choice choice(members, count, random);
  std::vector<double> values(count * rows.rows * from.targets());
  for (std::size_t m = 0; m < members.size(); ++m) {
    if (!choice.of(m).empty()) draw_from(m, choice.of(m), random, from, values);
  }
  for (std::size_t m = 0; noise && m < members.size(); ++m) {
    observe_all(m, choice.of(m), random, from, values);
  }
  for (std::size_t n = 0; n < values.size(); ++n) {
    const TargetColumn& target = encoder().targets[n % from.targets()];
    values[n] = target.kind == TargetKind::amount
                    ? std::exp(values[n])
                    : std::clamp(values[n], target.bounds.low, target.bounds.high);
  }
  return values;
}

}  // namespace dma
