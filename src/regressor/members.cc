#include "regressor/members.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <dma/base/parallel.h>

#include "regressor/checkpoint.h"
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

template <std::floating_point T, class Do>
void each_member(std::size_t members, std::size_t threads, const Do& run) {
  try {
    parallel_for(members, threads, run);
  } catch (const NumericalBreakdown& breakdown) {
    refuse_single_precision<T>(breakdown);
    throw;
  }
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

template <class T>
std::vector<T> flat(const Ledger<T>& ledger, std::vector<T> BatchMessage<T>::*part) {
  std::vector<T> all;
  for (const auto& message : ledger.messages) {
    all.insert(all.end(), (message.*part).begin(), (message.*part).end());
  }
  return all;
}

template <class T>
NamedNumbers stored(FitState<T> state) {
  return {{"posterior.tau", std::move(state.posterior.tau)},
          {"posterior.rho", std::move(state.posterior.rho)},
          {"posterior.noise_variance", std::move(state.posterior.noise_variance)},
          {"ledger.tau", flat(state.ledger, &BatchMessage<T>::tau)},
          {"ledger.rho", flat(state.ledger, &BatchMessage<T>::rho)},
          {"noise_variance", std::move(state.noise_variance)},
          {"train_nll", std::move(state.train_nll)},
          {"cavity_nll", std::move(state.cavity_nll)},
          {"cavity_mean", std::move(state.cavity_mean)},
          {"cavity_variance", std::move(state.cavity_variance)}};
}

template <class T>
Ledger<T> ledger_from(const CheckpointFile& file, std::size_t member, LedgerMode mode,
                      std::size_t weights) {
  const auto& tau = file.read<T>(member, "ledger.tau");
  const auto& rho = file.read<T>(member, "ledger.rho");
  if (tau.size() != rho.size() || tau.size() % weights != 0) file.fail("has a ledger of two sizes");
  Ledger<T> ledger{mode, {}};
  for (auto t = tau.begin(), r = rho.begin(); t != tau.end();) {
    const auto next_t = t + static_cast<std::ptrdiff_t>(weights);
    const auto next_r = r + static_cast<std::ptrdiff_t>(weights);
    ledger.messages.push_back({{t, next_t}, {r, next_r}});
    t = next_t;
    r = next_r;
  }
  return ledger;
}

template <class T>
void check_numbers(const CheckpointFile& file, std::size_t member) {
  const auto finite = [](T value) { return std::isfinite(value); };
  const auto positive = [](T value) { return value > 0 && std::isfinite(value); };
  const auto& tau = file.read<T>(member, "posterior.tau");
  const auto& rho = file.read<T>(member, "posterior.rho");
  if (!std::all_of(tau.begin(), tau.end(), finite) ||
      !std::all_of(rho.begin(), rho.end(), positive)) {
    file.fail("holds a weight that is not a proper Gaussian");
  }
}

template <class T>
FitState<T> state_from(const CheckpointFile& file, std::size_t member,
                       const Architecture& architecture, LedgerMode mode) {
  check_numbers<T>(file, member);
  return {
      {architecture, file.read<T>(member, "posterior.tau"), file.read<T>(member, "posterior.rho"),
       file.read<double>(member, "posterior.noise_variance")},
      ledger_from<T>(file, member, mode, architecture.weight_count()),
      file.read<T>(member, "noise_variance"),
      file.read<double>(member, "train_nll"),
      file.read<double>(member, "cavity_nll"),
      file.read<double>(member, "cavity_mean"),
      file.read<double>(member, "cavity_variance")};
}

// From where the checkpoint has it, if it has.
template <class T>
FitResult fit_kept(Trainer<T>& trainer, std::size_t member, const Architecture& architecture,
                   LedgerMode mode, CheckpointFile& file) {
  if (file.knows(member)) {
    try {
      trainer.resume(state_from<T>(file, member, architecture, mode));
    } catch (const NetworkError& error) {
      file.fail(error.what());
    }
  }
  return trainer.fit([&](bool last) {
    if (last || file.is_due()) file.keep(member, stored(trainer.state()));
  });
}

}  // namespace

template <std::floating_point T>
FittedMembers<T> fit_members(const Architecture& architecture, const RegressorOptions& options,
                             std::size_t batch_size, std::span<const double> noise_variance,
                             const Rows& rows, const OnProgress& progress,
                             CheckpointFile* checkpoint) {
  FittedMembers<T> fitted;
  fitted.members.priors = draw_priors(architecture, options);
  fitted.members.posteriors.resize(options.ensemble);
  fitted.members.ledgers.resize(options.ensemble);
  fitted.results.resize(options.ensemble);
  SharedProgress shared(progress, options.ensemble, options.epochs);
  each_member<T>(options.ensemble, options.threads, [&](std::size_t m) {
    TrainingOptions training = training_options(options, batch_size);
    training.noise.variance.assign(noise_variance.begin(), noise_variance.end());
    training.progress = shared.of(m);
    Trainer<T> trainer(architecture, fitted.members.priors[m], training);
    trainer.append(rows.data());
    fitted.results[m] = checkpoint == nullptr
                            ? trainer.fit()
                            : fit_kept(trainer, m, architecture, options.ledger, *checkpoint);
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
  each_member<T>(count, options.threads, [&](std::size_t m) {
    TrainingOptions training = training_options(options, batch_size);
    training.belief_from_epoch = 1;
    training.noise.learn = training.noise.learn && change.learn_noise;
    training.progress = shared.of(m);
    const Posterior<T>& posterior = members.posteriors[m];
    Trainer<T> trainer(posterior.architecture, members.priors[m], training);
    trainer.restore(posterior, members.ledgers[m], change.batch_rows);
    if (!change.remove.empty()) trainer.forget(change.remove);
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
                                          std::span<const double>, const Rows&, const OnProgress&,
                                          CheckpointFile*);
template FittedMembers<double> fit_members(const Architecture&, const RegressorOptions&,
                                           std::size_t, std::span<const double>, const Rows&,
                                           const OnProgress&, CheckpointFile*);
template FittedMembers<float> change_members(const Members<float>&, const RegressorOptions&,
                                             std::size_t, const Change&, const OnProgress&);
template FittedMembers<double> change_members(const Members<double>&, const RegressorOptions&,
                                              std::size_t, const Change&, const OnProgress&);

}  // namespace dma::detail
