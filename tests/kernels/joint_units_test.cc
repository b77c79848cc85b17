// Units of a joint network, several at a time, against the special functions: on every instruction set that the machine has.
#include "kernels/on_instruction_set.h"
// It must come before any header of Highway.
#include <dma/special/accuracy.h>
#include <dma/special/normal.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/joint_units.h"

namespace dma::kernels {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

class JointUnits : public testing::TestWithParam<std::int64_t> {
 private:
  const kernels::OnInstructionSet chosen_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(OnEverySet, JointUnits, testing::ValuesIn(kernels::instruction_sets()),
                         [](const auto& info) { return hwy::TargetName(info.param); });

// Both sides of 0, dense where the curves bend, and where squares overflow.
std::vector<double> arguments() {
  std::vector<double> z{0, -0.0, 1e-300, -1e-300, 1e100, -1e100, 1e200, -1e200, 1e308, -1e308};
  for (double x = -45; x <= 45; x += 0.01) z.push_back(x);
  return z;
}

// Phi(-37) is the last that is a normal number; the density is cut a little below.
double least_at(double z) { return std::abs(z) < 37 ? 0 : 1e-300; }

// The contracts of special/accuracy.h, which the reference keeps too: hence twice.
TEST_P(JointUnits, LeakyReluIsTheMeanOfItsForwardMessage) {
  const std::vector<double> z = arguments();
  for (const double slope : {0.0, 0.1, 0.7, 1.0}) {
    std::vector<double> value(z.size());
    std::vector<double> derivative(z.size());
    leaky_relu_units(z.size(), z.data(), slope, value.data(), derivative.data());
    for (std::size_t k = 0; k < z.size(); ++k) {
      const double line = z[k] > 0 ? z[k] : slope * z[k];
      const double mean =
          std::abs(z[k]) > 1e99 ? line : special::leaky_relu_moments(z[k], slope).mean;
      const double gain = slope + (1 - slope) * special::normal_cdf(z[k]);
      const double parts = std::abs(line) + std::abs(mean - line);
      EXPECT_NEAR(value[k], mean,
                  2 * special::accuracy::leaky_relu_mean * epsilon * parts + least_at(z[k]))
          << z[k] << ", " << slope;
      EXPECT_NEAR(derivative[k], gain,
                  2 * special::accuracy::leaky_relu_gain * epsilon * gain + least_at(z[k]))
          << z[k] << ", " << slope;
    }
  }
}

TEST_P(JointUnits, StepIsTwiceTheNormalProbability) {
  const std::vector<double> z = arguments();
  std::vector<double> value(z.size());
  std::vector<double> derivative(z.size());
  step_units(z.size(), z.data(), value.data(), derivative.data());
  for (std::size_t k = 0; k < z.size(); ++k) {
    // 1 - 2 i0: i0 is the gain of a ReLU of slope 0, and has its contract.
    const double tail = special::normal_cdf(-std::abs(z[k]));
    EXPECT_NEAR(value[k], std::erf(z[k] / std::sqrt(2.0)),
                epsilon * (2 * special::accuracy::leaky_relu_gain * tail + 2))
        << z[k];
    const double density = std::abs(z[k]) > 1e99 ? 0 : 2 * special::normal_pdf(z[k]);
    EXPECT_NEAR(derivative[k], density,
                2 * special::accuracy::normal_pdf * epsilon * density + least_at(z[k]))
        << z[k];
  }
}

TEST_P(JointUnits, HaveTheSameBitsInEveryPlaceAndLeaveTheirNeighboursAlone) {
  const std::vector<double> z = arguments();
  std::vector<double> value(z.size());
  std::vector<double> derivative(z.size());
  leaky_relu_units(z.size(), z.data(), 0.1, value.data(), derivative.data());
  for (std::size_t count = 1; count < 40; ++count) {
    std::vector<double> own(count + 1, 7);
    std::vector<double> own_derivative(count + 1, 7);
    leaky_relu_units(count, z.data() + 100, 0.1, own.data(), own_derivative.data());
    for (std::size_t k = 0; k < count; ++k) {
      EXPECT_EQ(own[k], value[100 + k]);
      EXPECT_EQ(own_derivative[k], derivative[100 + k]);
    }
    EXPECT_EQ(own[count], 7);
    EXPECT_EQ(own_derivative[count], 7);
  }
}

TEST_P(JointUnits, WhatIsNotANumberStaysNone) {
  for (const double z : {std::numeric_limits<double>::quiet_NaN(), HUGE_VAL, -HUGE_VAL}) {
    double value = 0;
    double derivative = 0;
    leaky_relu_units(1, &z, 0.1, &value, &derivative);
    EXPECT_FALSE(std::isfinite(value)) << z;
  }
}

}  // namespace
}  // namespace dma::kernels
