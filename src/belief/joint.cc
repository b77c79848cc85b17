#include <dma/belief/joint.h>

#include <algorithm>

#include "base/require.h"
#include "belief/batches.h"
#include "belief/joint_arrays.h"
#include "belief/joint_cavity.h"
#include "belief/joint_certificate.h"
#include "belief/joint_fit.h"
#include "belief/joint_predictor.h"
#include "belief/training.h"

namespace dma {
namespace {

using detail::require;

void validate(const Architecture& architecture, const TrainingOptions& options) {
  architecture.validate(Rule::linear);
  for (std::size_t l = 0; l < architecture.layers(); ++l) {
    require(architecture.layer(l).bias, "every layer of a joint network has a bias");
  }
  detail::validate(options);
  require(options.ledger != LedgerMode::average, "a joint belief has no ledger 'average'");
}

}  // namespace

class JointBelief::State {
 public:
  State(Architecture network, TrainingOptions training, JointOptions joint)
      : architecture(std::move(network)),
        options(std::move(training)),
        own(joint),
        targets(options.likelihood->for_outputs(architecture.outputs())->targets()),
        batches(architecture.inputs(), targets) {}
  State(const State& other, TrainingOptions training)
      : State(other.architecture, std::move(training), other.own) {
    known = other.known;
    heard_all = other.heard_all;
    batches.stand(other.batches.counts());
  }

  bool keeps_ledger() const { return options.ledger == LedgerMode::full; }

  const JointKnowledge& fitted() const {
    require(known.has_value(), "the belief has not been fitted yet");
    return *known;
  }

  // Rows of the batches that are here, in their order; or only of those that were not heard yet.
  Rows rows_here(bool only_new) const {
    Rows rows;
    for (const auto& batch : batches) {
      if (!batch.here() || (only_new && batch.visited)) continue;
      rows.append(batches.data().part(batch.first, batch.count));
    }
    return rows;
  }

  // Rows of the ledger that belong to these batches. In the form of messages there may be rows of no batch before them.
  std::vector<std::size_t> rows_of(std::span<const std::size_t> gone) const {
    if (!known) return {};
    std::vector<std::size_t> rows;
    std::size_t next = known->function.ledger.shifts.size() / architecture.outputs();
    for (const auto& batch : batches) next -= batch.visited ? batch.count : 0;
    for (std::size_t b = 0; b < batches.size(); ++b) {
      if (!batches[b].visited) continue;
      const bool is_gone = std::binary_search(gone.begin(), gone.end(), b);
      for (std::size_t n = 0; n < batches[b].count; ++n, ++next) {
        if (is_gone) rows.push_back(next);
      }
    }
    return rows;
  }

  void learn_all(const Data& rows, const std::function<void(bool)>& after_epoch) {
    detail::JointFit::AfterEpoch hear;
    if (after_epoch) hear = [&] { after_epoch(false); };
    if (known) {
      fit = std::make_unique<detail::JointFit>(*known, options, own);
    } else if (!fit) {
      fit = std::make_unique<detail::JointFit>(architecture, options, own);
    }
    fit->fit(rows, hear);
    if (after_epoch && fit->stopped() != Stopped::interrupted) after_epoch(true);
    known = fit->finish(rows, keeps_ledger());
  }

  void learn_on_top(const Data& rows) {
    fit = std::make_unique<detail::JointFit>(*known, options, own);
    fit->learn_on_top(rows, keeps_ledger(), *known);
  }

  FitResult result(const Data& rows) const {
    FitResult result;
    result.epochs = fit->epochs();
    result.stopped = fit->stopped();
    result.train_nll = fit->train_nll();
    JointCertificate certificate{.damping = fit->damping(), .step_left = fit->step_left()};
    const OutputMoments cavity =
        detail::cavity_of(*known, rows, *fit->terms_of(rows), fit->values(rows), certificate);
    result.cavity_predictions = detail::predictive(*known->likelihood, cavity);
    result.cavity = known->likelihood->score(rows.weighted_targets(), result.cavity_predictions);
    result.ledger_bytes = known->function.ledger.bytes();
    result.certificate = detail::certify(known->function, rows, fit->bounded(rows), certificate);
    return result;
  }

  Architecture architecture;
  TrainingOptions options;
  JointOptions own;
  std::size_t targets;  // per row
  detail::Batches<double> batches;
  bool heard_all = true;  // no rows but those of the batches
  std::optional<JointKnowledge> known;
  std::unique_ptr<detail::JointFit> fit;  // while there is one
};

JointBelief::JointBelief(Architecture architecture, TrainingOptions options, JointOptions own) {
  validate(architecture, options);
  state_ = std::make_unique<State>(std::move(architecture), std::move(options), own);
}

JointBelief::JointBelief(JointKnowledge known, const Heard& heard, TrainingOptions options,
                         JointOptions own)
    : JointBelief(known.function.architecture, std::move(options), own) {
  state_->known = std::move(known);
  state_->batches.stand(heard.batch_rows);
  state_->heard_all = heard.all;
}

JointBelief::JointBelief(Architecture architecture, Arrays stored, const Heard& heard,
                         TrainingOptions options, JointOptions own)
    : JointBelief(std::move(architecture), std::move(options), own) {
  State& state = *state_;
  std::size_t rows = 0;
  for (const std::size_t count : heard.batch_rows) rows += count;
  state.known = detail::restore(state.architecture,
                                state.options.likelihood->for_outputs(state.architecture.outputs()),
                                state.keeps_ledger() ? rows : 0, std::move(stored));
  state.batches.stand(heard.batch_rows);
  state.heard_all = heard.all;
}

JointBelief::~JointBelief() = default;
JointBelief::JointBelief(JointBelief&&) noexcept = default;
JointBelief& JointBelief::operator=(JointBelief&&) noexcept = default;

JointBelief::JointBelief(const JointBelief& other, TrainingOptions options)
    : state_(std::make_unique<State>(*other.state_, std::move(options))) {}

std::unique_ptr<Belief> JointBelief::copy(TrainingOptions options) const {
  validate(architecture(), options);
  JointBelief copy(*this, std::move(options));
  return std::make_unique<JointBelief>(std::move(copy));
}

const Architecture& JointBelief::architecture() const { return state_->architecture; }
const Likelihood& JointBelief::likelihood() const {
  return state_->known ? *state_->known->likelihood : *state_->options.likelihood;
}

std::size_t JointBelief::append(const Data& rows) {
  state_->options.likelihood->validate(rows.targets);
  return state_->batches.append(rows, state_->options.batch_size);
}

void JointBelief::attach(std::size_t batch, const Data& rows) {
  state_->options.likelihood->validate(rows.targets);
  state_->batches.attach(batch, rows);
}

FitResult JointBelief::fit(const std::function<void(bool)>& after_epoch) {
  State& state = *state_;
  require(state.batches.rows() > 0, "there is no data to fit: call append() first");
  const bool all_here = state.heard_all && state.batches.all_here();
  const Rows rows = state.rows_here(!all_here);
  require(rows.rows > 0, "there is nothing new to fit, and some rows are not here");
  if (all_here) {
    state.learn_all(rows.data(), after_epoch);
  } else {
    state.learn_on_top(rows.data());
  }
  FitResult result = state.result(rows.data());
  state.batches.visit_all();
  state.fit.reset();
  return result;
}

Arrays JointBelief::fit_state() const {
  require(state_->fit != nullptr, "fit_state() is for the time of a fit");
  return state_->fit->store();
}

void JointBelief::resume(Arrays state) {
  state_->fit =
      std::make_unique<detail::JointFit>(state_->architecture, state_->options, state_->own);
  state_->fit->restore(std::move(state), state_->batches.rows());
}

void JointBelief::forget(std::span<const std::size_t> batches) {
  State& state = *state_;
  require(state.keeps_ledger(),
          "only the ledger mode full can forget: the others do not keep what a batch said");
  for (const std::size_t batch : batches) state.batches.require_batch(batch);
  const auto rows = state.rows_of(batches);
  if (!rows.empty()) dma::forget(state.known->function, rows, state.heard_all);
  state.batches.erase(batches);
}

void JointBelief::reduce(std::size_t batch, double share) {
  State& state = *state_;
  require(state.keeps_ledger(),
          "only the ledger mode full can forget: the others do not keep what a batch said");
  state.batches.require_batch(batch);
  detail::require_share(share);
  const auto rows = state.rows_of({&batch, 1});
  if (!rows.empty()) dma::forget(state.known->function, rows, state.heard_all, share);
}

std::size_t JointBelief::batches() const { return state_->batches.size(); }

std::unique_ptr<Predictor> JointBelief::predictor() const {
  return std::make_unique<detail::KnowledgePredictor>(state_->fitted());
}

std::vector<double> JointBelief::sample_functions(std::span<const double> inputs, std::size_t rows,
                                                  std::size_t count, std::uint64_t seed) const {
  return dma::sample_functions(state_->fitted().function, inputs, rows, count, seed);
}

WeightMoments JointBelief::weights() const {
  const JointPosterior& function = state_->fitted().function;
  WeightMoments moments{function.mean, marginal_variances(function), {}};
  for (const double precision : function.prior_precision) {
    moments.prior_variance.push_back(1 / precision);
  }
  return moments;
}

InputRange JointBelief::seen_inputs() const {
  const JointKnowledge& known = state_->fitted();
  if (!known.log_noise) return {};
  InputRange range{known.noise_inputs.low, known.noise_inputs.high};
  range.low.pop_back();  // of the function's value
  range.high.pop_back();
  return range;
}

std::span<const double> JointBelief::learnt_inputs() const {
  return state_->fitted().function.ledger.inputs;
}

std::size_t JointBelief::ledger_bytes() const {
  return state_->known ? state_->known->function.ledger.bytes() : 0;
}

Arrays JointBelief::store() const { return detail::store(state_->fitted()); }

void JointBelief::drop_ledger() {
  state_->heard_all = state_->heard_all && state_->batches.size() == 0;
  // In the form of messages they are what is known.
  if (state_->known && !state_->known->function.in_messages()) state_->known->function.ledger = {};
  state_->batches = {architecture().inputs(), state_->targets};
}

const JointKnowledge& JointBelief::knowledge() const { return state_->fitted(); }

}  // namespace dma
