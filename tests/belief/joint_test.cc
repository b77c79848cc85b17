// Weights as one variable: against exact Bayesian linear regression, which a network without hidden layers is.
#include "belief/joint_cavity.h"
#include "belief/joint_network.h"
#include "likelihood/gaussian.h"
#include "likelihood/log_variance.h"

#include <dma/special/random.h>

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <array>
#include <cmath>
#include <limits>

#include "layers/readable.h"

namespace dma {
namespace {

using detail::GaussianTerms;
using detail::JointNetwork;
using detail::JointSettings;
using detail::LogVarianceTerms;
using detail::Matrix;
using detail::Vector;

struct Sample {
  std::vector<double> inputs, targets;
  std::size_t width;

  std::size_t size() const { return targets.size(); }
  Data view() const { return {inputs, targets, size()}; }
  Data part(std::size_t first, std::size_t count) const {
    return {std::span(inputs).subspan(first * width, count * width),
            std::span(targets).subspan(first, count), count};
  }
  // The inputs and a column of ones for the bias.
  Matrix design() const {
    const auto n = static_cast<Eigen::Index>(size());
    const auto d = static_cast<Eigen::Index>(width);
    Matrix x = Matrix::Ones(n, d + 1);
    for (Eigen::Index i = 0; i < n; ++i) {
      for (Eigen::Index j = 0; j < d; ++j) x(i, j) = inputs[static_cast<std::size_t>(i * d + j)];
    }
    return x;
  }
  Vector y() const {
    return Eigen::Map<const Vector>(targets.data(), static_cast<Eigen::Index>(size()));
  }
};

// y = 2 x_0 - x_1 + 0.5 + noise; further columns say nothing.
Sample linear_rows(std::size_t count, std::size_t width, double deviation, std::uint64_t seed) {
  special::Random random(seed);
  Sample rows{{}, {}, width};
  for (std::size_t n = 0; n < count; ++n) {
    for (std::size_t j = 0; j < width; ++j) rows.inputs.push_back(random.normal());
    const double* x = rows.inputs.data() + n * width;
    rows.targets.push_back(2 * x[0] - x[1] + 0.5 + deviation * random.normal());
  }
  return rows;
}

Architecture linear(std::size_t width) {
  return {.widths = {width, 1}, .slopes = {0.1}, .bias = {true}};
}

JointSettings without_evidence() {
  JointSettings settings;
  settings.evidence_from = 1000;
  settings.epochs = 60;
  settings.tolerance = 0;
  return settings;
}

GaussianTerms terms_of(const Data& rows, const Vector& variances) {
  return {rows.targets, std::span(variances.data(), static_cast<std::size_t>(variances.size()))};
}

// Fits with known noise.
detail::NetworkFit fit(JointNetwork& network, const Data& rows, const Vector& variances,
                       const JointSettings& settings) {
  GaussianTerms terms = terms_of(rows, variances);
  return network.fit(rows.inputs, terms, settings);
}

JointNetwork fitted(const Sample& rows, double prior_precision, const Vector& variances) {
  JointNetwork trainer(linear(rows.width), JointUnit::leaky_relu, prior_precision, true);
  fit(trainer, rows.view(), variances, without_evidence());
  return trainer;
}

Vector vector_of(const std::vector<double>& numbers) {
  return Eigen::Map<const Vector>(numbers.data(), static_cast<Eigen::Index>(numbers.size()));
}

Vector mean_of(const JointPosterior& posterior) { return vector_of(posterior.mean); }

// The prior's precisions of a linear network: one for the columns, 0.01 for the bias of the output. The
// bias is the last input of the only layer, so it is the last group.
Matrix prior_of(std::size_t width, double precision) {
  Vector diagonal = Vector::Constant(static_cast<Eigen::Index>(width) + 1, precision);
  diagonal[static_cast<Eigen::Index>(width)] = 0.01;
  return diagonal.asDiagonal();
}

Matrix lower_of(const JointPosterior& posterior) {
  const auto size = static_cast<Eigen::Index>(posterior.mean.size());
  Matrix lower = Matrix::Zero(size, size);
  for (Eigen::Index i = 0, k = 0; i < size; ++i) {
    for (Eigen::Index j = 0; j <= i; ++j) {
      lower(i, j) = posterior.factor[static_cast<std::size_t>(k++)];
    }
  }
  return lower;
}

void expect_message(const JointLedger& ledger, std::size_t row, const Vector& gradient,
                    double shift) {
  const Eigen::Map<const Vector> own(
      ledger.gradients.data() + row * static_cast<std::size_t>(gradient.size()), gradient.size());
  EXPECT_LT((own - gradient).cwiseAbs().maxCoeff(), 1e-12 * (1 + gradient.cwiseAbs().maxCoeff()));
  EXPECT_NEAR(ledger.shifts[row], shift, 1e-12 * (1 + std::abs(shift)));
}

TEST(Joint, IsExactForALinearNetwork) {
  const Sample rows = linear_rows(40, 4, 0.5, 2);
  Vector variances = Vector::Constant(40, 0.3);
  variances.head(10).setConstant(0.8);
  const auto posterior =
      fitted(rows, 2, variances).posterior(rows.inputs, terms_of(rows.view(), variances), nullptr);
  const Matrix x = rows.design();
  const Matrix weighted = variances.cwiseInverse().asDiagonal() * x;
  const Matrix precision = prior_of(4, 2) + x.transpose() * weighted;
  const Vector mean = precision.ldlt().solve(weighted.transpose() * rows.y());
  EXPECT_LT((mean_of(posterior) - mean).norm(), 1e-8);
  const auto predicted = outputs_of(posterior, rows.inputs, 40);
  const Matrix covariance = precision.inverse();
  for (Eigen::Index n = 0; n < 40; ++n) {
    const auto row = static_cast<std::size_t>(n);
    EXPECT_NEAR(predicted.mean[row], x.row(n).dot(mean), 1e-8);
    EXPECT_NEAR(predicted.variance[row], x.row(n) * covariance * x.row(n).transpose(), 1e-10);
  }
  const auto marginals = marginal_variances(posterior);
  for (Eigen::Index k = 0; k < 5; ++k) {
    EXPECT_NEAR(marginals[static_cast<std::size_t>(k)], covariance(k, k), 1e-12);
  }
}

TEST(Joint, ForgettingIsNeverHavingSeen) {
  const Sample rows = linear_rows(30, 3, 0.5, 3);
  Vector variances = Vector::Constant(30, 0.25);
  JointLedger ledger;
  auto posterior =
      fitted(rows, 1, variances).posterior(rows.inputs, terms_of(rows.view(), variances), &ledger);
  const std::vector<std::size_t> gone{0, 1, 2, 3, 4};
  forget(posterior, ledger, gone);
  Sample rest{{rows.inputs.begin() + 15, rows.inputs.end()},
              {rows.targets.begin() + 5, rows.targets.end()},
              3};
  Vector rest_variances = Vector::Constant(25, 0.25);
  const auto anew = fitted(rest, 1, rest_variances)
                        .posterior(rest.inputs, terms_of(rest.view(), rest_variances), nullptr);
  EXPECT_LT((mean_of(posterior) - mean_of(anew)).norm(), 1e-8);
  for (std::size_t k = 0; k < anew.factor.size(); ++k) {
    EXPECT_NEAR(posterior.factor[k], anew.factor[k], 1e-8);
  }
}

// posterior = prior x ledger, also where the network is not linear and the fit has not ended: every message is that of
// its row alone, linearised at the mean.
TEST(Joint, TheLedgerSaysWhatThePosteriorKnows) {
  const Sample rows = linear_rows(60, 2, 0.5, 4);
  const Architecture network{.widths = {2, 6, 1}, .slopes = {0.1}, .bias = {true}};
  JointNetwork trainer(network, JointUnit::leaky_relu, 1, true);
  trainer.draw_start(7, 1);
  Vector variances = Vector::Constant(60, 0.25);
  variances.head(20).setConstant(0.8);
  JointSettings settings = without_evidence();
  settings.epochs = 5;
  fit(trainer, rows.view(), variances, settings);
  JointLedger ledger;
  const auto posterior = trainer.posterior(rows.inputs, terms_of(rows.view(), variances), &ledger);
  const Vector mean = mean_of(posterior);
  Matrix precision = vector_of(posterior.prior_precision).asDiagonal();
  Vector gradient(mean.size());
  for (std::size_t n = 0; n < 60; ++n) {
    const auto row = std::span(rows.inputs).subspan(2 * n, 2);
    const double value = row_value(network, JointUnit::leaky_relu, mean, row, gradient.data());
    const double deviation = std::sqrt(variances[static_cast<Eigen::Index>(n)]);
    const double shift = (rows.targets[n] - value + gradient.dot(mean)) / deviation;
    gradient /= deviation;
    expect_message(ledger, n, gradient, shift);
    precision += gradient * gradient.transpose();
  }
  const Matrix lower = lower_of(posterior);
  EXPECT_LT((lower * lower.transpose() - precision).norm(), 1e-12 * precision.norm());
}

// 171 weights: the inverse is taken in blocks.
TEST(Joint, MarginalVariancesAreTheDiagonalOfTheInverse) {
  const Sample rows = linear_rows(100, 15, 0.5, 9);
  const Architecture network{.widths = {15, 10, 1}, .slopes = {0.1}, .bias = {true}};
  JointNetwork trainer(network, JointUnit::leaky_relu, 1, false);
  trainer.draw_start(3, 1);
  const Vector variances = Vector::Constant(100, 0.25);
  const auto posterior = trainer.posterior(rows.inputs, terms_of(rows.view(), variances), nullptr);
  const Matrix lower = lower_of(posterior);
  const Matrix inverse = (lower * lower.transpose()).inverse();
  const auto marginal = marginal_variances(posterior);
  for (Eigen::Index k = 0; k < inverse.rows(); ++k) {
    EXPECT_NEAR(marginal[static_cast<std::size_t>(k)], inverse(k, k), 1e-10 * inverse(k, k));
  }
}

TEST(Joint, LearningInTwoPartsIsLearningAll) {
  const Sample rows = linear_rows(40, 3, 0.5, 5);
  Vector variances = Vector::Constant(40, 0.25);
  const auto all =
      fitted(rows, 1, variances).posterior(rows.inputs, terms_of(rows.view(), variances), nullptr);
  JointNetwork first(linear(3), JointUnit::leaky_relu, 1, true);
  Vector some = Vector::Constant(25, 0.25);
  fit(first, rows.part(0, 25), some, without_evidence());
  const auto half =
      first.posterior(rows.part(0, 25).inputs, terms_of(rows.part(0, 25), some), nullptr);
  JointNetwork second(half, true);
  second.stand_on(half);
  Vector others = Vector::Constant(15, 0.25);
  fit(second, rows.part(25, 15), others, without_evidence());
  const auto both =
      second.posterior(rows.part(25, 15).inputs, terms_of(rows.part(25, 15), others), nullptr);
  EXPECT_LT((mean_of(both) - mean_of(all)).norm(), 1e-8);
  for (std::size_t k = 0; k < all.factor.size(); ++k)
    EXPECT_NEAR(both.factor[k], all.factor[k], 1e-8);
}

TEST(Evidence, StopsWhenItIsToldTo) {
  const Sample rows = linear_rows(100, 3, 0.5, 10);
  const auto precisions = [&](std::size_t epochs, std::size_t before, bool by_column) {
    JointNetwork trainer(linear(3), JointUnit::leaky_relu, 1, by_column);
    Vector variances = Vector::Constant(100, 0.25);
    JointSettings settings;
    settings.epochs = epochs;
    settings.evidence_before = before;
    settings.tolerance = 0;
    fit(trainer, rows.view(), variances, settings);
    return trainer.posterior(rows.inputs, terms_of(rows.view(), variances), nullptr)
        .prior_precision;
  };
  EXPECT_EQ(precisions(20, 0, true), (std::vector<double>{1, 1, 1, 0.01}));
  EXPECT_EQ(precisions(60, 20, true), precisions(20, 1000, true));
  EXPECT_NE(precisions(60, 60, true), precisions(60, 20, true));
  const auto together = precisions(20, 1000, false);
  EXPECT_EQ(together[0], together[2]);
  EXPECT_NE(together[0], 1);
}

TEST(Evidence, FindsTheNoiseAndTheColumnsThatMatter) {
  const Sample rows = linear_rows(400, 5, 0.5, 6);
  JointNetwork trainer(linear(5), JointUnit::leaky_relu, 1, true);
  double noise = 0.1;
  GaussianTerms terms(rows.targets, noise);
  JointSettings settings;
  settings.epochs = 60;
  trainer.fit(rows.inputs, terms, settings);
  EXPECT_NEAR(noise, 0.25, 0.04);
  const GaussianTerms known(rows.targets, std::vector<double>(400, noise));
  const auto values = trainer.values(rows.inputs, 400);
  EXPECT_EQ(terms.mean_nll(values), known.mean_nll(values));
  const auto posterior = trainer.posterior(rows.inputs, terms, nullptr);
  for (std::size_t column = 2; column < 5; ++column) {
    EXPECT_GT(posterior.prior_precision[column], 50 * posterior.prior_precision[0]);
    EXPECT_NEAR(posterior.mean[column], 0, 0.06);
  }
}

// MacKay's fixed point, with Eigen's covariance S of the linear model: p_k m_k^2 = 1 - p_k S_kk for every column,
// noise (N - sum (1 - p_k S_kk)) = |y - X m|^2, the bias among the sum. Twelve rows for three weights.
TEST(Evidence, EndsAtItsFixedPoint) {
  const Sample rows = linear_rows(12, 2, 0.5, 6);
  JointNetwork trainer(linear(2), JointUnit::leaky_relu, 1, true);
  double noise = 0.1;
  GaussianTerms terms(rows.targets, noise);
  JointSettings settings;
  settings.epochs = 300;
  settings.evidence_before = 1000;
  settings.tolerance = 0;
  trainer.fit(rows.inputs, terms, settings);
  const auto posterior = trainer.posterior(rows.inputs, terms, nullptr);
  const Eigen::Map<const Vector> prior(posterior.prior_precision.data(), 3);
  const Matrix x = rows.design();
  const Matrix covariance = (Matrix(prior.asDiagonal()) + x.transpose() * x / noise).inverse();
  const Vector mean = covariance * x.transpose() * rows.y() / noise;
  const Vector determined = Vector::Ones(3) - prior.cwiseProduct(covariance.diagonal());
  // A step is taken if the loss falls, so the weights end where a step gains no more than the rounding of the loss:
  // w = m + d with d^2 / (2 S_kk) of a few eps of it.
  const double squares = (rows.y() - x * mean).squaredNorm();
  const double loss = (squares / noise + mean.dot(prior.cwiseProduct(mean))) / 2;
  constexpr double rounding = 4 * std::numeric_limits<double>::epsilon();
  double allowed = 0;
  for (Eigen::Index k = 0; k < 2; ++k) {
    const double away = std::sqrt(2 * rounding * loss * covariance(k, k));
    allowed = std::max(allowed, 2 * prior[k] * std::abs(mean[k]) * away);
    EXPECT_NEAR(prior[k] * mean[k] * mean[k], determined[k], allowed);
  }
  EXPECT_LT(allowed, 1e-7);
  EXPECT_NEAR(noise * (12 - determined.sum()) / squares, 1, allowed);
  EXPECT_GT(determined.sum(), 2.8);
}

// f = w x + b is the log of a variance: 1 on one side, 9 on the other. The density's maximum: of the gradient of
// sum -(f + y exp(-f)) / 2, by side, the difference is the prior's precision times w, the sum that of the bias times b.
TEST(LogVariance, EndsAtTheMaximum) {
  special::Random random(8);
  Sample rows{{}, {}, 1};
  std::array<double, 2> squares{};
  for (std::size_t n = 0; n < 4000; ++n) {
    rows.inputs.push_back(n % 2 == 0 ? -1 : 1);
    rows.targets.push_back(std::pow((n % 2 == 0 ? 1 : 3) * random.normal(), 2));
    squares[n % 2] += rows.targets.back();
  }
  JointNetwork trainer(linear(1), JointUnit::step, 0.1, true);
  LogVarianceTerms terms(rows.targets);
  trainer.fit(rows.inputs, terms, without_evidence());
  const std::vector<double> values = trainer.values(rows.inputs, rows.size());
  const double left = (squares[0] * std::exp(-values[0]) - 2000) / 2;
  const double right = (squares[1] * std::exp(-values[1]) - 2000) / 2;
  EXPECT_NEAR(right - left, 0.1 * (values[1] - values[0]) / 2, 1e-4);
  EXPECT_NEAR(right + left, 0.01 * (values[1] + values[0]) / 2, 1e-4);
}

// The posterior variance of a row is that of its noise: no digit of what the others say is left.
TEST(Joint, ARowThatStandsAloneHasNoCavity) {
  const std::vector<double> targets{1, 1};
  const std::vector<double> values{0.2, 0.2};
  const GaussianTerms terms(targets, std::vector<double>{0.5, 0.5});
  OutputMoments moments{values, {0.5, 0.25}};
  JointCertificate certificate;
  detail::take_out_own_messages(terms, values, moments, certificate);
  EXPECT_EQ(certificate.rows_alone, 1U);
  EXPECT_EQ(certificate.largest_leverage, 1);
  EXPECT_TRUE(std::isnan(moments.mean[0]) && std::isnan(moments.variance[0]));
  EXPECT_DOUBLE_EQ(moments.variance[1], 0.5);  // 0.25 / (1 - 0.25 / 0.5)
  EXPECT_DOUBLE_EQ(moments.mean[1], 0.2 - 0.5 * (1 - 0.2) / 0.5);
}

TEST(Joint, RefusesWhatItIsNot) {
  EXPECT_THROW(JointNetwork({.widths = {2, 1}, .bias = {false}}, JointUnit::step, 1, true),
               NetworkError);
}

TEST(Joint, StopsWhenAskedAndWhenSettled) {
  const Sample rows = linear_rows(40, 3, 0.5, 5);
  JointNetwork trainer(linear(3), JointUnit::leaky_relu, 1, true);
  Vector variances = Vector::Constant(40, 0.25);
  JointSettings settings;
  std::size_t epochs = 0;
  settings.go_on = [&] { return ++epochs < 3; };
  auto result = fit(trainer, rows.view(), variances, settings);
  EXPECT_EQ(result.stopped, Stopped::interrupted);
  EXPECT_EQ(result.epochs, 3U);
  settings.go_on = {};
  settings.epochs = 1000;
  result = fit(trainer, rows.view(), variances, settings);
  EXPECT_EQ(result.stopped, Stopped::tolerance);
  EXPECT_LT(result.epochs, 30U);
}

}  // namespace
}  // namespace dma
