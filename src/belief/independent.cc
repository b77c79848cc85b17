#include <dma/belief/independent.h>

#include <algorithm>
#include <cmath>
#include <string>

#include <dma/base/parallel.h>

#include "base/require.h"
#include "belief/epochs.h"
#include "belief/independent_state.h"
#include "belief/one_pass.h"
#include "belief/training.h"

namespace dma {
namespace {

using detail::require;

constexpr std::size_t usual_epochs = 40;

void validate(const TrainingOptions& options, const IndependentOptions& own) {
  detail::validate(options);
  require(own.relative_tolerance >= 0,
          "relative_tolerance must not be negative, got " + std::to_string(own.relative_tolerance));
  require(own.likelihood_power > 0 && std::isfinite(own.likelihood_power),
          "likelihood_power must be positive, got " + std::to_string(own.likelihood_power));
  require(
      own.cavity_score || !options.likelihood->learns() || own.noise_source != NoiseSource::cavity,
      "noise cannot be learnt from the cavity without cavity_score");
}

const Architecture& checked(const Architecture& architecture, const WeightPrior& prior,
                            const TrainingOptions& options, const IndependentOptions& own) {
  architecture.validate(own.rule);
  require(architecture.ramps.empty(), "ramps need the belief joint");
  prior.validate(architecture);
  validate(options, own);
  return architecture;
}

// All messages, one after the other.
template <class T>
std::vector<T> flat(const Ledger<T>& ledger, std::vector<T> BatchMessage<T>::*part) {
  std::vector<T> all;
  for (const auto& message : ledger.messages) {
    all.insert(all.end(), (message.*part).begin(), (message.*part).end());
  }
  return all;
}

template <class T>
void put_ledger(const Ledger<T>& ledger, std::size_t weights, Arrays& stored) {
  if (ledger.mode != LedgerMode::full) return;
  const std::vector<std::size_t> shape{ledger.messages.size(), weights};
  stored.put("ledger.tau", flat(ledger, &BatchMessage<T>::tau), shape);
  stored.put("ledger.rho", flat(ledger, &BatchMessage<T>::rho), shape);
}

template <class T>
Ledger<T> take_ledger(LedgerMode mode, std::size_t batches, std::size_t weights, Arrays& stored) {
  Ledger<T> ledger{mode, {}};
  if (mode != LedgerMode::full) return ledger;
  const std::vector<T> tau = stored.take<T>("ledger.tau", {batches, weights});
  const std::vector<T> rho = stored.take<T>("ledger.rho", {batches, weights});
  const auto finite = [](T value) { return std::isfinite(value); };
  require(
      std::all_of(tau.begin(), tau.end(), finite) && std::all_of(rho.begin(), rho.end(), finite),
      "a message of the ledger is not finite");
  for (std::size_t b = 0; b < batches; ++b) {
    const auto part = [&](const std::vector<T>& all) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(b * weights);
      return std::vector<T>(begin, begin + static_cast<std::ptrdiff_t>(weights));
    };
    ledger.messages.push_back({part(tau), part(rho)});
  }
  return ledger;
}

template <class T>
void check_proper(const Posterior<T>& posterior) {
  for (std::size_t k = 0; k < posterior.tau.size(); ++k) {
    require(detail::is_proper(posterior.tau[k], posterior.rho[k]),
            "a weight's posterior is not a proper Gaussian");
  }
}

template <class T>
class PosteriorPredictor final : public Predictor {
 public:
  explicit PosteriorPredictor(Posterior<T> posterior) : posterior_(std::move(posterior)) {}
  OutputMoments outputs(std::span<const double> inputs, std::size_t rows,
                        std::size_t threads) const override {
    return outputs_of(posterior_, inputs, rows, threads);
  }
  Prediction predict(std::span<const double> inputs, std::size_t rows,
                     std::size_t threads) const override {
    return dma::predict(posterior_, inputs, rows, threads);
  }

 private:
  Posterior<T> posterior_;
};

}  // namespace

NumericalBreakdown::NumericalBreakdown(std::size_t in_layer, std::size_t in_batch,
                                       std::size_t in_example)
    : std::runtime_error("numbers broke down (not finite, or a variance not positive) in layer " +
                         std::to_string(in_layer) + ", batch " + std::to_string(in_batch) +
                         ", example " + std::to_string(in_example) +
                         "; the posterior is the one before that batch"),
      layer(in_layer),
      batch(in_batch),
      example(in_example) {}

// What is known, and the room of a fit or a pass while there is one.
template <std::floating_point T>
class IndependentBelief<T>::State {
 public:
  State(const Architecture& architecture, WeightPrior prior, TrainingOptions options,
        IndependentOptions own)
      : known{std::move(options),
              own,
              std::move(prior),
              {},
              {},
              {},
              {},
              {},
              {architecture.inputs(), architecture.outputs()}} {
    known.likelihood = known.options.likelihood->for_outputs(architecture.outputs());
    known.batches = {architecture.inputs(), known.likelihood->targets()};
    if (known.options.max_epochs == 0) known.options.max_epochs = usual_epochs;
    Posterior<T>& posterior = known.posterior;
    posterior.architecture = architecture;
    known.show_likelihood();
    set_prior();
    posterior.tau = known.prior_tau;
    posterior.rho = known.prior_rho;
    known.ledger.mode = known.options.ledger;
  }
  State(const State& other, TrainingOptions options)
      : State(other.known.architecture(), other.known.prior, std::move(options), other.known.own) {
    known.likelihood = detail::likelihood_with(*other.known.likelihood, known.options,
                                               known.architecture().outputs());
    known.posterior = other.known.posterior;
    known.show_likelihood();
    known.ledger = other.known.ledger;
    stand(other.known.batches.counts(), other.known.heard_all);
  }

  void set_prior() {
    known.prior_tau.clear();
    known.prior_rho.clear();
    for (std::size_t k = 0; k < known.prior.mean.size(); ++k) {
      known.prior_rho.push_back(T(1 / known.prior.variance[k]));
      known.prior_tau.push_back(T(known.prior.mean[k] / known.prior.variance[k]));
    }
  }

  // Posterior and ledger come from an earlier fit.
  void stand(std::span<const std::size_t> batch_rows, bool heard_all) {
    known.batches.stand(batch_rows);
    known.heard_all = heard_all;
    known.own.belief_from_epoch = 1;
    known.above_prior = known.is_above_prior(known.posterior.rho);
  }

  void take_posterior(Arrays& stored) {
    known.likelihood->restore(stored);
    known.show_likelihood();
    const std::size_t weights = known.weights();
    known.posterior.tau = stored.take<T>("posterior.tau", {weights});
    known.posterior.rho = stored.take<T>("posterior.rho", {weights});
    check_proper(known.posterior);
  }

  detail::Epochs<T>& room() {
    if (!epochs) epochs = std::make_unique<detail::Epochs<T>>(known);
    return *epochs;
  }

  detail::IndependentState<T> known;
  std::unique_ptr<detail::Epochs<T>> epochs;
  std::unique_ptr<detail::OnePass<T>> pass;
};

template <std::floating_point T>
IndependentBelief<T>::IndependentBelief(const Architecture& architecture, WeightPrior prior,
                                        TrainingOptions options, IndependentOptions own) {
  checked(architecture, prior, options, own);
  state_ = std::make_unique<State>(architecture, std::move(prior), std::move(options), own);
}

template <std::floating_point T>
IndependentBelief<T>::IndependentBelief(const Architecture& architecture, Arrays stored,
                                        const Heard& heard, TrainingOptions options,
                                        IndependentOptions own) {
  const std::size_t weights = architecture.weight_count();
  WeightPrior prior{stored.take<double>("prior.mean", {weights}),
                    stored.take<double>("prior.variance", {weights})};
  checked(architecture, prior, options, own);
  state_ = std::make_unique<State>(architecture, std::move(prior), std::move(options), own);
  auto& known = state_->known;
  state_->take_posterior(stored);
  known.ledger = take_ledger<T>(known.options.ledger, heard.batch_rows.size(), weights, stored);
  state_->stand(heard.batch_rows, heard.all);
}

template <std::floating_point T>
IndependentBelief<T>::~IndependentBelief() = default;
template <std::floating_point T>
IndependentBelief<T>::IndependentBelief(IndependentBelief&&) noexcept = default;
template <std::floating_point T>
IndependentBelief<T>& IndependentBelief<T>::operator=(IndependentBelief&&) noexcept = default;

template <std::floating_point T>
std::unique_ptr<Belief> IndependentBelief<T>::copy(TrainingOptions options) const {
  validate(options, state_->known.own);
  require(options.ledger == state_->known.ledger.mode, "the ledger of a copy is of another mode");
  IndependentBelief copy(*this, std::move(options));
  return std::make_unique<IndependentBelief>(std::move(copy));
}

template <std::floating_point T>
IndependentBelief<T>::IndependentBelief(const IndependentBelief& other, TrainingOptions options)
    : state_(std::make_unique<State>(*other.state_, std::move(options))) {}

template <std::floating_point T>
const Architecture& IndependentBelief<T>::architecture() const {
  return state_->known.architecture();
}

template <std::floating_point T>
const Likelihood& IndependentBelief<T>::likelihood() const {
  return *state_->known.likelihood;
}

template <std::floating_point T>
std::size_t IndependentBelief<T>::append(const Data& rows) {
  auto& known = state_->known;
  known.likelihood->validate(rows.targets);
  const std::size_t first = known.batches.append(rows, known.options.batch_size);
  if (known.ledger.mode == LedgerMode::full) known.ledger.messages.resize(known.batches.size());
  return first;
}

template <std::floating_point T>
void IndependentBelief<T>::attach(std::size_t batch, const Data& rows) {
  state_->known.likelihood->validate(rows.targets);
  state_->known.batches.attach(batch, rows);
}

template <std::floating_point T>
FitResult IndependentBelief<T>::fit(const std::function<void(bool)>& after_epoch) {
  FitResult result = state_->room().fit(after_epoch);
  state_->epochs.reset();
  return result;
}

template <std::floating_point T>
Arrays IndependentBelief<T>::fit_state() const {
  require(state_->epochs != nullptr, "fit_state() is for the time of a fit");
  Arrays state;
  state.put("fit.", state_->epochs->state());
  state.put("", store());
  return state;
}

template <std::floating_point T>
void IndependentBelief<T>::resume(Arrays state) {
  auto& known = state_->known;
  state_->take_posterior(state);
  known.ledger = take_ledger<T>(known.options.ledger, known.batches.size(), known.weights(), state);
  known.batches.visit_all();
  state_->room().resume(state.take_part("fit."));
}

template <std::floating_point T>
void IndependentBelief<T>::forget(std::span<const std::size_t> batches) {
  auto& known = state_->known;
  require(known.ledger.mode == LedgerMode::full,
          "only the ledger mode full can forget: the others do not keep what a batch said");
  for (const std::size_t batch : batches) known.batches.require_batch(batch);
  for (auto batch = batches.rbegin(); batch != batches.rend(); ++batch) {
    known.ledger.messages.erase(known.ledger.messages.begin() +
                                static_cast<std::ptrdiff_t>(*batch));
  }
  known.batches.erase(batches);
  known.rebuild();
}

// The power of a Gaussian has its natural parameters times the exponent.
template <std::floating_point T>
void IndependentBelief<T>::reduce(std::size_t batch, double share) {
  auto& known = state_->known;
  require(known.ledger.mode == LedgerMode::full,
          "only the ledger mode full can forget: the others do not keep what a batch said");
  known.batches.require_batch(batch);
  detail::require_share(share);
  BatchMessage<T>& message = known.ledger.messages[batch];
  for (T& tau : message.tau) tau *= T(share);
  for (T& rho : message.rho) rho *= T(share);
  known.rebuild();
}

template <std::floating_point T>
std::size_t IndependentBelief<T>::batches() const {
  return state_->known.batches.size();
}

template <std::floating_point T>
std::unique_ptr<Predictor> IndependentBelief<T>::predictor() const {
  return std::make_unique<PosteriorPredictor<T>>(posterior());
}

template <std::floating_point T>
std::vector<double> IndependentBelief<T>::sample_functions(std::span<const double> inputs,
                                                           std::size_t rows, std::size_t count,
                                                           std::uint64_t seed) const {
  return dma::sample_functions(posterior(), inputs, rows, count, seed);
}

template <std::floating_point T>
WeightMoments IndependentBelief<T>::weights() const {
  WeightMoments moments{{}, {}, prior().variance};
  for (std::size_t k = 0; k < posterior().tau.size(); ++k) {
    const auto rho = static_cast<double>(posterior().rho[k]);
    moments.mean.push_back(static_cast<double>(posterior().tau[k]) / rho);
    moments.variance.push_back(1 / rho);
  }
  return moments;
}

template <std::floating_point T>
std::size_t IndependentBelief<T>::ledger_bytes() const {
  return ledger().bytes();
}

template <std::floating_point T>
Arrays IndependentBelief<T>::store() const {
  Arrays stored;
  stored.put("prior.mean", prior().mean);
  stored.put("prior.variance", prior().variance);
  stored.put("posterior.tau", posterior().tau);
  stored.put("posterior.rho", posterior().rho);
  state_->known.likelihood->store(stored);
  put_ledger(ledger(), state_->known.weights(), stored);
  return stored;
}

// What was learnt becomes the prior.
template <std::floating_point T>
void IndependentBelief<T>::drop_ledger() {
  auto& known = state_->known;
  for (std::size_t k = 0; k < known.weights(); ++k) {
    known.prior.variance[k] = 1 / static_cast<double>(known.posterior.rho[k]);
    known.prior.mean[k] = static_cast<double>(known.posterior.tau[k]) * known.prior.variance[k];
  }
  state_->set_prior();
  known.ledger.messages.clear();
  known.heard_all = known.heard_all && known.batches.size() == 0;
  known.batches = {inputs(), known.likelihood->targets()};
}

template <std::floating_point T>
Prediction IndependentBelief<T>::learn(const Data& rows) {
  require(ledger().mode == LedgerMode::none && batches() == 0,
          "learn() keeps nothing: it needs the ledger mode none, and no append()");
  rows.validate(inputs(), likelihood().targets());
  likelihood().validate(rows.targets);
  if (!state_->pass) state_->pass = std::make_unique<detail::OnePass<T>>(state_->known);
  return state_->pass->learn(rows);
}

template <std::floating_point T>
void IndependentBelief<T>::stop_learning() {
  if (state_->pass) state_->pass->finish_learning();
  state_->pass.reset();
  state_->known.heard_all = false;
}

template <std::floating_point T>
Certificate IndependentBelief<T>::certify(const Data& rows) {
  rows.validate(inputs(), likelihood().targets());
  likelihood().validate(rows.targets);
  auto& batches = state_->known.batches;
  require(batches.rows() == 0, "certify() is for a belief whose rows are not here");
  batches.take_rows(rows);
  Certificate certificate = detail::Epochs<T>(state_->known).certify(rows.rows);
  batches.drop_rows();
  return certificate;
}

template <std::floating_point T>
const WeightPrior& IndependentBelief<T>::prior() const {
  return state_->known.prior;
}
template <std::floating_point T>
const Posterior<T>& IndependentBelief<T>::posterior() const {
  return state_->known.posterior;
}
template <std::floating_point T>
const Ledger<T>& IndependentBelief<T>::ledger() const {
  return state_->known.ledger;
}

template <std::floating_point T>
std::size_t IndependentBelief<T>::expected_ledger_bytes() const {
  return dma::ledger_bytes(ledger().mode, batches(), state_->known.weights(), sizeof(T));
}

template <std::floating_point T>
double IndependentBelief<T>::ledger_error() const {
  const auto& known = state_->known;
  require(known.ledger.mode == LedgerMode::full, "only the ledger mode full can be checked");
  double worst = 0;
  for (std::size_t k = 0; k < known.weights(); ++k) {
    double tau = static_cast<double>(known.prior_tau[k]);
    double rho = static_cast<double>(known.prior_rho[k]);
    double size = std::abs(tau);
    for (const auto& message : known.ledger.messages) {
      if (message.rho.empty()) continue;
      tau += static_cast<double>(message.tau[k]);
      rho += static_cast<double>(message.rho[k]);
      size += std::abs(static_cast<double>(message.tau[k]));
    }
    worst = std::max({worst, std::abs(static_cast<double>(known.posterior.rho[k]) / rho - 1),
                      std::abs(static_cast<double>(known.posterior.tau[k]) - tau) / (size + rho)});
  }
  return worst;
}

template <std::floating_point T>
Mixture<T> fit_mixture(const Architecture& architecture, std::span<const std::uint64_t> seeds,
                       const Data& data, const TrainingOptions& options,
                       const IndependentOptions& own, std::size_t threads) {
  require(!seeds.empty(), "a mixture needs at least one seed");
  Mixture<T> mixture;
  mixture.members.resize(seeds.size());
  mixture.results.resize(seeds.size());
  detail::parallel_for(seeds.size(), threads, [&](std::size_t m) {
    IndependentBelief<T> belief(architecture, draw_prior(architecture, seeds[m]), options, own);
    belief.append(data);
    mixture.results[m] = belief.fit();
    mixture.members[m] = belief.posterior();
  });
  return mixture;
}

template class IndependentBelief<float>;
template class IndependentBelief<double>;
template Mixture<float> fit_mixture(const Architecture&, std::span<const std::uint64_t>,
                                    const Data&, const TrainingOptions&, const IndependentOptions&,
                                    std::size_t);
template Mixture<double> fit_mixture(const Architecture&, std::span<const std::uint64_t>,
                                     const Data&, const TrainingOptions&, const IndependentOptions&,
                                     std::size_t);

}  // namespace dma
