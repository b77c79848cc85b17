// The accuracy contracts of special/accuracy.h, read here and held against 30-digit tables.
#include <dma/special/accuracy.h>
#include <dma/special/larger.h>
#include <dma/special/normal.h>

#include <gtest/gtest.h>

#include <iostream>
#include <map>

#include "table.h"

namespace dma::special {
namespace {

// What special/accuracy.h promises, by name.
#define CONTRACT(name) #name, accuracy::name

template <class T>
class Normal : public ::testing::Test {
 protected:
  // The error in units of epsilon, relative to scale (default: the exact value).
  void expect(T actual, double exact, const char* name, double contract, double argument,
              double scale = 0) {
    if (scale == 0) scale = std::abs(exact);
    if (exact != 0 && scale < double(std::numeric_limits<T>::min())) return;  // underflows
    if (scale > double(std::numeric_limits<T>::max())) return;                // overflows
    const double error = scale == 0 ? std::abs(double(actual))
                                    : std::abs(double(actual) - exact) / scale /
                                          double(std::numeric_limits<T>::epsilon());
    EXPECT_LE(error, contract) << name << " at " << argument << ": " << actual << ", exact "
                               << exact;
    auto& worst = worst_[name];
    worst = {larger(worst.error, error), contract, worst.compared + 1};
  }

  // Reported as well as held: a contract much wider than the error is not worth much.
  void TearDown() override {
    for (const auto& [name, worst] : worst_) {
      EXPECT_GT(worst.compared, 30) << name;
      std::cout << "  " << name << (sizeof(T) == sizeof(float) ? " float " : " double ")
                << worst.error << " of " << worst.contract << " eps, " << worst.compared
                << " values\n";
    }
  }

 private:
  struct Worst {
    double error, contract;
    int compared;
  };
  std::map<std::string, Worst> worst_;
};

using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Normal, Types);

TYPED_TEST(Normal, DensityAndDistribution) {
  const test::Table table("special/tables/univariate.csv");
  for (std::size_t i = 0; i < table.size(); ++i) {
    const double at = table.at(i, "u");
    const auto u = TypeParam(at);
    this->expect(normal_pdf(u), table.at(i, "pdf"), CONTRACT(normal_pdf), at);
    this->expect(normal_cdf(u), table.at(i, "cdf"), CONTRACT(normal_cdf), at);
    this->expect(normal_log_cdf(u), table.at(i, "log_cdf"), CONTRACT(normal_log_cdf), at);
    this->expect(normal_mills(u), table.at(i, "mills"), CONTRACT(normal_mills), at);
  }
}

TYPED_TEST(Normal, ScaledTail) {
  const test::Table table("special/tables/univariate.csv");
  for (std::size_t i = 0; i < table.size(); ++i) {
    const double at = std::abs(table.at(i, "u"));
    const auto tail = normal_scaled_tail(TypeParam(at));
    this->expect(tail.i0, table.at(i, "tail0"), CONTRACT(normal_scaled_tail), at);
    this->expect(tail.i1, table.at(i, "tail1"), CONTRACT(normal_scaled_tail), at);
    this->expect(tail.i2, table.at(i, "tail2"), CONTRACT(normal_scaled_tail), at);
  }
}

TYPED_TEST(Normal, TruncatedMoments) {
  const test::Table table("special/tables/univariate.csv");
  for (std::size_t i = 0; i < table.size(); ++i) {
    const double at = table.at(i, "u");
    const auto moments = truncated_moments(TypeParam(at));
    this->expect(moments.mean, table.at(i, "truncated_mean"), CONTRACT(truncated_mean), at);
    this->expect(moments.variance, table.at(i, "truncated_variance"), CONTRACT(truncated_variance),
                 at);
  }
}

TYPED_TEST(Normal, Quantile) {
  const test::Table table("special/tables/quantile.csv");
  for (std::size_t i = 0; i < table.size(); ++i) {
    const double p = table.at(i, "p");
    if (double(TypeParam(p)) != p) continue;  // not a float
    this->expect(normal_quantile(TypeParam(p)), table.at(i, "quantile"), CONTRACT(normal_quantile),
                 p);
  }
}

TYPED_TEST(Normal, MinusLog1p) {
  const test::Table table("special/tables/minus_log1p.csv");
  for (std::size_t i = 0; i < table.size(); ++i) {
    const double t = table.at(i, "t");
    this->expect(minus_log1p(TypeParam(t)), table.at(i, "minus_log1p"), CONTRACT(minus_log1p), t);
  }
}

TYPED_TEST(Normal, LeakyReluMoments) {
  const test::Table table("special/tables/leaky_relu.csv");
  for (std::size_t i = 0; i < table.size(); ++i) {
    const double at = table.at(i, "u");
    const auto slope = TypeParam(table.at(i, "slope"));
    const auto forward = leaky_relu_moments(TypeParam(at), slope);
    this->expect(forward.mean, table.at(i, "mean"), CONTRACT(leaky_relu_mean), at,
                 table.at(i, "mean_scale"));
    this->expect(forward.variance, table.at(i, "variance"), CONTRACT(leaky_relu_variance), at);
    this->expect(forward.gain, table.at(i, "gain"), CONTRACT(leaky_relu_gain), at);
    this->expect(forward.residual, table.at(i, "residual"), CONTRACT(leaky_relu_residual), at);
    const auto inverse = leaky_relu_inverse_moments(TypeParam(at), slope);
    this->expect(inverse.mean, table.at(i, "inverse_mean"), CONTRACT(leaky_relu_inverse_mean), at,
                 table.at(i, "inverse_mean_scale"));
    this->expect(inverse.variance, table.at(i, "inverse_variance"),
                 CONTRACT(leaky_relu_inverse_variance), at);
  }
}

// Why not the textbook forms: Propositions relu-fwd and relu-bwd, evaluated as they are written.
TEST(Textbook, LosesDigits) {
  const test::Table table("special/tables/leaky_relu.csv");
  double forward = 0;
  double backward = 0;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const double u = table.at(i, "u");
    const double a = table.at(i, "slope");
    const double p = std::erfc(-u / std::sqrt(2.0)) / 2;
    const double q = std::erfc(u / std::sqrt(2.0)) / 2;
    const double density = std::exp(-u * u / 2) / std::sqrt(2 * std::acos(-1.0));
    const double mean = u * (a + (1 - a) * p) + (1 - a) * density;
    const double variance =
        (u * u + 1) * (a * a + (1 - a * a) * p) + (1 - a * a) * u * density - mean * mean;
    forward = larger(forward, std::abs(variance / table.at(i, "variance") - 1));
    const double mass = a * p + q;
    const double inverse_mean = (u * (a * a * p + q) + (a * a - 1) * density) / (a * mass);
    const double inverse_variance =
        ((u * u + 1) * (a * a * a * p + q) + (a * a * a - 1) * u * density) / (a * a * mass) -
        inverse_mean * inverse_mean;
    backward = larger(backward, std::abs(inverse_variance / table.at(i, "inverse_variance") - 1));
  }
  const double epsilon = std::numeric_limits<double>::epsilon();
  std::cout << "  textbook variances: forward " << forward / epsilon << ", backward "
            << backward / epsilon << " eps\n";
  EXPECT_GT(forward / epsilon, 1000);
  EXPECT_GT(backward / epsilon, 1000);
}

TEST(NormalLimits, FarBeyondTheTables) {
  EXPECT_EQ(normal_pdf(1e200), 0.0);
  EXPECT_EQ(normal_cdf(-1e200), 0.0);
  EXPECT_EQ(normal_cdf(1e200), 1.0);
  EXPECT_TRUE(std::isnan(normal_cdf(std::nan(""))));
  for (const double x : {1e3, 1e10, 1e100, 1e150}) {
    const auto moments = truncated_moments(-x);
    EXPECT_NEAR(moments.mean * x, 1, 3 / x / x + 1e-14) << x;
    EXPECT_NEAR(moments.variance * x * x, 1, 7 / x / x + 1e-14) << x;
    EXPECT_NEAR(normal_mills(-x) / x, 1, 2 / x / x + 1e-14) << x;
  }
}

TEST(NormalLimits, QuantileAtTheEndsAndOutside) {
  EXPECT_EQ(normal_quantile(0.0), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(normal_quantile(1.0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(normal_quantile(0.5), 0.0);
  EXPECT_THROW((void)normal_quantile(-1e-9), std::domain_error);
  EXPECT_THROW((void)normal_quantile(std::nan("")), std::domain_error);
}

TEST(NormalLimits, LeakyReluWithSlopeOneIsTheIdentity) {
  for (double u = -30; u <= 30; u += 0.25) {
    const auto forward = leaky_relu_moments(u, 1.0);
    EXPECT_EQ(forward.mean, u);
    EXPECT_EQ(forward.variance, 1.0);
    EXPECT_EQ(forward.residual, 0.0);
  }
}

}  // namespace
}  // namespace dma::special
