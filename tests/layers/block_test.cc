// A network as a function of its weights: against one row at a time, and against finite differences.
#include "layers/block.h"

#include <dma/special/random.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "layers/readable.h"

namespace dma {
namespace {

using detail::Matrix;
using detail::Vector;

void network_values(const Architecture& network, JointUnit unit, const Vector& weights,
                    std::span<const double> inputs, std::size_t first, std::size_t count,
                    double* values, Matrix* gradients, const std::vector<double>& scales = {}) {
  const detail::Block block(network, unit, weights, inputs, first, count, values);
  if (gradients == nullptr) return;
  block.write_gradients(scales.empty() ? std::vector<double>(count, 1) : scales, *gradients);
}

void expect_right_gradients(JointUnit unit) {
  const Architecture network{.widths = {3, 5, 4, 1}, .slopes = {0.1, 0.4}, .bias = {true}};
  special::Random random(1);
  Vector weights(static_cast<Eigen::Index>(network.weight_count()));
  for (double& w : weights) w = random.normal();
  std::vector<double> inputs(12);
  for (double& x : inputs) x = random.normal();
  std::vector<double> values(4);
  Matrix gradients;
  network_values(network, unit, weights, inputs, 0, 4, values.data(), &gradients);
  for (Eigen::Index k = 0; k < weights.size(); ++k) {
    const double step = 1e-5;
    Vector moved = weights;
    std::vector<double> above(4);
    std::vector<double> below(4);
    moved[k] = weights[k] + step;
    network_values(network, unit, moved, inputs, 0, 4, above.data(), nullptr);
    moved[k] = weights[k] - step;
    network_values(network, unit, moved, inputs, 0, 4, below.data(), nullptr);
    for (Eigen::Index n = 0; n < 4; ++n) {
      const auto row = static_cast<std::size_t>(n);
      EXPECT_NEAR(gradients(n, k), (above[row] - below[row]) / (2 * step), 1e-7);
    }
  }
}

TEST(NetworkValues, GradientsAgreeWithDifferences) {
  expect_right_gradients(JointUnit::leaky_relu);
  expect_right_gradients(JointUnit::step);
}

void expect_rows_one_by_one(JointUnit unit, const std::vector<std::size_t>& widths,
                            std::size_t rows, double size, const std::vector<Ramp>& ramps = {}) {
  const Architecture network{
      .widths = widths, .slopes = {0.1, 0.4}, .bias = {true}, .ramps = ramps};
  special::Random random(rows);
  Vector weights(static_cast<Eigen::Index>(network.weight_count()));
  for (double& w : weights) w = random.normal();
  std::vector<double> inputs(rows * widths.front());
  for (double& x : inputs) x = size * random.normal();
  std::vector<double> scales(rows);
  for (double& scale : scales) scale = random.uniform(0.5, 2);
  std::vector<double> values(rows);
  Matrix gradients;
  network_values(network, unit, weights, inputs, 0, rows, values.data(), &gradients, scales);
  Vector gradient(weights.size());
  Vector own(gradient);
  for (std::size_t n = 0; n < rows; ++n) {
    const auto row = std::span(inputs).subspan(n * widths.front(), widths.front());
    const double value = row_value(network, unit, weights, row, gradient.data());
    EXPECT_NEAR(values[n], value, 1e-13 * (size + std::abs(value)) * 20);
    own = gradients.row(static_cast<Eigen::Index>(n)) / scales[n];
    EXPECT_LT((own - gradient).cwiseAbs().maxCoeff(), 1e-12 * (1 + gradient.cwiseAbs().maxCoeff()));
  }
}

TEST(NetworkValues, AreThoseOfEveryRowOnItsOwn) {
  for (const JointUnit unit : {JointUnit::leaky_relu, JointUnit::step}) {
    for (const std::size_t rows : std::vector<std::size_t>{1, 2, 7, 24, 25, 192}) {
      expect_rows_one_by_one(unit, {3, 5, 4, 1}, rows, 1);
      expect_rows_one_by_one(unit, {13, 20, 1}, rows, 1);
      expect_rows_one_by_one(unit, {2, 1}, rows, 1);
    }
    expect_rows_one_by_one(unit, {4, 9, 1}, 50, 30);
    expect_rows_one_by_one(unit, {4, 9, 1}, 50, 1e200);
  }
}

TEST(NetworkValues, SeeTheRampsOfTheInputs) {
  const std::vector<Ramp> ramps{{0, -1, 0}, {0, 0, 0.5}, {0, 0.5, 3}, {2, -0.25, 1e-3}};
  for (const std::size_t rows : std::vector<std::size_t>{1, 25, 192}) {
    expect_rows_one_by_one(JointUnit::leaky_relu, {3, 5, 4, 1}, rows, 1, ramps);
    expect_rows_one_by_one(JointUnit::leaky_relu, {3, 1}, rows, 1, ramps);
  }
}

// From knot to knot a ramp rises by 1, and stays: a path from one height to the next.
TEST(NetworkValues, WithRampsFollowAPathThroughTheirKnots) {
  const Architecture network{.widths = {1, 1}, .bias = {true}, .ramps = {{0, 0, 1}, {0, 1, 5}}};
  const Vector weights{{0, 2, -6, 0.5}};
  const std::vector<double> inputs{-10, 0, 0.5, 1, 2, 4, 50};
  std::vector<double> values(inputs.size());
  network_values(network, JointUnit::leaky_relu, weights, inputs, 0, inputs.size(), values.data(),
                 nullptr);
  EXPECT_EQ(values, (std::vector<double>{0.5, 0.5, 1.5, 2.5, 1, -2, -3.5}));
  std::vector<double> one{2};
  evaluate(network, std::vector<double>(weights.begin(), weights.end()), one);
  EXPECT_EQ(one, std::vector<double>{1});
}

TEST(Architecture, RampsShareAPriorPrecisionByInput) {
  const Architecture network{
      .widths = {3, 1}, .bias = {true}, .ramps = {{0, 0, 1}, {0, 1, 4}, {2, 0, 1}}};
  EXPECT_EQ(weight_groups(network, true), (std::vector<std::size_t>{0, 1, 2, 3, 3, 4, 5}));
  EXPECT_EQ(weight_groups(network, false), (std::vector<std::size_t>{0, 0, 0, 1, 1, 1, 2}));
}

TEST(Architecture, RefusesRampsThatAreNone) {
  const auto refuses = [](const std::vector<Ramp>& ramps) {
    const Architecture network{.widths = {2, 1}, .bias = {true}, .ramps = ramps};
    EXPECT_THROW(network.validate(Rule::linear), NetworkError);
  };
  refuses({{2, 0, 1}});
  refuses({{1, 0, 1}, {0, 0, 1}});
  refuses({{0, 0, 1}, {0, 2, 3}});
  refuses({{0, 1, 1}});
  refuses({{0, 1, 0}});
  refuses({{0, 0, std::numeric_limits<double>::infinity()}});
  refuses({{0, std::nan(""), 1}});
}

TEST(NetworkValues, HaveTheSameBitsInEveryBlock) {
  const Architecture network{.widths = {5, 7, 3, 1}, .slopes = {0.1}, .bias = {true}};
  special::Random random(3);
  Vector weights(static_cast<Eigen::Index>(network.weight_count()));
  for (double& w : weights) w = random.normal();
  std::vector<double> inputs(5 * 100);
  for (double& x : inputs) x = random.normal();
  std::vector<double> all(100);
  Matrix gradients;
  network_values(network, JointUnit::leaky_relu, weights, inputs, 0, 100, all.data(), &gradients);
  for (std::size_t first = 0; first < 100; first += 11) {
    const std::size_t count = std::min<std::size_t>(11, 100 - first);
    std::vector<double> values(count);
    Matrix part;
    network_values(network, JointUnit::leaky_relu, weights, inputs, first, count, values.data(),
                   &part);
    for (std::size_t n = 0; n < count; ++n) EXPECT_EQ(values[n], all[first + n]);
    EXPECT_EQ(part, gradients.middleRows(static_cast<Eigen::Index>(first),
                                         static_cast<Eigen::Index>(count)));
  }
}

}  // namespace
}  // namespace dma
