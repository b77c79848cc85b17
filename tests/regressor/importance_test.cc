// Which columns matter: shares of functions whose shares are known.
#include <dma/regressor/regressor.h>
#include <dma/special/random.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "regressor/wave_table.h"
#include "scratch.h"

namespace dma {
namespace {

using Shares = std::map<std::string, ColumnShare>;

Shares by_name(const std::vector<ColumnShare>& list) {
  Shares shares;
  for (const ColumnShare& one : list) shares.emplace(one.column, one);
  return shares;
}

// Columns a, b, c and unused, uniform on -1..1; kind, one of three texts. y is made of them.
template <class Y>
Table table_of(std::size_t rows, const Y& y) {
  special::Random random(3);
  Table table;
  for (const char* name : {"a", "b", "c", "unused"}) {
    Column column{.name = name};
    for (std::size_t n = 0; n < rows; ++n) column.numbers.push_back(random.uniform(-1, 1));
    table.columns.push_back(std::move(column));
  }
  Column kind{.name = "kind", .is_text = true};
  kind.values = {"low", "middle", "high"};
  for (std::size_t n = 0; n < rows; ++n) {
    kind.codes.push_back(static_cast<std::uint32_t>(random.uniform() * 3));
  }
  table.columns.push_back(std::move(kind));
  Column target{.name = "y"};
  for (std::size_t n = 0; n < rows; ++n) {
    const auto at = [&](std::size_t column) { return table.columns[column].numbers[n]; };
    const double mean = y(at(0), at(1), at(2), static_cast<int>(table.columns[4].codes[n]));
    target.numbers.push_back(mean + 0.02 * random.normal());
  }
  table.columns.push_back(std::move(target));
  return table;
}

RegressorOptions options_of(TargetKind kind = TargetKind::number) {
  RegressorOptions options{.target = "y", .kind = kind, .hidden = {12}};
  options.epochs = 60;
  options.ensemble = 2;
  return options;
}

void expect_sound(const std::vector<ColumnShare>& shares) {
  double sum = 0;
  for (std::size_t n = 0; n < shares.size(); ++n) {
    sum += shares[n].share;
    EXPECT_LE(shares[n].lower, shares[n].upper) << shares[n].column;
    EXPECT_LE(shares[n].share, shares[n == 0 ? 0 : n - 1].share);
  }
  EXPECT_NEAR(sum, 1, 1e-9);
}

// a has the variance 4/3, b 1/3, kind 2/3: 4/7, 1/7, 2/7 of the whole. A category counts as one column.
TEST(Importance, OfASumIsTheShareOfEachVariance) {
  const Table table =
      table_of(400, [](double a, double b, double, int kind) { return 2 * a + b + (kind - 1); });
  const Regressor model = Regressor::fit(table, options_of());
  const auto all = model.column_importance();
  ASSERT_EQ(all.size(), 1U);
  expect_sound(all.front());
  Shares shares = by_name(all.front());
  ASSERT_EQ(shares.size(), 5U);
  EXPECT_NEAR(shares.at("a").share, 4.0 / 7, 0.04);
  EXPECT_NEAR(shares.at("b").share, 1.0 / 7, 0.04);
  EXPECT_NEAR(shares.at("kind").share, 2.0 / 7, 0.04);
  for (const char* name : {"c", "unused"}) {
    EXPECT_NEAR(shares.at(name).share, 0, 0.01) << name;
    EXPECT_NEAR(shares.at(name).lower, 0, 0.02) << name;
    EXPECT_NEAR(shares.at(name).upper, 0, 0.02) << name;
  }
  EXPECT_EQ(all.front().front().column, "a");
}

// a b has the variance 1/9, and neither says anything alone: half for each. c has 1/27.
TEST(Importance, AnInteractionCountsForBothInEqualParts) {
  const Table table =
      table_of(600, [](double a, double b, double c, int) { return a * b + c / 3; });
  const auto all = Regressor::fit(table, options_of()).column_importance();
  Shares shares = by_name(all.front());
  EXPECT_NEAR(shares.at("a").share, 3.0 / 8, 0.06);
  EXPECT_NEAR(shares.at("b").share, 3.0 / 8, 0.06);
  EXPECT_NEAR(shares.at("c").share, 2.0 / 8, 0.06);
}

// Rows in which a hardly varies, although it did in training.
TEST(Importance, IsThatOfTheRowsThatAreGiven) {
  const Table table = table_of(300, [](double a, double b, double, int) { return 2 * a + b; });
  const Regressor model = Regressor::fit(table, options_of());
  Table rows = table;
  for (double& a : rows.columns[0].numbers) a /= 100;
  EXPECT_LT(by_name(model.column_importance(&rows).front()).at("a").share, 0.02);
  EXPECT_GT(by_name(model.column_importance(&rows).front()).at("b").share, 0.95);
  const auto own = model.column_importance(&table).front();
  EXPECT_NEAR(by_name(own).at("a").share, 0.8, 0.04);
}

TEST(Importance, OfClassesCountsAmountsAndSeveralTargets) {
  const auto y = [](double a, double b, double, int) { return 2 * a + b / 4; };
  const auto first_of = [](const Regressor& model) {
    const auto all = model.column_importance();
    for (const auto& shares : all) expect_sound(shares);
    return all.front().front();
  };
  for (const TargetKind kind : {TargetKind::classes, TargetKind::count, TargetKind::amount}) {
    Table table = table_of(300, y);
    for (double& value : table.columns.back().numbers) {
      if (kind == TargetKind::classes) value = value > 0.7 ? 2 : value > -0.7 ? 1 : 0;
      if (kind == TargetKind::count) value = std::floor(std::exp(1 + value));
      if (kind == TargetKind::amount) value = std::exp(value);
    }
    const ColumnShare first = first_of(Regressor::fit(table, options_of(kind)));
    EXPECT_EQ(first.column, "a");
    EXPECT_GT(first.share, 0.8);
  }
  Table table = table_of(200, y);
  table.columns.push_back(table.columns.back());
  table.columns.back().name = "z";
  for (std::size_t n = 0; n < 200; ++n) {
    table.columns.back().numbers[n] = table.columns[1].numbers[n];
  }
  RegressorOptions options = options_of();
  options.target = {"y", "z"};
  options.drop = {"kind"};
  const auto both = Regressor::fit(table, options).column_importance();
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].front().column, "a");
  EXPECT_EQ(both[1].front().column, "b");
  options.belief = BeliefKind::independent;
  const Regressor independent = Regressor::fit(table, options);
  EXPECT_TRUE(independent.column_importance().empty()) << "its ledger does not hold the rows";
  EXPECT_EQ(independent.column_importance(&table)[1].front().column, "b");
}

TEST(Importance, IsTheSameWithAnyNumberOfThreadsAndFromAFile) {
  const Regressor model = Regressor::fit(test::wave_table(100, 0.3, 1), options_of());
  const auto one = model.column_importance(nullptr, 1).front();
  const auto other = Regressor::from_bytes(model.to_bytes()).column_importance(nullptr, 3).front();
  ASSERT_EQ(one.size(), other.size());
  for (std::size_t n = 0; n < one.size(); ++n) {
    EXPECT_EQ(one[n].column, other[n].column);
    EXPECT_EQ(one[n].share, other[n].share);
    EXPECT_EQ(one[n].lower, other[n].lower);
    EXPECT_EQ(one[n].upper, other[n].upper);
  }
}

// Rows with the weight 0 are left out of training; here a varies in those of little weight only.
TEST(Importance, RowsCountByTheirWeight) {
  Table table = table_of(400, [](double a, double b, double, int) { return 2 * a + b; });
  for (std::size_t n = 0; n < 400; ++n) {
    table.weights.push_back(std::abs(table.columns[0].numbers[n]) > 0.2 ? 0.001 : 1);
  }
  const Regressor model = Regressor::fit(table, options_of());
  EXPECT_LT(by_name(model.column_importance().front()).at("a").share, 0.3);
}

TEST(HeldOut, RowsAreKeptToShow) {
  const Table table = test::wave_table(100, 0.3, 1);
  RegressorOptions options = options_of();
  options.ensemble = 3;  // each holds a third of the rows out
  const Regressor model = Regressor::fit(table, options);
  const auto& rows = model.report().held_out;
  ASSERT_EQ(rows.size(), 1U);
  ASSERT_EQ(rows.front().size(), 100U);
  double squares = 0;
  std::size_t inside = 0;
  const std::vector<double>& y = table.columns[2].numbers;
  for (const HeldOutRow& row : rows.front()) {
    squares += std::pow(row.actual - row.predicted, 2);
    inside += row.lower <= row.actual && row.actual <= row.upper ? 1 : 0;
    const bool known = std::any_of(y.begin(), y.end(),
                                   [&](double one) { return std::abs(one - row.actual) < 1e-9; });
    EXPECT_TRUE(known) << row.actual;
  }
  const Metrics& metrics = model.report().cavity.front();
  EXPECT_NEAR(std::sqrt(squares / 100), metrics.rmse, 1e-9);
  EXPECT_NEAR(static_cast<double>(inside) / 100, metrics.coverage[3], 1e-9);
  // They hold targets, which must not stay if their rows go.
  Regressor less = model;
  less.forget_rows(select_rows(table, std::vector<std::size_t>{3}));
  EXPECT_TRUE(less.report().held_out.empty());
  const test::Scratch scratch;
  model.save(scratch.path("slim"), {.slim = true});
  EXPECT_TRUE(Regressor::load(scratch.path("slim")).report().held_out.front().empty());
  const Regressor again = Regressor::from_bytes(model.to_bytes());
  EXPECT_EQ(again.report().held_out.front().back().upper, rows.front().back().upper);
}

}  // namespace
}  // namespace dma
