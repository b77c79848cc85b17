#include "belief/joint_fit.h"

#include "base/require.h"
#include "belief/training.h"
#include "belief/uncertain_inputs.h"
#include "belief/varying_noise.h"

namespace dma::detail {
namespace {

constexpr std::size_t usual_epochs = 100;

}  // namespace

JointFit::JointFit(const Architecture& architecture, const TrainingOptions& options,
                   const JointOptions& own)
    : options_(options),
      function_(architecture, JointUnit::leaky_relu, first_prior_precision, own.by_column),
      likelihood_(options.likelihood->for_outputs(architecture.outputs())) {
  function_.draw_start(own.seed, 1);
}

JointFit::JointFit(const JointKnowledge& known, const TrainingOptions& options,
                   const JointOptions& own)
    : options_(options),
      before_(&known),
      function_(known.function, own.by_column),
      likelihood_(
          likelihood_with(*known.likelihood, options, known.function.architecture.outputs())) {}

JointSettings JointFit::settings() const {
  JointSettings settings;
  settings.epochs = options_.max_epochs == 0 ? usual_epochs : options_.max_epochs;
  settings.tolerance = options_.tolerance;
  settings.patience = options_.patience;
  settings.go_on = [this, most = settings.epochs](std::size_t epoch) {
    return !options_.progress || options_.progress({epoch, most, 1, 1});
  };
  if (before_ != nullptr) settings.start_near_the_end();
  return settings;
}

void JointFit::fit(const Data& rows, const AfterEpoch& after_epoch) {
  rows_ = rows.rows;
  if (before_ != nullptr && before_->log_noise) {
    scales_ =
        noise_to_learn_with(*before_->log_noise, before_->noise_inputs, rows.inputs, values(rows));
  }
  JointNetwork::OnEpoch keep;
  if (after_epoch) {
    keep = [&](const NetworkFit& now) {
      fit_ = now;
      after_epoch();
    };
  }
  fit_ = function_.fit(rows.inputs, *terms_of(rows), settings(), NetworkFit(fit_), keep);
}

void JointFit::learn_on_top(const Data& rows, bool keep_ledger, JointKnowledge& known) {
  if (known.log_noise) {
    const auto values = outputs_of(known.function, rows.inputs, rows.rows).mean;
    scales_ = noise_to_learn_with(*known.log_noise, known.noise_inputs, rows.inputs, values);
    add_input_variance(
        known.function.architecture,
        [&](std::span<const double> inputs, std::size_t count) {
          return function_.values(inputs, count);
        },
        rows.inputs, scales_);
  }
  learn(known.function, rows.inputs, *terms_of(rows), keep_ledger);
  fit_.epochs = 1;
  fit_.stopped = Stopped::tolerance;
}

Arrays JointFit::store() const {
  Arrays stored = fit_.store();
  stored.put("rows", std::vector<std::uint64_t>{rows_});
  Arrays likelihood;
  likelihood_->store(likelihood);
  stored.put("likelihood.", likelihood);
  stored.put("function.", function_.store());
  return stored;
}

void JointFit::restore(Arrays stored, std::size_t rows) {
  require(stored.take<std::uint64_t>("rows", {1}).front() == rows, "is of other rows");
  Arrays likelihood = stored.take_part("likelihood.");
  likelihood_->restore(likelihood);
  function_.restore(stored.take_part("function."));
  fit_ = NetworkFit::restore(std::move(stored));
}

JointKnowledge JointFit::finish(const Data& rows, bool keep_ledger) {
  JointKnowledge known;
  known.likelihood = likelihood_->clone();
  known.function = function_.posterior(rows.inputs, *terms_of(rows), keep_ledger, &step_left_);
  if (before_ != nullptr) {
    known.log_noise = before_->log_noise;
    known.noise_inputs = before_->noise_inputs;
  }
  return known;
}

Bounded JointFit::bounded(const Data& rows) const {
  return {function_.bounded_precisions(), terms_of(rows)->rows_at_floor(), fit_.bounded ? 1U : 0U};
}

}  // namespace dma::detail
