// Every factor of the library passes the harness; a factor made wrong on purpose is caught by the
// check that is there for it.
#include <dma/factors/conformance.h>
#include <dma/factors/factors.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

namespace dma {
namespace {

template <Factor F>
void expect_conformance(const F& factor) {
  const auto report = check_factor(factor);
  std::cout << report.text();
  EXPECT_EQ(report.exit_status(), 0) << report.text();
  EXPECT_EQ(report.checks.size(), 5U);
}

TEST(Conformance, Prior) { expect_conformance(Prior{1, 2}); }
TEST(Conformance, Observation) { expect_conformance(Observation{-1, 0.5}); }
TEST(Conformance, Sum) { expect_conformance(WeightedSum{{1, -2.5}, 0.5}); }
TEST(Conformance, NoisySum) { expect_conformance(WeightedSum{{1, -2.5}, 0.5, 2}); }
TEST(Conformance, SumOfFive) { expect_conformance(WeightedSum{{1, -2.5, 0.1, 3, 1}}); }
TEST(Conformance, Equality) { expect_conformance(Equality{}); }
TEST(Conformance, Product) { expect_conformance(Product{}); }
TEST(Conformance, LeakyRelu) { expect_conformance(LeakyRelu{0.1}); }
TEST(Conformance, LeakyReluAlmostFlat) { expect_conformance(LeakyRelu{1e-6}); }
TEST(Conformance, LeakyReluIdentity) { expect_conformance(LeakyRelu{1}); }
TEST(Conformance, Relu) { expect_conformance(LeakyRelu{0}); }
TEST(Conformance, LogNormalCopy) { expect_conformance(LogNormalCopy{}); }
TEST(Conformance, NegativeLogNormalCopy) { expect_conformance(LogNormalCopy{-1}); }
TEST(Conformance, GreaterThan) { expect_conformance(GreaterThan{0.3}); }
TEST(Conformance, Between) { expect_conformance(Between{-0.5, 1.2}); }
TEST(Conformance, Probit) { expect_conformance(Probit{-1, 0.3, 0.5}); }
TEST(Conformance, Poisson) { expect_conformance(Poisson{3}); }
TEST(Conformance, PoissonOfNothing) { expect_conformance(Poisson{0}); }
TEST(Conformance, NegativeBinomial) { expect_conformance(NegativeBinomial{2, 1.5}); }
TEST(Conformance, NegativeBinomialOfNothing) { expect_conformance(NegativeBinomial{0, 1.5}); }
TEST(Conformance, Argmax) { expect_conformance(Argmax{3, 1, 0.5}); }
TEST(Conformance, Softmax) { expect_conformance(Softmax{3, 1}); }
TEST(Conformance, Win) { expect_conformance(WinDrawLoss{1, 0.7, 1.3}); }
TEST(Conformance, Draw) { expect_conformance(WinDrawLoss{0, 0.7, 1.3}); }
TEST(Conformance, Loss) { expect_conformance(WinDrawLoss{-1, 0.7, 1.3}); }
TEST(Conformance, InnerProductOfOne) { expect_conformance(InnerProduct{3, 0.5}); }
TEST(Conformance, InnerProduct) { expect_conformance(InnerProduct{7, 0.5, 0.2}); }
TEST(Conformance, GammaPrior) { expect_conformance(GammaPrior{2.5, 0.7}); }
TEST(Conformance, GaussianPrecision) { expect_conformance(GaussianPrecision{}); }
TEST(Conformance, Ordinal) { expect_conformance(Ordinal{0.5}); }
TEST(Conformance, LogNormalObservation) { expect_conformance(LogNormalObservation{3, 0.5}); }

TEST(Conformance, Softplus) {
  expect_conformance(function(
      "softplus", [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }));
}
// tanh's poles at +-i pi/2 slow Gauss-Hermite down: 4e-4 for the widest inputs of the harness.
TEST(Conformance, Tanh) {
  expect_conformance(function(
      "tanh", [](double x) { return std::tanh(x); }, 0, 1e-3));
}
TEST(Conformance, Exp) {
  expect_conformance(function("exp", [](double x) { return std::exp(x); }));
}
// The kink costs about 1e-2 standard deviations at 20 nodes per input.
TEST(Conformance, Max) {
  expect_conformance(function(
      "max", [](double a, double b) { return std::max(a, b); }, 0, 2e-2));
}

// A right factor never fails, whatever is drawn and however far the density is from the incoming message.
TEST(Conformance, OfAThresholdHoldsForEverySeed) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const GreaterThan factor{static_cast<double>(seed % 11) - 5};
    const auto report = check_factor(factor, {.random_inputs = 100, .seed = seed});
    EXPECT_TRUE(report.passed()) << factor.threshold << ", seed " << seed << "\n" << report.text();
  }
}

// y = exp(3 x): under a wide x the variance comes from x far above its mean.
struct SteepCopy {
  static const FactorInfo& info() {
    static constexpr std::array edges{EdgeInfo{.name = "y", .theorem = "exact"},
                                      EdgeInfo{.name = "x", .theorem = "none"}};
    static constexpr FactorInfo info{
        .name = "steep", .density = "delta(y - exp(3 x))", .domain = "any", .edges = edges};
    return info;
  }
  static constexpr std::size_t arity() { return 2; }
  static double relation(std::span<const double> inputs) { return std::exp(3 * inputs[0]); }

  template <std::floating_point T>
  Gaussian<T> message(std::size_t edge, Incoming<T> in, Rule rule) const {
    const auto scaled = WeightedSum{{3}}.message<T>(0, std::array{in[1], in[1]}, rule);
    return edge == 0 ? LogNormalCopy{}.message<T>(0, std::array{in[0], scaled}, rule)
                     : Gaussian<T>::uniform();
  }
};

TEST(Conformance, ReachesTheVarianceOfASteepRelation) {
  const auto report = check_factor(SteepCopy{}, {.random_inputs = 100});
  EXPECT_TRUE(report.passed("moments")) << report.text();
}

// y = x / 2, right in every respect: each wrong factor below spoils one thing.
struct Halve {
  static const FactorInfo& info() {
    static constexpr std::array edges{EdgeInfo{.name = "y", .theorem = "exact"},
                                      EdgeInfo{.name = "x", .theorem = "exact"}};
    static constexpr FactorInfo info{
        .name = "halve", .density = "delta(y - x / 2)", .domain = "any", .edges = edges};
    return info;
  }
  static constexpr std::size_t arity() { return 2; }
  static double relation(std::span<const double> inputs) { return inputs[0] / 2; }

  template <std::floating_point T>
  Gaussian<T> message(std::size_t edge, Incoming<T> in, Rule rule) const {
    return WeightedSum{{0.5}}.message(edge, in, rule);
  }
};

struct WrongLimit : Halve {  // the message to x is 1 % off, whatever the widths
  template <std::floating_point T>
  Gaussian<T> message(std::size_t edge, Incoming<T> in, Rule rule) const {
    auto result = Halve::message(edge, in, rule);
    if (edge == 1 && result.is_proper()) result.tau *= T(1.01);
    return result;
  }
};

struct NegativePrecision : Halve {  // only for wide inputs, as a wrong cavity division would be
  template <std::floating_point T>
  Gaussian<T> message(std::size_t edge, Incoming<T> in, Rule rule) const {
    auto result = Halve::message(edge, in, rule);
    if (result.is_proper() && result.rho < T(1e-4)) result.rho -= T(1e-4);
    return result;
  }
};

struct NotANumber : Halve {  // forgets the uniform message, whose mean would be 0 / 0
  template <std::floating_point T>
  Gaussian<T> message(std::size_t edge, Incoming<T> in, Rule rule) const {
    auto result = Halve::message(edge, in, rule);
    if (result.rho == 0) result.tau = std::numeric_limits<T>::quiet_NaN();
    return result;
  }
};

struct WrongMoments : Halve {  // the deviation is 1e-4 too wide: right in the Dirac limit
  template <std::floating_point T>
  Gaussian<T> message(std::size_t edge, Incoming<T> in, Rule rule) const {
    const auto result = Halve::message(edge, in, rule);
    if (edge == 1 || !result.is_proper()) return result;
    return Gaussian<T>::from_moments(result.mean(), result.variance() * T(1.0002));
  }
};

struct ReadsItsOwnEdge : Halve {  // damped towards what arrives on the same edge
  template <std::floating_point T>
  Gaussian<T> message(std::size_t edge, Incoming<T> in, Rule rule) const {
    auto result = Halve::message(edge, in, rule);
    if (edge == 1 && result.is_proper() && in[1].is_proper()) result.tau += T(1e-12) * in[1].tau;
    return result;
  }
};

struct WrongFloat : Halve {  // a difference of squares that double survives and float does not
  template <std::floating_point T>
  Gaussian<T> message(std::size_t edge, Incoming<T> in, Rule rule) const {
    const auto result = Halve::message(edge, in, rule);
    if (!result.is_proper()) return result;
    const T shift = 3000;
    const T mean = result.mean();
    const T variance = (result.variance() + shift * shift) - shift * shift;
    return variance > 0 ? Gaussian<T>::from_moments(mean, variance) : result;
  }
};

TEST(Conformance, CatchesWhatIsWrong) {
  EXPECT_TRUE(check_factor(Halve{}).passed());
  const auto failed = [](const FactorReport& report, std::string_view check) {
    EXPECT_FALSE(report.passed(check)) << report.text();
    EXPECT_EQ(report.exit_status(), 1);
    EXPECT_NE(report.text().find("FAIL  " + std::string(check)), std::string::npos);
  };
  failed(check_factor(WrongLimit{}), "dirac");
  failed(check_factor(NegativePrecision{}), "precision");
  failed(check_factor(NotANumber{}), "precision");
  failed(check_factor(WrongMoments{}), "moments");
  failed(check_factor(ReadsItsOwnEdge{}), "independence");
  failed(check_factor(WrongFloat{}), "float");
}

// The density of a factor with one edge, against its message.
struct WrongThreshold : GreaterThan {
  double log_density(std::span<const double> at) const {
    return at[0] > threshold + 0.01 ? 0 : -std::numeric_limits<double>::infinity();
  }
};

struct NoMass : GreaterThan {
  static double log_density(std::span<const double> /*at*/) {
    return -std::numeric_limits<double>::infinity();
  }
};

struct NoVariance : Halve {
  // Grows too fast for any deviation of the input from 0.1 on.
  static double relation(std::span<const double> inputs) {
    return std::exp(std::min(400 * inputs[0] * inputs[0], 690.0));  // itself a number
  }
};

// A NaN must not get lost behind an ordinary number.
struct LosesItsDeviation : Halve {
  template <std::floating_point T>
  Gaussian<T> message(std::size_t edge, Incoming<T> in, Rule rule) const {
    const auto result = Halve::message(edge, in, rule);
    // The mean stays right, the deviation is that of a negative precision.
    return edge == 0 && result.is_proper() ? Gaussian<T>{-result.tau, -result.rho} : result;
  }
};

TEST(Conformance, FailsLoudlyWithoutAReference) {
  const auto nowhere = check_factor(NoMass{}, {.random_inputs = 100});
  EXPECT_FALSE(nowhere.passed("moments"));
  EXPECT_NE(nowhere.text().find("no mass of the density"), std::string::npos) << nowhere.text();
  const auto endless = check_factor(NoVariance{}, {.random_inputs = 100});
  EXPECT_FALSE(endless.passed("moments"));
  EXPECT_NE(endless.text().find("no finite variance"), std::string::npos) << endless.text();
  EXPECT_FALSE(check_factor(LosesItsDeviation{}, {.random_inputs = 100}).passed("moments"));
}

TEST(Conformance, CatchesAWrongDensity) {
  EXPECT_FALSE(check_factor(WrongThreshold{}).passed("moments"));
}

}  // namespace
}  // namespace dma
