#include "belief/joint_fit.h"

#include <algorithm>
#include <cmath>

#include "base/require.h"
#include "likelihood/gaussian.h"

namespace dma::detail {
namespace {

// Found on training rows held out from training (docs/default-method.md).
constexpr std::size_t later_noise_epochs = 15;
constexpr double first_prior_precision = 1;
constexpr std::size_t epochs_over_all = 12;  // of many rows, after some of them

// How often the noise and the function are refined in turn.
struct Refinement {
  std::size_t rounds, first_noise_epochs, function_epochs;
};
constexpr Refinement of_few{2, 30, 10};
constexpr Refinement of_many{1, 20, 6};

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
      likelihood_(options.likelihood->for_outputs(known.function.architecture.outputs())) {
  Arrays parameters;
  known.likelihood->store(parameters);
  likelihood_->restore(parameters);
  if (known.log_noise) noise_.emplace(*known.log_noise, known.noise_inputs, own.by_column);
}

std::vector<JointStage> JointFit::stages_for(bool many) {
  std::vector<JointStage> stages;
  JointSettings settings = settings_for(options_.max_epochs);
  if (many) {
    settings.epochs = options_.max_epochs * 3 / 2;
    settings.evidence_before = settings.evidence_before * 3 / 2;
    stages.push_back({JointStage::Part::some_rows, settings});
    settings = settings_from_before(std::min(options_.max_epochs, epochs_over_all));
  }
  stages.push_back({JointStage::Part::all_rows, settings});
  const Refinement& how = many ? of_many : of_few;
  add_refinement(how.rounds, how.first_noise_epochs, how.function_epochs, stages);
  return stages;
}

// In turn: the noise given the function, the function given the noise.
void JointFit::add_refinement(std::size_t rounds, std::size_t first_noise_epochs,
                              std::size_t function_epochs, std::vector<JointStage>& stages) {
  if (!likelihood_->has_scale() || !likelihood_->learns() || own_.constant_noise) return;
  for (std::size_t round = 0; round < rounds; ++round) {
    JointSettings noise = settings_for(round == 0 ? first_noise_epochs : later_noise_epochs);
    noise.evidence_from = 2;
    noise.evidence_every = 1;
    stages.push_back({JointStage::Part::noise, noise});
    stages.push_back({JointStage::Part::function, settings_from_before(function_epochs)});
  }
}

JointSettings JointFit::settings_for(std::size_t epochs) {
  JointSettings settings;
  settings.epochs = epochs;
  settings.tolerance = options_.tolerance;
  if (options_.patience > 0) settings.patience = options_.patience;
  settings.go_on = [this] {
    progress_ = std::min(progress_ + 1, options_.max_epochs);
    return !options_.progress || options_.progress({progress_, 1, 1});
  };
  return settings;
}

// Of a fit that starts near where it will end.
JointSettings JointFit::settings_from_before(std::size_t epochs) {
  JointSettings settings = settings_for(epochs);
  settings.damping = 1e-2;
  settings.evidence_from = 0;
  return settings;
}

void JointFit::fit(const Data& rows, const AfterEpoch& after_epoch) {
  after_epoch_ = after_epoch;
  rows_ = rows.rows;
  const std::vector<JointStage> stages = stages_for(rows.rows >= many_rows);
  require(stage_ <= stages.size(), "is further than the fit goes");
  for (; stage_ < stages.size() && result_.stopped != Stopped::interrupted; ++stage_) {
    run(stages[stage_], rows);
  }
}

void JointFit::fit_again(const Data& rows) {
  if (noise_) {
    noise_->look_at_inputs(rows.inputs, values(rows));
    scales_ = noise_->variances();
  }
  fit_function(rows, settings_from_before(options_.max_epochs));
  if (!noise_) return;
  std::vector<JointStage> stages;
  add_refinement(1, later_noise_epochs, of_few.function_epochs, stages);
  for (const JointStage& stage : stages) {
    if (result_.stopped != Stopped::interrupted) run(stage, rows);
  }
}

void JointFit::run(const JointStage& stage, const Data& rows) {
  const JointSettings& settings = stage.settings;
  switch (stage.part) {
    case JointStage::Part::some_rows:
      fit_function(rows.part(0, many_rows), settings);  // they come in random order
      break;
    case JointStage::Part::all_rows:
      fit_function(rows, settings);
      break;
    case JointStage::Part::noise:
      if (!has_begun()) look_at_misses(rows);
      if (noise_->fit(settings, fit_, keeper()).stopped == Stopped::interrupted) {
        result_.stopped = Stopped::interrupted;
      }
      scales_ = noise_->variances();
      break;
    case JointStage::Part::function:
      refine_function(rows, settings);
      break;
  }
  fit_ = {};
}

void JointFit::fit_function(const Data& rows, const JointSettings& settings) {
  const auto terms = terms_of(rows);
  result_ = function_.fit(rows.inputs, *terms, settings, fit_, keeper());
  damping_ = result_.damping;
  train_nll_.insert(train_nll_.end(), result_.train_nll.begin(), result_.train_nll.end());
}

void JointFit::refine_function(const Data& rows, const JointSettings& settings) {
  const auto terms = terms_of(rows);
  const auto again = function_.fit(rows.inputs, *terms, settings, fit_, keeper());
  damping_ = again.damping;
  train_nll_.insert(train_nll_.end(), again.train_nll.begin(), again.train_nll.end());
  if (again.stopped == Stopped::interrupted) result_.stopped = again.stopped;
}

void JointFit::look_at_misses(const Data& rows) {
  if (!noise_) noise_.emplace(function_.architecture(), own_.by_column, own_.seed + 1);
  const auto moments = outputs_of(function_.posterior(rows.inputs, *terms_of(rows), nullptr),
                                  rows.inputs, rows.rows);
  noise_->look_at(rows, likelihood_->squares(rows.targets, moments.outputs()), moments.mean);
}

JointNetwork::OnEpoch JointFit::keeper() {
  if (!after_epoch_) return {};
  return [this](const NetworkFit& fit) {
    fit_ = fit;
    after_epoch_();
  };
}

void JointFit::stand(const JointKnowledge& known, const Data& rows) {
  if (known.log_noise) {
    const auto values = outputs_of(known.function, rows.inputs, rows.rows).mean;
    const auto inputs = noise_inputs(rows.inputs, values, known.noise_inputs);
    scales_ = outputs_of(*known.log_noise, inputs, rows.rows).mean;
    for (double& value : scales_) value = noise_at(value);
  }
  function_.stand_on(known.function);
  result_ = {.epochs = 1, .stopped = Stopped::tolerance};
}

Arrays JointFit::store() const {
  Arrays stored;
  stored.put("stage", std::vector<std::uint64_t>{stage_, rows_});
  stored.put("stage.", fit_.store());
  stored.put("result.", result_.store());
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
  const auto stage = stored.take<std::uint64_t>("stage", {2});
  stage_ = stage[0];
  require(stage[1] == rows, "is of other rows");
  fit_ = NetworkFit::restore(stored.take_part("stage."));
  result_ = NetworkFit::restore(stored.take_part("result."));
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
  known.function = function_.posterior(rows.inputs, *terms_of(rows),
                                       keep_ledger ? &known.ledger : nullptr, &step_left_);
  if (noise_) {
    if (!noise_->has_looked()) look_at_misses(rows);
    known.log_noise = noise_->posterior();
    known.noise_inputs = noise_->inputs();
  }
  return known;
}

JointKnowledge JointFit::finish_on_top(const Data& rows, bool keep_ledger) const {
  JointKnowledge known;
  known.function =
      function_.posterior(rows.inputs, *terms_of(rows), keep_ledger ? &known.ledger : nullptr);
  return known;
}

Bounded JointFit::bounded(const Data& rows) const {
  return {function_.bounded_precisions() + (noise_ ? noise_->bounded_precisions() : 0),
          terms_of(rows)->rows_at_floor(), result_.bounded ? 1U : 0U};
}

}  // namespace dma::detail
