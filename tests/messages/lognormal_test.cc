#include <dma/messages/lognormal.h>

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace dma {
namespace {

using G = Gaussian<double>;

RC_GTEST_PROP(LogNormal, CopiesInBothDirectionsKeepMeanAndVariance, ()) {
  const double size = *rc::gen::inRange(1, 1000) / 100.0;
  const double mean = size * *rc::gen::element(-1, 1);
  const double sd = std::exp(*rc::gen::inRange(-500, 200) / 100.0);
  const auto lognormal = to_lognormal(G::from_moments(mean, sd * sd));
  RC_ASSERT(std::abs(lognormal.mean() / mean - 1) < 1e-13);
  RC_ASSERT(std::abs(lognormal.variance() / (sd * sd) - 1) < 1e-12 * (1 + mean * mean / sd / sd));
  const auto back = to_gaussian(lognormal);
  RC_ASSERT(std::abs(back.mean() / mean - 1) < 1e-13);
}

TEST(LogNormal, ProductAndQuotientAddInLogSpace) {
  const LogNormal<double> a{G::from_moments(0.3, 0.2), 1};
  const LogNormal<double> b{G::from_moments(-0.5, 0.4), -1};
  const auto c = product(a, b);
  EXPECT_EQ(c.sign, -1);
  EXPECT_NEAR(c.mean(), a.mean() * b.mean(), 1e-15);
  const auto d = quotient(a, b);
  EXPECT_NEAR(d.log.mean(), 0.8, 1e-15);
  EXPECT_NEAR(d.log.variance(), 0.6, 1e-15);
}

TEST(LogNormal, DensityIntegratesToOne) {
  const LogNormal<double> w{G::from_moments(0.3, 0.2), -1};
  double mass = 0;
  const double h = 1e-3;
  for (double x = -30; x < 0; x += h) mass += h * std::exp(w.log_density(x + h / 2));
  EXPECT_NEAR(mass, 1, 1e-6);
  EXPECT_EQ(w.log_density(1), -std::numeric_limits<double>::infinity());
}

// Lemma gauss-ln-kl in its raw form, with 50 digits.
TEST(LogNormal, MatchedKlAgainstTheLemma) {
  using Big = boost::multiprecision::cpp_bin_float_50;
  for (const double s : {1e-12, 1e-6, 0.01, 0.3, 0.99, 1.01, 3.0, 40.0}) {
    const LogNormal<double> w{G::from_moments(0.7, s), 1};
    const Big big = 1 / Big(w.log.rho);
    const Big mu = Big(w.log.tau) / Big(w.log.rho);
    const Big variance = exp(2 * mu + big) * (exp(big) - 1);
    const Big exact = log(variance / big) / 2 - mu;
    EXPECT_NEAR(matched_kl(w) / static_cast<double>(exact), 1, 1e-14) << s;
  }
}

TEST(LogNormal, RefusesWhatItCannotMatch) {
  EXPECT_THROW((void)to_lognormal(G::from_moments(0, 1)), std::domain_error);
  EXPECT_THROW((void)to_lognormal(G::uniform()), std::domain_error);
  EXPECT_TRUE(to_gaussian(LogNormal<double>{G::from_moments(0, 1e6), 1}).is_uniform());
}

}  // namespace
}  // namespace dma
