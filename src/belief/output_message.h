// belief/output_message.h: what the likelihood tells the outputs of a sweep.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <span>
#include <vector>

#include <dma/belief/independent.h>
#include <dma/likelihood/likelihood.h>

#include "layers/sweep.h"

namespace dma::detail {

// How a row of this weight is learnt: as often as copies of it would be, and once more for the rest, each time with its
// share of the weight. Copies beyond the most count together, so that a weight is never a matter of hours.
class Visits {
 public:
  explicit Visits(double weight) : weight_(weight) {
    constexpr double most = 64;
    constexpr double rounding = 1e-9;  // a rest that is no more belongs to the last copy
    const double copies = std::ceil(std::min(weight, most) - rounding);
    count_ = static_cast<std::size_t>(std::max(1.0, copies));
    each_ = weight > most ? weight / most : 1;
  }

  std::size_t count() const { return count_; }
  // How much the row counts at a visit, from 0 on.
  double times(std::size_t visit) const {
    return visit + 1 < count_ ? each_ : weight_ - each_ * static_cast<double>(visit);
  }

 private:
  double weight_, each_;
  std::size_t count_;
};

// A likelihood speaks double precision; so does what the message was made from.
template <std::floating_point T>
class OutputMessage {
 public:
  OutputMessage(const Likelihood& likelihood, const IndependentOptions& own)
      : likelihood_(likelihood),
        rule_(own.rule),
        power_(own.likelihood_power),
        target_(likelihood.targets()),
        output_mean_(likelihood.outputs()),
        output_variance_(output_mean_),
        to_mean_(output_mean_),
        to_variance_(output_mean_),
        mean_(output_mean_.size()),
        variance_(output_mean_.size()) {}

  // After forward(). Counted so many times.
  void hear(const Sweep<T>& sweep, std::span<const T> target, double times = 1) {
    for (std::size_t k = 0; k < target_.size(); ++k) target_[k] = static_cast<double>(target[k]);
    for (std::size_t k = 0; k < mean_.size(); ++k) {
      output_mean_[k] = static_cast<double>(sweep.output_mean()[k]);
      output_variance_[k] = static_cast<double>(sweep.output_variance()[k]);
    }
    likelihood_.message(rule_, target_, outputs(), to_mean_, to_variance_);
    for (std::size_t k = 0; k < mean_.size(); ++k) {
      mean_[k] = T(to_mean_[k]);
      variance_[k] = T(to_variance_[k] / (power_ * times));
    }
  }

  std::span<const T> mean() const { return mean_; }
  std::span<const T> variance() const { return variance_; }
  Outputs outputs() const { return {output_mean_, output_variance_}; }
  std::span<const double> target() const { return target_; }

 private:
  const Likelihood& likelihood_;
  Rule rule_;
  double power_;
  std::vector<double> target_, output_mean_, output_variance_, to_mean_, to_variance_;
  std::vector<T> mean_, variance_;
};

// No number need be copied.
template <>
class OutputMessage<double> {
 public:
  OutputMessage(const Likelihood& likelihood, const IndependentOptions& own)
      : likelihood_(likelihood),
        rule_(own.rule),
        power_(own.likelihood_power),
        mean_(likelihood.outputs()),
        variance_(likelihood.outputs()) {}

  void hear(const Sweep<double>& sweep, std::span<const double> target, double times = 1) {
    target_ = target;
    outputs_ = {sweep.output_mean(), sweep.output_variance()};
    likelihood_.message(rule_, target_, outputs_, mean_, variance_);
    for (double& one : variance_) one /= power_ * times;
  }

  std::span<const double> mean() const { return mean_; }
  std::span<const double> variance() const { return variance_; }
  const Outputs& outputs() const { return outputs_; }
  std::span<const double> target() const { return target_; }

 private:
  const Likelihood& likelihood_;
  Rule rule_;
  double power_;
  std::span<const double> target_;
  Outputs outputs_;
  std::vector<double> mean_, variance_;
};

}  // namespace dma::detail
