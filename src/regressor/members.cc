#include "regressor/members.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include <dma/base/parallel.h>
#include <dma/belief/independent.h>
#include <dma/belief/joint.h>

#include "regressor/checkpoint.h"
#include "regressor/shared_progress.h"

namespace dma::detail {
namespace {

// Prior of a weight: mean N(0, 1 / fan_in), variance 3 / fan_in. Messages come from the cavity at first,
// which finds a good region, then from the full belief, which fits better (docs/network.md).
constexpr double prior_variance_times_fan_in = 3;
constexpr std::size_t first_belief_epoch = 21;

bool is_joint(const RegressorOptions& options) { return options.belief == BeliefKind::joint; }

// Three of four draws can switch a column off; the fourth cannot, which widens intervals away from the data.
bool selects(const RegressorOptions& options, std::size_t draw) {
  return options.selection && draw % 4 != 3;
}

JointOptions joint_options(const RegressorOptions& options, std::size_t draw, std::uint64_t seed) {
  return {
      .by_column = selects(options, draw), .constant_noise = options.constant_noise, .seed = seed};
}

}  // namespace

TrainingOptions training_options(const RegressorOptions& options, std::size_t batch_size) {
  return {.batch_size = batch_size,
          .max_epochs = options.epochs,
          .tolerance = options.tolerance,
          .patience = options.patience,
          .ledger = options.ledger,
          .likelihood = gaussian({.learn = !options.noise.has_value()})};
}

IndependentOptions independent_options(const RegressorOptions& options) {
  return {.rule = options.rule, .belief_from_epoch = first_belief_epoch};
}

std::vector<WeightPrior> draw_priors(const Architecture& architecture,
                                     const RegressorOptions& options) {
  std::vector<WeightPrior> priors;
  std::mt19937_64 seeds(options.seed);
  const double scale = prior_variance_times_fan_in * static_cast<double>(architecture.layers());
  for (std::size_t m = 0; m < options.ensemble; ++m) {
    priors.push_back(draw_prior(architecture, seeds(), scale));
  }
  return priors;
}

std::size_t joint_ledger_bytes(const Architecture& architecture, std::size_t rows,
                               const RegressorOptions& options) {
  return rows * (architecture.inputs() + 2) * sizeof(double) * options.ensemble;
}

std::shared_ptr<const Belief> stored_belief(const Architecture& architecture,
                                            const RegressorOptions& options, std::size_t batch_size,
                                            Arrays stored, const Heard& heard, std::size_t draw) {
  const TrainingOptions training = training_options(options, batch_size);
  if (is_joint(options)) {
    return std::make_shared<JointBelief>(architecture, std::move(stored), heard, training,
                                         joint_options(options, draw, 0));
  }
  const IndependentOptions own = independent_options(options);
  if (options.single_precision) {
    return std::make_shared<IndependentBelief<float>>(architecture, std::move(stored), heard,
                                                      training, own);
  }
  return std::make_shared<IndependentBelief<double>>(architecture, std::move(stored), heard,
                                                     training, own);
}

namespace {

void place_numbers(const std::vector<double>& own, std::size_t first, std::size_t count,
                   std::size_t targets, std::vector<double>& all) {
  if (own.empty()) return;
  all.resize(own.size() / count * targets);
  for (std::size_t n = 0; n < own.size(); ++n) {
    all[n / count * targets + first + n % count] = own[n];
  }
}

}  // namespace

void place(const Prediction& own, std::size_t first, std::size_t count, std::size_t targets,
           Prediction& all) {
  place_numbers(own.mean, first, count, targets, all.mean);
  place_numbers(own.epistemic_variance, first, count, targets, all.epistemic_variance);
  place_numbers(own.noise_variance, first, count, targets, all.noise_variance);
  place_numbers(own.noise_spread, first, count, targets, all.noise_spread);
}

namespace {

// The beliefs of a mixture before anything was learnt.
class NewBeliefs {
 public:
  NewBeliefs(const Architecture& architecture, const RegressorOptions& options)
      : architecture_(architecture), options_(options) {
    if (!is_joint(options)) priors_ = draw_priors(architecture, options);
  }

  // Seeds of joint beliefs, one per draw and target.
  void draw_seeds(std::size_t beliefs) {
    std::mt19937_64 engine(options_.seed);
    seeds_.resize(beliefs);
    for (std::uint64_t& seed : seeds_) seed = engine();
  }

  std::unique_ptr<Belief> make(std::size_t draw, std::size_t belief,
                               const TrainingOptions& training) const {
    if (is_joint(options_)) {
      return std::make_unique<JointBelief>(architecture_, training,
                                           joint_options(options_, draw, seeds_[belief]));
    }
    const IndependentOptions own = independent_options(options_);
    if (options_.single_precision) {
      return std::make_unique<IndependentBelief<float>>(architecture_, priors_[draw], training,
                                                        own);
    }
    return std::make_unique<IndependentBelief<double>>(architecture_, priors_[draw], training, own);
  }

 private:
  const Architecture& architecture_;
  const RegressorOptions& options_;
  std::vector<WeightPrior> priors_;
  std::vector<std::uint64_t> seeds_;
};

// Columns [first, first + count) of the targets.
std::vector<double> targets_of(const Rows& rows, std::size_t first, std::size_t count) {
  std::vector<double> result;
  if (rows.rows == 0) return result;
  const std::size_t targets = rows.targets.size() / rows.rows;
  for (std::size_t n = 0; n < rows.rows; ++n) {
    const auto begin = rows.targets.begin() + static_cast<std::ptrdiff_t>(n * targets + first);
    result.insert(result.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
  }
  return result;
}

// ------------------------------------------------------------------------------- one result of several beliefs

// Mean of the beliefs' curves; one that has settled keeps its last value.
void add_share(std::vector<double> curve, std::size_t beliefs, std::vector<double>& mean) {
  if (curve.empty()) return;
  const std::size_t size = std::max(curve.size(), mean.size());
  curve.resize(size, curve.back());
  mean.resize(size, mean.empty() ? 0 : mean.back());
  for (std::size_t n = 0; n < size; ++n) mean[n] += curve[n] / static_cast<double>(beliefs);
}

// Adds the result of a belief over `count` targets, from `first` on, to the result of its draw.
void include(const FitResult& own, std::size_t first, std::size_t count, std::size_t targets,
             FitResult& draw) {
  add_share(own.train_nll, targets / count, draw.train_nll);
  place(own.cavity_predictions, first, count, targets, draw.cavity_predictions);
  draw.epochs = std::max(draw.epochs, own.epochs);
  if (own.stopped == Stopped::interrupted || draw.stopped == Stopped::tolerance) {
    draw.stopped = own.stopped;
  }
  draw.ledger_bytes += own.ledger_bytes;
  Bounded bounded = draw.certificate.bounded;
  bounded += own.certificate.bounded;
  if (first == 0) draw.certificate = own.certificate;
  draw.certificate.bounded = bounded;
}

// ---------------------------------------------------------------------------------------------- all draws

// learn(draw, belief, first target, progress) fits one belief and returns it with its result.
struct Learnt {
  std::unique_ptr<Belief> belief;
  FitResult result;
};

template <class Learn>
FittedMembers learn_all(std::size_t draws, std::size_t targets, std::size_t outputs,
                        const RegressorOptions& options, const OnProgress& progress,
                        const Learn& learn) {
  const std::size_t beliefs = targets / outputs;  // of a draw
  FittedMembers fitted;
  fitted.members.resize(draws * beliefs);
  fitted.results.resize(draws);
  SharedProgress shared(progress, draws);
  const auto run = [&](std::size_t m) {
    FitResult& result = fitted.results[m];
    result.stopped = Stopped::tolerance;
    const auto call = shared.of(m);
    std::size_t furthest = 0;  // of the draw: its beliefs follow one another
    const auto hear = [&](const Progress& now) {
      furthest = std::max(furthest, now.epoch);
      return call({furthest, now.epochs, now.batch, now.batches});
    };
    for (std::size_t k = 0; k < beliefs; ++k) {
      const std::size_t belief = m * beliefs + k;
      Learnt learnt = learn(m, belief, k * outputs, hear);
      include(learnt.result, k * outputs, outputs, targets, result);
      fitted.members[belief] = learnt.belief->copy(training_options(options, 1));
    }
  };
  with_advice(options, [&] { parallel_for(draws, options.threads, run); });
  return fitted;
}

bool saw_all_rows(const FitResult& result) {
  return result.stopped != Stopped::interrupted || result.epochs > 1;
}

FittedMembers without_unfinished(FittedMembers all) {
  const std::size_t beliefs = all.members.size() / all.results.size();
  FittedMembers kept;
  for (std::size_t m = 0; m < all.results.size(); ++m) {
    if (!saw_all_rows(all.results[m])) continue;
    kept.results.push_back(std::move(all.results[m]));
    for (std::size_t k = 0; k < beliefs; ++k) {
      kept.members.push_back(std::move(all.members[m * beliefs + k]));
    }
  }
  return kept;
}

// Resumes from the checkpoint if it has a state.
FitResult fit_kept(Belief& belief, std::size_t number, CheckpointFile& file) {
  if (file.knows(number)) {
    try {
      belief.resume(file.read(number));
    } catch (const NetworkError& error) {
      file.fail(error.what());
    }
  }
  return belief.fit([&](bool last) {
    if (last || file.is_due()) file.keep(number, belief.fit_state());
  });
}

}  // namespace

FittedMembers fit_members(const Architecture& architecture, const RegressorOptions& options,
                          std::size_t batch_size, std::span<const double> noise_variance,
                          const Rows& rows, const OnProgress& progress,
                          CheckpointFile* checkpoint) {
  const std::size_t targets = noise_variance.size();
  const std::size_t outputs = architecture.outputs();
  NewBeliefs beliefs(architecture, options);
  beliefs.draw_seeds(options.ensemble * (targets / outputs));
  FittedMembers fitted = learn_all(
      options.ensemble, targets, outputs, options, progress,
      [&](std::size_t draw, std::size_t number, std::size_t first, const auto& hear) {
        TrainingOptions training = training_options(options, batch_size);
        const auto noise = noise_variance.subspan(first, outputs);
        training.likelihood =
            gaussian({.variance = {noise.begin(), noise.end()}, .learn = !options.noise});
        training.progress = hear;
        Learnt learnt{beliefs.make(draw, number, training), {}};
        learnt.belief->append({rows.inputs, targets_of(rows, first, outputs), rows.rows});
        learnt.result = checkpoint == nullptr ? learnt.belief->fit()
                                              : fit_kept(*learnt.belief, number, *checkpoint);
        return learnt;
      });
  if (is_joint(options)) return fitted;  // every epoch is over all rows
  const bool any = std::any_of(fitted.results.begin(), fitted.results.end(), saw_all_rows);
  return any ? without_unfinished(std::move(fitted)) : std::move(fitted);
}

FittedMembers change_members(const Members& members, const RegressorOptions& options,
                             std::size_t batch_size, const Change& change,
                             const OnProgress& progress) {
  const std::size_t outputs = members.front()->outputs();
  const std::size_t targets = members.size() / options.ensemble * outputs;
  return learn_all(
      options.ensemble, targets, outputs, options, progress,
      [&](std::size_t, std::size_t number, std::size_t first, const auto& hear) {
        TrainingOptions training = training_options(options, batch_size);
        training.progress = hear;
        Learnt learnt{members[number]->copy(training), {}};
        if (!change.remove.empty()) learnt.belief->forget(change.remove);
        for (std::size_t b = 0; b < change.attach.size(); ++b) {
          const Rows& batch = change.attach[b];
          learnt.belief->attach(b, {batch.inputs, targets_of(batch, first, outputs), batch.rows});
        }
        if (change.append.rows > 0) {
          const Rows& fresh = change.append;
          learnt.belief->append({fresh.inputs, targets_of(fresh, first, outputs), fresh.rows});
        }
        const bool has_rows = change.append.rows > 0 || !change.attach.empty();
        if (has_rows) learnt.result = learnt.belief->fit();
        return learnt;
      });
}

}  // namespace dma::detail
