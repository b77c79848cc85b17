// Classes: terms against differences, averages against samples, messages against the factor softmax.
#include <dma/likelihood/classes.h>

#include <Eigen/Cholesky>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <utility>

#include <dma/base/error.h>
#include <dma/factors/softmax.h>
#include <dma/special/random.h>

namespace dma {
namespace {

using G = Gaussian<double>;

std::vector<double> draw(std::size_t count, std::uint64_t seed, double scale) {
  special::Random random(seed);
  std::vector<double> all;
  for (std::size_t n = 0; n < count; ++n) all.push_back(scale * random.normal());
  return all;
}

std::vector<double> some_classes(std::size_t rows, std::size_t classes) {
  std::vector<double> all;
  for (std::size_t n = 0; n < rows; ++n)
    all.push_back(static_cast<double>((n * 7 + n / 3) % classes));
  return all;
}

// R s is the gradient of log p, R R' the derivative of the gradient.
TEST(Classes, TermsAreTheDerivativesOfTheLoss) {
  constexpr std::size_t rows = 9;
  for (const std::size_t classes : {2U, 3U, 5U}) {
    ClassLikelihood likelihood(classes);
    const std::size_t k = likelihood.outputs();
    const std::vector<double> targets = some_classes(rows, classes);
    const auto terms = likelihood.terms(targets);
    ASSERT_EQ(terms->outputs(), k);
    std::vector<double> values = draw(rows * k, classes, 2);
    const auto gradient = [&](const std::vector<double>& at) {
      std::vector<double> root(rows * k * k), slope(rows * k), all(rows * k);
      terms->expand(0, at, root.data(), slope.data());
      for (std::size_t n = 0; n < rows * k; ++n) {
        for (std::size_t i = 0; i < k; ++i) all[n / k * k + i] += root[n * k + i] * slope[n];
      }
      return all;
    };
    std::vector<double> root(rows * k * k), slope(rows * k);
    terms->expand(0, values, root.data(), slope.data());
    const std::vector<double> here = gradient(values);
    constexpr double step = 1e-5;
    for (std::size_t n = 0; n < rows; ++n) {
      for (std::size_t i = 0; i < k; ++i) {
        std::vector<double> up = values, down = values;
        up[n * k + i] += step;
        down[n * k + i] -= step;
        EXPECT_NEAR(-here[n * k + i], (terms->loss(up) - terms->loss(down)) / (2 * step), 1e-8);
        for (std::size_t j = 0; j < k; ++j) {
          double curvature = 0;
          for (std::size_t c = 0; c < k; ++c) {
            curvature += root[(n * k + c) * k + i] * root[(n * k + c) * k + j];
          }
          const double change = gradient(up)[n * k + j] - gradient(down)[n * k + j];
          EXPECT_NEAR(curvature, -change / (2 * step), 1e-8);
        }
      }
    }
    EXPECT_NEAR(terms->mean_nll(values) * rows, terms->loss(values), 1e-12);
  }
}

TEST(Classes, TermsAreFiniteHoweverSureTheNetworkIs) {
  for (const std::size_t classes : {2U, 3U}) {
    ClassLikelihood likelihood(classes);
    const std::size_t k = likelihood.outputs();
    for (const double value : {-2000.0, -700.0, 700.0, 2000.0}) {
      const std::array target{0.0};
      const auto terms = likelihood.terms(target);
      std::vector<double> values(k, 0), root(k * k), slope(k);
      values[0] = value;
      terms->expand(0, values, root.data(), slope.data());
      for (const double one : root) EXPECT_TRUE(std::isfinite(one)) << value;
      for (const double one : slope) EXPECT_TRUE(std::isfinite(one)) << value;
      EXPECT_TRUE(std::isfinite(terms->loss(values)));
    }
  }
}

Eigen::VectorXd probabilities(const Eigen::VectorXd& outputs) {
  if (outputs.size() == 1) {
    return Eigen::Vector2d(1 / (1 + std::exp(outputs[0])), 1 / (1 + std::exp(-outputs[0])));
  }
  const Eigen::VectorXd all = (outputs.array() - outputs.maxCoeff()).exp();
  return all / all.sum();
}

// Probabilities, their variance and the entropy, by 100,000 samples of what is believed of the outputs.
TEST(Classes, PredictionsAreAveragesOverTheBelief) {
  for (const std::size_t classes : {2U, 3U, 8U}) {
    const ClassLikelihood likelihood(classes);
    const auto k = static_cast<Eigen::Index>(likelihood.outputs());
    // The wider the belief, the more a probability is like a step, of which even points tell less.
    for (const auto& [scale, allowed] :
         {std::pair{0.1, 0.002}, std::pair{1.0, 0.005}, std::pair{4.0, 0.015}}) {
      const std::vector<double> numbers = draw(static_cast<std::size_t>(k * (k + 1)), classes, 1);
      const Eigen::VectorXd mean = Eigen::Map<const Eigen::VectorXd>(numbers.data(), k);
      const Eigen::MatrixXd root =
          scale * Eigen::Map<const Eigen::MatrixXd>(numbers.data() + k, k, k);
      const Eigen::MatrixXd covariance = root * root.transpose();
      const Eigen::VectorXd variance = covariance.diagonal();
      const auto span = [](const auto& matrix) {
        return std::span<const double>(matrix.data(), static_cast<std::size_t>(matrix.size()));
      };
      const Outputs outputs{span(mean), span(variance),
                            k > 1 ? span(covariance) : std::span<const double>()};
      const Prediction predicted = likelihood.predictive(outputs);
      ASSERT_EQ(predicted.mean.size(), classes);

      constexpr int samples = 100'000;
      special::Random random(7);
      std::vector<double> sum(classes), squares(classes);
      double entropy = 0;
      for (int i = 0; i < samples; ++i) {
        Eigen::VectorXd z(k);
        for (Eigen::Index j = 0; j < k; ++j) z[j] = random.normal();
        const Eigen::VectorXd f = mean + root * z;
        const Eigen::VectorXd p = probabilities(f);
        for (std::size_t c = 0; c < classes; ++c) {
          const double one = p[static_cast<Eigen::Index>(c)];
          sum[c] += one / samples;
          squares[c] += one * one / samples;
          if (one > 0) entropy -= one * std::log(one) / samples;
        }
      }
      double total = 0;
      for (std::size_t c = 0; c < classes; ++c) {
        total += predicted.mean[c];
        EXPECT_NEAR(predicted.mean[c], sum[c], allowed) << classes << ", " << scale;
        EXPECT_NEAR(predicted.epistemic_variance[c], squares[c] - sum[c] * sum[c], allowed);
        EXPECT_NEAR(predicted.noise_variance[c], sum[c] - squares[c], allowed);
        const std::array target{static_cast<double>(c)};
        EXPECT_NEAR(likelihood.mean_nll(target, outputs), -std::log(predicted.mean[c]), 1e-10);
      }
      EXPECT_NEAR(total, 1, 1e-12);
      EXPECT_NEAR(predicted.entropy[0], entropy, allowed);
    }
  }
}

// What all outputs share does not matter.
TEST(Classes, OnlyDifferencesOfOutputsCount) {
  const ClassLikelihood likelihood(3);
  const std::array mean{0.3, -1.0, 0.5}, shifted{10.3, 9.0, 10.5};
  const std::array covariance{1.0, 0.2, 0.1, 0.2, 2.0, 0.3, 0.1, 0.3, 0.5};
  std::array common = covariance;
  for (double& one : common) one += 5;
  const std::array variance{1.0, 2.0, 0.5}, more{6.0, 7.0, 5.5};
  const Prediction one = likelihood.predictive({mean, variance, covariance});
  const Prediction other = likelihood.predictive({shifted, more, common});
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(one.mean[k], other.mean[k], 1e-9);
}

G heard(const ClassLikelihood& likelihood, Rule rule, double target, const Outputs& outputs,
        std::size_t k) {
  std::vector<double> mean(likelihood.outputs()), variance(likelihood.outputs());
  likelihood.message(rule, std::span(&target, 1), outputs, mean, variance);
  return G::from_moments(mean[k], variance[k]);
}

// With the other output known to be 0.
TEST(Classes, AMessageOfTwoIsThatOfASoftmax) {
  const ClassLikelihood likelihood(2);
  for (const double m : {-6.0, -1.0, 0.0, 2.5}) {
    for (const double v : {1e-3, 0.5, 9.0}) {
      const std::array mean{m}, variance{v};
      const std::array in{G::point(0), G::from_moments(m, v)};
      for (const int y : {0, 1}) {
        for (const Rule rule : {Rule::direct, Rule::linear}) {
          const G expected = Softmax{2, y}.message(1, Incoming<double>(in), rule);
          const G found = heard(likelihood, rule, y, {mean, variance}, 0);
          EXPECT_NEAR(found.rho / expected.rho, 1, 1e-6) << m << ", " << v << ", " << y;
          EXPECT_NEAR(found.tau, expected.tau, 1e-6 * (1 + std::abs(expected.tau)));
        }
      }
    }
  }
}

// The belief in the log of the others' sum is a Gaussian, which it is not: close, and never the wrong way.
TEST(Classes, AMessageOfThreeIsCloseToThatOfASoftmax) {
  const ClassLikelihood likelihood(3);
  const std::array mean{0.3, -0.5, 1.0}, variance{0.6, 0.4, 0.3};
  const std::array in{G::from_moments(mean[0], variance[0]), G::from_moments(mean[1], variance[1]),
                      G::from_moments(mean[2], variance[2])};
  for (const int y : {0, 1, 2}) {
    for (std::size_t k = 0; k < 3; ++k) {
      const G belief = in[k] * Softmax{3, y}.message(k, Incoming<double>(in), Rule::direct);
      const G found = in[k] * heard(likelihood, Rule::direct, y, {mean, variance}, k);
      EXPECT_NEAR(found.mean(), belief.mean(), 0.05 * belief.stddev());
      EXPECT_NEAR(found.stddev() / belief.stddev(), 1, 0.02);
    }
  }
}

// The linear rule regresses whether the target is of class k on output k: the slope is Cov(p_k, f_k) / v_k.
TEST(Classes, AMessageOfManyIsARegression) {
  const ClassLikelihood likelihood(4);
  const std::array mean{0.3, -0.5, 1.0, 2.0}, variance{0.6, 0.4, 0.3, 0.8};
  constexpr int samples = 200'000;
  special::Random random(3);
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(4), with_output = sum;
  for (int i = 0; i < samples; ++i) {
    Eigen::VectorXd z(4), f(4);
    for (int k = 0; k < 4; ++k) {
      z[k] = std::sqrt(variance[static_cast<std::size_t>(k)]) * random.normal();
      f[k] = mean[static_cast<std::size_t>(k)] + z[k];
    }
    const Eigen::VectorXd p = probabilities(f);
    sum += p / samples;
    with_output += (p.array() * z.array()).matrix() / samples;
  }
  for (std::size_t k = 0; k < 4; ++k) {
    const auto at = static_cast<Eigen::Index>(k);
    const double p = sum[at], v = variance[k], slope = with_output[at] / v;
    for (const std::size_t y : {0U, 3U}) {
      const G in = G::from_moments(mean[k], v);
      const G expected = in * G::from_moments(mean[k] + ((k == y ? 1 : 0) - p) / slope,
                                              p * (1 - p) / (slope * slope) - v);
      const G found =
          in * heard(likelihood, Rule::linear, static_cast<double>(y), {mean, variance}, k);
      EXPECT_NEAR(found.mean(), expected.mean(), 0.03 * expected.stddev()) << k << ", " << y;
      EXPECT_NEAR(found.stddev() / expected.stddev(), 1, 0.02) << k << ", " << y;
    }
  }
}

// Outputs that are known equally well are moved apart, and not all the same way, however wrong they were.
TEST(Classes, MessagesDoNotMoveAllOutputsTogether) {
  const ClassLikelihood likelihood(3);
  const std::array mean{1.0, -7.0, 9.0}, variance{0.5, 0.5, 0.5};
  for (const double y : {0.0, 1.0, 2.0}) {
    double sum = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const G in = G::from_moments(mean[k], variance[k]);
      const G belief = in * heard(likelihood, Rule::linear, y, {mean, variance}, k);
      EXPECT_LE(belief.variance(), variance[k]);
      sum += belief.mean() - mean[k];
    }
    EXPECT_NEAR(sum, 0, 1e-9) << y;
  }
}

TEST(Classes, RefusesWhatIsNoClass) {
  EXPECT_THROW(ClassLikelihood(1), NetworkError);
  EXPECT_THROW(ClassLikelihood(201), NetworkError);
  const ClassLikelihood likelihood(3);
  for (const double target : {-1.0, 3.0, 0.5, std::nan("")}) {
    EXPECT_THROW(likelihood.validate(std::span(&target, 1)), NetworkError) << target;
  }
  EXPECT_THROW(likelihood.for_outputs(2), NetworkError);
  EXPECT_EQ(likelihood.for_outputs(3)->outputs(), 3U);
}

// Rows whose outputs are known to be too small by a factor: the factor is found, and the predictions are better.
TEST(Classes, LearnsHowSureToBe) {
  constexpr std::size_t rows = 3000;
  for (const std::size_t classes : {2U, 3U}) {
    special::Random random(classes);
    ClassLikelihood likelihood(classes);
    const std::size_t k = likelihood.outputs();
    std::vector<double> mean, variance, covariance, targets;
    for (std::size_t n = 0; n < rows; ++n) {
      std::vector<double> f(classes, 0);
      for (std::size_t j = 0; j < k; ++j) {
        const double one = 2 * random.normal();
        mean.push_back(one / 2);
        variance.push_back(0.01);
        f[classes == 2 ? 1 : j] = one;
      }
      for (std::size_t i = 0; k > 1 && i < k * k; ++i)
        covariance.push_back(i % (k + 1) == 0 ? 0.01 : 0);
      double sum = 0;
      for (const double one : f) sum += std::exp(one);
      double place = random.uniform() * sum;
      std::size_t y = 0;
      while (y + 1 < classes && place >= std::exp(f[y])) place -= std::exp(f[y++]);
      targets.push_back(static_cast<double>(y));
    }
    const Outputs outputs{mean, variance, covariance};
    const double before = likelihood.mean_nll(targets, outputs);
    likelihood.learn(targets, outputs);
    EXPECT_NEAR(likelihood.sharpness(), 2, 0.35) << classes;
    EXPECT_LT(likelihood.mean_nll(targets, outputs), before - 0.02) << classes;
    Arrays stored;
    likelihood.store(stored);
    ClassLikelihood other(classes);
    other.restore(stored);
    EXPECT_EQ(other.sharpness(), likelihood.sharpness());
    EXPECT_EQ(other.width(), likelihood.width());
    ClassLikelihood fixed(classes, false);
    fixed.learn(targets, outputs);
    EXPECT_EQ(fixed.sharpness(), 1);
  }
}

ClassLikelihood calibrated(std::size_t classes, double log_sharpness, double log_width) {
  ClassLikelihood likelihood(classes);
  Arrays parameters;
  parameters.put("log_sharpness", log_sharpness);
  parameters.put("log_width", log_width);
  likelihood.restore(parameters);
  return likelihood;
}

std::vector<double> times(std::vector<double> numbers, double factor) {
  for (double& number : numbers) number *= factor;
  return numbers;
}

// N(m, S) counts as N(a m, a^2 b S).
TEST(Classes, CalibrationScalesMeansAndVariances) {
  for (const std::size_t classes : {2U, 4U}) {
    const ClassLikelihood likelihood = calibrated(classes, 0.4, -1);
    const std::vector<double> mean = draw(likelihood.outputs(), 3, 1);
    const std::vector<double> variance(mean.size(), 0.7);
    const Prediction one = likelihood.predictive({mean, variance});
    const auto scaled = times(mean, std::exp(0.4));
    const auto wider = times(variance, std::exp(0.8 - 1));
    const Prediction two = ClassLikelihood(classes).predictive({scaled, wider});
    for (std::size_t c = 0; c < classes; ++c) EXPECT_NEAR(one.mean[c], two.mean[c], 1e-12);
    EXPECT_NEAR(one.entropy[0], two.entropy[0], 1e-12);
    const std::array target{1.0};
    EXPECT_NEAR(likelihood.mean_nll(target, {mean, variance}),
                ClassLikelihood(classes).mean_nll(target, {scaled, wider}), 1e-12);
  }
}

double doubt_of(const Prediction& prediction) {
  double sum = -prediction.entropy[0];
  for (const double p : prediction.mean) sum += entropy_term(p);
  return sum;
}

// As much is in doubt as without it: the rest is noise.
TEST(Classes, AWidthAboveOneIsNoDoubt) {
  for (const std::size_t classes : {2U, 4U}) {
    const std::vector<double> mean = draw(classes == 2 ? 1 : classes, 3, 1);
    const std::vector<double> variance(mean.size(), 0.7);
    const Prediction narrow = calibrated(classes, 0.4, 0).predictive({mean, variance});
    const Prediction wide = calibrated(classes, 0.4, 2).predictive({mean, variance});
    EXPECT_NEAR(doubt_of(wide), doubt_of(narrow), 1e-12);
    EXPECT_GT(wide.entropy[0], narrow.entropy[0]);
  }
}

// One drawn function at a time, they are on average what is predicted.
TEST(Classes, ProbabilitiesOfDrawnFunctionsAverageToThePrediction) {
  for (const std::size_t classes : {2U, 4U}) {
    const ClassLikelihood likelihood = calibrated(classes, 0.4, -1);
    const std::size_t k = likelihood.outputs();
    const std::vector<double> mean = draw(k, 3, 1), variance(k, 0.7);
    const Prediction predicted = likelihood.predictive({mean, variance});
    special::Random random(5);
    constexpr int samples = 100'000;
    std::vector<double> sum(classes);
    for (int i = 0; i < samples; ++i) {
      std::vector<double> drawn = mean;
      for (double& one : drawn) one += std::sqrt(0.7) * random.normal();
      const std::vector<double> p = likelihood.probabilities(drawn, mean);
      for (std::size_t c = 0; c < classes; ++c) sum[c] += p[c] / samples;
    }
    for (std::size_t c = 0; c < classes; ++c) EXPECT_NEAR(predicted.mean[c], sum[c], 0.004);
  }
}

}  // namespace
}  // namespace dma
