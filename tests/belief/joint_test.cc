// Weights as one variable: against exact Bayesian linear regression, which a network without hidden layers is.
#include "belief/joint_cavity.h"
#include "belief/joint_messages.h"
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

TEST(Joint, IsExactForALinearNetwork) {
  const Sample rows = linear_rows(40, 4, 0.5, 2);
  Vector variances = Vector::Constant(40, 0.3);
  variances.head(10).setConstant(0.8);
  const auto posterior =
      fitted(rows, 2, variances).posterior(rows.inputs, terms_of(rows.view(), variances), false);
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
  auto posterior =
      fitted(rows, 1, variances).posterior(rows.inputs, terms_of(rows.view(), variances), true);
  const std::vector<std::size_t> gone{0, 1, 2, 3, 4};
  forget(posterior, gone);
  Sample rest{{rows.inputs.begin() + 15, rows.inputs.end()},
              {rows.targets.begin() + 5, rows.targets.end()},
              3};
  Vector rest_variances = Vector::Constant(25, 0.25);
  const auto anew = fitted(rest, 1, rest_variances)
                        .posterior(rest.inputs, terms_of(rest.view(), rest_variances), false);
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
  const auto posterior = trainer.posterior(rows.inputs, terms_of(rows.view(), variances), true);
  ASSERT_FALSE(posterior.in_messages());
  EXPECT_EQ(posterior.ledger.inputs, rows.inputs);
  const Vector mean = mean_of(posterior);
  Matrix precision = vector_of(posterior.prior_precision).asDiagonal();
  Vector gradient(mean.size());
  for (std::size_t n = 0; n < 60; ++n) {
    const auto row = std::span(rows.inputs).subspan(2 * n, 2);
    const double value = row_value(network, JointUnit::leaky_relu, mean, row, gradient.data());
    const double deviation = std::sqrt(variances[static_cast<Eigen::Index>(n)]);
    const double shift = (rows.targets[n] - value + gradient.dot(mean)) / deviation;
    gradient /= deviation;
    EXPECT_NEAR(posterior.ledger.roots[n], 1 / deviation, 1e-14 / deviation);
    EXPECT_NEAR(posterior.ledger.shifts[n], shift, 1e-12 * (1 + std::abs(shift)));
    precision += gradient * gradient.transpose();
  }
  const Matrix lower = lower_of(posterior);
  EXPECT_LT((lower * lower.transpose() - precision).norm(), 1e-12 * precision.norm());
}

// 171 weights: the inverse is taken in blocks.
TEST(Joint, MarginalVariancesAreTheDiagonalOfTheInverse) {
  const Sample rows = linear_rows(300, 15, 0.5, 9);
  const Architecture network{.widths = {15, 10, 1}, .slopes = {0.1}, .bias = {true}};
  JointNetwork trainer(network, JointUnit::leaky_relu, 1, false);
  trainer.draw_start(3, 1);
  const Vector variances = Vector::Constant(300, 0.25);
  const auto posterior = trainer.posterior(rows.inputs, terms_of(rows.view(), variances), false);
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
      fitted(rows, 1, variances).posterior(rows.inputs, terms_of(rows.view(), variances), false);
  JointNetwork first(linear(3), JointUnit::leaky_relu, 1, true);
  Vector some = Vector::Constant(25, 0.25);
  fit(first, rows.part(0, 25), some, without_evidence());
  const auto half =
      first.posterior(rows.part(0, 25).inputs, terms_of(rows.part(0, 25), some), false);
  auto both = half;
  const Vector others = Vector::Constant(15, 0.25);
  learn(both, rows.part(25, 15).inputs, terms_of(rows.part(25, 15), others), false);
  EXPECT_LT((mean_of(both) - mean_of(all)).norm(), 1e-8);
  for (std::size_t k = 0; k < all.factor.size(); ++k)
    EXPECT_NEAR(both.factor[k], all.factor[k], 1e-8);
}

// ------------------------------------------------------------------------------ weights and messages

// Three layers, rows of different noise, a belief in both forms.
struct BothForms {
  Architecture network{.widths = {3, 7, 5, 1}, .slopes = {0}, .bias = {true}};
  Sample rows = linear_rows(50, 3, 0.5, 12);
  Vector variances = Vector::LinSpaced(50, 0.1, 0.9);
  JointNetwork trainer{network, JointUnit::leaky_relu, 1, true};
  JointPosterior in_messages, in_weights;

  BothForms() {
    trainer.draw_start(5, 1);
    JointSettings settings;
    settings.epochs = 12;
    settings.tolerance = 0;
    fit(trainer, rows.view(), variances, settings);
    in_messages = trainer.posterior(rows.inputs, terms_of(rows.view(), variances), true);
    in_weights = in_messages;
    Matrix precision = vector_of(in_messages.prior_precision).asDiagonal();
    Vector gradient(precision.rows());
    for (std::size_t n = 0; n < rows.size(); ++n) {
      const auto row = std::span(rows.inputs).subspan(3 * n, 3);
      row_value(network, JointUnit::leaky_relu, mean_of(in_messages), row, gradient.data());
      precision += gradient * gradient.transpose() / variances[static_cast<Eigen::Index>(n)];
    }
    const Matrix lower = precision.llt().matrixL();
    for (Eigen::Index i = 0; i < lower.rows(); ++i) {
      for (Eigen::Index j = 0; j <= i; ++j) in_weights.factor.push_back(lower(i, j));
    }
  }
};

void expect_same(const JointPosterior& a, const JointPosterior& b, std::span<const double> inputs,
                 double tolerance) {
  EXPECT_LT((mean_of(a) - mean_of(b)).cwiseAbs().maxCoeff(),
            tolerance * (1 + mean_of(b).cwiseAbs().maxCoeff()));
  const std::size_t count = inputs.size() / a.architecture.inputs();
  const auto one = outputs_of(a, inputs, count);
  const auto other = outputs_of(b, inputs, count);
  for (std::size_t n = 0; n < count; ++n) {
    EXPECT_NEAR(one.mean[n], other.mean[n], tolerance * (1 + std::abs(other.mean[n])));
    EXPECT_NEAR(one.variance[n], other.variance[n], tolerance * (1 + other.variance[n]));
  }
  const auto widths = marginal_variances(a);
  const auto others = marginal_variances(b);
  for (std::size_t k = 0; k < widths.size(); ++k) {
    EXPECT_NEAR(widths[k], others[k], tolerance * (1 + others[k]));
  }
}

TEST(Forms, SayTheSame) {
  const BothForms both;
  ASSERT_TRUE(both.in_messages.in_messages());
  ASSERT_FALSE(both.in_weights.in_messages());
  const Sample fresh = linear_rows(300, 3, 0.5, 13);
  expect_same(both.in_messages, both.in_weights, fresh.inputs, 1e-10);
}

// Nothing cancels at the rows themselves.
TEST(Forms, KnowTheirOwnRows) {
  const BothForms both;
  const Vector own = detail::own_variances(both.in_messages);
  const auto predicted = outputs_of(both.in_weights, both.rows.inputs, both.rows.size());
  for (std::size_t n = 0; n < both.rows.size(); ++n) {
    EXPECT_NEAR(own[static_cast<Eigen::Index>(n)], predicted.variance[n],
                1e-11 * predicted.variance[n]);
  }
}

TEST(Forms, ForgetAndLearnTheSame) {
  const BothForms both;
  const std::vector<std::size_t> gone{0, 7, 8, 49};
  const Sample fresh = linear_rows(9, 3, 0.5, 13);
  const Vector variances = Vector::Constant(9, 0.3);
  for (const bool all_in_ledger : {true, false}) {
    JointPosterior one = both.in_messages;
    JointPosterior other = both.in_weights;
    for (JointPosterior* posterior : {&one, &other}) forget(*posterior, gone, all_in_ledger);
    EXPECT_EQ(one.ledger.shifts.size(), 46U);
    EXPECT_EQ(one.ledger.inputs, other.ledger.inputs);
    EXPECT_EQ(one.centre, both.in_messages.mean);
    expect_same(one, other, fresh.inputs, 1e-9);
    for (JointPosterior* posterior : {&one, &other}) {
      learn(*posterior, fresh.inputs, terms_of(fresh.view(), variances), true);
    }
    EXPECT_EQ(one.ledger.shifts.size(), 55U);
    expect_same(one, other, fresh.inputs, 1e-9);
  }
}

// Learnt and forgotten again, a belief is what it was.
TEST(Forms, MessagesGoAsTheyCame) {
  const BothForms both;
  JointPosterior posterior = both.in_messages;
  const Sample fresh = linear_rows(2, 3, 0.5, 14);
  const Vector variances = Vector::Constant(2, 0.3);
  learn(posterior, fresh.inputs, terms_of(fresh.view(), variances), false);
  EXPECT_GT((mean_of(posterior) - mean_of(both.in_messages)).norm(), 1e-3);
  forget(posterior, std::vector<std::size_t>{50, 51});
  expect_same(posterior, both.in_messages, fresh.inputs, 1e-9);
}

// The step, and the weights that are determined, from one sum in both forms.
TEST(Forms, SolveTheSame) {
  const BothForms both;
  const Vector weights = mean_of(both.in_messages);
  const Vector prior = vector_of(both.in_messages.prior_precision);
  const auto& backend = detail::cpu_backend();
  const detail::NetworkAt here{both.network, JointUnit::leaky_relu, weights};
  const GaussianTerms terms = terms_of(both.rows.view(), both.variances);
  const auto groups = weight_groups(both.network, true);
  const auto by_group = [&](const Vector& numbers) {
    Vector sums = Vector::Zero(static_cast<Eigen::Index>(groups.back()) + 1);
    for (std::size_t k = 0; k < groups.size(); ++k) {
      sums[static_cast<Eigen::Index>(groups[k])] += numbers[static_cast<Eigen::Index>(k)];
    }
    return sums;
  };
  std::array<std::unique_ptr<detail::MessageSum>, 2> sums;
  for (const bool in_messages : {false, true}) {
    sums[in_messages ? 1 : 0] =
        backend.messages(here, both.rows.inputs, terms, nullptr, in_messages);
  }
  EXPECT_LT((sums[0]->gradient - sums[1]->gradient).norm(), 1e-12 * sums[0]->gradient.norm());
  EXPECT_LT((sums[0]->curvature - sums[1]->curvature).norm(), 1e-12 * sums[0]->curvature.norm());
  const detail::Slope slope = backend.slope(here, both.rows.inputs, terms);
  EXPECT_LT((sums[0]->gradient - slope.gradient).norm(), 1e-12 * sums[0]->gradient.norm());
  EXPECT_EQ(slope.values, sums[0]->values);
  for (const double damping : {0.0, 2.0}) {
    const Vector pull = -prior.cwiseProduct(weights);
    const Vector step = sums[0]->factor(prior, damping)->step(pull);
    EXPECT_LT((sums[1]->factor(prior, damping)->step(pull) - step).norm(), 1e-11 * step.norm());
  }
  for (const auto& sum : sums) sum->multiply(0.25);
  const Vector determined = by_group(sums[0]->factor(prior)->take_determined());
  EXPECT_GT(determined.sum(), 5);
  EXPECT_LT((by_group(sums[1]->factor(prior)->take_determined()) - determined).norm(), 1e-11);
}

// The moments of functions drawn in the form of messages are those of the predictions.
TEST(Forms, DrawWhatTheyPredict) {
  const BothForms both;
  const Sample fresh = linear_rows(3, 3, 0.5, 15);
  constexpr std::size_t draws = 20000;
  const auto functions = sample_functions(both.in_messages, fresh.inputs, 3, draws, 1);
  const auto predicted = outputs_of(both.in_messages, fresh.inputs, 3);
  for (std::size_t n = 0; n < 3; ++n) {
    double mean = 0;
    double square = 0;
    for (std::size_t s = 0; s < draws; ++s) mean += functions[s * 3 + n] / draws;
    for (std::size_t s = 0; s < draws; ++s) {
      square += std::pow(functions[s * 3 + n] - mean, 2) / draws;
    }
    EXPECT_NEAR(mean, predicted.mean[n], 5 * std::sqrt(predicted.variance[n] / draws));
    EXPECT_NEAR(square / predicted.variance[n], 1, 5 * std::sqrt(2.0 / draws));
  }
}

// Epochs of damped Gauss-Newton steps alone, as JointNetwork takes them, one per precision.
double loss_after_plain_steps(const Sample& rows, const GaussianTerms& terms,
                              const Architecture& network, int epochs) {
  const std::vector<double> drawn = draw_start(network, 5, 1);
  Vector weights = vector_of(drawn);
  Vector prior = Vector::Ones(weights.size());
  prior[prior.size() - 1] = 0.01;
  const auto& backend = detail::cpu_backend();
  const auto loss = [&](const Vector& at) {
    const detail::NetworkAt here{network, JointUnit::leaky_relu, at};
    return terms.loss(backend.values(here, rows.inputs, terms.rows())) +
           at.dot(prior.cwiseProduct(at)) / 2;
  };
  double damping = 1;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const detail::NetworkAt here{network, JointUnit::leaky_relu, weights};
    const auto sum = backend.messages(here, rows.inputs, terms, nullptr, true);
    const Vector pull = -prior.cwiseProduct(weights);
    for (bool first = true;; first = false, damping *= 5) {
      const Vector next = weights + sum->factor(prior, damping)->step(pull);
      if (loss(next) >= loss(weights)) continue;
      weights = next;
      if (first) damping /= 5;
      break;
    }
  }
  return loss(weights);
}

// A network large enough for further steps with the precision of the last one is further after as many epochs.
TEST(Joint, StepsOnWithThePrecisionItHas) {
  const Sample rows = linear_rows(800, 3, 0.5, 12);
  Vector variances = Vector::LinSpaced(800, 0.01, 0.09);
  const Architecture network{.widths = {3, 20, 20, 1}, .slopes = {0}, .bias = {true}};
  const GaussianTerms terms = terms_of(rows.view(), variances);
  const double plain = loss_after_plain_steps(rows, terms, network, 5);
  JointNetwork trainer(network, JointUnit::leaky_relu, 1, true);
  trainer.draw_start(5, 1);
  JointSettings settings;
  settings.epochs = 5;
  settings.evidence_from = 10;
  settings.further_from = 0;
  fit(trainer, rows.view(), variances, settings);
  const auto reached = trainer.posterior(rows.inputs, terms, false);
  const Vector weights = mean_of(reached);
  const double loss = terms.loss(trainer.values(rows.inputs, rows.size())) +
                      weights.dot(vector_of(reached.prior_precision).cwiseProduct(weights)) / 2;
  EXPECT_LT(loss, plain - 0.05 * std::abs(plain));
}

// Rows with hardly any noise, one of them far out, and a prior that says next to nothing: in both forms the precision is
// one, and what the rows say is known.
TEST(Joint, RowsThatWeighALotLeaveAPrecision) {
  for (const std::size_t count : {30U, 400U}) {
    Sample rows = linear_rows(count, 3, 0.5, 12);
    rows.inputs[0] = 1e4;
    const Vector variances = Vector::Constant(static_cast<Eigen::Index>(count), 1e-10);
    const Architecture network{.widths = {3, 8, 8, 1}, .slopes = {0}, .bias = {true}};
    JointNetwork trainer(network, JointUnit::leaky_relu, least_prior_precision, true);
    trainer.draw_start(5, 1);
    const GaussianTerms terms = terms_of(rows.view(), variances);
    const JointPosterior reached = trainer.posterior(rows.inputs, terms, false);
    EXPECT_EQ(reached.in_messages(), count == 30);
    const OutputMoments known = outputs_of(reached, rows.inputs, count);
    for (const double variance : known.variance) {
      EXPECT_GT(variance, 0);
      EXPECT_LT(variance, 1.01e-10);
    }
  }
}

TEST(Evidence, BeginsWhenItIsToldTo) {
  const Sample rows = linear_rows(100, 3, 0.5, 10);
  const auto precisions = [&](std::size_t epochs, std::size_t from, bool by_column) {
    JointNetwork trainer(linear(3), JointUnit::leaky_relu, 1, by_column);
    Vector variances = Vector::Constant(100, 0.25);
    JointSettings settings;
    settings.epochs = epochs;
    settings.evidence_from = from;
    settings.tolerance = 0;
    fit(trainer, rows.view(), variances, settings);
    return trainer.posterior(rows.inputs, terms_of(rows.view(), variances), false).prior_precision;
  };
  EXPECT_EQ(precisions(20, 20, true), (std::vector<double>{1, 1, 1, 0.01}));
  EXPECT_NE(precisions(22, 20, true), precisions(20, 20, true));  // at epoch 21, a multiple of 3
  const auto together = precisions(20, 4, false);
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
  const auto posterior = trainer.posterior(rows.inputs, terms, false);
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
  settings.tolerance = 0;
  trainer.fit(rows.inputs, terms, settings);
  const auto posterior = trainer.posterior(rows.inputs, terms, false);
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
  const std::vector<double> nothing_else(rows.targets.size());
  LogVarianceTerms terms(rows.targets, nothing_else);
  trainer.fit(rows.inputs, terms, without_evidence());
  const std::vector<double> values = trainer.values(rows.inputs, rows.size());
  const double left = (squares[0] * std::exp(-values[0]) - 2000) / 2;
  const double right = (squares[1] * std::exp(-values[1]) - 2000) / 2;
  EXPECT_NEAR(right - left, 0.1 * (values[1] - values[0]) / 2, 1e-4);
  EXPECT_NEAR(right + left, 0.01 * (values[1] + values[0]) / 2, 1e-4);
}

// Deviations of variance v + 0.5 where v is known: the noise is found beside it.
TEST(LogVariance, LeavesOutWhatIsKnown) {
  special::Random random(9);
  Sample rows{{}, {}, 1};
  std::vector<double> known;
  for (std::size_t n = 0; n < 20'000; ++n) {
    rows.inputs.push_back(0);
    known.push_back(n % 2 == 0 ? 0 : 2);
    rows.targets.push_back((known.back() + 0.5) * std::pow(random.normal(), 2));
  }
  JointNetwork trainer(linear(1), JointUnit::step, 0.1, true);
  LogVarianceTerms terms(rows.targets, known);
  trainer.fit(rows.inputs, terms, without_evidence());
  EXPECT_NEAR(std::exp(trainer.values(rows.inputs, 1).front()), 0.5, 0.02);
  // Slope and curvature are those of the loss: R s = -loss'.
  const std::vector<double> at{0.3};
  const LogVarianceTerms one(std::span(rows.targets).first(1), std::span(known).subspan(1, 1));
  double root = 0;
  double slope = 0;
  one.expand(0, at, &root, &slope);
  const auto loss = [&](double f) { return one.loss(std::vector<double>{f}); };
  EXPECT_NEAR(root * slope, -(loss(0.3 + 1e-5) - loss(0.3 - 1e-5)) / 2e-5, 1e-8);
  const double share = std::exp(0.3) / (2 + std::exp(0.3));
  EXPECT_NEAR(root * root, share * share / 2, 1e-15);
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
  settings.go_on = [&](std::size_t) { return ++epochs < 3; };
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
