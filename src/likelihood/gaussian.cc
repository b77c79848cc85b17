#include "likelihood/gaussian.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <string>

#include <dma/special/normal.h>

#include "base/require.h"
#include "likelihood/noise.h"

namespace dma {
namespace detail {
namespace {

constexpr double least_left_over = 0.1;  // share of the rows that the noise is learnt from

}  // namespace

GaussianTerms::GaussianTerms(const Targets& targets, std::span<const double> variances)
    : targets_(targets), variances_(variances.begin(), variances.end()) {}

GaussianTerms::GaussianTerms(const Targets& targets, double& variance)
    : targets_(targets), variances_(targets.rows(), variance), learnt_(&variance) {}

double GaussianTerms::loss(std::span<const double> values) const {
  double sum = 0;
  for (std::size_t n = 0; n < values.size(); ++n) {
    const double miss = targets_.values[n] - values[n];
    sum += targets_.weight(n) * miss * miss / variances_[n];
  }
  return sum / 2;
}

double GaussianTerms::mean_nll(std::span<const double> values) const {
  const auto size = static_cast<Eigen::Index>(variances_.size());
  const Eigen::Map<const Eigen::ArrayXd> variances(variances_.data(), size);
  double logs = 0;
  if (targets_.weights.empty()) {
    logs = variances.log().sum();
  } else {
    logs =
        (Eigen::Map<const Eigen::ArrayXd>(targets_.weights.data(), size) * variances.log()).sum();
  }
  return (loss(values) + logs / 2) / weight() + special::log_sqrt_two_pi;
}

void GaussianTerms::expand(std::size_t first, std::span<const double> values, double* root,
                           double* slope) const {
  for (std::size_t n = 0; n < values.size(); ++n) {
    root[n] = std::sqrt(targets_.weight(first + n) / variances_[first + n]);
    slope[n] = (targets_.values[first + n] - values[n]) * root[n];
  }
}

RowTerms::Learnt GaussianTerms::learn(std::span<const double> values, double determined) {
  if (learnt_ == nullptr) return {};
  const double count = weight();
  double squares = 0;
  for (std::size_t n = 0; n < values.size(); ++n) {
    squares += targets_.weight(n) * std::pow(targets_.values[n] - values[n], 2);
  }
  const double before = *learnt_;
  *learnt_ = std::max(least_noise_variance,
                      squares / std::max(least_left_over * count, count - determined));
  std::fill(variances_.begin(), variances_.end(), *learnt_);
  return {before / *learnt_, count - determined < least_left_over * count};
}

std::size_t GaussianTerms::rows_at_floor() const {
  return static_cast<std::size_t>(std::count_if(
      variances_.begin(), variances_.end(), [](double v) { return v <= least_noise_variance; }));
}

double noise_at(double log_variance) {
  return std::max(least_noise_variance, std::exp(log_variance));
}

}  // namespace detail

using detail::require;

// What learning takes.
struct GaussianLikelihood::Room {
  std::vector<detail::Miss> misses;         // of one output
  std::vector<detail::RunningNoise> noise;  // by output; from the first row on that is not kept
};

GaussianLikelihood::GaussianLikelihood(NoiseOptions options)
    : GaussianLikelihood(std::move(options.variance), options.learn) {
  require(!variance_.empty(), "noise.variance is empty");
  for (const double variance : variance_) {
    require(variance > 0 && std::isfinite(variance),
            "noise.variance must be positive and finite, got " + std::to_string(variance));
  }
}

GaussianLikelihood::GaussianLikelihood(std::vector<double> variance, bool learns)
    : variance_(std::move(variance)),
      learns_(learns),
      room_(learns ? std::make_unique<Room>() : nullptr) {}

GaussianLikelihood::~GaussianLikelihood() = default;

std::unique_ptr<Likelihood> GaussianLikelihood::clone() const {
  return std::unique_ptr<Likelihood>(new GaussianLikelihood(variance_, learns_));
}

std::unique_ptr<Likelihood> GaussianLikelihood::for_outputs(std::size_t outputs) const {
  const std::size_t entries = variance_.size();
  require(entries == 1 || entries == outputs, "noise.variance must have 1 entry or " +
                                                  std::to_string(outputs) + ", got " +
                                                  std::to_string(entries));
  std::vector<double> variance = variance_;
  variance.resize(outputs, variance_.front());
  return std::unique_ptr<Likelihood>(new GaussianLikelihood(std::move(variance), learns_));
}

void GaussianLikelihood::message(Rule /*rule*/, std::span<const double> target,
                                 const Outputs& /*outputs*/, std::span<double> mean,
                                 std::span<double> variance) const {
  for (std::size_t k = 0; k < target.size(); ++k) {
    mean[k] = target[k];
    variance[k] = variance_[k];
  }
}

std::unique_ptr<RowTerms> GaussianLikelihood::terms(const Targets& targets,
                                                    std::span<const double> scales) {
  require(outputs() == 1, "the terms of a Gaussian likelihood are of one output");
  if (!scales.empty()) return std::make_unique<detail::GaussianTerms>(targets, scales);
  if (learns_) return std::make_unique<detail::GaussianTerms>(targets, variance_.front());
  return std::make_unique<detail::GaussianTerms>(
      targets, std::vector<double>(targets.rows(), variance_.front()));
}

// log N(y; mean, variance + noise), the logs as those of products.
double GaussianLikelihood::mean_nll(const Targets& targets, const Outputs& outputs) const {
  detail::LogSum logs;
  double squares = 0;
  const std::size_t outputs_of_row = variance_.size();
  const std::size_t rows = targets.values.size() / outputs_of_row;
  for (std::size_t row = 0, n = 0; row < rows; ++row) {
    const double weight = targets.weight(row);
    for (std::size_t k = 0; k < outputs_of_row; ++k, ++n) {
      const double miss = targets.values[n] - outputs.mean[n];
      const double variance = outputs.variance[n] + variance_[k];
      logs.add(variance, weight);
      squares += weight * miss * miss / variance;
    }
  }
  const double values = total_weight(targets.weights, rows) * static_cast<double>(outputs_of_row);
  return (logs.value() + squares) / (2 * values) + special::log_sqrt_two_pi;
}

// With a scale exp(g), g ~ N(mean, variance): E[exp(g)] = exp(mean + variance / 2).
Prediction GaussianLikelihood::predictive(const Outputs& outputs, const LogScale& scale) const {
  const std::size_t size = outputs.mean.size();
  Prediction prediction{{outputs.mean.begin(), outputs.mean.end()},
                        {outputs.variance.begin(), outputs.variance.end()},
                        std::vector<double>(size)};
  if (scale.mean.empty()) {
    for (std::size_t n = 0; n < size; ++n) {
      prediction.noise_variance[n] = variance_[n % variance_.size()];
    }
    return prediction;
  }
  prediction.noise_spread.resize(size);
  for (std::size_t n = 0; n < size; ++n) {
    prediction.noise_variance[n] =
        detail::noise_at(scale.mean[n]) * std::exp(scale.variance[n] / 2);
    prediction.noise_spread[n] = std::sqrt(scale.variance[n]);
  }
  return prediction;
}

Metrics GaussianLikelihood::score(const Targets& targets, const Prediction& predicted) const {
  std::vector<double> known;
  std::vector<double> means;
  std::vector<double> deviations;
  std::vector<double> weights;
  for (std::size_t n = 0; n < targets.values.size(); ++n) {
    if (std::isnan(predicted.mean[n])) continue;
    known.push_back(targets.values[n]);
    means.push_back(predicted.mean[n]);
    deviations.push_back(std::sqrt(predicted.epistemic_variance[n] + predicted.noise_variance[n]));
    weights.push_back(targets.weight(n / variance_.size()));
  }
  return known.empty() ? Metrics{} : dma::score(known, means, deviations, weights);
}

void GaussianLikelihood::learn(const Targets& targets, const Outputs& predicted) {
  if (!learns_) return;
  std::vector<detail::Miss>& misses = room_->misses;
  for (std::size_t k = 0; k < variance_.size(); ++k) {
    misses.clear();
    for (std::size_t n = k; n < targets.values.size(); n += variance_.size()) {
      const double miss = targets.values[n] - predicted.mean[n];
      misses.push_back({miss * miss, predicted.variance[n], targets.weight(n / variance_.size())});
    }
    variance_[k] = detail::most_likely_noise(misses);
  }
}

bool GaussianLikelihood::follow(std::span<const double> target, const Outputs& predicted,
                                double weight) {
  if (!learns_) return false;
  if (room_->noise.empty()) {
    for (const double variance : variance_) room_->noise.emplace_back(variance);
  }
  bool changed = false;
  for (std::size_t k = 0; k < variance_.size(); ++k) {
    detail::RunningNoise& noise = room_->noise[k];
    const double miss = target[k] - predicted.mean[k];
    if (!noise.add({miss * miss, predicted.variance[k], weight})) continue;
    variance_[k] = noise.noise();
    changed = true;
  }
  return changed;
}

void GaussianLikelihood::finish_learning() {
  if (!learns_ || room_->noise.empty()) return;
  for (std::size_t k = 0; k < variance_.size(); ++k) {
    room_->noise[k].finish();
    variance_[k] = room_->noise[k].noise();
  }
}

// (y - mean)^2.
std::vector<double> GaussianLikelihood::squares(std::span<const double> targets,
                                                const Outputs& outputs) const {
  std::vector<double> squares(targets.size());
  for (std::size_t n = 0; n < targets.size(); ++n) {
    const double miss = targets[n] - outputs.mean[n];
    squares[n] = miss * miss;
  }
  return squares;
}

void GaussianLikelihood::store(Arrays& stored) const { stored.put("noise_variance", variance_); }

void GaussianLikelihood::restore(Arrays& stored) {
  variance_ = stored.take<double>("noise_variance", {variance_.size()});
  for (const double variance : variance_) {
    require(variance > 0 && std::isfinite(variance), "the noise variance is not a positive number");
  }
}

std::shared_ptr<const Likelihood> gaussian(NoiseOptions options) {
  return std::make_shared<GaussianLikelihood>(std::move(options));
}

const std::vector<double>& noise_variance(const Likelihood& likelihood) {
  const auto* gaussian = dynamic_cast<const GaussianLikelihood*>(&likelihood);
  require(gaussian != nullptr, "the likelihood is not Gaussian");
  return gaussian->noise_variance();
}

}  // namespace dma
