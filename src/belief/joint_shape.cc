#include "belief/joint_shape.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/require.h"
#include "belief/calibration.h"
#include "belief/joint_cavity.h"
#include "belief/joint_certificate.h"
#include "belief/joint_predictor.h"
#include "belief/training.h"
#include "belief/uncertain_inputs.h"

namespace dma::detail {
namespace {

// The epoch after which members look at their parts for the n-th time, from 0. With more rows they go on from what they
// have found with fewer.
std::size_t epoch_of_look(std::size_t stage, std::size_t n) {
  constexpr std::array<std::size_t, 9> first_looks{5, 10, 15, 20, 25, 30, 40, 50, 60};
  constexpr std::size_t then_every = 20;
  constexpr std::size_t later_every = 4;
  if (stage > 0) return (n + 1) * later_every;
  if (n < first_looks.size()) return first_looks[n];
  return first_looks.back() + (n + 1 - first_looks.size()) * then_every;
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

std::string name_of_member(std::size_t member) { return "member." + std::to_string(member) + "."; }

Arrays stored(const Likelihood& likelihood) {
  Arrays parameters;
  likelihood.store(parameters);
  return parameters;
}

// The noise is learnt once the search is over; until then tails stand for rows with more of it than others.
double score_of(const Missed& missed, const Likelihood& likelihood) {
  if (!likelihood.has_scale() || !likelihood.learns()) {
    return likelihood.mean_nll(missed.weighted_targets(), missed.outputs());
  }
  return nll_with_tails(missed.misses(), noise_variance(likelihood).front());
}

// What a network says of rows that it has not learnt.
OutputMoments moments_of(const JointPosterior& reached, const Rows& rows) {
  OutputMoments moments = outputs_of(reached, rows.inputs, rows.rows);
  const Vector weights = centre_of(reached);
  add_input_variance({reached.architecture, reached.unit, weights}, rows.inputs, rows.rows,
                     moments);
  return moments;
}

void restore_from(Arrays parameters, Likelihood& likelihood) { likelihood.restore(parameters); }

}  // namespace

ShapeFit::ShapeFit(Architecture architecture, const Likelihood& likelihood, ShapeOptions options)
    : architecture_(std::move(architecture)), options_(std::move(options)) {
  for (std::size_t m = 0; m < options_.seeds.size(); ++m) {
    JointNetwork network(architecture_, JointUnit::leaky_relu, first_prior_precision,
                         options_.by_column[m]);
    network.draw_start(options_.seeds[m], 1);
    members_.push_back({network, network, likelihood.for_outputs(architecture_.outputs())});
  }
  best_.likelihood = likelihood.for_outputs(architecture_.outputs());
}

bool ShapeFit::noise_varies() const {
  return best_.likelihood->has_scale() && best_.likelihood->learns() && !options_.constant_noise;
}

std::size_t ShapeFit::most_epochs() const {
  return stage_ == 0 ? options_.first_epochs : options_.later_epochs;
}

std::size_t ShapeFit::epochs_at(std::size_t look) const {
  return std::min(epoch_of_look(stage_, look), most_epochs());
}

void ShapeFit::go_back_to_best() {
  for (Member& member : members_) {
    member.network = member.best;
    append(member.before, member.fit.train_nll);
    member.fit = {};
  }
}

void ShapeFit::search_with(std::span<const ShapePart> parts) {
  parts_ = parts;
  searches_ = true;
  if (!has_looked()) return;
  ++stage_;
  looks_ = 0;
  // What was best with fewer rows is where the members go on from, but not what they are measured by: it owes its score
  // to being less sure.
  best_.looks_since = 0;
  best_.score = HUGE_VAL;
  go_back_to_best();
}

JointSettings ShapeFit::settings_for(std::size_t epochs, const GoOn& go_on) const {
  JointSettings settings;
  settings.epochs = epochs;
  settings.tolerance = options_.tolerance;
  settings.patience = options_.patience;
  settings.go_on = [&go_on](std::size_t) { return go_on(); };
  return settings;
}

void ShapeFit::advance(Member& member, const Data& rows, RowTerms& terms,
                       const JointSettings& settings, const AfterEpoch& after_epoch,
                       JointPosterior* reached) {
  JointNetwork::OnEpoch keep;
  if (after_epoch) {
    keep = [&](const NetworkFit& now) {
      member.fit = now;
      after_epoch();
    };
  }
  member.fit =
      member.network.fit(rows.inputs, terms, settings, NetworkFit(member.fit), keep, reached);
}

void ShapeFit::search(std::size_t m, const GoOn& go_on, const AfterEpoch& after_epoch) {
  Member& member = members_[m];
  const ShapePart& part = parts_[m];
  const Data rows = part.learnt.data();
  const auto terms = member.likelihood->terms(rows.weighted_targets());
  JointSettings settings = settings_for(epochs_at(looks_), go_on);
  if (stage_ > 0) settings.start_near_the_end();
  JointPosterior reached;
  advance(member, rows, *terms, settings, after_epoch, &reached);
  member.moments = moments_of(reached, part.held);
}

// What the members say of their parts now.
ShapeFit::Best ShapeFit::seen() const {
  Best now;
  Missed& missed = now.missed;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const Rows& held = parts_[m].held;
    append_weights(held.weights, held.rows, missed.rows(), missed.weights);
    append(missed.inputs, held.inputs);
    append(missed.targets, held.targets);
    append(missed.values, members_[m].moments.mean);
    append(missed.variances, members_[m].moments.variance);
    append(missed.covariances, members_[m].moments.covariance);
  }
  now.likelihood = best_.likelihood->clone();
  if (missed.rows() > 0) now.likelihood->learn(missed.weighted_targets(), missed.outputs());
  missed.squares = now.likelihood->squares(missed.targets, missed.outputs());
  now.score = missed.rows() > 0 ? score_of(missed, *now.likelihood) : 0;
  return now;
}

void ShapeFit::look() {
  Best now = seen();
  const bool all_settled = std::all_of(members_.begin(), members_.end(), [](const Member& member) {
    return member.fit.stopped == Stopped::tolerance;
  });
  ++looks_;
  ++best_.looks_since;
  best_.last_gain = std::max(0.0, best_.score - now.score);
  // Without a scale there is nothing that rows could teach while they are learnt: members go on with what these rows say.
  if (!now.likelihood->has_scale()) {
    for (Member& member : members_) member.likelihood = now.likelihood->clone();
  }
  if (!std::isfinite(best_.score) || now.score < best_.score - options_.tolerance) {
    now.last_gain = best_.last_gain;
    best_ = std::move(now);
    for (Member& member : members_) member.best = member.network;
  }
  // With more rows a look costs more, and the way is known.
  const std::size_t patience =
      stage_ == 0 ? options_.patience : std::min<std::size_t>(1, options_.patience);
  settled_ = all_settled || is_over(best_.looks_since, options_.tolerance, patience);
  searches_ = !settled_ && epochs_of_stage() < most_epochs();
}

std::optional<double> ShapeFit::could_reach() const {
  constexpr std::size_t least_looks = 6;
  if (looks_ < least_looks) return {};
  double score = best_.score;
  for (std::size_t look = looks_; epochs_at(look - 1) < most_epochs(); ++look) {
    score -= best_.last_gain;
  }
  return score;
}

std::size_t ShapeFit::epochs() const {
  std::size_t most = 0;
  for (const Member& member : members_) {
    most = std::max(most, member.before.size() + member.fit.train_nll.size());
  }
  return most;
}

std::vector<double> ShapeFit::train_nll(std::size_t m) const {
  std::vector<double> all = members_[m].before;
  append(all, members_[m].fit.train_nll);
  return all;
}

void ShapeFit::learn_noise(std::uint64_t seed, const Data& rows) {
  if (best_.missed.rows() == 0) return;
  if (noise_varies()) {
    noise_ = detail::learn_noise(best_.missed, architecture_, options_.by_column.front(), seed);
  }
  for (Member& member : members_) member.scales = scales_of(member, rows);
}

// Empty: those of the likelihood. What moves a row's value is no noise, but tells as little of the weights.
std::vector<double> ShapeFit::scales_of(const Member& member, const Data& rows) const {
  if (!best_.likelihood->has_scale()) return {};
  if (!noise_ && architecture_.uncertain.empty()) return {};
  const ValuesOf values = [&](std::span<const double> inputs, std::size_t count) {
    return member.best.values(inputs, count);
  };
  std::vector<double> scales(rows.rows, noise_variance(*best_.likelihood).front());
  if (noise_) {
    scales = noise_to_learn_with(noise_->log_noise, noise_->inputs, rows.inputs,
                                 values(rows.inputs, rows.rows));
  }
  add_input_variance(architecture_, values, rows.inputs, scales);
  return scales;
}

void ShapeFit::begin_refining() {
  searches_ = false;
  go_back_to_best();
}

Prediction ShapeFit::held_out_prediction() const {
  const Missed& missed = best_.missed;
  OutputMoments moments{missed.values, missed.variances, missed.covariances};
  if (noise_) {
    OutputMoments noise =
        outputs_of(noise_->log_noise, noise_inputs(missed.inputs, missed.values, noise_->inputs),
                   missed.rows());
    moments.log_scale_mean = std::move(noise.mean);
    moments.log_scale_variance = std::move(noise.variance);
  }
  return predictive(*best_.likelihood, std::move(moments));
}

std::unique_ptr<RowTerms> ShapeFit::terms_of(const std::vector<double>& scales,
                                             const Data& rows) const {
  if (!scales.empty()) return best_.likelihood->terms(rows.weighted_targets(), scales);
  if (!best_.likelihood->has_scale()) return best_.likelihood->terms(rows.weighted_targets());
  const std::vector<double> constant(rows.rows, noise_variance(*best_.likelihood).front());
  return best_.likelihood->terms(rows.weighted_targets(), constant);
}

void ShapeFit::rehearse(std::size_t m, std::size_t epochs, const GoOn& go_on,
                        const AfterEpoch& after_epoch) {
  Member& member = members_[m];
  const ShapePart& part = parts_[m];
  const Data rows = part.learnt.data();
  const std::vector<double> scales = scales_of(member, rows);
  JointSettings settings = settings_for(epochs, go_on);
  settings.start_near_the_end();
  JointPosterior reached;
  advance(member, rows, *terms_of(scales, rows), settings, after_epoch, &reached);
  member.moments = moments_of(reached, part.held);
}

void ShapeFit::end_rehearsal() {
  best_ = seen();
  for (Member& member : members_) member.best = member.network;
}

void ShapeFit::refine(std::size_t m, const Data& rows, std::size_t epochs, const GoOn& go_on,
                      const AfterEpoch& after_epoch) {
  Member& member = members_[m];
  JointSettings settings = settings_for(epochs, go_on);
  settings.start_near_the_end();
  advance(member, rows, *terms_of(member.scales, rows), settings, after_epoch, nullptr);
}

JointKnowledge ShapeFit::finish(std::size_t m, const Data& rows, bool keep_ledger,
                                double* step_left) const {
  const Member& member = members_[m];
  JointKnowledge known;
  known.likelihood = best_.likelihood->clone();
  known.function =
      member.network.posterior(rows.inputs, *terms_of(member.scales, rows), keep_ledger, step_left);
  if (noise_) {
    known.log_noise = noise_->log_noise;
    known.noise_inputs = noise_->inputs;
  }
  return known;
}

Bounded ShapeFit::bounded(std::size_t m, const Data& rows) const {
  const Member& member = members_[m];
  return {member.network.bounded_precisions() + (noise_ ? noise_->bounded_precisions : 0),
          terms_of(member.scales, rows)->rows_at_floor() + (noise_ ? noise_->bounded_rows : 0), 0};
}

Certificate ShapeFit::certify(std::size_t m, const Data& rows, const JointKnowledge& known,
                              double step_left) const {
  const Member& member = members_[m];
  const auto terms = terms_of(member.scales, rows);
  JointCertificate joint{.damping = member.fit.damping, .step_left = step_left};
  cavity_of(known, rows, *terms, member.network.values(rows.inputs, rows.rows), joint);
  return detail::certify(known.function, rows, bounded(m, rows), joint);
}

Arrays ShapeFit::store() const {
  Arrays all;
  all.put("counts", std::vector<std::uint64_t>{stage_, looks_, best_.looks_since,
                                               searches_ ? 1U : 0U, settled_ ? 1U : 0U});
  all.put("score", best_.score);
  all.put("last_gain", best_.last_gain);
  all.put("inputs", best_.missed.inputs);
  all.put("targets", best_.missed.targets);
  all.put("values", best_.missed.values);
  all.put("variances", best_.missed.variances);
  all.put("covariances", best_.missed.covariances);
  all.put("squares", best_.missed.squares);
  all.put("weights", best_.missed.weights);
  all.put("likelihood.", stored(*best_.likelihood));
  for (std::size_t m = 0; m < members_.size(); ++m) {
    Arrays own = store_member(m);
    own.put("best.", members_[m].best.store());
    own.put("before", members_[m].before);
    all.put(name_of_member(m), own);
  }
  return all;
}

Arrays ShapeFit::store_member(std::size_t m) const {
  const Member& member = members_[m];
  Arrays own = member.fit.store();
  own.put("network.", member.network.store());
  own.put("likelihood.", stored(*member.likelihood));
  return own;
}

void ShapeFit::restore_member(std::size_t m, Arrays own) {
  Member& member = members_[m];
  member.network.restore(own.take_part("network."));
  restore_from(own.take_part("likelihood."), *member.likelihood);
  member.fit = NetworkFit::restore(std::move(own));
}

void ShapeFit::restore(Arrays all) {
  const auto counts = all.take<std::uint64_t>("counts", {5});
  stage_ = counts[0];
  looks_ = counts[1];
  searches_ = counts[3] == 1;
  settled_ = counts[4] == 1;
  best_.looks_since = counts[2];
  best_.score = all.take_number("score");
  best_.last_gain = all.take_number("last_gain");
  best_.missed.inputs = all.take<double>("inputs");
  best_.missed.targets = all.take<double>("targets");
  best_.missed.values = all.take<double>("values");
  best_.missed.variances = all.take<double>("variances");
  best_.missed.covariances = all.take<double>("covariances");
  best_.missed.squares = all.take<double>("squares");
  best_.missed.weights = all.take<double>("weights");
  const std::size_t rows = best_.missed.rows();
  const std::size_t values = rows * architecture_.outputs();
  const std::size_t pairs = architecture_.outputs() > 1 ? values * architecture_.outputs() : 0;
  require(best_.missed.inputs.size() == rows * architecture_.inputs() &&
              best_.missed.values.size() == values && best_.missed.variances.size() == values &&
              best_.missed.covariances.size() == pairs &&
              (best_.missed.squares.empty() || best_.missed.squares.size() == rows) &&
              (best_.missed.weights.empty() || best_.missed.weights.size() == rows),
          "is of other rows");
  restore_from(all.take_part("likelihood."), *best_.likelihood);
  for (std::size_t m = 0; m < members_.size(); ++m) {
    Arrays own = all.take_part(name_of_member(m));
    members_[m].best.restore(own.take_part("best."));
    members_[m].before = own.take<double>("before");
    restore_member(m, std::move(own));
  }
}

}  // namespace dma::detail
