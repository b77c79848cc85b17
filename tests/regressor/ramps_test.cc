// Where the ramps of an input go, and what they are good for.
#include "regressor/ramps.h"

#include <dma/regressor/regressor.h>
#include <dma/special/random.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "regressor/beliefs.h"

namespace dma::detail {
namespace {

std::vector<double> normal_rows(std::size_t rows, std::size_t width, std::uint64_t seed) {
  special::Random random(seed);
  std::vector<double> inputs(rows * width);
  for (double& x : inputs) x = random.normal();
  return inputs;
}

// What an architecture asks for, and from the least value to the largest.
TEST(Ramps, GoFromTheLeastToTheLargestValueOfEveryInput) {
  const std::vector<double> inputs = normal_rows(300, 3, 1);
  const std::vector<Ramp> ramps = ramps_of(inputs, 3);
  const Architecture network{.widths = {3, 1}, .bias = {true}, .ramps = ramps};
  EXPECT_NO_THROW(network.validate(Rule::linear));
  for (std::size_t input = 0; input < 3; ++input) {
    std::vector<double> values;
    for (std::size_t n = input; n < inputs.size(); n += 3) values.push_back(inputs[n]);
    const auto [least, largest] = std::minmax_element(values.begin(), values.end());
    const auto of_input = [&](const Ramp& ramp) { return ramp.input == input; };
    EXPECT_EQ(std::find_if(ramps.begin(), ramps.end(), of_input)->from, *least);
    EXPECT_EQ(std::find_if(ramps.rbegin(), ramps.rend(), of_input)->to, *largest);
    EXPECT_EQ(std::count_if(ramps.begin(), ramps.end(), of_input), 16);
  }
}

TEST(Ramps, AreNotForInputsOfTwoValues) {
  std::vector<double> inputs;
  for (int n = 0; n < 30; ++n) {
    inputs.insert(inputs.end(), {1.5, n % 2 == 0 ? 0.0 : 1.0, static_cast<double>(n % 3)});
  }
  EXPECT_EQ(ramps_of(inputs, 3), (std::vector<Ramp>{{2, 0, 1}, {2, 1, 2}}));
}

// Nine rows in ten are 0; the others, from 1 on, still have a quarter of the ramps and more between them.
TEST(Ramps, AreSpentOnRareValuesToo) {
  std::vector<double> inputs(1000, 0.0);
  for (std::size_t n = 0; n < 100; ++n) inputs[n] = 1 + static_cast<double>(n);
  const std::vector<Ramp> ramps = ramps_of(inputs, 1);
  EXPECT_GE(std::count_if(ramps.begin(), ramps.end(), [](const Ramp& r) { return r.from >= 1; }),
            4);
}

TEST(Ramps, DoNotDependOnTheOrderOfRows) {
  std::vector<double> inputs = normal_rows(200, 1, 2);
  const std::vector<Ramp> ramps = ramps_of(inputs, 1);
  std::reverse(inputs.begin(), inputs.end());
  EXPECT_EQ(ramps_of(inputs, 1), ramps);
}

TEST(Ramps, AreFewerOfEachInputIfThereAreMany) {
  EXPECT_EQ(ramps_of(normal_rows(100, 64, 3), 64).size(), 64U * 8U);
  EXPECT_EQ(ramps_of(normal_rows(100, 300, 3), 300).size(), 300U * 4U);
  EXPECT_EQ(ramps_of(normal_rows(20'000, 1, 3), 1).size(), 27U);
}

// The class is yes where the column is far from 0 on either side.
Table two_sided(std::size_t rows, std::uint64_t seed) {
  special::Random random(seed);
  Table table{.columns = {{.name = "x"}, {.name = "z"}, {.name = "y"}}};
  for (std::size_t n = 0; n < rows; ++n) {
    const double x = random.normal();
    const bool yes = random.uniform() < (std::abs(x) > 1 ? 0.9 : 0.1);
    table.columns[0].numbers.push_back(x);
    table.columns[1].numbers.push_back(random.normal());
    table.columns[2].numbers.push_back(yes ? 1 : 0);
  }
  return table;
}

TEST(Ramps, TellClassesApartThatALineCannot) {
  const RegressorOptions options{
      .target = "y", .kind = TargetKind::classes, .ensemble = 2, .threads = 2};
  const Regressor model = Regressor::fit(two_sided(400, 1), options);
  const auto shape_of = [&](std::size_t hidden, bool has_ramps) {
    const auto& shapes = model.report().shapes;
    return *std::find_if(shapes.begin(), shapes.end(), [&](const ShapeReport& shape) {
      return shape.hidden.size() == hidden && (shape.ramps > 0) == has_ramps;
    });
  };
  const ShapeReport additive = shape_of(0, true);
  EXPECT_EQ(additive.ramps, 32U);
  EXPECT_EQ(additive.weights, 2U + 32U + 1U);
  EXPECT_LT(additive.held_out_nll, shape_of(0, false).held_out_nll - 0.1);
  EXPECT_EQ(shape_of(1, true).ramps, 32U);
  EXPECT_EQ(shape_of(2, false).ramps, 0U);

  const Regressor again = Regressor::from_bytes(model.to_bytes());
  EXPECT_EQ(again.to_bytes(), model.to_bytes());
  for (std::size_t m = 0; m < model.model().members.size(); ++m) {
    EXPECT_EQ(again.model().members[m].belief->architecture().ramps,
              model.model().members[m].belief->architecture().ramps);
  }
}

TEST(Ramps, AreNotInAShapeThatWasAskedFor) {
  const Regressor model = Regressor::fit(
      two_sided(60, 1),
      {.target = "y", .kind = TargetKind::classes, .hidden = {3}, .epochs = 6, .ensemble = 1});
  EXPECT_TRUE(architecture_of(model.model()).ramps.empty());
}

}  // namespace
}  // namespace dma::detail
