// What is predicted of rows with cells that training had none like.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <dma/regressor/regressor.h>
#include <dma/special/random.h>

namespace dma {
namespace {

struct Cellwise {
  std::vector<std::string> region, smoker;
  std::vector<double> age;
};

Column text(const std::string& name, const std::vector<std::string>& cells) {
  Column column{.name = name, .is_text = true};
  std::map<std::string, std::uint32_t> codes;
  for (const std::string& cell : cells) {
    if (cell.empty()) {
      column.codes.push_back(Column::empty_cell);
      continue;
    }
    const auto [entry, is_new] = codes.emplace(cell, codes.size());
    if (is_new) column.values.push_back(cell);
    column.codes.push_back(entry->second);
  }
  return column;
}

Table table_of(const Cellwise& cells) {
  return {.columns = {text("region", cells.region),
                      text("smoker", cells.smoker),
                      {.name = "age", .numbers = cells.age}}};
}

constexpr double offset_of(std::size_t region) {
  constexpr std::array offsets{-2.0, 0.5, 1.0, 3.0};
  return offsets[region];
}

// y = region + 4 [smoker] + age + noise
Table insurance(std::size_t rows, double scale = 1) {
  special::Random random(3);
  const std::vector<std::string> regions{"northeast", "northwest", "southeast", "southwest"};
  Cellwise cells;
  std::vector<double> y;
  for (std::size_t n = 0; n < rows; ++n) {
    const auto region = static_cast<std::size_t>(4 * random.uniform());
    const bool smokes = random.uniform() < 0.25;
    cells.region.push_back(regions[region]);
    cells.smoker.push_back(smokes ? "yes" : "no");
    cells.age.push_back(random.normal());
    y.push_back(scale *
                (offset_of(region) + (smokes ? 4 : 0) + cells.age.back() + 0.3 * random.normal()));
  }
  Table table = table_of(cells);
  table.columns.push_back({.name = "y", .numbers = y});
  return table;
}

RegressorOptions quick(TargetKind kind = TargetKind::number) {
  return {.target = "y", .kind = kind, .hidden = {5}, .epochs = 40, .ensemble = 2, .threads = 1};
}

const Regressor& fitted() {
  static const Regressor model = Regressor::fit(insurance(300), quick());
  return model;
}

double width(const Predicted& p) { return p.upper() - p.lower(); }

TEST(Unseen, ACategoryIsLessCertainThanASeenOneAndMoreThanNothing) {
  const TargetColumn& target = fitted().encoder().targets.front();
  const double own = 2 * 1.96 * target.deviation;
  const auto said = fitted().predict(table_of({{"northeast", "midwest"}, {"no", "no"}, {0, 0}}));
  EXPECT_GT(width(said[1]), 1.5 * width(said[0]));
  EXPECT_GT(said[1].stddev(), said[0].stddev());
  EXPECT_LT(width(said[1]), 1.001 * own);
  EXPECT_LE(said[1].stddev(), 1.0001 * target.deviation);
  const double squares = std::pow(said[1].epistemic_std, 2) + std::pow(said[1].noise_std, 2);
  EXPECT_NEAR(squares, std::pow(said[1].stddev(), 2), 1e-9 * squares);
  EXPECT_GT(said[1].epistemic_std, said[0].epistemic_std);
}

// Whatever is unseen, and however far out the row is besides.
TEST(Unseen, NothingIsLessCertainThanTheTargetsOwnDistribution) {
  const TargetColumn& target = fitted().encoder().targets.front();
  const double missing = std::nan("");
  const Cellwise cells{{"midwest", "", "midwest", "northeast", "midwest", "southwest"},
                       {"no", "no", "maybe", "maybe", "", "yes"},
                       {40, 0, -40, 0, missing, missing}};
  const auto said = fitted().predict(table_of(cells));
  for (const Predicted& one : said) {
    EXPECT_LE(one.stddev(), 1.0001 * target.deviation);
    EXPECT_LE(width(one), 1.0001 * 2 * 1.96 * target.deviation);
  }
}

// An empty cell of yes and no is as if it were each as often as in training.
TEST(Unseen, AnEmptyCellIsAnyValueOfItsColumn) {
  const auto said = fitted().predict(
      table_of({{"northwest", "northwest", "northwest"}, {"no", "yes", ""}, {0, 0, 0}}));
  const double share = fitted().encoder().features[2].mean;
  ASSERT_EQ(fitted().encoder().features[2].name, "smoker");
  EXPECT_NEAR(said[2].mean, said[0].mean + share * (said[1].mean - said[0].mean), 0.8);
  EXPECT_NEAR(said[2].cdf(2), (1 - share) * said[0].cdf(2) + share * said[1].cdf(2), 0.1);
}

// Of more than 32 combinations some are taken, and they stand for all.
TEST(Unseen, ManyCombinationsAreStoodForBySome) {
  special::Random random(2);
  std::vector<std::string> one;
  std::vector<std::string> two;
  std::vector<double> y;
  for (std::size_t n = 0; n < 400; ++n) {
    const auto a = static_cast<std::size_t>(12 * random.uniform());
    const auto b = static_cast<std::size_t>(12 * random.uniform());
    one.push_back("a" + std::to_string(a));
    two.push_back("b" + std::to_string(b));
    y.push_back(static_cast<double>(a) + static_cast<double>(b) + 0.1 * random.normal());
  }
  const Table table{.columns = {text("one", one), text("two", two), {.name = "y", .numbers = y}}};
  const Regressor model = Regressor::fit(table, quick());
  const auto said = model.predict({.columns = {text("one", {"?1"}), text("two", {"?2"})}});
  EXPECT_NEAR(said[0].mean, 11, 1.5);
  EXPECT_NEAR(said[0].stddev(), std::sqrt(2 * 143.0 / 12), 1);
}

TEST(Unseen, DoesNotDependOnTheOtherRowsOrThreads) {
  const Cellwise cells{{"midwest", "northeast", "midwest"}, {"no", "", "yes"}, {0.5, 0, -1}};
  const auto together = fitted().predict(table_of(cells), 2);
  for (std::size_t n = 0; n < 3; ++n) {
    const auto alone =
        fitted().predict(table_of({{cells.region[n]}, {cells.smoker[n]}, {cells.age[n]}}), 1);
    EXPECT_EQ(alone[0].mean, together[n].mean);
    EXPECT_EQ(alone[0].upper(), together[n].upper());
  }
}

// After four categories the fifth is like each of them, or like none.
TEST(Unseen, ANewCategoryIsLikeEachOrLikeNone) {
  Table table = insurance(200);
  for (double& value : table.columns.back().numbers) value = value > 1 ? 1 : 0;
  const Regressor model = Regressor::fit(table, quick(TargetKind::classes));
  const auto said =
      model.predict(table_of({{"northeast", "northwest", "southeast", "southwest", "midwest"},
                              {"no", "no", "no", "no", "no"},
                              {0, 0, 0, 0, 0}}));
  double like_each = 0;
  for (std::size_t n = 0; n < 4; ++n) like_each += said[n].probabilities[1] / 4;
  const std::vector<std::size_t>& rows = model.encoder().targets.front().class_rows;
  const double share = static_cast<double>(rows[1]) / static_cast<double>(rows[0] + rows[1]);
  EXPECT_NEAR(said[4].probabilities[1], 0.8 * like_each + 0.2 * share, 1e-12);
}

TEST(Unseen, ClassesAmountsAndCountsToo) {
  const Table rows = table_of({{"northeast", "midwest"}, {"no", "maybe"}, {0, 0}});
  Table table = insurance(200);
  std::vector<double>& y = table.columns.back().numbers;
  const std::vector<double> values = y;
  for (double& value : y) value = value > 1 ? 1 : 0;
  const auto classes = Regressor::fit(table, quick(TargetKind::classes)).predict(rows);
  EXPECT_NEAR(classes[1].probabilities[0] + classes[1].probabilities[1], 1, 1e-12);
  EXPECT_GT(classes[1].doubt(), classes[0].doubt());
  for (std::size_t n = 0; n < y.size(); ++n) y[n] = std::exp(values[n] / 2);
  const Regressor amounts = Regressor::fit(table, quick(TargetKind::amount));
  const auto amount = amounts.predict(rows);
  EXPECT_GT(std::log(amount[1].upper() / amount[1].lower()),
            std::log(amount[0].upper() / amount[0].lower()));
  EXPECT_LE(std::log(amount[1].upper() / amount[1].lower()),
            1.0001 * 2 * 1.96 * amounts.encoder().targets.front().deviation);
  for (std::size_t n = 0; n < y.size(); ++n) y[n] = std::floor(std::exp(1 + values[n] / 3));
  const Regressor counts = Regressor::fit(table, quick(TargetKind::count));
  const auto count = counts.predict(rows);
  EXPECT_GT(count[1].stddev(), count[0].stddev());
  EXPECT_LE(count[1].stddev(), 1.01 * counts.encoder().targets.front().deviation);
}

TEST(Unseen, EvaluateScoresWhatPredictSays) {
  Table rows = table_of({{"midwest"}, {"no"}, {0}});
  rows.columns.push_back({.name = "y", .numbers = {1.5}});
  const Predicted said = fitted().predict(rows)[0];
  EXPECT_NEAR(fitted().evaluate(rows)[0].nll, -said.log_density(1.5), 1e-12);
}

// Once rows of a new category were learnt, it is no longer unseen, and its interval narrows.
TEST(Unseen, AnUpdateLearnsNewCategories) {
  Regressor model = Regressor::fit(insurance(200), quick());
  Cellwise cells;
  std::vector<double> y;
  special::Random random(9);
  for (int n = 0; n < 30; ++n) {
    cells.region.emplace_back("midwest");
    cells.smoker.emplace_back("no");
    cells.age.push_back(random.normal());
    y.push_back(5 + cells.age.back() + 0.3 * random.normal());
  }
  Table fresh = table_of(cells);
  fresh.columns.push_back({.name = "y", .numbers = y});
  const Table row = table_of({{"midwest"}, {"no"}, {0}});
  const Predicted before = model.predict(row)[0];
  const ChangeReport report = model.update(fresh);
  ASSERT_EQ(report.unlike.size(), 1U);
  EXPECT_EQ(report.unlike[0].cells, 30U);
  const Predicted after = model.predict(row)[0];
  EXPECT_LT(after.stddev(), before.stddev());
  EXPECT_NEAR(after.mean, 5, 1);
  EXPECT_TRUE(model.encoder().encode_inputs(row).unseen.empty());
}

TEST(Bounds, OfAPositiveTargetAreAssumedKeptAndRefuted) {
  Table table = insurance(200);
  for (double& y : table.columns.back().numbers) y = std::max(0.01, y);
  Regressor model = Regressor::fit(table, quick());
  const Bounds& bounds = model.encoder().targets.front().bounds;
  EXPECT_EQ(bounds.low, 0);
  EXPECT_TRUE(std::isinf(bounds.high));
  EXPECT_TRUE(bounds.assumed);
  for (const Predicted& p : model.predict(table)) {
    EXPECT_GE(p.lower(0.999), 0);
    EXPECT_GE(p.mean, 0);
  }
  const Regressor read = Regressor::from_bytes(model.to_bytes());
  EXPECT_EQ(read.encoder().targets.front().bounds.low, 0);
  EXPECT_EQ(read.predict(table)[3].lower(), model.predict(table)[3].lower());
  Table fresh = table_of({{"northeast"}, {"no"}, {0}});
  fresh.columns.push_back({.name = "y", .numbers = {-2}});
  EXPECT_TRUE(std::isfinite(model.evaluate(fresh)[0].nll));
  EXPECT_EQ(model.update(fresh).unbounded, std::vector<std::string>{"y"});
  EXPECT_FALSE(model.encoder().targets.front().bounds.any());
}

TEST(Bounds, ThatAreGivenAreKept) {
  Table table = insurance(100);
  RegressorOptions options = quick();
  options.bounds = Bounds{};
  EXPECT_FALSE(Regressor::fit(table, options).encoder().targets.front().bounds.any());
  options.bounds = Bounds{-1, 3};
  EXPECT_THROW(Regressor::fit(table, options), DataError);
  for (double& y : table.columns.back().numbers) y = std::clamp(y, -1.0, 3.0);
  const Regressor model = Regressor::fit(table, options);
  for (const Predicted& p : model.predict(table)) {
    EXPECT_GE(p.lower(0.9999), -1);
    EXPECT_LE(p.upper(0.9999), 3);
  }
  options.kind = TargetKind::count;
  EXPECT_THROW(Regressor::fit(table, options), DataError);
}

// A mean of many sets of rows: exchangeable with those that calibrate.
TEST(Calibrated, HoldsOnNewRows) {
  Regressor model = Regressor::fit(insurance(60), quick());
  const Table all = insurance(2460);
  std::vector<std::size_t> rows(2400);
  for (std::size_t n = 0; n < rows.size(); ++n) rows[n] = 60 + n;
  const std::span<const std::size_t> fresh(rows);
  int inside = 0;
  int count = 0;
  for (std::size_t set = 0; set < 40; ++set) {
    model.calibrate_intervals(select_rows(all, fresh.subspan(60 * set, 39)));
    const Tails tails = model.calibrated_tails(0.9);
    const Table test = select_rows(all, fresh.subspan(60 * set + 39, 21));
    const auto said = model.predict(test);
    for (std::size_t n = 0; n < said.size(); ++n) {
      const double y = test.columns.back().numbers[n];
      inside += said[n].quantile(tails.lower) <= y && y <= said[n].quantile(tails.upper) ? 1 : 0;
      ++count;
    }
  }
  EXPECT_NEAR(static_cast<double>(inside) / count, 0.9, 0.03);
  EXPECT_THROW((void)model.calibrated_tails(0.99), DataError);
}

TEST(Calibrated, KnowsTheRowsThatWereHeldOutOfTheFit) {
  const Model& model = fitted().model();
  ASSERT_EQ(model.probabilities_below.size(), 1U);
  EXPECT_EQ(model.probabilities_below[0].size(), model.report.cavity[0].values);
  EXPECT_FALSE(model.held_out_below);
  const Regressor read = Regressor::from_bytes(fitted().to_bytes());
  EXPECT_EQ(read.model().probabilities_below, model.probabilities_below);
}

}  // namespace
}  // namespace dma
