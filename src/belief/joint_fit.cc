#include "belief/joint_fit.h"

#include <algorithm>
#include <cmath>

#include "base/require.h"
#include "belief/training.h"
#include "likelihood/gaussian.h"

namespace dma::detail {
namespace {

constexpr double first_prior_precision = 1;
constexpr std::size_t evidence_of_some_rows = 60;  // epochs in which prior precisions are learnt

void check_positive(std::span<const double> values) {
  const auto sound = [](double value) { return value > 0 && std::isfinite(value); };
  require(std::all_of(values.begin(), values.end(), sound), "a noise variance is not positive");
}

}  // namespace

JointFit::JointFit(const Architecture& architecture, const TrainingOptions& options,
                   const JointOptions& own)
    : options_(options),
      own_(own),
      function_(architecture, JointUnit::leaky_relu, first_prior_precision, own.by_column),
      likelihood_(options.likelihood->for_outputs(architecture.outputs())) {
  function_.draw_start(own.seed, 1);
}

JointFit::JointFit(const JointKnowledge& known, const TrainingOptions& options,
                   const JointOptions& own)
    : options_(options),
      own_(own),
      function_(known.function, own.by_column),
      likelihood_(
          likelihood_with(*known.likelihood, options, known.function.architecture.outputs())) {
  if (known.log_noise) noise_.emplace(*known.log_noise, known.noise_inputs, own.by_column);
}

bool JointFit::noise_varies() const {
  return likelihood_->has_scale() && likelihood_->learns() && !own_.constant_noise;
}

JointSettings JointFit::settings_of(const JointStage& stage) {
  JointSettings settings;
  settings.epochs = stage.epochs;
  settings.tolerance = options_.tolerance;
  settings.patience = options_.patience;
  settings.go_on = [this] {
    ++epochs_;
    return !options_.progress || options_.progress({epochs_, most_epochs_, 1, 1});
  };
  if (stage.from_before) {
    settings.damping = 1e-2;
    settings.evidence_from = 0;
  }
  if (stage.part == JointStage::Part::some_rows) settings.evidence_before = evidence_of_some_rows;
  if (stage.part == JointStage::Part::noise) {
    settings.evidence_from = 2;
    settings.evidence_every = 1;
  }
  return settings;
}

void JointFit::fit(const Data& rows, const AfterEpoch& after_epoch) {
  after_epoch_ = after_epoch;
  rows_ = rows.rows;
  run(plan_fit(rows.rows >= many_rows, noise_varies(), options_.max_epochs), rows);
}

void JointFit::fit_again(const Data& rows) {
  if (noise_) {
    noise_->look_at_inputs(rows.inputs, values(rows));
    scales_ = noise_->variances();
  }
  run(plan_refit(noise_.has_value() && noise_varies(), options_.max_epochs), rows);
}

void JointFit::run(const std::vector<JointStage>& stages, const Data& rows) {
  require(stage_ <= stages.size(), "is further than the fit goes");
  most_epochs_ = epochs_of(stages);
  for (; stage_ < stages.size() && !interrupted_; ++stage_) {
    const Stopped stopped = run(stages[stage_], rows);
    interrupted_ = stopped == Stopped::interrupted;
    if (stages[stage_].fits_both()) settled_ = stopped == Stopped::tolerance;
    fit_ = {};
  }
}

Stopped JointFit::run(const JointStage& stage, const Data& rows) {
  const JointSettings settings = settings_of(stage);
  if (stage.part == JointStage::Part::noise) {
    if (!has_begun()) look_at_misses(rows);
    const Stopped stopped = noise_->fit(settings, fit_, keeper()).stopped;
    scales_ = noise_->variances();
    return stopped;
  }
  // Rows come in random order.
  const bool some = stage.part == JointStage::Part::some_rows;
  return fit_function(some ? rows.part(0, many_rows) : rows, settings);
}

Stopped JointFit::fit_function(const Data& rows, const JointSettings& settings) {
  const auto terms = terms_of(rows);
  const NetworkFit fitted = function_.fit(rows.inputs, *terms, settings, fit_, keeper());
  damping_ = fitted.damping;
  if (scales_.empty()) bounded_ = fitted.bounded;
  train_nll_.insert(train_nll_.end(), fitted.train_nll.begin(), fitted.train_nll.end());
  return fitted.stopped;
}

void JointFit::look_at_misses(const Data& rows) {
  if (!noise_) noise_.emplace(function_.architecture(), own_.by_column, own_.seed + 1);
  const auto moments =
      outputs_of(function_.posterior(rows.inputs, *terms_of(rows), false), rows.inputs, rows.rows);
  noise_->look_at(rows, likelihood_->squares(rows.targets, moments.outputs()), moments.mean);
}

JointNetwork::OnEpoch JointFit::keeper() {
  if (!after_epoch_) return {};
  return [this](const NetworkFit& fit) {
    fit_ = fit;
    after_epoch_();
  };
}

void JointFit::learn_on_top(const Data& rows, bool keep_ledger, JointKnowledge& known) {
  if (known.log_noise) {
    const auto values = outputs_of(known.function, rows.inputs, rows.rows).mean;
    const auto inputs = noise_inputs(rows.inputs, values, known.noise_inputs);
    scales_ = outputs_of(*known.log_noise, inputs, rows.rows).mean;
    for (double& value : scales_) value = noise_at(value);
  }
  learn(known.function, rows.inputs, *terms_of(rows), keep_ledger);
  epochs_ = 1;
}

Arrays JointFit::store() const {
  Arrays stored;
  stored.put("stage", std::vector<std::uint64_t>{stage_, rows_, epochs_, settled_ ? 1U : 0U,
                                                 bounded_ ? 1U : 0U});
  stored.put("stage.", fit_.store());
  stored.put("train_nll", train_nll_);
  stored.put("damping", damping_);
  stored.put("scales", scales_);
  Arrays likelihood;
  likelihood_->store(likelihood);
  stored.put("likelihood.", likelihood);
  stored.put("function.", function_.store());
  if (noise_) stored.put("noise.", noise_->store());
  return stored;
}

void JointFit::restore(Arrays stored, std::size_t rows) {
  const auto stage = stored.take<std::uint64_t>("stage", {5});
  stage_ = stage[0];
  require(stage[1] == rows, "is of other rows");
  epochs_ = stage[2];
  settled_ = stage[3] == 1;
  bounded_ = stage[4] == 1;
  fit_ = NetworkFit::restore(stored.take_part("stage."));
  train_nll_ = stored.take<double>("train_nll");
  damping_ = stored.take_number("damping");
  scales_ = stored.take<double>("scales");
  require(scales_.empty() || scales_.size() == rows, "is of other rows");
  check_positive(scales_);
  Arrays likelihood = stored.take_part("likelihood.");
  likelihood_->restore(likelihood);
  function_.restore(stored.take_part("function."));
  if (!stored.has("noise.weights")) return;
  noise_.emplace(function_.architecture(), own_.by_column, own_.seed + 1);
  noise_->restore(stored.take_part("noise."), rows);
}

JointKnowledge JointFit::finish(const Data& rows, bool keep_ledger) {
  JointKnowledge known;
  known.likelihood = likelihood_->clone();
  known.function = function_.posterior(rows.inputs, *terms_of(rows), keep_ledger, &step_left_);
  if (noise_) {
    if (!noise_->has_looked()) look_at_misses(rows);
    known.log_noise = noise_->posterior();
    known.noise_inputs = noise_->inputs();
  }
  return known;
}

Stopped JointFit::stopped() const {
  if (interrupted_) return Stopped::interrupted;
  return settled_ ? Stopped::tolerance : Stopped::max_epochs;
}

Bounded JointFit::bounded(const Data& rows) const {
  return {function_.bounded_precisions() + (noise_ ? noise_->bounded_precisions() : 0),
          terms_of(rows)->rows_at_floor(), bounded_ ? 1U : 0U};
}

}  // namespace dma::detail
