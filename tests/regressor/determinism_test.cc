// Same rows, same options, same seed: the same bits, whatever the threads, the run, the order of the columns; and what
// must not matter to the target, its unit and its zero, does not.
#include <dma/data/csv.h>
#include <dma/regressor/regressor.h>
#include <dma/regressor/stream.h>
#include <dma/special/larger.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include <dma/special/random.h>

#include "regressor/wave_table.h"
#include "scratch.h"

namespace dma {
namespace {

using test::rows_of;
using test::Scratch;
using test::wave_table;
using Bytes = std::vector<std::byte>;

struct Kind {
  const char* name;
  BeliefKind belief;
  // How far another unit of the target may move predictions, in their deviations. Measured: joint 7e-9, linear 2e-9,
  // direct 3e-13; the linear rule's rounding grows with the epochs, from 2e-13 at the first. Single precision rounds the
  // targets to the same numbers, but for a few.
  double tolerance = 1e-7;
  Rule rule = Rule::linear;
  bool single_precision = false;
};

class DeterminismOfEachKind : public testing::TestWithParam<Kind> {
 protected:
  static RegressorOptions quick() {
    return {.target = "y",
            .hidden = {8},
            .belief = GetParam().belief,
            .rule = GetParam().rule,
            .epochs = 25,
            .ensemble = 3,
            .single_precision = GetParam().single_precision};
  }
};
INSTANTIATE_TEST_SUITE_P(
    Determinism, DeterminismOfEachKind,
    testing::Values(Kind{"joint", BeliefKind::joint}, Kind{"linear", BeliefKind::independent},
                    Kind{"direct", BeliefKind::independent, 1e-11, Rule::direct},
                    Kind{"float", BeliefKind::independent, 1e-3, Rule::linear, true}),
    [](const auto& kind) { return kind.param.name; });

// A model and all that it became.
std::vector<Bytes> life(const Table& table, const RegressorOptions& options) {
  std::vector<Bytes> stages;
  const Table first = rows_of(table, 0, 60);
  auto model = Regressor::fit(first, options);
  stages.push_back(model.to_bytes());
  model.update(rows_of(table, 60, 80));
  stages.push_back(model.to_bytes());
  model.forget_rows(rows_of(table, 5, 20));
  stages.push_back(model.to_bytes());
  Table known = rows_of(table, 0, 5);
  append_rows(known, rows_of(table, 20, 80));
  model.update(rows_of(table, 80, 90), {.data = &known});
  stages.push_back(model.to_bytes());
  append_rows(known, rows_of(table, 80, 90));
  model.forget_rows(rows_of(table, 80, 85), {.data = &known});
  stages.push_back(model.to_bytes());
  return stages;
}

// Columns of several kinds, in an order that is not that of their names.
Table mixed_table(std::size_t rows, std::uint64_t seed) {
  special::Random random(seed);
  Table table{.columns = {{.name = "size"},
                          {.name = "x10"},
                          {.name = "x2"},
                          {.name = "colour", .values = {"red", "green"}, .is_text = true},
                          {.name = "Age"},
                          {.name = "y"}}};
  for (std::size_t n = 0; n < rows; ++n) {
    double sum = 0;
    for (Column& column : table.columns) {
      if (column.is_text) {
        column.codes.push_back(random.uniform() < 0.5 ? 0 : 1);
        sum += column.codes.back();
      } else if (column.name != "y") {
        column.numbers.push_back(random.normal());
        sum += std::sin(column.numbers.back());
      }
    }
    if (n % 7 == 0) table.columns[1].numbers[n] = std::nan("");
    table.columns.back().numbers.push_back(sum + 0.1 * random.normal());
  }
  return table;
}

TEST_P(DeterminismOfEachKind, ThreadsAndRunsDoNotChangeABit) {
  const Table table = wave_table(90, 0.2, 1);
  auto options = quick();
  options.threads = 1;
  const auto bytes = life(table, options);
  for (const std::size_t threads : {1U, 2U, 3U, 8U}) {
    options.threads = threads;
    EXPECT_EQ(life(table, options), bytes) << threads << " threads";
  }
  options.seed = 2;
  EXPECT_NE(life(table, options).front(), bytes.front());
}

TEST_P(DeterminismOfEachKind, AModelThatWasSavedGoesOnAsTheOneInMemory) {
  const Table table = wave_table(90, 0.2, 1);
  auto model = Regressor::fit(rows_of(table, 0, 60), quick());
  auto again = Regressor::from_bytes(model.to_bytes());
  for (Regressor* each : {&model, &again}) {
    each->update(rows_of(table, 60, 80));
    each->forget_rows(rows_of(table, 0, 7));
  }
  EXPECT_EQ(again.to_bytes(), model.to_bytes());
}

TEST_P(DeterminismOfEachKind, PermutedColumnsDoNotChangeABit) {
  const Table table = mixed_table(90, 1);
  const auto bytes = life(table, quick());
  std::mt19937_64 engine(1);
  for (int repeat = 0; repeat < 3; ++repeat) {
    Table permuted = table;
    std::shuffle(permuted.columns.begin(), permuted.columns.end(), engine);
    EXPECT_EQ(life(permuted, quick()), bytes);
  }
}

// A model of before, whose inputs stand as its file had them: they stay there, and its rows are found.
TEST_P(DeterminismOfEachKind, AModelKeepsTheOrderItWasMadeWith) {
  const Table table = mixed_table(40, 2);
  Encoder encoder = Regressor::encoder_for(table, quick());
  std::reverse(encoder.features.begin(), encoder.features.end());
  const auto old = Regressor::fit(table, encoder, quick());
  auto again = Regressor::from_bytes(old.to_bytes());
  ASSERT_EQ(again.encoder().input_names(), encoder.input_names());
  Table permuted = table;
  std::rotate(permuted.columns.begin(), permuted.columns.begin() + 2, permuted.columns.end());
  EXPECT_EQ(again.predict(permuted)[3].mean, old.predict(table)[3].mean);
  EXPECT_EQ(again.forget_rows(rows_of(permuted, 0, 5)).rows_removed, 5U);
}

std::string csv_of(const Table& table) {
  std::string text;
  for (std::size_t n = 0; n <= table.rows(); ++n) {
    for (std::size_t k = 0; k < table.columns.size(); ++k) {
      const Column& column = table.columns[k];
      text += k == 0 ? "" : ",";
      if (n == 0) {
        text += column.name;
      } else if (!column.empty(n - 1)) {
        text += column.is_text ? column.values[column.codes[n - 1]]
                               : std::to_string(column.numbers[n - 1]);
      }
    }
    text += "\n";
  }
  return text;
}

TEST(Determinism, PermutedColumnsDoNotChangeABitOfAStream) {
  const Scratch scratch;
  const RegressorOptions options{
      .target = "y", .hidden = {8}, .epochs = 1, .ledger = LedgerMode::none, .ensemble = 2};
  const Table table = mixed_table(3000, 3);
  Table permuted = table;
  std::rotate(permuted.columns.begin(), permuted.columns.begin() + 2, permuted.columns.end());
  const auto one = fit_stream({scratch.file("a.csv", csv_of(table))}, options);
  auto of_two_threads = options;
  of_two_threads.threads = 2;
  const auto two = fit_stream({scratch.file("b.csv", csv_of(permuted))}, of_two_threads);
  EXPECT_EQ(one.to_bytes(), two.to_bytes());
}

// ------------------------------------------------------------------------------ the target's unit

struct Difference {
  double mean = 0;    // in predicted standard deviations
  double spread = 0;  // of the standard deviation, relative
};

// Predictions of y and of a y + b.
Difference difference(const std::vector<Predicted>& of_y, const std::vector<Predicted>& of_other,
                      double a, double b) {
  Difference worst;
  for (std::size_t n = 0; n < of_y.size(); ++n) {
    const double deviation = std::abs(a) * of_y[n].stddev();
    worst.mean = special::larger(worst.mean,
                                 std::abs(of_other[n].mean - (a * of_y[n].mean + b)) / deviation);
    worst.spread = special::larger(worst.spread, std::abs(of_other[n].stddev() / deviation - 1));
  }
  return worst;
}

Table with_unit(Table table, double a, double b) {
  for (double& y : table.columns.back().numbers) y = a * y + b;
  return table;
}

TEST_P(DeterminismOfEachKind, PowersOfTwoAsUnitOfTheTargetDoNotChangeABit) {
  const Table table = wave_table(80, 0.2, 4);
  const auto predicted = Regressor::fit(table, quick()).predict(table);
  for (const double unit : {0x1p-500, 0x1p-3, 0x1p10, 0x1p500}) {
    const auto other = Regressor::fit(with_unit(table, unit, 0), quick()).predict(table);
    for (std::size_t n = 0; n < other.size(); ++n) {
      ASSERT_EQ(other[n].mean, unit * predicted[n].mean);
      ASSERT_EQ(other[n].epistemic_std, unit * predicted[n].epistemic_std);
      ASSERT_EQ(other[n].noise_std, unit * predicted[n].noise_std);
      ASSERT_EQ(other[n].noise_spread, predicted[n].noise_spread);
    }
  }
}

TEST_P(DeterminismOfEachKind, AnotherUnitAndZeroOfTheTargetChangeRoundingOnly) {
  for (const std::size_t epochs : {1U, 5U, 40U}) {
    auto options = quick();
    options.epochs = epochs;
    options.tolerance = 0;      // so that rounding cannot decide when to stop
    options.bounds = Bounds{};  // 0 would be the end of some
    Difference worst;
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
      options.seed = seed;
      const Table table = wave_table(80, 0.2, seed);
      const auto predicted = Regressor::fit(table, options).predict(table);
      for (const auto& [a, b] : {std::array{3.7, 0.0}, {1.0, 1234.5}, {1e9, -1e12}}) {
        const auto other = Regressor::fit(with_unit(table, a, b), options).predict(table);
        const Difference d = difference(predicted, other, a, b);
        worst.mean = special::larger(worst.mean, d.mean);
        worst.spread = special::larger(worst.spread, d.spread);
      }
    }
    std::printf("  %s, %zu epochs: mean %.1e deviations, deviation %.1e\n", GetParam().name, epochs,
                worst.mean, worst.spread);
    EXPECT_LT(worst.mean, GetParam().tolerance);
    EXPECT_LT(worst.spread, GetParam().tolerance);
  }
}

}  // namespace
}  // namespace dma
