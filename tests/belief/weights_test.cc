// A row of weight 2 is two rows: in likelihoods, in both kinds of belief, and in all that is learnt from rows left out.
#include <dma/belief/independent.h>
#include <dma/belief/joint.h>
#include <dma/likelihood/classes.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <Eigen/Dense>
#include <cmath>

#include "belief/calibration.h"
#include "belief/joint_cavity.h"
#include "belief/joint_network.h"
#include "belief/joint_predictor.h"
#include "belief/joint_shape.h"
#include "belief/output_message.h"
#include "copies.h"
#include "likelihood/gaussian.h"
#include "likelihood/log_variance.h"
#include "regressor/stacking.h"

namespace dma {
namespace {

using test::repeated;
using test::whole_weights;

std::vector<double> draw_numbers(std::size_t count, std::uint64_t seed) {
  special::Random random(seed);
  std::vector<double> numbers;
  for (std::size_t n = 0; n < count; ++n) numbers.push_back(random.normal());
  return numbers;
}

// Places of classes.
std::vector<double> draw_classes(std::size_t count, double classes, std::uint64_t seed) {
  special::Random random(seed);
  std::vector<double> places;
  for (std::size_t n = 0; n < count; ++n) places.push_back(std::floor(classes * random.uniform()));
  return places;
}

// y = sin(2 a) + b / 2 + noise, with these weights.
Rows weighted_wave(std::size_t count, double noise, std::uint64_t seed,
                   std::vector<double> weights) {
  special::Random random(seed);
  Rows rows{count, {}, {}, std::move(weights)};
  for (std::size_t n = 0; n < count; ++n) {
    const double a = random.uniform(-1.7, 1.7);
    const double b = random.normal();
    rows.inputs.insert(rows.inputs.end(), {a, b});
    rows.targets.push_back(std::sin(2 * a) + b / 2 + noise * random.normal());
  }
  return rows;
}

void expect_near(std::span<const double> found, std::span<const double> expected, double error) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t n = 0; n < found.size(); ++n) {
    EXPECT_NEAR(found[n], expected[n], error * (1 + std::abs(expected[n]))) << n;
  }
}

// ---------------------------------------------------------------------------------------------------- terms

// Curvature R R' and gradient R s, row by row.
struct Expanded {
  std::vector<double> curvature, gradient;
};
Expanded expanded(const RowTerms& terms, const std::vector<double>& values) {
  const std::size_t outputs = terms.outputs();
  const auto size = static_cast<Eigen::Index>(outputs);
  std::vector<double> roots(values.size() * outputs);
  std::vector<double> slopes(values.size());
  terms.expand(0, values, roots.data(), slopes.data());
  Expanded result;
  for (std::size_t n = 0; n < terms.rows(); ++n) {
    const Eigen::Map<const Eigen::MatrixXd> root(roots.data() + n * outputs * outputs, size, size);
    const Eigen::Map<const Eigen::VectorXd> slope(slopes.data() + n * outputs, size);
    const Eigen::MatrixXd curvature = root * root.transpose();
    const Eigen::VectorXd gradient = root * slope;
    result.curvature.insert(result.curvature.end(), curvature.reshaped().begin(),
                            curvature.reshaped().end());
    result.gradient.insert(result.gradient.end(), gradient.begin(), gradient.end());
  }
  return result;
}

// The weighted terms say what those of the copies say together, those of a row w times what one of its copies says.
void expect_like_copies(const RowTerms& weighted, const RowTerms& copies,
                        const std::vector<double>& values, std::span<const double> weights) {
  const std::vector<double> of_copies = repeated(values, weights);
  EXPECT_EQ(weighted.weight(), static_cast<double>(copies.rows()));
  EXPECT_EQ(copies.weight(), static_cast<double>(copies.rows()));
  EXPECT_NEAR(weighted.loss(values), copies.loss(of_copies), 1e-10);
  EXPECT_NEAR(weighted.mean_nll(values), copies.mean_nll(of_copies), 1e-12);
  const Expanded rows = expanded(weighted, values);
  const Expanded all = expanded(copies, of_copies);
  const std::size_t pairs = weighted.outputs() * weighted.outputs();
  for (std::size_t n = 0, next = 0; n < weights.size(); ++n) {
    for (std::size_t k = 0; k < pairs; ++k) {
      EXPECT_NEAR(rows.curvature[n * pairs + k], weights[n] * all.curvature[next * pairs + k],
                  1e-12);
    }
    for (std::size_t k = 0; k < weighted.outputs(); ++k) {
      EXPECT_NEAR(rows.gradient[n * weighted.outputs() + k],
                  weights[n] * all.gradient[next * weighted.outputs() + k], 1e-12);
    }
    next += static_cast<std::size_t>(weights[n]);
  }
}

TEST(WeightedTerms, SayWhatCopiesSay) {
  const std::vector<double> weights = whole_weights(40, 1);
  const std::vector<double> values = draw_numbers(40, 2);
  const std::vector<double> numbers = draw_numbers(40, 3);
  std::vector<double> positive;
  for (const double number : draw_numbers(40, 4)) positive.push_back(std::exp(number));
  const std::vector<double> copies = repeated(numbers, weights);
  {
    const detail::GaussianTerms one({numbers, weights}, positive);
    const detail::GaussianTerms all(copies, repeated(positive, weights));
    expect_like_copies(one, all, values, weights);
  }
  {
    const std::vector<double> squares = repeated(positive, weights);
    const std::vector<double> variances = repeated(positive, weights);
    const detail::LogVarianceTerms one({positive, weights}, positive);
    const detail::LogVarianceTerms all(squares, variances);
    expect_like_copies(one, all, values, weights);
  }
  for (const std::size_t classes : {2U, 3U}) {
    ClassLikelihood likelihood(classes);
    const std::vector<double> places = draw_classes(40, static_cast<double>(classes), 5);
    const std::vector<double> of_copies = repeated(places, weights);
    const std::vector<double> outputs = draw_numbers(40 * likelihood.outputs(), 6);
    const auto one = likelihood.terms({places, weights});
    const auto all = likelihood.terms(of_copies);
    expect_like_copies(*one, *all, outputs, weights);
  }
}

TEST(WeightedTerms, LearnTheNoiseOfCopies) {
  const std::vector<double> weights = whole_weights(40, 1);
  const std::vector<double> values = draw_numbers(40, 2);
  const std::vector<double> numbers = draw_numbers(40, 3);
  const std::vector<double> copies = repeated(numbers, weights);
  double one = 1;
  double all = 1;
  detail::GaussianTerms weighted({numbers, weights}, one);
  detail::GaussianTerms repeats(copies, all);
  const auto learnt = weighted.learn(values, 12);
  const auto expected = repeats.learn(repeated(values, weights), 12);
  EXPECT_NEAR(one, all, 1e-12);
  EXPECT_NEAR(*learnt.factor, *expected.factor, 1e-12);
}

// ----------------------------------------------------------------------------------------------- likelihoods

TEST(WeightedLikelihood, ScoresAndLearnsAsFromCopies) {
  const std::vector<double> weights = whole_weights(60, 1);
  for (const std::size_t outputs : {1U, 2U}) {
    const std::vector<double> mean = draw_numbers(60 * outputs, 2);
    const std::vector<double> targets = draw_numbers(60 * outputs, 3);
    const std::vector<double> variance(60 * outputs, 0.3);
    const std::vector<double> means = repeated(mean, weights);
    const std::vector<double> variances = repeated(variance, weights);
    const std::vector<double> copies = repeated(targets, weights);
    GaussianLikelihood one({.variance = std::vector<double>(outputs, 0.5), .learn = true});
    const auto all = one.clone();
    EXPECT_NEAR(one.mean_nll({targets, weights}, {mean, variance}),
                all->mean_nll(copies, {means, variances}), 1e-12);
    const Metrics scored = one.score({targets, weights}, one.predictive({mean, variance}));
    const Metrics expected = all->score(copies, all->predictive({means, variances}));
    EXPECT_NEAR(scored.nll, expected.nll, 1e-12);
    EXPECT_NEAR(scored.rmse, expected.rmse, 1e-12);
    one.learn({targets, weights}, {mean, variance});
    all->learn(copies, {means, variances});
    expect_near(one.noise_variance(), noise_variance(*all), 1e-12);
  }
}

TEST(WeightedLikelihood, FollowsAsFromCopies) {
  special::Random random(1);
  GaussianLikelihood one({.variance = {1}, .learn = true});
  const auto all = one.clone();
  const double variance = 0.01;
  for (int n = 0; n < 3000; ++n) {
    const double target = 0.3 * random.normal();
    const double mean = 0;
    const Outputs outputs{{&mean, 1}, {&variance, 1}};
    one.follow({&target, 1}, outputs, 2);
    all->follow({&target, 1}, outputs);
    all->follow({&target, 1}, outputs);
  }
  one.finish_learning();
  all->finish_learning();
  EXPECT_NEAR(one.noise_variance()[0], noise_variance(*all)[0], 1e-12);
  EXPECT_NEAR(one.noise_variance()[0], 0.08, 0.01);
}

TEST(WeightedLikelihood, OfClassesScoresAndLearnsAsFromCopies) {
  const std::vector<double> weights = whole_weights(60, 1);
  for (const std::size_t classes : {2U, 3U}) {
    ClassLikelihood one(classes);
    const auto all = one.clone();
    const std::vector<double> mean = draw_numbers(60 * one.outputs(), 2);
    const std::vector<double> variance(60 * one.outputs(), 2);
    const std::vector<double> targets = draw_classes(60, static_cast<double>(classes), 3);
    const std::vector<double> means = repeated(mean, weights);
    const std::vector<double> variances = repeated(variance, weights);
    const std::vector<double> copies = repeated(targets, weights);
    EXPECT_NEAR(one.mean_nll({targets, weights}, {mean, variance}),
                all->mean_nll(copies, {means, variances}), 1e-12);
    EXPECT_NEAR(one.score({targets, weights}, one.predictive({mean, variance})).nll,
                all->score(copies, all->predictive({means, variances})).nll, 1e-12);
    one.learn({targets, weights}, {mean, variance});
    all->learn(copies, {means, variances});
    EXPECT_NE(one.sharpness() * one.width(), 1);
    EXPECT_EQ(one.sharpness(), dynamic_cast<const ClassLikelihood&>(*all).sharpness());
    EXPECT_EQ(one.width(), dynamic_cast<const ClassLikelihood&>(*all).width());
  }
}

// ------------------------------------------------------------------------------------------- rows left out

TEST(WeightedCalibration, IsThatOfCopies) {
  const std::vector<double> weights = whole_weights(80, 1);
  const std::vector<double> values = draw_numbers(80, 2);
  std::vector<Predicted> predicted;
  for (const double mean : draw_numbers(80, 3)) {
    predicted.push_back(
        {mean, 0, 0, 0, {{mean, 0.5, 0.4, 0.2, 0.7}, {mean + 1, 0.2, 0.6, 0, 0.3}}});
  }
  const Calibration one = detail::fit_calibration(predicted, {values, weights});
  const Calibration all =
      detail::fit_calibration(repeated(predicted, weights), repeated(values, weights));
  const Calibration unweighted = detail::fit_calibration(predicted, values);
  EXPECT_NEAR(one.noise_shift, all.noise_shift, 1e-9);
  EXPECT_NEAR(one.noise_spread, all.noise_spread, 1e-9);
  EXPECT_NEAR(one.function_shift, all.function_shift, 1e-9);
  EXPECT_NEAR(one.function_spread, all.function_spread, 1e-9);
  EXPECT_GT(std::abs(one.function_spread - unweighted.function_spread), 1e-3);
}

TEST(WeightedCalibration, TailsAreThoseOfCopies) {
  const std::vector<double> weights = whole_weights(80, 1);
  std::vector<detail::Miss> misses;
  for (const double miss : draw_numbers(80, 2)) misses.push_back({miss * miss, 0.1});
  const double all = detail::nll_with_tails(repeated(misses, weights), 0.5);
  for (std::size_t n = 0; n < 80; ++n) misses[n].weight = weights[n];
  EXPECT_NEAR(detail::nll_with_tails(misses, 0.5), all, 1e-12);
}

TEST(WeightedStacking, IsThatOfCopies) {
  const std::vector<double> weights = whole_weights(30, 1);
  const std::vector<std::vector<double>> rows{draw_numbers(30, 2), draw_numbers(30, 3),
                                              draw_numbers(30, 4)};
  const std::vector<std::vector<double>> copies{
      repeated(rows[0], weights), repeated(rows[1], weights), repeated(rows[2], weights)};
  expect_near(detail::stacking_weights(rows, weights), detail::stacking_weights(copies), 1e-9);
}

// ------------------------------------------------------------------------------------------------- joint

Architecture without_hidden(std::size_t inputs) {
  return {.widths = {inputs, 1}, .slopes = {0.1}, .bias = {true}};
}

// With any weights: precision P + X' W X / s, mean precision^-1 X' W y / s.
TEST(WeightedJoint, IsWeightedLinearRegression) {
  special::Random random(1);
  for (const std::size_t count : {2U, 50U}) {  // in the form of messages, and in that of weights
    std::vector<double> weights;
    for (std::size_t n = 0; n < count; ++n) weights.push_back(random.uniform(0.1, 5));
    const Rows rows = weighted_wave(count, 0.3, 2, weights);
    const double noise = 0.09;
    detail::JointNetwork network(without_hidden(2), JointUnit::leaky_relu, 1.5, false);
    detail::GaussianTerms terms(rows.data().weighted_targets(), std::vector<double>(count, noise));
    detail::JointSettings settings;
    settings.evidence_from = 1000;
    settings.epochs = 60;
    settings.tolerance = 0;
    network.fit(rows.inputs, terms, settings);
    const JointPosterior posterior = network.posterior(rows.inputs, terms, true);

    const auto size = static_cast<Eigen::Index>(count);
    Eigen::MatrixXd x = Eigen::MatrixXd::Ones(size, 3);
    Eigen::VectorXd y(size);
    Eigen::VectorXd w(size);
    for (Eigen::Index n = 0; n < size; ++n) {
      const auto row = static_cast<std::size_t>(n);
      x(n, 0) = rows.inputs[2 * row];
      x(n, 1) = rows.inputs[2 * row + 1];
      y[n] = rows.targets[row];
      w[n] = weights[row] / noise;
    }
    Eigen::MatrixXd precision = x.transpose() * w.asDiagonal() * x;
    for (Eigen::Index k = 0; k < 3; ++k) {
      precision(k, k) += posterior.prior_precision[static_cast<std::size_t>(k)];
    }
    const Eigen::MatrixXd covariance = precision.inverse();
    const Eigen::VectorXd mean = covariance * (x.transpose() * w.cwiseProduct(y));
    const Eigen::VectorXd variance = covariance.diagonal();
    expect_near(posterior.mean, {mean.data(), 3}, 1e-8);
    expect_near(marginal_variances(posterior), {variance.data(), 3}, 1e-8);
  }
}

JointBelief linear_belief(const Rows& rows) {
  JointBelief belief(
      without_hidden(2),
      {.batch_size = 1, .tolerance = 0, .likelihood = gaussian({.variance = {0.1}})});
  belief.append(rows.data());
  belief.fit();
  return belief;
}

// The cavity of a row is without all its copies: what is believed without the row.
TEST(WeightedJoint, CavityIsWithoutAllCopies) {
  Rows rows = weighted_wave(30, 0.3, 3, whole_weights(30, 4));
  rows.weights[0] = 3;
  JointBelief belief(without_hidden(2), {.likelihood = gaussian({.variance = {0.1}})});
  belief.append(rows.data());
  const FitResult result = belief.fit();
  // The same prior, and the other rows.
  const JointPosterior& function = belief.knowledge().function;
  JointPosterior others = function;
  const std::size_t first = 0;
  forget(others, {&first, 1}, true);
  const OutputMoments expected = outputs_of(others, rows.data().part(0, 1).inputs, 1);
  EXPECT_NEAR(result.cavity_predictions.mean[0], expected.mean[0], 1e-9);
  EXPECT_NEAR(result.cavity_predictions.epistemic_variance[0], expected.variance[0], 1e-9);
}

// Of three copies two go: like having heard one.
TEST(WeightedJoint, IsReducedToTheCopiesThatStay) {
  for (const std::size_t count : {2U, 20U}) {
    Rows rows = weighted_wave(count, 0.3, 5, std::vector<double>(count, 1));
    rows.weights[1] = 3;
    JointBelief belief = linear_belief(rows);
    JointPosterior expected = belief.knowledge().function;
    belief.reduce(1, 1.0 / 3);
    // Prior and messages as they would be with one copy.
    const double root = std::sqrt(1.0 / 3);
    EXPECT_NEAR(belief.knowledge().function.ledger.roots[1], root * expected.ledger.roots[1],
                1e-12);
    const Eigen::Map<const Eigen::VectorXd> prior(expected.prior_precision.data(), 3);
    Eigen::MatrixXd precision = prior.asDiagonal();
    Eigen::VectorXd shift = Eigen::VectorXd::Zero(3);
    rows.weights[1] = 1;
    for (std::size_t n = 0; n < count; ++n) {
      const Eigen::Vector3d x(rows.inputs[2 * n], rows.inputs[2 * n + 1], 1);
      precision += rows.weights[n] / 0.1 * x * x.transpose();
      shift += rows.weights[n] / 0.1 * x * rows.targets[n];
    }
    const Eigen::VectorXd mean = precision.ldlt().solve(shift);
    expect_near(belief.knowledge().function.mean, {mean.data(), 3}, 1e-6);
    const Eigen::VectorXd variance = precision.inverse().diagonal();
    expect_near(marginal_variances(belief.knowledge().function), {variance.data(), 3}, 1e-8);
  }
}

TEST(WeightedJoint, RefusesAShareThatIsNone) {
  JointBelief belief = linear_belief(weighted_wave(5, 0.3, 5, {}));
  EXPECT_THROW(belief.reduce(0, 0), NetworkError);
  EXPECT_THROW(belief.reduce(0, 1), NetworkError);
  EXPECT_THROW(belief.reduce(5, 0.5), NetworkError);
}

TEST(WeightedJoint, NetworkIsThatOfCopies) {
  const Rows rows = weighted_wave(60, 0.3, 6, whole_weights(60, 7));
  const Rows copies = repeated(rows);
  const Architecture network{.widths = {2, 5, 1}, .slopes = {0}, .bias = {true}};
  const auto fitted = [&](const Rows& to) {
    JointBelief belief(network, {.max_epochs = 30,
                                 .tolerance = 0,
                                 .likelihood = gaussian({.variance = {0.5}, .learn = true})});
    belief.append(to.data());
    const FitResult result = belief.fit();
    const Prediction predicted = belief.predictor()->predict(rows.inputs, rows.rows);
    return std::pair(result, predicted);
  };
  const auto [one, predicted] = fitted(rows);
  const auto [all, expected] = fitted(copies);
  expect_near(predicted.mean, expected.mean, 1e-6);
  expect_near(predicted.epistemic_variance, expected.epistemic_variance, 1e-6);
  expect_near(predicted.noise_variance, expected.noise_variance, 1e-6);
  expect_near(one.train_nll, all.train_nll, 1e-6);
}

// Networks that hold rows out together with their copies.
TEST(WeightedJoint, ShapeIsThatOfCopies) {
  const Rows rows = weighted_wave(90, 0.3, 8, whole_weights(90, 9));
  const Architecture network{.widths = {2, 5, 1}, .slopes = {0}, .bias = {true}};
  const auto likelihood = gaussian({.variance = {0.1}, .learn = true});
  const auto fitted = [&](bool as_copies) {
    std::vector<detail::ShapePart> parts(3);
    for (std::size_t n = 0; n < rows.rows; ++n) {
      Rows row;
      row.append(rows.data().part(n, 1));
      if (as_copies) row = repeated(row);
      for (std::size_t m = 0; m < 3; ++m) {
        (n % 3 == m ? parts[m].held : parts[m].learnt).append(row.data());
      }
    }
    detail::ShapeFit shape(
        network, *likelihood,
        {.seeds = {1, 2, 3}, .by_column = {true, true, true}, .first_epochs = 20});
    shape.search_with(parts);
    while (shape.searches()) {
      for (std::size_t m = 0; m < 3; ++m) shape.search(m, [] { return true; }, {});
      shape.look();
    }
    const Rows all = as_copies ? repeated(rows) : rows;
    shape.learn_noise(7, all.data());
    shape.begin_refining();
    shape.refine(0, all.data(), 3, [] { return true; }, {});
    const JointKnowledge known = shape.finish(0, all.data(), true);
    return std::pair(shape.score(),
                     detail::KnowledgePredictor(known).predict(rows.inputs, rows.rows, 1));
  };
  const auto [one, predicted] = fitted(false);
  const auto [all, expected] = fitted(true);
  EXPECT_NEAR(one, all, 1e-6);
  expect_near(predicted.mean, expected.mean, 1e-4);
  expect_near(predicted.epistemic_variance, expected.epistemic_variance, 1e-4);
  expect_near(predicted.noise_variance, expected.noise_variance, 1e-4);
}

// -------------------------------------------------------------------------------------------- independent

const Architecture two_layers{.widths = {2, 6, 1}, .slopes = {0.1}, .bias = {true}};

// Copies in one batch, with messages from the cavity at first and from the belief later.
template <class T>
Posterior<T> independent_posterior(const Rows& rows, double power, std::size_t epochs) {
  TrainingOptions options;
  options.batch_size = rows.rows;
  options.max_epochs = epochs;
  options.tolerance = 0;
  options.likelihood = gaussian({.variance = {0.1}});
  IndependentBelief<T> belief(two_layers, draw_prior(two_layers, 1), options,
                              {.belief_from_epoch = 3, .likelihood_power = power});
  belief.append(rows.data());
  belief.fit();
  return belief.posterior();
}

TEST(WeightedIndependent, BatchIsThatOfCopies) {
  const Rows rows = weighted_wave(20, 0.3, 10, whole_weights(20, 11));
  for (const std::size_t epochs : {1U, 2U, 5U}) {
    const auto one = independent_posterior<double>(rows, 1, epochs);
    const auto all = independent_posterior<double>(repeated(rows), 1, epochs);
    expect_near(one.tau, all.tau, 1e-9);
    expect_near(one.rho, all.rho, 1e-9);
  }
}

TEST(WeightedIndependent, HalfARowIsHalfItsMessage) {
  const Rows halves = weighted_wave(20, 0.3, 10, std::vector<double>(20, 0.5));
  Rows whole = halves;
  whole.weights.clear();
  for (const std::size_t epochs : {2U, 5U}) {
    const auto one = independent_posterior<double>(halves, 1, epochs);
    const auto expected = independent_posterior<double>(whole, 0.5, epochs);
    expect_near(one.tau, expected.tau, 1e-9);
    expect_near(one.rho, expected.rho, 1e-9);
  }
}

TEST(WeightedIndependent, RowsThatAreNotKeptAreLikeCopies) {
  const Rows rows = weighted_wave(50, 0.3, 12, whole_weights(50, 13));
  const auto learnt = [](const Rows& to) {
    TrainingOptions options;
    options.ledger = LedgerMode::none;
    options.likelihood = gaussian({.variance = {0.1}});
    IndependentBelief<double> belief(two_layers, draw_prior(two_layers, 1), options);
    belief.learn(to.data());
    belief.stop_learning();
    return belief.posterior();
  };
  expect_near(learnt(rows).tau, learnt(repeated(rows)).tau, 1e-9);
  expect_near(learnt(rows).rho, learnt(repeated(rows)).rho, 1e-9);
}

// What stays of a batch is its message to a power; the posterior is still that of the ledger.
TEST(WeightedIndependent, IsReducedToTheCopiesThatStay) {
  IndependentBelief<double> belief(two_layers, draw_prior(two_layers, 1), {.batch_size = 1});
  belief.append(weighted_wave(5, 0.3, 1, std::vector<double>(5, 2)).data());
  belief.fit();
  const std::vector<double> rho = belief.ledger().messages[3].rho;
  const std::vector<double> before = belief.posterior().rho;
  belief.reduce(3, 0.5);
  EXPECT_LT(belief.ledger_error(), 1e-12);
  for (std::size_t k = 0; k < rho.size(); ++k) {
    EXPECT_NEAR(belief.posterior().rho[k], before[k] - rho[k] / 2, 1e-9 * before[k]);
  }
  EXPECT_THROW(belief.reduce(5, 0.5), NetworkError);
  EXPECT_THROW(belief.reduce(3, 1), NetworkError);
}

RC_GTEST_PROP(Visits, HaveTheWholeWeight, ()) {
  const double weight = *rc::gen::inRange(1, 200'000) / 1000.0;
  const detail::Visits visits(weight);
  double sum = 0;
  for (std::size_t v = 0; v < visits.count(); ++v) {
    RC_ASSERT(visits.times(v) > 0);
    sum += visits.times(v);
  }
  RC_ASSERT(std::abs(sum - weight) < 1e-12 * weight);
  RC_ASSERT(visits.count() == static_cast<std::size_t>(std::ceil(std::min(weight, 64.0))));
}

TEST(Visits, RoundingIsNoVisit) {
  double sum = 0;
  for (int n = 0; n < 30; ++n) sum += 0.1;  // 3 - 4e-16 or 3 + 4e-16
  EXPECT_EQ(detail::Visits(sum).count(), 3U);
  EXPECT_EQ(detail::Visits(3 + 1e-12).count(), 3U);
  EXPECT_EQ(detail::Visits(1e-12).count(), 1U);
  EXPECT_EQ(detail::Visits(1e-12).times(0), 1e-12);
}

TEST(WeightedData, RefusesWhatIsNoWeight) {
  const std::vector<double> inputs{1, 2};
  const std::vector<double> targets{3, 4};
  for (const double wrong : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    const std::vector<double> weights{1, wrong};
    EXPECT_THROW((Data{inputs, targets, 2, weights}.validate(1, 1)), NetworkError) << wrong;
  }
  const std::vector<double> few{1};
  EXPECT_THROW((Data{inputs, targets, 2, few}.validate(1, 1)), NetworkError);
}

TEST(WeightedData, RowsWithoutWeightsCountOnceBesideOthers) {
  Rows rows = weighted_wave(2, 0.3, 1, {});
  rows.append(weighted_wave(2, 0.3, 2, {3, 4}).data());
  rows.append(weighted_wave(1, 0.3, 3, {}).data());
  EXPECT_EQ(rows.weights, (std::vector<double>{1, 1, 3, 4, 1}));
  const Data part = rows.data().part(1, 2);
  EXPECT_EQ(part.weights[1], 3);
  EXPECT_EQ(total_weight(part.weights, 2), 4);
}

}  // namespace
}  // namespace dma
