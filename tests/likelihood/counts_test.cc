// Counts: terms against differences, messages against the factor, predictions against samples.
#include <dma/likelihood/counts.h>

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include <dma/base/error.h>
#include <dma/factors/negative_binomial.h>
#include <dma/metrics/predicted.h>
#include <dma/special/gamma.h>
#include <dma/special/random.h>

namespace dma {
namespace {

using G = Gaussian<double>;

TEST(Counts, TermsAreTheDerivativesOfTheLoss) {
  const std::array targets{0.0, 1.0, 3.0, 20.0, 500.0};
  CountLikelihood likelihood(CountRates{1.2}, true, 0.4);
  const auto terms = likelihood.terms(targets);
  std::vector<double> values{0.3, -2.0, 0.1, 2.5, -1.0};
  std::vector<double> root(5), slope(5);
  terms->expand(0, values, root.data(), slope.data());
  constexpr double step = 1e-4;
  for (std::size_t n = 0; n < 5; ++n) {
    std::vector<double> up = values, down = values;
    up[n] += step;
    down[n] -= step;
    const double size = 1 + targets[n];
    EXPECT_NEAR(root[n] * slope[n], -(terms->loss(up) - terms->loss(down)) / (2 * step),
                1e-6 * size);
    EXPECT_NEAR(root[n] * root[n],
                (terms->loss(up) - 2 * terms->loss(values) + terms->loss(down)) / (step * step),
                1e-4 * size);
  }
  double sum = 0;
  for (std::size_t n = 0; n < 5; ++n) {
    sum -= NegativeBinomial{targets[n], 1 / 0.4}.log_density(1.2 + values[n]);
  }
  EXPECT_NEAR(terms->mean_nll(values), sum / 5, 1e-10);
}

// A row of weight 2 is two rows: in the loss, the curvature and the gradient, what is learnt and what is scored.
TEST(Counts, AWeightIsSoManyRows) {
  const std::vector<double> once{0, 2, 9}, weights{2, 1, 3}, copies{0, 0, 2, 9, 9, 9};
  const std::vector<double> values{0.3, -1, 0.8}, repeated{0.3, 0.3, -1, 0.8, 0.8, 0.8};
  const std::vector<double> variance(3, 0.1), variances(6, 0.1);
  CountLikelihood likelihood(CountRates{1.2, 4}, true, 0.4);
  const auto weighted = likelihood.terms({once, weights});
  const auto alone = likelihood.terms(once);
  const auto separate = likelihood.terms(copies);
  EXPECT_EQ(weighted->weight(), 6);
  EXPECT_NEAR(weighted->loss(values), separate->loss(repeated), 1e-12);
  EXPECT_NEAR(weighted->mean_nll(values), separate->mean_nll(repeated), 1e-12);
  std::vector<double> root(3), slope(3), own_root(3), own_slope(3);
  weighted->expand(0, values, root.data(), slope.data());
  alone->expand(0, values, own_root.data(), own_slope.data());
  for (std::size_t n = 0; n < 3; ++n) {
    EXPECT_NEAR(root[n] * root[n], weights[n] * own_root[n] * own_root[n], 1e-12);
    EXPECT_NEAR(root[n] * slope[n], weights[n] * own_root[n] * own_slope[n], 1e-12);
  }
  EXPECT_NEAR(likelihood.mean_nll({once, weights}, {values, variance}),
              likelihood.mean_nll(copies, {repeated, variances}), 1e-12);
  CountLikelihood other(CountRates{1.2, 4}, true, 0.4);
  likelihood.learn({once, weights}, {values, variance});
  other.learn(copies, {repeated, variances});
  EXPECT_EQ(likelihood.dispersion(), other.dispersion());
  EXPECT_EQ(likelihood.width(), other.width());
  EXPECT_NEAR(likelihood.score({once, weights}, likelihood.predictive({values, variance})).nll,
              other.score(copies, other.predictive({repeated, variances})).nll, 1e-12);
}

TEST(Counts, TermsAreFiniteHoweverSureTheNetworkIs) {
  CountLikelihood likelihood(CountRates{0});
  for (const double target : {0.0, 1000.0}) {
    const auto terms = likelihood.terms(std::span(&target, 1));
    for (const double value : {-2000.0, -50.0, 50.0, 2000.0}) {
      double root = 0;
      double slope = 0;
      terms->expand(0, std::span(&value, 1), &root, &slope);
      EXPECT_TRUE(std::isfinite(root) && std::isfinite(slope)) << value;
      EXPECT_TRUE(std::isfinite(terms->loss(std::span(&value, 1))));
    }
  }
}

// The messages of the graph's factor, with the log of the usual count as a known shift.
TEST(Counts, AMessageIsThatOfTheFactor) {
  const CountLikelihood likelihood(CountRates{1.5}, true, 0.25);
  for (const Rule rule : {Rule::direct, Rule::linear}) {
    for (const double target : {0.0, 1.0, 12.0}) {
      for (const double v : {0.01, 0.7}) {
        const std::array mean{0.4}, variance{v};
        std::array<double, 1> to_mean{}, to_variance{};
        likelihood.message(rule, std::span(&target, 1), {mean, variance}, to_mean, to_variance);
        const std::array in{G::from_moments(1.9, v)};
        const G expected = NegativeBinomial{target, 4}.message(0, Incoming<double>(in), rule);
        EXPECT_NEAR(to_mean[0] + 1.5, expected.mean(), 1e-12 * (1 + std::abs(expected.mean())));
        EXPECT_NEAR(to_variance[0] / expected.variance(), 1, 1e-12);
      }
    }
  }
}

// Probabilities of whole numbers, by 100,000 samples of function and noise.
TEST(Counts, PredictionsAreAveragesOverTheBelief) {
  const CountLikelihood likelihood(CountRates{1, 6}, true, 0.3);
  const std::array mean{0.4}, variance{0.3};
  const Prediction said = likelihood.predictive({mean, variance});
  const Predicted p = mixture_of(
      {{said.mean[0], std::sqrt(said.epistemic_variance[0]), std::sqrt(said.noise_variance[0])}},
      Family::count);
  constexpr int samples = 100'000;
  special::Random random(3);
  std::vector<double> share(200);
  double sum = 0;
  for (int i = 0; i < samples; ++i) {
    const double log_rate = likelihood.drawn_log_rate(
        mean[0] + std::sqrt(variance[0]) * random.normal(), mean[0], variance[0]);
    const Predicted known =
        mixture_of({{log_rate, 0, std::sqrt(special::trigamma(1 / 0.3))}}, Family::count);
    const double count = known.quantile(random.uniform());
    sum += count / samples;
    if (count < 200) share[static_cast<std::size_t>(count)] += 1.0 / samples;
  }
  double apart = 0;
  for (std::size_t n = 0; n < share.size(); ++n) {
    const double probability = std::exp(p.log_density(static_cast<double>(n)));
    EXPECT_NEAR(probability, share[n], 0.01) << n;
    apart += std::abs(probability - share[n]) / 2;
  }
  EXPECT_LT(apart, 0.025);
  EXPECT_NEAR(p.mean / sum, 1, 0.03);
  const std::array target{4.0};
  EXPECT_NEAR(likelihood.mean_nll(target, {mean, variance}), -p.log_density(4), 1e-12);
}

// N(0, s^2) before the network says anything, s half the log of the largest count over the usual one.
TEST(Counts, ANetworkWithoutAnIdeaSaysSo) {
  const CountLikelihood likelihood(CountRates{1, 3});
  const std::array mean{40.0}, variance{1e6};
  const Prediction said = likelihood.predictive({mean, variance});
  EXPECT_NEAR(said.mean[0], 1, 0.01);
  EXPECT_NEAR(said.epistemic_variance[0], 2.25, 0.01);
}

TEST(Counts, LearnsTheDispersion) {
  constexpr std::size_t rows = 4000;
  for (const double dispersion : {0.02, 0.5, 3.0}) {
    special::Random random(7);
    std::vector<double> targets, mean, variance(rows, 0.01);
    for (std::size_t n = 0; n < rows; ++n) {
      mean.push_back(random.uniform(-1, 1));
      const Predicted known = mixture_of(
          {{2 + mean.back(), 0, std::sqrt(special::trigamma(1 / dispersion))}}, Family::count);
      targets.push_back(known.quantile(random.uniform()));
    }
    CountLikelihood likelihood(CountRates{2, 6}, true);
    const double before = likelihood.mean_nll(targets, {mean, variance});
    likelihood.learn(targets, {mean, variance});
    const double allowed = 0.02 + 0.2 * dispersion;  // by a thousand of the rows
    EXPECT_NEAR(likelihood.dispersion(), dispersion, allowed);
    // Two numbers from a thousand rows cost a thousandth of a nat on average, where the start was right.
    EXPECT_LE(likelihood.mean_nll(targets, {mean, variance}), before + 0.003);

    CountLikelihood follows(CountRates{2, 6}, true);
    bool changed = false;
    for (std::size_t n = 0; n < rows; ++n) {
      changed |= follows.follow(std::span(&targets[n], 1),
                                {std::span(&mean[n], 1), std::span(&variance[n], 1)});
    }
    follows.finish_learning();
    EXPECT_TRUE(changed);
    EXPECT_NEAR(follows.dispersion(), dispersion, allowed);

    Arrays stored;
    likelihood.store(stored);
    CountLikelihood other(CountRates{2, 6});
    other.restore(stored);
    EXPECT_EQ(other.dispersion(), likelihood.dispersion());
    EXPECT_EQ(other.width(), likelihood.width());
    CountLikelihood fixed(CountRates{2, 6}, false, 0.5);
    fixed.learn(targets, {mean, variance});
    EXPECT_EQ(fixed.dispersion(), 0.5);
  }
}

TEST(Counts, RefusesWhatIsNoCount) {
  EXPECT_THROW(CountLikelihood(CountRates{std::nan("")}), NetworkError);
  EXPECT_THROW(CountLikelihood(CountRates{0}, true, 0), NetworkError);
  const CountLikelihood likelihood(CountRates{0});
  for (const double target : {-1.0, 0.5, std::nan(""), HUGE_VAL}) {
    EXPECT_THROW(likelihood.validate(std::span(&target, 1)), NetworkError) << target;
  }
  EXPECT_THROW(likelihood.for_outputs(2), NetworkError);
}

}  // namespace
}  // namespace dma
