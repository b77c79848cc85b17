#include "regressor/members.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include <dma/base/parallel.h>
#include <dma/belief/independent.h>
#include <dma/belief/joint.h>
#include <dma/likelihood/classes.h>
#include <dma/likelihood/counts.h>

#include "regressor/checkpoint.h"
#include "regressor/shared_progress.h"

namespace dma::detail {
namespace {

// Prior of a weight: mean N(0, 1 / fan_in), variance 3 / fan_in. Messages come from the cavity at first,
// which finds a good region, then from the full belief, which fits better (docs/network.md).
constexpr double prior_variance_times_fan_in = 3;
constexpr std::size_t first_belief_epoch = 21;

}  // namespace

std::shared_ptr<const Likelihood> likelihood_of(const Encoder& encoder,
                                                const RegressorOptions& options,
                                                std::vector<double> noise_variance) {
  if (encoder.has_classes()) {
    return std::make_shared<ClassLikelihood>(encoder.targets.front().classes.size(),
                                             options.calibration);
  }
  if (encoder.has_counts()) {
    const TargetColumn& target = encoder.targets.front();
    return std::make_shared<CountLikelihood>(
        CountRates{std::log(target.mean), std::log(target.largest / target.mean)},
        options.calibration);
  }
  return gaussian({.variance = std::move(noise_variance), .learn = !options.noise});
}

TrainingOptions training_options(const Encoder& encoder, const RegressorOptions& options,
                                 std::size_t batch_size) {
  return {.batch_size = batch_size,
          .max_epochs = options.epochs,
          .tolerance = options.tolerance,
          .patience = options.patience,
          .ledger = options.ledger,
          .likelihood = likelihood_of(encoder, options)};
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

std::shared_ptr<const Belief> joint_member(JointKnowledge known, const TrainingOptions& training,
                                           const Heard& heard) {
  return std::make_shared<JointBelief>(std::move(known), heard, training);
}

std::shared_ptr<const Belief> stored_belief(const Architecture& architecture, const Model& model,
                                            Arrays stored, const Heard& heard) {
  const RegressorOptions& options = model.options;
  const TrainingOptions training =
      training_options(model.encoder, options, model.report.batch_size);
  if (options.belief == BeliefKind::joint) {
    return std::make_shared<JointBelief>(architecture, std::move(stored), heard, training);
  }
  const IndependentOptions own = independent_options(options);
  if (options.single_precision) {
    return std::make_shared<IndependentBelief<float>>(architecture, std::move(stored), heard,
                                                      training, own);
  }
  return std::make_shared<IndependentBelief<double>>(architecture, std::move(stored), heard,
                                                     training, own);
}

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

namespace {

bool saw_all_rows(const FitResult& result) {
  return result.stopped != Stopped::interrupted || result.epochs > 1;
}

FittedMembers without_unfinished(FittedMembers all) {
  FittedMembers kept;
  for (std::size_t m = 0; m < all.results.size(); ++m) {
    if (!saw_all_rows(all.results[m])) continue;
    kept.results.push_back(std::move(all.results[m]));
    kept.members.push_back(std::move(all.members[m]));
  }
  for (Member& member : kept.members) member.weight = 1 / static_cast<double>(kept.members.size());
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

std::unique_ptr<Belief> new_independent(const Architecture& architecture, const WeightPrior& prior,
                                        const RegressorOptions& options,
                                        const TrainingOptions& training) {
  const IndependentOptions own = independent_options(options);
  if (options.single_precision) {
    return std::make_unique<IndependentBelief<float>>(architecture, prior, training, own);
  }
  return std::make_unique<IndependentBelief<double>>(architecture, prior, training, own);
}

// learn(member, progress) fits one belief, puts it into the member and returns its result.
template <class Learn>
FittedMembers learn_all(std::vector<Member> members, const RegressorOptions& options,
                        const OnProgress& progress, const Learn& learn) {
  FittedMembers fitted{std::move(members), {}};
  fitted.results.resize(fitted.members.size());
  SharedProgress shared(progress, fitted.members.size());
  with_advice(options, [&] {
    parallel_for(fitted.members.size(), options.threads, [&](std::size_t m) {
      fitted.results[m] = learn(m, fitted.members[m], shared.of(m));
    });
  });
  return fitted;
}

// Without its rows.
std::shared_ptr<const Belief> at_rest(const Belief& belief, TrainingOptions training) {
  training.batch_size = 1;
  training.progress = {};
  return belief.copy(std::move(training));
}

}  // namespace

FittedMembers fit_independent(const Architecture& architecture, const RegressorOptions& options,
                              const TrainingOptions& training, const Rows& rows,
                              const OnProgress& progress, CheckpointFile* checkpoint) {
  const std::vector<WeightPrior> priors = draw_priors(architecture, options);
  const Member equal{nullptr, 0, 1 / static_cast<double>(options.ensemble)};
  FittedMembers fitted =
      learn_all(std::vector(options.ensemble, equal), options, progress,
                [&](std::size_t number, Member& member, const auto& hear) {
                  TrainingOptions own = training;
                  own.progress = hear;
                  const auto belief = new_independent(architecture, priors[number], options, own);
                  belief->append(rows.data());
                  FitResult result = checkpoint == nullptr ? belief->fit()
                                                           : fit_kept(*belief, number, *checkpoint);
                  member.belief = at_rest(*belief, training);
                  return result;
                });
  const bool any = std::any_of(fitted.results.begin(), fitted.results.end(), saw_all_rows);
  return any ? without_unfinished(std::move(fitted)) : std::move(fitted);
}

FittedMembers change_members(const Model& model, const Change& change, const OnProgress& progress) {
  const TrainingOptions training =
      training_options(model.encoder, model.options, model.report.batch_size);
  return learn_all(
      model.members, model.options, progress, [&](std::size_t, Member& member, const auto& hear) {
        TrainingOptions own_training = training;
        own_training.progress = hear;
        const auto belief = member.belief->copy(own_training);
        const std::size_t targets = belief->likelihood().targets();
        const auto own = [&](const Rows& rows) { return targets_of(rows, member.target, targets); };
        for (const Change::Part& part : change.reduce) belief->reduce(part.batch, part.share);
        if (!change.remove.empty()) belief->forget(change.remove);
        for (std::size_t b = 0; b < change.attach.size(); ++b) {
          const Rows& batch = change.attach[b];
          belief->attach(b, {batch.inputs, own(batch), batch.rows, batch.weights});
        }
        const Rows& fresh = change.append;
        if (fresh.rows > 0) {
          belief->append({fresh.inputs, own(fresh), fresh.rows, fresh.weights});
        }
        FitResult result;
        if (fresh.rows > 0 || !change.attach.empty()) result = belief->fit();
        member.belief = at_rest(*belief, training);
        return result;
      });
}

}  // namespace dma::detail
