#include "regressor/members.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <random>

#include "network/concurrency.h"
#include "regressor/shared_progress.h"

namespace dma::detail {
namespace {

// Prior of a weight: mean N(0, 1 / fan_in), variance 3 / fan_in. Messages come from the cavity at first,
// which finds a good region, then from the full belief, which fits better (docs/network.md).
constexpr double prior_variance_times_fan_in = 3;
constexpr std::size_t first_belief_epoch = 21;

}  // namespace

TrainingOptions training_options(const RegressorOptions& options, std::size_t batch_size) {
  TrainingOptions training;
  training.rule = options.rule;
  training.batch_size = batch_size;
  training.max_epochs = options.epochs;
  training.tolerance = options.tolerance;
  training.patience = options.patience;
  training.belief_from_epoch = first_belief_epoch;
  training.ledger = options.ledger;
  training.noise.learn = !options.noise.has_value();
  training.noise.source = NoiseSource::cavity;
  return training;
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

namespace {

template <class Do>
void each_member(std::size_t members, std::size_t threads, const Do& run) {
  tbb::task_arena arena(concurrency(threads));
  arena.execute([&] { tbb::parallel_for(std::size_t{0}, members, run); });
}

bool saw_all_rows(const FitResult& result) {
  return result.stopped != Stopped::interrupted || result.epochs > 1;
}

template <std::floating_point T>
FittedMembers<T> without_unfinished(FittedMembers<T> all) {
  FittedMembers<T> kept;
  for (std::size_t m = 0; m < all.results.size(); ++m) {
    if (!saw_all_rows(all.results[m])) continue;
    kept.members.priors.push_back(std::move(all.members.priors[m]));
    kept.members.posteriors.push_back(std::move(all.members.posteriors[m]));
    kept.members.ledgers.push_back(std::move(all.members.ledgers[m]));
    kept.results.push_back(std::move(all.results[m]));
  }
  return kept;
}

}  // namespace

template <std::floating_point T>
FittedMembers<T> fit_members(const Architecture& architecture, const RegressorOptions& options,
                             std::size_t batch_size, std::span<const double> noise_variance,
                             const OrderedRows& rows, const OnProgress& progress) {
  FittedMembers<T> fitted;
  fitted.members.priors = draw_priors(architecture, options);
  fitted.members.posteriors.resize(options.ensemble);
  fitted.members.ledgers.resize(options.ensemble);
  fitted.results.resize(options.ensemble);
  SharedProgress shared(progress, options.ensemble, options.epochs);
  each_member(options.ensemble, options.threads, [&](std::size_t m) {
    TrainingOptions training = training_options(options, batch_size);
    training.noise.variance.assign(noise_variance.begin(), noise_variance.end());
    training.progress = shared.of(m);
    Trainer<T> trainer(architecture, fitted.members.priors[m], training);
    trainer.append(rows.data());
    fitted.results[m] = trainer.fit();
    std::tie(fitted.members.posteriors[m], fitted.members.ledgers[m]) = trainer.release();
  });
  const bool any_finished = std::any_of(fitted.results.begin(), fitted.results.end(), saw_all_rows);
  return any_finished ? without_unfinished(std::move(fitted)) : std::move(fitted);
}

template <std::floating_point T>
FittedMembers<T> change_members(const Members<T>& members, const RegressorOptions& options,
                                std::size_t batch_size, const Change& change,
                                const OnProgress& progress) {
  const std::size_t count = members.posteriors.size();
  FittedMembers<T> changed{{members.priors, {}, {}}, {}};
  changed.members.posteriors.resize(count);
  changed.members.ledgers.resize(count);
  changed.results.resize(count);
  SharedProgress shared(progress, count, options.epochs);
  each_member(count, options.threads, [&](std::size_t m) {
    TrainingOptions training = training_options(options, batch_size);
    training.belief_from_epoch = 1;
    training.noise.learn = training.noise.learn && change.learn_noise;
    training.progress = shared.of(m);
    const Posterior<T>& posterior = members.posteriors[m];
    Trainer<T> trainer(posterior.architecture, members.priors[m], training);
    trainer.restore(posterior, members.ledgers[m], change.batch_rows);
    for (auto b = change.remove.rbegin(); b != change.remove.rend(); ++b) trainer.forget(*b);
    for (std::size_t b = 0; b < change.attach.size(); ++b) {
      trainer.attach(b, change.attach[b].data());
    }
    if (change.append.rows > 0) trainer.append(change.append.data());
    if (change.append.rows > 0 || !change.attach.empty()) changed.results[m] = trainer.fit();
    std::tie(changed.members.posteriors[m], changed.members.ledgers[m]) = trainer.release();
  });
  return changed;
}

template FittedMembers<float> fit_members(const Architecture&, const RegressorOptions&, std::size_t,
                                          std::span<const double>, const OrderedRows&,
                                          const OnProgress&);
template FittedMembers<double> fit_members(const Architecture&, const RegressorOptions&,
                                           std::size_t, std::span<const double>, const OrderedRows&,
                                           const OnProgress&);
template FittedMembers<float> change_members(const Members<float>&, const RegressorOptions&,
                                             std::size_t, const Change&, const OnProgress&);
template FittedMembers<double> change_members(const Members<double>&, const RegressorOptions&,
                                              std::size_t, const Change&, const OnProgress&);

}  // namespace dma::detail
