#include "belief/joint_network.h"

#include <algorithm>
#include <cmath>

#include "base/require.h"
#include "belief/training.h"

namespace dma::detail {
namespace {

constexpr double output_bias_precision = 0.01;  // the mean of the targets is 0
constexpr double least_determined = 1e-9;
constexpr double least_damping = 1e-6;
constexpr double least_share_of_prior = 1e-10;
constexpr double damping_after_failure = 1e-2;
constexpr std::size_t most_further_steps = 10;
// A further step costs about this many multiplications per weight and row.
constexpr double cost_of_a_further_step = 100;
constexpr double least_further_length = 1.0 / 8;

}  // namespace

JointNetwork::JointNetwork(Architecture architecture, JointUnit unit, double prior_precision,
                           bool by_column, double least_precision, const JointBackend& backend)
    : architecture_(std::move(architecture)),
      unit_(unit),
      least_precision_(least_precision),
      backend_(&backend) {
  architecture_.validate(Rule::linear);
  for (std::size_t l = 0; l < architecture_.layers(); ++l) {
    require(architecture_.layer(l).bias, "every layer of a joint network has a bias");
  }
  group_ = weight_groups(architecture_, by_column);
  precision_.assign(*std::max_element(group_.begin(), group_.end()) + 1, prior_precision);
  precision_.back() = output_bias_precision;
  weights_ = Vector::Zero(index(group_.size()));
}

JointNetwork::JointNetwork(const JointPosterior& posterior, bool by_column, double least_precision,
                           const JointBackend& backend)
    : JointNetwork(posterior.architecture, posterior.unit, 1, by_column, least_precision, backend) {
  weights_ = centre_of(posterior);
  for (std::size_t k = 0; k < group_.size(); ++k) {
    precision_[group_[k]] = posterior.prior_precision[k];
  }
}

void JointNetwork::draw_start(std::uint64_t seed, double gain) {
  const std::vector<double> start = dma::draw_start(architecture_, seed, gain);
  weights_ = Eigen::Map<const Vector>(start.data(), weights_.size());
}

void JointNetwork::set_output_bias(double value) { weights_[weights_.size() - 1] = value; }

Vector JointNetwork::prior() const {
  Vector result(weights_.size());
  for (std::size_t k = 0; k < group_.size(); ++k) result[index(k)] = precision_[group_[k]];
  return result;
}

// No weight has a prior of less than a share of what the rows say of it. Less would change nothing, except that rounding
// loses it, and with it the precision: a row far out with little noise weighs more than 1e16 times as much.
Vector JointNetwork::prior_beside(const MessageSum& sum) const {
  return prior().cwiseMax(least_share_of_prior * sum.curvature);
}

std::size_t JointNetwork::bounded_precisions() const {
  // The last, of the output's bias, is not learnt.
  return static_cast<std::size_t>(
      std::count_if(precision_.begin(), precision_.end() - 1, [this](double precision) {
        return precision <= least_precision_ || precision >= most_prior_precision;
      }));
}

std::unique_ptr<MessageSum> JointNetwork::messages(std::span<const double> inputs,
                                                   const RowTerms& terms,
                                                   JointLedger* ledger) const {
  return backend_->messages(here(), inputs, terms, ledger, by_messages(terms));
}

bool JointNetwork::by_messages(const RowTerms& terms) const {
  return messages_are_cheaper(architecture_, terms.rows() * terms.outputs());
}

// MacKay's fixed point: precision = (well determined weights of the group) / (sum of their squares).
// Returns the number of well determined weights; nothing is learnt, and nothing returned, from a precision that is not
// positive definite in numbers.
std::optional<double> JointNetwork::learn_precisions(const MessageSum& sum) {
  const auto factor = sum.factor(prior_beside(sum));
  if (!factor) return {};
  const Vector own = factor->take_determined();
  std::vector<double> determined(precision_.size(), 0);
  std::vector<double> squares(precision_.size(), 0);
  for (std::size_t k = 0; k < group_.size(); ++k) {
    const std::size_t g = group_[k];
    determined[g] += own[index(k)];
    squares[g] += weights_[index(k)] * weights_[index(k)];
  }
  double all_determined = 0;
  for (std::size_t g = 0; g < precision_.size(); ++g) {
    all_determined += determined[g];
    if (g + 1 == precision_.size()) break;  // the output bias keeps its own
    // Weights that no row has said anything about keep their prior: an input that was always 0.
    if (determined[g] < least_determined || !(squares[g] > 0)) continue;
    precision_[g] = std::clamp(determined[g] / squares[g], least_precision_, most_prior_precision);
  }
  return all_determined;
}

// As many as cost no more than the next precision.
std::size_t JointNetwork::further_steps(const RowTerms& terms) const {
  const std::size_t messages = terms.rows() * terms.outputs();
  const double one = cost_of_a_further_step * static_cast<double>(messages * group_.size());
  const double affordable = epoch_cost(architecture_, messages).least() / one;
  return affordable < static_cast<double>(most_further_steps) ? static_cast<std::size_t>(affordable)
                                                              : most_further_steps;
}

// Further steps with the precision of the last one, from a loss that was reached: conjugate directions with that precision
// as their metric (Polak and Ribiere). They do not move the fixed point. Returns the loss.
double JointNetwork::step_on(std::span<const double> inputs, const RowTerms& terms,
                             const MessageSum& sum, const PosteriorFactor& factor, double loss) {
  const Vector prior = this->prior();
  const std::size_t steps = further_steps(terms);
  Vector direction, before;
  double square_before = 0;
  Slope at = steps > 0 ? backend_->slope(here(), inputs, terms) : Slope{};
  for (std::size_t k = 0; k < steps; ++k) {
    const Vector pull = -prior.cwiseProduct(weights_);
    const Vector gradient = at.gradient + pull;
    const Vector steepest = factor.step(at.gradient - sum.gradient + pull);
    const double square = steepest.dot(gradient);
    if (!(square > 0)) break;
    const double share =
        k == 0 ? 0 : std::max(0.0, steepest.dot(gradient - before) / square_before);
    direction = share > 0 ? Vector(steepest + share * direction) : steepest;
    before = gradient;
    square_before = square;
    const Vector old = weights_;
    double now = HUGE_VAL;
    for (double length = 1; length >= least_further_length && !(now < loss); length /= 2) {
      weights_ = old + length * direction;
      at = backend_->slope(here(), inputs, terms);
      now = terms.loss(at.values) + prior_loss();
    }
    if (!(now < loss)) {
      weights_ = old;
      break;
    }
    loss = now;
  }
  return loss;
}

// Damped until the density rises; a step that succeeds at once takes the damping down. False if none succeeds.
bool JointNetwork::step(std::span<const double> inputs, const RowTerms& terms,
                        const MessageSum& sum, bool with_further, double& damping, double& gain) {
  constexpr int most_attempts = 10;
  const Vector old = weights_;
  const Vector prior = this->prior();
  const double base = terms.loss(sum.values) + prior_loss();
  const Vector pull = -prior.cwiseProduct(old);
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    if (const auto factor = sum.factor(prior, damping)) {
      weights_ = old + factor->step(pull);
      const double now = loss(inputs, terms);
      if (now < base) {
        gain = base - (with_further ? step_on(inputs, terms, sum, *factor, now) : now);
        if (attempt == 0) damping = std::max(least_damping, damping / 5);
        return true;
      }
    }
    damping = std::max(least_damping, damping) * 5;
  }
  weights_ = old;
  damping = damping_after_failure;
  return false;
}

NetworkFit JointNetwork::fit(std::span<const double> inputs, RowTerms& terms,
                             const JointSettings& settings, const NetworkFit& start,
                             const OnEpoch& after_epoch, JointPosterior* reached) {
  NetworkFit fit = start;
  if (fit.epochs == 0) fit.damping = settings.damping;
  auto sum = messages(inputs, terms);
  train(inputs, terms, settings, after_epoch, sum, fit);
  if (reached == nullptr) return fit;
  if (by_messages(terms)) {
    sum.reset();
    *reached = posterior(inputs, terms, false);
  } else {
    *reached = without_factor(prior_beside(*sum));
    put_factor(*sum, *reached, nullptr);
  }
  return fit;
}

void JointNetwork::train(std::span<const double> inputs, RowTerms& terms,
                         const JointSettings& settings, const OnEpoch& after_epoch,
                         std::unique_ptr<MessageSum>& sum, NetworkFit& fit) {
  const double count = terms.weight();
  const auto has_settled = [&] {
    return is_over(fit.settled, settings.tolerance, settings.patience);
  };
  for (std::size_t epoch = fit.epochs; epoch < settings.epochs && !has_settled(); ++epoch) {
    fit.epochs = epoch + 1;
    if (settings.go_on && !settings.go_on(fit.epochs)) {
      fit.stopped = Stopped::interrupted;
      return;
    }
    if (settings.learns_at(epoch)) {
      if (const auto determined = learn_precisions(*sum)) {
        const RowTerms::Learnt learnt = terms.learn(sum->values, *determined);
        fit.bounded = learnt.bounded;
        if (learnt.factor) {
          sum->multiply(*learnt.factor);
        } else {
          sum = messages(inputs, terms);
        }
      }
    }
    double gain = 0;
    const bool stepped =
        step(inputs, terms, *sum, epoch >= settings.further_from, fit.damping, gain);
    if (stepped) sum = messages(inputs, terms);
    fit.train_nll.push_back(terms.mean_nll(sum->values));
    if (epoch >= settings.evidence_from + 6) {
      fit.settled = gain < settings.tolerance * count ? fit.settled + 1 : 0;
    }
    // Without a step the messages may be older than the noise: computed anew they would differ in rounding.
    if (stepped && after_epoch) after_epoch(fit);
  }
  if (has_settled()) fit.stopped = Stopped::tolerance;
}

Arrays NetworkFit::store() const {
  Arrays stored;
  stored.put("counts", std::vector<std::uint64_t>{epochs, static_cast<std::uint64_t>(stopped),
                                                  settled, bounded ? 1U : 0U});
  stored.put("damping", damping);
  stored.put("train_nll", train_nll);
  return stored;
}

NetworkFit NetworkFit::restore(Arrays stored) {
  const auto counts = stored.take<std::uint64_t>("counts", {4});
  require(counts[1] < static_cast<std::uint64_t>(Stopped::interrupted) && counts[3] <= 1,
          "has counts that no fit has");
  NetworkFit fit{counts[0], static_cast<Stopped>(counts[1]), {}, 0, counts[2], counts[3] == 1};
  fit.train_nll = stored.take<double>("train_nll");
  require(fit.train_nll.size() == fit.epochs, "has the training NLL of other epochs");
  fit.damping = stored.take_number("damping");
  return fit;
}

Arrays JointNetwork::store() const {
  Arrays stored;
  stored.put("weights", std::vector<double>(weights_.begin(), weights_.end()));
  stored.put("precisions", precision_);
  return stored;
}

void JointNetwork::restore(Arrays stored) {
  const auto weights = stored.take<double>("weights", {group_.size()});
  const auto precisions = stored.take<double>("precisions", {precision_.size()});
  for (const double weight : weights) require(std::isfinite(weight), "a weight is not finite");
  for (const double precision : precisions) {
    require(precision > 0 && std::isfinite(precision), "a prior precision is not positive");
  }
  weights_ = Eigen::Map<const Vector>(weights.data(), weights_.size());
  precision_ = precisions;
}

JointPosterior JointNetwork::posterior(std::span<const double> inputs, const RowTerms& terms,
                                       bool keep_ledger, double* step_left) const {
  const bool in_messages = by_messages(terms);
  JointLedger ledger;
  const auto sum = messages(inputs, terms, keep_ledger || in_messages ? &ledger : nullptr);
  JointPosterior result = without_factor(prior_beside(*sum));
  result.ledger = std::move(ledger);
  if (!in_messages || step_left != nullptr) put_factor(*sum, result, step_left);
  return result;
}

JointPosterior JointNetwork::without_factor(const Vector& prior) const {
  return {
      architecture_, unit_, {weights_.begin(), weights_.end()}, {prior.begin(), prior.end()}, {}};
}

void JointNetwork::put_factor(const MessageSum& sum, JointPosterior& posterior,
                              double* step_left) const {
  const Vector prior = prior_beside(sum);
  const auto factor = sum.factor(prior);
  require(factor != nullptr, not_positive_definite);
  if (step_left != nullptr) {
    // The step s = P g has the length sqrt(g s) in standard deviations.
    const Vector pull = -prior.cwiseProduct(weights_);
    const double square = (sum.gradient + pull).dot(factor->step(pull));
    *step_left = std::sqrt(std::max(0.0, square) / static_cast<double>(weights_.size()));
  }
  factor->put(posterior);
}

}  // namespace dma::detail
