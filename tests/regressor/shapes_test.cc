// The shapes of a mixture: which there are, what they weigh, and what a limit of time leaves of them.
#include "regressor/shapes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <vector>

#include "sanitized.h"
#include "wave_table.h"

namespace dma {
namespace {

using test::wave_table;

std::vector<std::vector<std::size_t>> widths_for(std::size_t inputs, std::size_t rows) {
  std::vector<std::vector<std::size_t>> widths;
  const Architecture like{.widths = {inputs, 1, 1}, .slopes = {0}, .bias = {true}};
  for (const Architecture& shape : detail::default_shapes(like, false, rows)) {
    widths.push_back(shape.widths);
  }
  return widths;
}

TEST(Shapes, AreFromShallowToDeep) {
  EXPECT_EQ(widths_for(8, 500), (std::vector<std::vector<std::size_t>>{
                                    {8, 5, 1}, {8, 20, 1}, {8, 20, 20, 1}, {8, 30, 30, 30, 1}}));
}

TEST(Shapes, OneOfNumbersSeesTheRamps) {
  const Architecture like{
      .widths = {1, 1, 1}, .slopes = {0}, .bias = {true}, .ramps = {{0, -1, 0}, {0, 0, 1}}};
  std::vector<std::vector<std::size_t>> with_ramps;
  const auto shapes = detail::default_shapes(like, false, 500);
  for (const Architecture& shape : shapes) {
    if (!shape.ramps.empty()) with_ramps.push_back(shape.widths);
  }
  EXPECT_EQ(shapes.size(), 5U);
  EXPECT_EQ(with_ramps, (std::vector<std::vector<std::size_t>>{{1, 20, 1}}));
}

TEST(Shapes, HaveMoreMembersIfThereAreFewRows) {
  std::size_t before = 6;
  for (const std::size_t rows : {2U, 200U, 201U, 300U, 301U, 1700U, 1701U, 100'000U}) {
    const std::size_t members = detail::default_members(rows);
    EXPECT_LE(members, before);
    EXPECT_GE(members + 1, before);
    before = members;
  }
  EXPECT_EQ(before, 3U);
  const auto model = Regressor::fit(wave_table(60, 0.3, 3), {.target = "y", .epochs = 4});
  EXPECT_EQ(model.model().members.size() % 6, 0U);
}

// No jump: ten per cent more rows cost a layer no more than a unit or a fifth of them. (A wide table loses more at once
// where the form of messages, which costs any number of units the same, gets too dear: 20 of 500 inputs become 9.)
TEST(Shapes, ShrinkWithTheRows) {
  for (const std::size_t inputs : {5U, 20U, 60U}) {
    auto before = widths_for(inputs, 1000);
    for (std::size_t rows = 1100; rows < 60'000; rows += rows / 10) {
      const auto now = widths_for(inputs, rows);
      ASSERT_FALSE(now.empty());
      for (std::size_t k = 0; now.size() == before.size() && k < now.size(); ++k) {
        for (std::size_t l = 1; l + 1 < now[k].size(); ++l) {
          const std::size_t step = std::max<std::size_t>(1, before[k][l] / 5);
          EXPECT_LE(now[k][l], before[k][l]) << inputs << " " << rows;
          EXPECT_GE(now[k][l] + step, before[k][l]) << inputs << " " << rows;
        }
      }
      before = now;
    }
  }
}

TEST(Shapes, CarryTheWholeWeight) {
  const auto model = Regressor::fit(wave_table(120, 0.3, 3), {.target = "y", .epochs = 30});
  double of_shapes = 0;
  double before = 1;
  std::size_t alive = 0;
  for (const ShapeReport& shape : model.report().shapes) {
    EXPECT_LE(shape.weight, before);
    before = shape.weight;
    of_shapes += shape.weight;
    alive += shape.weight > 0 ? 1 : 0;
  }
  EXPECT_NEAR(of_shapes, 1, 1e-12);
  double of_members = 0;
  for (const Member& member : model.model().members) of_members += member.weight;
  EXPECT_NEAR(of_members, 1, 1e-12);
  EXPECT_EQ(model.report().shapes.size(), 5U);
  EXPECT_EQ(model.model().members.size(), 6 * alive);
}

// Five units cannot follow three waves, and more epochs do not change that.
TEST(Shapes, ThatCannotHelpAreDroppedEarly) {
  Table table{.columns = {{.name = "x"}, {.name = "y"}}};
  for (int n = 0; n < 300; ++n) {
    const double x = n / 300.0;
    table.columns[0].numbers.push_back(x);
    table.columns[1].numbers.push_back(std::sin(6 * std::numbers::pi * x));
  }
  const auto model = Regressor::fit(table, {.target = "y"});
  for (const ShapeReport& shape : model.report().shapes) {
    if (shape.hidden == std::vector<std::size_t>{5}) {
      EXPECT_EQ(shape.weight, 0);
      EXPECT_LE(shape.epochs, 60U);
    }
  }
  EXPECT_GT(model.report().shapes.front().epochs, 60U);
}

// Without a limit this takes minutes.
TEST(Shapes, AFitEndsAboutWhenItIsToldTo) {
  const auto start = std::chrono::steady_clock::now();
  const auto model = Regressor::fit(wave_table(4000, 0.3, 3), {.target = "y", .seconds = 1});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (!test::sanitized) {
    EXPECT_LT(took.count(), 10);
  }
  EXPECT_EQ(model.report().stopped, Stopped::time);
  EXPECT_LT(model.evaluate(wave_table(500, 0.3, 4)).front().rmse, 5);
}

}  // namespace
}  // namespace dma
