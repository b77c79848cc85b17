#include <dma/belief/joint.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <dma/base/parallel.h>

#include "base/require.h"
#include "belief/batches.h"
#include "belief/joint_fit.h"

namespace dma {
namespace {

using detail::require;

constexpr std::size_t rows_per_task = 512;

void validate(const Architecture& architecture, const TrainingOptions& options) {
  architecture.validate(Rule::linear);
  require(architecture.outputs() == 1, "a joint network has one output");
  for (std::size_t l = 0; l < architecture.layers(); ++l) {
    require(architecture.has_bias(l), "every layer of a joint network has a bias");
  }
  require(options.batch_size > 0, "batch_size is 0");
  require(options.max_epochs > 0, "max_epochs is 0");
  require(options.tolerance >= 0,
          "tolerance must not be negative, got " + std::to_string(options.tolerance));
  require(options.ledger != LedgerMode::average, "a joint belief has no ledger 'average'");
  require(options.noise.variance.size() == 1,
          "noise.variance must have 1 entry, got " + std::to_string(options.noise.variance.size()));
  const double variance = options.noise.variance.front();
  require(variance > 0 && std::isfinite(variance),
          "noise.variance must be positive and finite, got " + std::to_string(variance));
}

// ------------------------------------------------------------------------------------------- predictions

class KnowledgePredictor final : public Predictor {
 public:
  explicit KnowledgePredictor(const JointKnowledge& known)
      : inputs_(known.function.architecture.inputs()),
        function_(known.function),
        noise_variance_(known.noise_variance),
        noise_inputs_(known.noise_inputs) {
    if (known.log_noise) log_noise_.emplace(*known.log_noise);
  }

  Prediction predict(std::span<const double> inputs, std::size_t rows,
                     std::size_t threads) const override {
    const std::vector<double> zeros(rows);
    Prediction result{zeros, zeros, std::vector<double>(rows, noise_variance_), zeros};
    detail::parallel_ranges(rows, rows_per_task, threads, [&](std::size_t begin, std::size_t end) {
      predict_part(inputs.subspan(begin * inputs_, (end - begin) * inputs_), begin, end, result);
    });
    return result;
  }

 private:
  void predict_part(std::span<const double> inputs, std::size_t begin, std::size_t end,
                    Prediction& result) const {
    const std::size_t rows = end - begin;
    function_.predict(inputs, rows, result.mean.data() + begin,
                      result.epistemic_variance.data() + begin);
    if (!log_noise_) return;
    const std::span<const double> values(result.mean.data() + begin, rows);
    const Prediction log_noise =
        log_noise_->predict(detail::noise_inputs(inputs, values, noise_inputs_), rows);
    for (std::size_t n = 0; n < rows; ++n) {
      // E[exp(g)], g ~ N(mean, variance).
      const double variance = log_noise.epistemic_variance[n];
      result.noise_variance[begin + n] =
          detail::noise_at(log_noise.mean[n]) * std::exp(variance / 2);
      result.noise_spread[begin + n] = std::sqrt(variance);
    }
  }

  std::size_t inputs_;
  detail::JointPredictor function_;
  std::optional<detail::JointPredictor> log_noise_;
  double noise_variance_;
  NoiseInputs noise_inputs_;
};

// Each row predicted without its own message: see the header. NaN where rounding leaves nothing beside that message.
Prediction cavity_of(const JointKnowledge& known, const Data& rows,
                     std::span<const double> variances, JointCertificate& certificate) {
  Prediction cavity = KnowledgePredictor(known).predict(rows.inputs, rows.rows, 1);
  for (std::size_t n = 0; n < rows.rows; ++n) {
    const double leverage = cavity.epistemic_variance[n] / variances[n];
    certificate.largest_leverage = std::max(certificate.largest_leverage, std::min(leverage, 1.0));
    const double stays = 1 - leverage;
    if (!(stays > 0)) {
      ++certificate.rows_alone;
      cavity.mean[n] = cavity.epistemic_variance[n] = std::numeric_limits<double>::quiet_NaN();
      continue;
    }
    const double miss = rows.targets[n] - cavity.mean[n];
    cavity.mean[n] = rows.targets[n] - miss / stays;
    cavity.epistemic_variance[n] /= stays;
  }
  return cavity;
}

Metrics score_of(const Prediction& cavity, std::span<const double> targets) {
  std::vector<double> known;
  std::vector<double> means;
  std::vector<double> deviations;
  for (std::size_t n = 0; n < cavity.mean.size(); ++n) {
    if (std::isnan(cavity.mean[n])) continue;
    known.push_back(targets[n]);
    means.push_back(cavity.mean[n]);
    deviations.push_back(std::sqrt(cavity.epistemic_variance[n] + cavity.noise_variance[n]));
  }
  return known.empty() ? Metrics{} : score(known, means, deviations);
}

// Some of the rows, evenly spaced.
std::vector<double> some_inputs(const Data& rows) {
  constexpr std::size_t most = 100;
  const std::size_t count = std::min(rows.rows, most);
  const std::size_t width = rows.inputs.size() / rows.rows;
  std::vector<double> inputs;
  for (std::size_t n = 0; n < count; ++n) {
    const auto row = rows.inputs.subspan(n * rows.rows / count * width, width);
    inputs.insert(inputs.end(), row.begin(), row.end());
  }
  return inputs;
}

// What the layers' precisions are, and what only a joint belief has to answer for.
Certificate certify(const JointPosterior& function, const Data& rows, const Bounded& bounded,
                    JointCertificate joint) {
  const std::vector<double> inputs = some_inputs(rows);
  joint.linearisation_error = detail::linearisation_error(function, inputs);
  Certificate certificate{.examples = inputs.size() / function.architecture.inputs(),
                          .bounded = bounded,
                          .joint = joint,
                          .layers = {}};
  const Architecture& architecture = function.architecture;
  const auto variances = marginal_variances(function);
  for (std::size_t l = 0; l < architecture.layers(); ++l) {
    const auto begin = variances.begin() + static_cast<std::ptrdiff_t>(architecture.offset(l));
    const auto end = variances.begin() + static_cast<std::ptrdiff_t>(architecture.offset(l + 1));
    const auto [least, most] = std::minmax_element(begin, end);
    certificate.layers.push_back(
        {.smallest_precision = 1 / *most, .largest_precision = 1 / *least});
  }
  return certificate;
}

// ---------------------------------------------------------------------------------------------- the ledger

void append_rows(JointLedger& ledger, const JointLedger& more) {
  ledger.gradients.insert(ledger.gradients.end(), more.gradients.begin(), more.gradients.end());
  ledger.shifts.insert(ledger.shifts.end(), more.shifts.begin(), more.shifts.end());
}

void erase_rows(JointLedger& ledger, std::span<const std::size_t> rows) {
  const std::size_t width = ledger.gradients.size() / ledger.shifts.size();
  JointLedger kept;
  std::size_t next = 0;
  for (std::size_t n = 0; n < ledger.shifts.size(); ++n) {
    if (next < rows.size() && rows[next] == n) {
      ++next;
      continue;
    }
    kept.shifts.push_back(ledger.shifts[n]);
    const auto begin = ledger.gradients.begin() + static_cast<std::ptrdiff_t>(n * width);
    kept.gradients.insert(kept.gradients.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
  }
  ledger = std::move(kept);
}

// ---------------------------------------------------------------------------------------------- as arrays

void put(const JointPosterior& posterior, const std::string& name, Arrays& stored) {
  stored.put(name + "mean", posterior.mean);
  stored.put(name + "prior_precision", posterior.prior_precision);
  stored.put(name + "factor", posterior.factor);
  if (!posterior.centre.empty()) stored.put(name + "centre", posterior.centre);
}

bool all_finite(const std::vector<double>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double n) { return std::isfinite(n); });
}

JointPosterior take_posterior(const Architecture& architecture, JointUnit unit,
                              const std::string& name, Arrays& stored) {
  const std::size_t weights = architecture.weight_count();
  std::size_t square = 0;
  require(!__builtin_mul_overflow(weights, weights + 1, &square),
          "says that an array is larger than can be");
  JointPosterior posterior{architecture, unit, stored.take<double>(name + "mean", {weights}),
                           stored.take<double>(name + "prior_precision", {weights}),
                           stored.take<double>(name + "factor", {square / 2})};
  if (stored.has(name + "centre")) {
    posterior.centre = stored.take<double>(name + "centre", {weights});
  }
  for (const auto* numbers :
       {&posterior.mean, &posterior.prior_precision, &posterior.factor, &posterior.centre}) {
    require(all_finite(*numbers), "a joint posterior is not finite");
  }
  for (std::size_t i = 0; i < weights; ++i) {
    require(posterior.factor[i * (i + 3) / 2] > 0 && posterior.prior_precision[i] > 0,
            "a joint posterior is not a proper Gaussian");
  }
  return posterior;
}

JointLedger take_ledger(std::size_t rows, std::size_t weights, Arrays& stored) {
  if (rows == 0) return {};
  std::size_t size = 0;
  require(!__builtin_mul_overflow(rows, weights, &size),
          "says that an array is larger than can be");
  JointLedger ledger{stored.take<double>("function.ledger.gradients", {size}),
                     stored.take<double>("function.ledger.shifts", {rows})};
  require(all_finite(ledger.gradients) && all_finite(ledger.shifts),
          "a message of the ledger is not finite");
  return ledger;
}

NoiseInputs take_noise_inputs(std::size_t width, Arrays& stored) {
  const auto scale = stored.take<double>("noise_inputs.scale", {2});
  NoiseInputs inputs{scale[0], scale[1], stored.take<double>("noise_inputs.low", {width}),
                     stored.take<double>("noise_inputs.high", {width})};
  bool sound = inputs.value_deviation > 0;
  for (std::size_t k = 0; sound && k < width; ++k) sound = inputs.low[k] <= inputs.high[k];
  require(sound, "the range of a noise network's inputs is not one");
  return inputs;
}

void take_noise(const Architecture& function, Arrays& stored, JointKnowledge& known) {
  if (!stored.has("log_noise.widths")) return;
  Architecture architecture = function;
  const auto widths = stored.take<std::uint64_t>("log_noise.widths");
  architecture.widths.assign(widths.begin(), widths.end());
  architecture.validate(Rule::linear);
  require(architecture.inputs() == function.inputs() + 1 && architecture.outputs() == 1,
          "a noise network does not fit its function");
  known.noise_inputs = take_noise_inputs(architecture.inputs(), stored);
  known.log_noise = take_posterior(architecture, JointUnit::step, "log_noise.", stored);
}

}  // namespace

class JointBelief::State {
 public:
  State(Architecture network, TrainingOptions training, JointOptions joint)
      : architecture(std::move(network)),
        options(std::move(training)),
        own(joint),
        batches(architecture.inputs(), 1) {}
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

  // Of the batches that are here, in their order; or only of those that were not heard yet.
  Rows rows_here(bool only_new) const {
    Rows rows;
    for (const auto& batch : batches) {
      if (!batch.here() || (only_new && batch.visited)) continue;
      rows.append(Data{batches.input_values(), batches.target_values(), batches.rows()}.part(
          batch.first, batch.count));
    }
    return rows;
  }

  // Rows of the ledger that belong to these batches.
  std::vector<std::size_t> ledger_rows(std::span<const std::size_t> gone) const {
    std::vector<std::size_t> rows;
    std::size_t row = 0;
    for (std::size_t b = 0; b < batches.size(); ++b) {
      if (!batches[b].visited) continue;
      const bool is_gone = std::binary_search(gone.begin(), gone.end(), b);
      for (std::size_t n = 0; n < batches[b].count; ++n, ++row) {
        if (is_gone) rows.push_back(row);
      }
    }
    return rows;
  }

  void learn_all(const Data& rows, const std::function<void(bool)>& after_epoch) {
    detail::JointFit::AfterEpoch hear;
    if (after_epoch) hear = [&] { after_epoch(false); };
    if (known) {
      fit = std::make_unique<detail::JointFit>(*known, options, own);
      fit->fit_again(rows);
    } else {
      if (!fit) fit = std::make_unique<detail::JointFit>(architecture, options, own);
      fit->fit(rows, hear);
    }
    if (after_epoch && fit->stopped() != Stopped::interrupted) after_epoch(true);
    known = fit->finish(rows, keeps_ledger());
  }

  void learn_on_top(const Data& rows) {
    fit = std::make_unique<detail::JointFit>(*known, options, own);
    fit->stand(*known, rows);
    JointKnowledge after = fit->finish_on_top(rows, keeps_ledger());
    known->function = std::move(after.function);
    append_rows(known->ledger, after.ledger);
  }

  FitResult result(const Data& rows) const {
    FitResult result;
    result.epochs = fit->epochs();
    result.stopped = fit->stopped();
    result.train_nll = fit->train_nll();
    JointCertificate certificate{.damping = fit->damping(), .step_left = fit->step_left()};
    result.cavity_predictions = cavity_of(*known, rows, fit->variances(), certificate);
    result.cavity = score_of(result.cavity_predictions, rows.targets);
    double noise = 0;
    for (const double variance : fit->variances()) noise += variance;
    result.noise_variance = {noise / static_cast<double>(rows.rows)};
    result.ledger_bytes = known->ledger.bytes();
    result.certificate = certify(known->function, rows, fit->bounded(), certificate);
    return result;
  }

  Architecture architecture;
  TrainingOptions options;
  JointOptions own;
  detail::Batches<double> batches;
  bool heard_all = true;  // no rows but those of the batches
  std::optional<JointKnowledge> known;
  std::unique_ptr<detail::JointFit> fit;  // while there is one
};

JointBelief::JointBelief(Architecture architecture, TrainingOptions options, JointOptions own) {
  validate(architecture, options);
  state_ = std::make_unique<State>(std::move(architecture), std::move(options), own);
}

JointBelief::JointBelief(Architecture architecture, Arrays stored, const Heard& heard,
                         TrainingOptions options, JointOptions own)
    : JointBelief(std::move(architecture), std::move(options), own) {
  std::size_t rows = 0;
  for (const std::size_t count : heard.batch_rows) rows += count;
  const Architecture& network = state_->architecture;
  JointKnowledge known;
  known.function = take_posterior(network, JointUnit::leaky_relu, "function.", stored);
  known.ledger = take_ledger(state_->keeps_ledger() ? rows : 0, network.weight_count(), stored);
  known.noise_variance = stored.take_number("noise_variance");
  require(known.noise_variance > 0 && std::isfinite(known.noise_variance),
          "the noise variance is not a positive number");
  take_noise(network, stored, known);
  state_->known = std::move(known);
  state_->batches.stand(heard.batch_rows);
  state_->heard_all = heard.all;
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

std::size_t JointBelief::append(const Data& rows) {
  return state_->batches.append(rows, state_->options.batch_size);
}

void JointBelief::attach(std::size_t batch, const Data& rows) {
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
  const auto rows = state.ledger_rows(batches);
  if (!rows.empty()) {
    dma::forget(state.known->function, state.known->ledger, rows, state.heard_all);
    erase_rows(state.known->ledger, rows);
  }
  state.batches.erase(batches);
}

std::size_t JointBelief::batches() const { return state_->batches.size(); }

std::unique_ptr<Predictor> JointBelief::predictor() const {
  return std::make_unique<KnowledgePredictor>(state_->fitted());
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

std::size_t JointBelief::ledger_bytes() const {
  return state_->known ? state_->known->ledger.bytes() : 0;
}

Arrays JointBelief::store() const {
  const JointKnowledge& known = state_->fitted();
  Arrays stored;
  put(known.function, "function.", stored);
  if (!known.ledger.shifts.empty()) {
    stored.put("function.ledger.gradients", known.ledger.gradients);
    stored.put("function.ledger.shifts", known.ledger.shifts);
  }
  stored.put("noise_variance", known.noise_variance);
  if (!known.log_noise) return stored;
  const auto& widths = known.log_noise->architecture.widths;
  const NoiseInputs& inputs = known.noise_inputs;
  stored.put("log_noise.widths", std::vector<std::uint64_t>(widths.begin(), widths.end()));
  put(*known.log_noise, "log_noise.", stored);
  stored.put("noise_inputs.scale", std::vector<double>{inputs.value_mean, inputs.value_deviation});
  stored.put("noise_inputs.low", inputs.low);
  stored.put("noise_inputs.high", inputs.high);
  return stored;
}

void JointBelief::drop_ledger() {
  state_->heard_all = state_->heard_all && state_->batches.size() == 0;
  if (state_->known) state_->known->ledger = {};
  state_->batches = {architecture().inputs(), 1};
}

const JointKnowledge& JointBelief::knowledge() const { return state_->fitted(); }

}  // namespace dma
