#include <dma/likelihood/counts.h>

#include <algorithm>
#include <cmath>
#include <string>

#include <dma/factors/negative_binomial.h>
#include <dma/metrics/predicted.h>
#include <dma/special/gamma.h>

#include "base/require.h"
#include "metrics/counts.h"

namespace dma {
namespace {

using detail::require;

constexpr double least_prior_deviation = 1;  // of the function
constexpr double usual_log_dispersion = -1, deviation_of_log_dispersion = 2;
constexpr double deviation_of_log_width = 1;
// The two numbers need no more rows.
constexpr std::size_t most_rows_to_learn_from = 1000;
constexpr std::size_t rows_of_a_stretch = 1000;  // of those that come one after the other

// With t = c + f - log r, r = 1 / dispersion and q = 1 / (1 + exp(-t)):
//   -log p = (y + r) log(1 + exp(t)) - y t + const,   gradient of log p: y - (y + r) q,   curvature (y + r) q (1 - q)
class CountTerms final : public RowTerms {
 public:
  CountTerms(const Targets& targets, double log_rate, double shape)
      : targets_(targets), shift_(log_rate - std::log(shape)), shape_(shape) {}

  std::size_t rows() const override { return targets_.rows(); }
  double weight() const override { return targets_.weight(); }
  double loss(std::span<const double> values) const override {
    double sum = 0;
    for (std::size_t n = 0; n < rows(); ++n) {
      const double t = shift_ + values[n];
      const double softplus = std::max(t, 0.0) + std::log1p(std::exp(-std::abs(t)));
      const double y = targets_.values[n];
      sum += targets_.weight(n) * ((y + shape_) * softplus - y * t);
    }
    return sum;
  }
  double mean_nll(std::span<const double> values) const override {
    double constant = 0;
    for (std::size_t n = 0; n < rows(); ++n) {
      const double y = targets_.values[n];
      constant +=
          targets_.weight(n) * (std::lgamma(y + 1) + std::lgamma(shape_) - std::lgamma(y + shape_));
    }
    return (loss(values) + constant) / weight();
  }
  void expand(std::size_t first, std::span<const double> values, double* root,
              double* slope) const override {
    for (std::size_t n = 0; n < values.size(); ++n) {
      const double y = targets_.values[first + n];
      const double weight = targets_.weight(first + n);
      const double e = std::exp(-std::abs(shift_ + values[n]));
      const double above = (shift_ + values[n] > 0 ? 1 : e) / (1 + e);  // q
      root[n] = std::sqrt(weight * (y + shape_) * e) / (1 + e);
      slope[n] = root[n] > 0 ? weight * (y - (y + shape_) * above) / root[n] : 0;
    }
  }

 private:
  Targets targets_;
  double shift_, shape_;
};

struct LogParameters {
  double dispersion, width;
};

// What is said of a row. What is believed of its function, N(f; m, v), is multiplied by N(f; 0, s^2).
PredictedPart part_of_row(const CountRates& rates, double mean, double variance,
                          const LogParameters& at) {
  const double prior = std::max(least_prior_deviation, rates.reach / 2);
  const double own = variance * std::exp(at.width);
  const double gained = 1 + own / (prior * prior);
  const double noise = special::trigamma(std::exp(-at.dispersion));
  return {rates.usual + mean / gained, std::sqrt(own / gained), std::sqrt(noise)};
}

// -log of the probabilities of rows that were not learnt and of the prior.
double loss_of(const LogParameters& at, const CountRates& rates, const Targets& targets,
               const Outputs& predicted) {
  const double dispersion = (at.dispersion - usual_log_dispersion) / deviation_of_log_dispersion;
  const double width = at.width / deviation_of_log_width;
  double loss = (dispersion * dispersion + width * width) / 2;
  const std::size_t step = (targets.rows() + most_rows_to_learn_from - 1) / most_rows_to_learn_from;
  for (std::size_t n = 0; n < targets.rows(); n += step) {
    if (std::isnan(predicted.mean[n])) continue;
    const PredictedPart part = part_of_row(rates, predicted.mean[n], predicted.variance[n], at);
    loss -=
        targets.weight(n) * detail::log_probability(detail::count_part(part), targets.values[n]);
  }
  return loss;
}

// From these, to the best of the neighbours, again and again; then with smaller steps.
template <class Loss>
LogParameters most_probable(const Loss& loss, LogParameters best) {
  constexpr int most_moves = 40;
  constexpr double last_step = 0.05;
  double least = loss(best);
  double step = 0.5;
  for (int move = 0; move < most_moves && step > last_step; ++move) {
    const LogParameters centre = best;
    for (const double a : {-step, 0.0, step}) {
      for (const double b : {-step, 0.0, step}) {
        if (a == 0 && b == 0) continue;
        const LogParameters other{centre.dispersion + a, centre.width + b};
        const double now = loss(other);
        if (now < least) {
          least = now;
          best = other;
        }
      }
    }
    if (best.dispersion == centre.dispersion && best.width == centre.width) step /= 2;
  }
  return best;
}

}  // namespace

// Rows of a stretch, and what was believed of them.
struct CountLikelihood::Room {
  std::vector<double> targets, weights, mean, variance;
};

CountLikelihood::CountLikelihood(CountRates rates, bool learns, double dispersion)
    : rates_(rates),
      learns_(learns),
      log_dispersion_(std::log(dispersion)),
      room_(std::make_unique<Room>()) {
  require(std::isfinite(rates.usual) && std::isfinite(rates.reach),
          "the logs of the usual and the largest count must be finite");
  require(dispersion > 0 && std::isfinite(dispersion),
          "the dispersion must be positive and finite, got " + std::to_string(dispersion));
}

CountLikelihood::CountLikelihood(const CountLikelihood& other)
    : rates_(other.rates_),
      learns_(other.learns_),
      log_dispersion_(other.log_dispersion_),
      log_width_(other.log_width_),
      room_(std::make_unique<Room>()) {}

CountLikelihood::~CountLikelihood() = default;

double CountLikelihood::dispersion() const { return std::exp(log_dispersion_); }
double CountLikelihood::width() const { return std::exp(log_width_); }

std::unique_ptr<Likelihood> CountLikelihood::clone() const {
  return std::unique_ptr<Likelihood>(new CountLikelihood(*this));
}

std::unique_ptr<Likelihood> CountLikelihood::for_outputs(std::size_t outputs) const {
  require(outputs == 1, "a count needs 1 output, got " + std::to_string(outputs));
  return clone();
}

void CountLikelihood::validate(std::span<const double> targets) const {
  for (const double target : targets) {
    require(target >= 0 && std::isfinite(target) && target == std::floor(target),
            "a count must be a whole number from 0 on, got " + std::to_string(target));
  }
}

void CountLikelihood::message(Rule rule, std::span<const double> target, const Outputs& outputs,
                              std::span<double> mean, std::span<double> variance) const {
  const NegativeBinomial factor{target[0], std::exp(-log_dispersion_)};
  const std::array rate{
      Gaussian<double>::from_moments(rates_.usual + outputs.mean[0], outputs.variance[0])};
  const Gaussian<double> message = factor.message<double>(0, rate, rule);
  mean[0] = message.is_uniform() ? outputs.mean[0] : message.mean() - rates_.usual;
  variance[0] = message.variance();
}

std::unique_ptr<RowTerms> CountLikelihood::terms(const Targets& targets,
                                                 std::span<const double> /*scales*/) {
  return std::make_unique<CountTerms>(targets, rates_.usual, std::exp(-log_dispersion_));
}

double CountLikelihood::mean_nll(const Targets& targets, const Outputs& outputs) const {
  double sum = 0;
  for (std::size_t n = 0; n < targets.rows(); ++n) {
    const PredictedPart part =
        part_of_row(rates_, outputs.mean[n], outputs.variance[n], {log_dispersion_, log_width_});
    sum -= targets.weight(n) * detail::log_probability(detail::count_part(part), targets.values[n]);
  }
  return sum / targets.weight();
}

Prediction CountLikelihood::predictive(const Outputs& outputs, const LogScale& /*scale*/) const {
  Prediction prediction;
  for (std::size_t n = 0; n < outputs.mean.size(); ++n) {
    const PredictedPart part =
        part_of_row(rates_, outputs.mean[n], outputs.variance[n], {log_dispersion_, log_width_});
    prediction.mean.push_back(part.mean);
    prediction.epistemic_variance.push_back(part.epistemic_std * part.epistemic_std);
    prediction.noise_variance.push_back(part.noise_std * part.noise_std);
  }
  return prediction;
}

double CountLikelihood::drawn_log_rate(double drawn, double mean, double variance) const {
  const PredictedPart part = part_of_row(rates_, mean, variance, {log_dispersion_, log_width_});
  if (variance == 0) return part.mean;
  return part.mean + (drawn - mean) / std::sqrt(variance) * part.epistemic_std;
}

Metrics CountLikelihood::score(const Targets& targets, const Prediction& predicted) const {
  std::vector<double> known;
  std::vector<double> weights;
  std::vector<Predicted> all;
  for (std::size_t n = 0; n < targets.rows(); ++n) {
    if (std::isnan(predicted.mean[n])) continue;
    known.push_back(targets.values[n]);
    weights.push_back(targets.weight(n));
    all.push_back(mixture_of({{predicted.mean[n], std::sqrt(predicted.epistemic_variance[n]),
                               std::sqrt(predicted.noise_variance[n])}},
                             Family::count));
  }
  return known.empty() ? Metrics{} : dma::score(known, all, weights);
}

void CountLikelihood::learn(const Targets& targets, const Outputs& predicted) {
  if (!learns_ || targets.rows() == 0) return;
  const LogParameters best = most_probable(
      [&](const LogParameters& at) { return loss_of(at, rates_, targets, predicted); },
      {log_dispersion_, log_width_});
  log_dispersion_ = best.dispersion;
  log_width_ = best.width;
}

bool CountLikelihood::follow(std::span<const double> target, const Outputs& predicted,
                             double weight) {
  if (!learns_) return false;
  room_->targets.push_back(target[0]);
  room_->weights.push_back(weight);
  room_->mean.push_back(predicted.mean[0]);
  room_->variance.push_back(predicted.variance[0]);
  if (room_->targets.size() < rows_of_a_stretch) return false;
  finish_learning();
  return true;
}

void CountLikelihood::finish_learning() {
  learn({room_->targets, room_->weights}, {room_->mean, room_->variance});
  *room_ = {};
}

void CountLikelihood::store(Arrays& stored) const {
  stored.put("log_dispersion", log_dispersion_);
  stored.put("log_width", log_width_);
}

void CountLikelihood::restore(Arrays& stored) {
  log_dispersion_ = stored.take_number("log_dispersion");
  log_width_ = stored.take_number("log_width");
  require(std::isfinite(log_dispersion_) && std::isfinite(log_width_),
          "the dispersion of its counts is not finite");
}

}  // namespace dma
