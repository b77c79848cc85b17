// belief/output_message.h: what the likelihood tells the outputs of a sweep.
#pragma once

#include <concepts>
#include <span>
#include <vector>

#include <dma/belief/independent.h>
#include <dma/likelihood/likelihood.h>

#include "layers/sweep.h"

namespace dma::detail {

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

  // After forward().
  void hear(const Sweep<T>& sweep, std::span<const T> target) {
    for (std::size_t k = 0; k < target_.size(); ++k) target_[k] = static_cast<double>(target[k]);
    for (std::size_t k = 0; k < mean_.size(); ++k) {
      output_mean_[k] = static_cast<double>(sweep.output_mean()[k]);
      output_variance_[k] = static_cast<double>(sweep.output_variance()[k]);
    }
    likelihood_.message(rule_, target_, outputs(), to_mean_, to_variance_);
    for (std::size_t k = 0; k < mean_.size(); ++k) {
      mean_[k] = T(to_mean_[k]);
      variance_[k] = T(to_variance_[k] / power_);
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

  void hear(const Sweep<double>& sweep, std::span<const double> target) {
    target_ = target;
    outputs_ = {sweep.output_mean(), sweep.output_variance()};
    likelihood_.message(rule_, target_, outputs_, mean_, variance_);
    for (double& one : variance_) one /= power_;
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
