// invariants.h: what holds of every model, whatever it was learnt from.
#pragma once

#include <dma/regressor/regressor.h>

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <dma/special/larger.h>

#include "belief/joint_messages.h"
#include "regressor/beliefs.h"

namespace dma::test {

// posterior = prior x ledger. How far it is off: precisions relative to themselves, precision times mean relative to
// the size of the terms that it is the sum of.
struct LedgerError {
  double precision = 0, shift = 0;

  double worst() const { return special::larger(precision, shift); }
  void include(const LedgerError& other) {
    precision = special::larger(precision, other.precision);
    shift = special::larger(shift, other.shift);
  }
};

template <class T>
LedgerError ledger_error(const IndependentBelief<T>& belief) {
  LedgerError error;
  const Posterior<T>& posterior = belief.posterior();
  for (std::size_t k = 0; k < posterior.rho.size(); ++k) {
    double rho = 1 / belief.prior().variance[k];
    double tau = belief.prior().mean[k] * rho;
    double size = std::abs(tau);
    for (const auto& message : belief.ledger().messages) {
      rho += static_cast<double>(message.rho[k]);
      tau += static_cast<double>(message.tau[k]);
      size += std::abs(static_cast<double>(message.tau[k]));
    }
    error.include({std::abs(static_cast<double>(posterior.rho[k]) / rho - 1),
                   std::abs(static_cast<double>(posterior.tau[k]) - tau) / (size + rho)});
  }
  return error;
}

inline Eigen::MatrixXd lower_factor(const JointPosterior& posterior) {
  const auto size = static_cast<Eigen::Index>(posterior.mean.size());
  Eigen::MatrixXd lower = Eigen::MatrixXd::Zero(size, size);
  auto next = posterior.factor.begin();
  for (Eigen::Index i = 0; i < size; ++i) {
    for (Eigen::Index j = 0; j <= i; ++j) lower(i, j) = *next++;
  }
  return lower;
}

inline Eigen::VectorXd vector_of(const std::vector<double>& numbers) {
  return Eigen::Map<const Eigen::VectorXd>(numbers.data(),
                                           static_cast<Eigen::Index>(numbers.size()));
}

inline Eigen::MatrixXd gradients_of(const JointKnowledge& member) {
  return detail::gradients_of(member.function).all();
}

inline Eigen::MatrixXd precision_of(const JointPosterior& posterior) {
  if (posterior.in_messages()) {
    const Eigen::MatrixXd gradients = detail::gradients_of(posterior).all();
    Eigen::MatrixXd precision = gradients.transpose() * gradients;
    precision.diagonal() += vector_of(posterior.prior_precision);
    return precision;
  }
  const Eigen::MatrixXd lower = lower_factor(posterior);
  return lower * lower.transpose();
}

// Precision times mean, beyond what prior and ledger say. The mean of a fit is where it stopped, which is not quite
// where its messages have their maximum: this is the gradient that was left, and rows that come and go leave it alone.
inline Eigen::VectorXd left_over(const JointKnowledge& member) {
  return precision_of(member.function) * vector_of(member.function.mean) -
         gradients_of(member).transpose() * vector_of(member.function.ledger.shifts);
}

// Invariants of the function; the noise stays as it is when rows come or go without the others. `fitted` is the member
// as the fit
// left it.
inline LedgerError ledger_error(const JointKnowledge& member, const JointKnowledge& fitted) {
  const auto gradients = gradients_of(member);
  Eigen::MatrixXd sum = gradients.transpose() * gradients;
  sum.diagonal() += vector_of(member.function.prior_precision);
  const Eigen::MatrixXd precision = precision_of(member.function);
  const Eigen::VectorXd scale = sum.diagonal().cwiseSqrt().cwiseInverse();
  const Eigen::VectorXd off = left_over(member) - left_over(fitted);
  const Eigen::VectorXd size =
      precision.cwiseAbs() * vector_of(member.function.mean).cwiseAbs() +
      gradients.cwiseAbs().transpose() * vector_of(member.function.ledger.shifts).cwiseAbs();
  LedgerError error;
  error.precision = (scale.asDiagonal() * (precision - sum) * scale.asDiagonal())
                        .cwiseAbs()
                        .maxCoeff<Eigen::PropagateNaN>();
  for (Eigen::Index k = 0; k < off.size(); ++k) {
    if (off[k] != 0) error.shift = special::larger(error.shift, std::abs(off[k]) / size[k]);
  }
  return error;
}

inline LedgerError ledger_error(const Model& model, const Model& fitted) {
  LedgerError error;
  for (std::size_t m = 0; m < model.members.size(); ++m) {
    error.include(is_joint(model)                ? ledger_error(joint(model, m), joint(fitted, m))
                  : is_independent<float>(model) ? ledger_error(independent<float>(model, m))
                                                 : ledger_error(independent<double>(model, m)));
  }
  return error;
}

// Of numbers; classes have none.
inline void expect_noise(const Likelihood& likelihood) {
  const auto* gaussian = dynamic_cast<const GaussianLikelihood*>(&likelihood);
  if (gaussian == nullptr) return;
  for (const double noise : gaussian->noise_variance()) ASSERT_GT(noise, 0);
}

// Every precision is at least the prior's, also without any one batch: no message takes information away. A row of many
// copies is swept as often before its message is told apart from the rest, and each sweep rounds a variance twice.
template <class T>
void expect_proper(const IndependentBelief<T>& belief, double most_sweeps) {
  const T slack = T(64 + 2 * most_sweeps) * std::numeric_limits<T>::epsilon();
  const Posterior<T>& posterior = belief.posterior();
  for (std::size_t k = 0; k < posterior.rho.size(); ++k) {
    ASSERT_TRUE(std::isfinite(posterior.tau[k]));
    ASSERT_TRUE(std::isfinite(posterior.rho[k]));
    ASSERT_GE(posterior.rho[k], T(1 / belief.prior().variance[k]) * (1 - slack));
    for (const auto& message : belief.ledger().messages) {
      ASSERT_TRUE(std::isfinite(message.tau[k]));
      ASSERT_GE(message.rho[k], -slack * posterior.rho[k]);
    }
  }
  expect_noise(*posterior.likelihood);
}

inline void expect_proper(const JointPosterior& posterior) {
  for (const auto* numbers : {&posterior.mean, &posterior.factor, &posterior.prior_precision}) {
    for (const double number : *numbers) ASSERT_TRUE(std::isfinite(number));
  }
  for (const double prior : posterior.prior_precision) ASSERT_GT(prior, 0);
  if (posterior.in_messages()) return;  // prior + G' G: nothing to get wrong
  const Eigen::MatrixXd lower = lower_factor(posterior);
  ASSERT_GT(lower.diagonal().minCoeff(), 0);
  for (Eigen::Index k = 0; k < lower.rows(); ++k) {
    const double prior = posterior.prior_precision[static_cast<std::size_t>(k)];
    ASSERT_GE(lower.row(k).squaredNorm(), prior * (1 - 1e-12));
  }
}

inline void expect_proper(const JointKnowledge& known) {
  expect_proper(known.function);
  if (known.log_noise) expect_proper(*known.log_noise);
  expect_noise(*known.likelihood);
}

inline void expect_proper(const Model& model, std::size_t member, double most_sweeps) {
  if (is_joint(model)) return expect_proper(joint(model, member));
  if (is_independent<float>(model)) {
    return expect_proper(independent<float>(model, member), most_sweeps);
  }
  expect_proper(independent<double>(model, member), most_sweeps);
}

// Of a row in its batch.
inline double most_sweeps(const Model& model) {
  constexpr double most = 64;
  double sweeps = 1;
  for (const double weight : model.row_weights) sweeps = std::max(sweeps, std::min(weight, most));
  return sweeps;
}

// `fitted` is the model as the fit left it.
inline void expect_sound(const Model& model, const Model& fitted) {
  const double sweeps = std::max(most_sweeps(model), most_sweeps(fitted));
  for (std::size_t m = 0; m < model.members.size(); ++m) expect_proper(model, m, sweeps);
  if (model.options.ledger != LedgerMode::full) return;
  const double rounding = model.options.single_precision ? 1e-5 : 1e-9;
  ASSERT_LT(ledger_error(model, fitted).worst(), rounding);
}

inline void expect_finite(const std::vector<Predicted>& predicted) {
  for (const Predicted& p : predicted) {
    ASSERT_TRUE(std::isfinite(p.mean)) << p.mean;
    if (!p.probabilities.empty()) {
      ASSERT_NEAR(std::accumulate(p.probabilities.begin(), p.probabilities.end(), 0.0), 1, 1e-9);
      ASSERT_TRUE(std::isfinite(p.doubt()));
      continue;
    }
    ASSERT_TRUE(std::isfinite(p.stddev()) && p.stddev() > 0) << p.stddev();
    ASSERT_GE(p.epistemic_std, 0);
    ASSERT_GE(p.noise_std, 0);
    ASSERT_TRUE(std::isfinite(p.lower()) && std::isfinite(p.upper()));
    ASSERT_LT(p.lower(), p.upper());
  }
}

inline void expect_finite(const FitReport& report) {
  ASSERT_TRUE(std::isfinite(report.train_nll) || report.stream) << report.train_nll;
  for (const Metrics& metrics : report.cavity) {
    for (const double score : {metrics.nll, metrics.rmse, metrics.mae, metrics.crps}) {
      ASSERT_TRUE(std::isfinite(score)) << score;
    }
  }
  for (const double noise : report.noise_std) {
    ASSERT_TRUE(std::isfinite(noise) && noise >= 0) << noise;
  }
}

}  // namespace dma::test
