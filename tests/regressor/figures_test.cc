// How good predictions are over several whole fits. The sanitizers leave this file out: the same code runs in shorter
// tests.
#include <dma/regressor/regressor.h>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>

#include <dma/special/random.h>

#include "regressor/wave_table.h"

namespace dma {
namespace {

using test::rows_of;

// Friedman's function of five columns, noise 1: more weights than rows, far from linear.
Table friedman_table(std::size_t rows, std::uint64_t seed) {
  special::Random random(seed);
  Table table{.columns = {{.name = "a"},
                          {.name = "b"},
                          {.name = "c"},
                          {.name = "d"},
                          {.name = "e"},
                          {.name = "y"}}};
  for (std::size_t n = 0; n < rows; ++n) {
    std::array<double, 5> x;
    for (std::size_t k = 0; k < 5; ++k) table.columns[k].numbers.push_back(x[k] = random.uniform());
    table.columns[5].numbers.push_back(10 * std::sin(std::numbers::pi * x[0] * x[1]) +
                                       20 * (x[2] - 0.5) * (x[2] - 0.5) + 10 * x[3] + 5 * x[4] +
                                       random.normal());
  }
  return table;
}

// Messages hold where they were computed: a network that is evaluated elsewhere would be worse off with new rows
// than without. The noise stays what it was: a table that it was found too small on gains less in likelihood, so that is
// asked of all tables together.
TEST(Figures, UpdatesAloneDoNoHarm) {
  constexpr std::uint64_t tables = 4;
  double gain = 0;  // of log-likelihood, mean
  for (std::uint64_t seed = 1; seed <= tables; ++seed) {
    auto model = Regressor::fit(friedman_table(100, seed), {.target = "y"});
    const Table test = friedman_table(1000, seed + 100);
    const Metrics before = model.evaluate(test).front();
    for (std::uint64_t block = 0; block < 5; ++block) {
      model.update(friedman_table(30, 10 * seed + block + 1000));
    }
    const Metrics after = model.evaluate(test).front();
    EXPECT_LT(after.rmse, before.rmse);
    gain += (before.nll - after.nll) / static_cast<double>(tables);
  }
  EXPECT_GT(gain, 0.03);
}

TEST(Figures, ForgettingAloneKeepsTheWidths) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Table table = friedman_table(200, seed);
    auto model = Regressor::fit(table, {.target = "y"});
    const Metrics before = model.evaluate(table).front();
    const auto report = model.forget_rows(rows_of(table, 0, 10));
    EXPECT_LT(report.moved.mean_std_ratio, 1.5);  // of the ten rows, which are news now
    const Table others = rows_of(table, 10, 200);
    const auto predicted = model.predict(others);
    const auto anew = Regressor::fit(others, {.target = "y"}).predict(others);
    double log_ratio = 0;
    for (std::size_t n = 0; n < anew.size(); ++n) {
      log_ratio += std::log(predicted[n].stddev() / anew[n].stddev()) / 190;
    }
    EXPECT_NEAR(log_ratio, 0, 0.25);
    EXPECT_LT(model.evaluate(others).front().rmse, 1.2 * before.rmse);
  }
}

// Targets that have nothing to do with the features: a member may switch every column off, and its function is
// then constant to the last digits.
TEST(Figures, NoiseOfAFlatFunctionIsFinite) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    special::Random random(seed);
    Table table;
    for (const char* name : {"a", "b", "c", "d", "y"}) {
      Column column{.name = name, .numbers = std::vector<double>(50)};
      for (double& value : column.numbers) value = random.normal();
      table.columns.push_back(std::move(column));
    }
    for (double& value : table.columns.back().numbers) value = std::floor(value);
    const auto model = Regressor::fit(table, {.target = "y", .seed = seed});
    for (const Predicted& p : model.predict(table)) {
      ASSERT_TRUE(std::isfinite(p.mean) && p.stddev() < 10) << seed << ": " << p.stddev();
    }
  }
}

}  // namespace
}  // namespace dma
