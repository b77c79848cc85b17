// The Gaussian with a Gamma precision against quadrature of its density, written out here without what the factor uses.
#include <dma/factors/factors.h>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <dma/special/quadrature.h>

namespace dma {
namespace {

using G = Gaussian<double>;

struct Setting {
  double mx, vx, mm, vm;
  Gamma precision;

  std::array<G, 3> in() const {
    return {G::from_moments(mx, vx), G::from_moments(mm, vm), precision.message()};
  }
};

// The last eight have two peaks, of which those of the last three are as good as separate, or one that is far from where
// the Gamma alone has its own: a gap that is either noise or the doubt about x.
std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (const double shape : {0.3, 1.0, 2.5, 40.0, 3e4}) {
    for (const double mean : {0.01, 1.0, 50.0}) {
      for (const double vx : {1e-3, 0.5, 30.0}) {
        for (const double gap : {0.0, 0.7, 6.0, 40.0})
          all.push_back({gap + 1, vx, 1, 0.2, {shape, shape / mean}});
      }
    }
  }
  for (const double gap : {5.0, 8.0, 11.0, 20.0, 60.0}) all.push_back({gap, 4, 0, 1, {1.5, 1e-3}});
  for (const double gap : {45.0, 47.5, 50.0}) all.push_back({gap, 4, 0, 1, {20, 20 / 1500.0}});
  return all;
}

struct Exact {
  double log_mass;
  double precision, precision_variance;
  double x, x_variance;
};

// The integral over log p; x given p is Gaussian.
Exact exact(const Setting& of) {
  const double gap = of.mx - of.mm;
  const double a = of.precision.shape;
  const double b = of.precision.rate;
  const auto log_weight = [&](double t) {
    const double p = std::exp(t);
    const double v = of.vx + of.vm + 1 / p;
    return a * t - b * p - std::log(2 * M_PI * v) / 2 - gap * gap / v / 2;
  };
  const double centre = std::log(a / b);
  const double reach = 45 / std::min(a, 1.0) + 8;
  const auto breaks = special::even_breaks(centre - reach, centre + 8, 1500);
  double top = -std::numeric_limits<double>::infinity();
  for (const double t : breaks) top = std::max(top, log_weight(t));
  const auto [mass, p, pp, x, xx, within] = special::integrate<6>(
      [&](double t) {
        const double w = std::exp(log_weight(t) - top);
        const double noise = of.vm + std::exp(-t);
        const double share = of.vx / (of.vx + noise);
        const double away = -gap * share;
        const double relative = std::exp(t - centre);
        return special::Integrals<6>{w,        w * relative,    w * relative * relative,
                                     w * away, w * away * away, w * share * noise};
      },
      breaks, 1e-13);
  const double mean = p / mass;
  return {std::log(mass) + top, a / b * mean, a / b * a / b * (pp / mass - mean * mean),
          of.mx + x / mass, (xx + within) / mass - (x / mass) * (x / mass)};
}

struct Case {
  Setting setting;
  Exact exact;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> result;
    for (const Setting& setting : settings()) result.push_back({setting, exact(setting)});
    return result;
  }();
  return all;
}

TEST(GaussianPrecision, MessagesLeaveThePrecisionItsExactMean) {
  for (const auto& [setting, is] : cases()) {
    const auto in = setting.in();
    for (const Rule rule : {Rule::direct, Rule::linear}) {
      const G sent = GaussianPrecision{}.message(2, in, rule);
      EXPECT_GE(sent.tau, 0);
      EXPECT_LE(sent.tau, 0.5);
      EXPECT_GE(sent.rho, 0);
      EXPECT_NEAR(Gamma::from_message(in[2] * sent).mean() / is.precision, 1, 1e-9)
          << setting.precision.shape << " " << setting.precision.rate << " gap "
          << setting.mx - setting.mm << " vx " << setting.vx;
    }
  }
}

TEST(GaussianPrecision, LinearMessagesLeaveXItsExactMean) {
  for (const auto& [setting, is] : cases()) {
    const auto in = setting.in();
    const G sent = GaussianPrecision{}.message(0, in, Rule::linear);
    EXPECT_NEAR((in[0] * sent).mean(), is.x, 1e-9 * std::sqrt(setting.vx));
    EXPECT_NEAR(sent.mean(), setting.mm, 1e-12);
    EXPECT_GE(sent.variance(), setting.vm);
    const G mirrored =
        GaussianPrecision{}.message(1, std::array{in[1], in[0], in[2]}, Rule::linear);
    EXPECT_EQ(sent, mirrored);
  }
}

TEST(GaussianPrecision, TheDirectMessageHasTheMomentsOfAStudent) {
  const Setting setting{1, 2, 0.5, 0.3, {2.5, 3}};
  const G sent = GaussianPrecision{}.message(0, setting.in(), Rule::direct);
  EXPECT_NEAR(sent.mean(), 0.5, 1e-14);
  EXPECT_NEAR(sent.variance(), 0.3 + 3 / 1.5, 1e-14);
  // Where x is unknown the linear message tends to it.
  const Setting wide{1, 1e8, 0.5, 0.3, {2.5, 3}};
  EXPECT_NEAR(GaussianPrecision{}.message(0, wide.in(), Rule::linear).variance(), 2.3, 1e-3);
  const Setting vague{1, 2, 0.5, 0.3, {1, 3}};
  EXPECT_TRUE(GaussianPrecision{}.message(0, vague.in(), Rule::direct).is_uniform());
  EXPECT_TRUE(GaussianPrecision{}.message(0, vague.in(), Rule::linear).is_proper());
}

TEST(GaussianPrecision, MarginalsOfEpAreThoseOfQuadrature) {
  for (const auto& [setting, is] : cases()) {
    const auto in = setting.in();
    const G x = GaussianPrecision{}.marginal(0, in);
    EXPECT_NEAR(x.mean(), is.x, 1e-8 * std::sqrt(setting.vx));
    EXPECT_NEAR(x.variance() / is.x_variance, 1, 1e-7);
    const auto precision = Gamma::from_message(GaussianPrecision{}.marginal(2, in));
    EXPECT_NEAR(precision.mean() / is.precision, 1, 1e-9);
    if (setting.precision.shape < 1e3) {  // there the reference loses digits
      EXPECT_NEAR(precision.variance() / is.precision_variance, 1, 1e-7);
    }
  }
}

TEST(GaussianPrecision, TheNormaliserIsTheIntegral) {
  for (const auto& [setting, is] : cases()) {
    const double log_mass = GaussianPrecision{}.log_normaliser(setting.in());
    EXPECT_NEAR(log_mass, is.log_mass, 1e-9 * std::max(1.0, std::abs(log_mass)));
  }
}

TEST(GaussianPrecision, OfKnownValuesIsConjugate) {
  const std::array in{G::point(3), G::point(1), Gamma(2, 5).message()};
  for (const Rule rule : {Rule::direct, Rule::linear})
    EXPECT_EQ(GaussianPrecision{}.message(2, in, rule), (G{0.5, 2}));
  EXPECT_EQ(GaussianPrecision{}.variational(2, in), (G{0.5, 2}));
  const G projected = GaussianPrecision{}.marginal(2, in) / in[2];
  EXPECT_NEAR(projected.tau, 0.5, 1e-14);
  EXPECT_NEAR(projected.rho, 2, 1e-14);
  // Close to known it is close to that.
  const std::array close{G::from_moments(3, 1e-12), G::from_moments(1, 1e-12), in[2]};
  const G sent = GaussianPrecision{}.message(2, close, Rule::direct);
  EXPECT_NEAR(sent.tau, 0.5, 1e-9);
  EXPECT_NEAR(sent.rho, 2, 1e-9);
}

TEST(GaussianPrecision, OfAKnownPrecisionIsANoisyCopy) {
  const std::array in{G::from_moments(3, 2), G::from_moments(1, 0.5), G::point(4)};
  const WeightedSum copy{{1}, 0, 0.25};
  const GaussianPrecision factor;
  for (const std::size_t edge : {0U, 1U}) {
    const G expected = copy.message(edge, Incoming<double>(in).first(2), Rule::direct);
    for (const Rule rule : {Rule::direct, Rule::linear}) {
      const G sent = factor.message(edge, in, rule);
      EXPECT_NEAR(sent.mean(), expected.mean(), 1e-14);
      EXPECT_NEAR(sent.variance(), expected.variance(), 1e-14);
    }
    EXPECT_NEAR((factor.marginal(edge, in) / in[edge]).rho, expected.rho, 1e-14);
  }
  EXPECT_NEAR(factor.log_normaliser(in), copy.log_normaliser(Incoming<double>(in).first(2)), 1e-14);
}

TEST(GaussianPrecision, SaysNothingOfWhatItKnowsNothing) {
  const GaussianPrecision factor;
  const G known = G::from_moments(0, 1);
  const G precision = Gamma(2, 1).message();
  EXPECT_TRUE(
      factor.message(2, std::array{G::uniform(), known, precision}, Rule::direct).is_uniform());
  EXPECT_TRUE(factor.message(0, std::array{known, known, G::uniform()}, Rule::linear).is_uniform());
  EXPECT_TRUE(factor.variational(2, std::array{known, G::uniform(), precision}).is_uniform());
}

TEST(GammaPrior, RefusesAShapeThatIsNotPositive) {
  EXPECT_THROW(GammaPrior({0, 1}).validate(), std::invalid_argument);
  EXPECT_THROW(GammaPrior({1, -1}).validate(), std::invalid_argument);
  EXPECT_THROW(GammaPrior({1, HUGE_VAL}).validate(), std::invalid_argument);
  EXPECT_NO_THROW(GammaPrior({0.5, 1e-3}).validate());
}

}  // namespace
}  // namespace dma
