// Weights of a table's rows: what the encoder makes of them, and what it refuses.
#include <dma/data/encoder.h>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "copies.h"
#include "data/scale.h"
#include "scratch.h"

namespace dma {
namespace {

using test::repeated;
using test::whole_weights;

const std::vector<std::string> weighted_words{"red", "green", "blue", "grey"};

// A number with empty cells, a category, a word for true or false and a target; and a column of weights.
Table weighted_table(std::size_t rows, const std::vector<double>& weights) {
  special::Random random(1);
  Table table{.source = "file.csv",
              .columns = {{.name = "x"},
                          {.name = "colour", .values = weighted_words, .is_text = true},
                          {.name = "old", .values = {"yes", "no"}, .is_text = true},
                          {.name = "w", .numbers = weights},
                          {.name = "y"}},
              .first_line = 2};
  for (std::size_t n = 0; n < rows; ++n) {
    table.columns[0].numbers.push_back(n % 7 == 3 ? std::nan("") : random.normal());
    table.columns[1].codes.push_back(static_cast<std::uint32_t>(4 * random.uniform()));
    table.columns[2].codes.push_back(random.uniform() < 0.3 ? 0 : 1);
    table.columns[4].numbers.push_back(random.normal());
  }
  return table;
}

// Rows as often as their weights say, without the weights.
Table copies_of(const Table& table, std::span<const double> weights) {
  std::vector<std::size_t> places;
  for (std::size_t n = 0; n < weights.size(); ++n) places.push_back(n);
  Table copies = select_rows(table, repeated(places, weights));
  copies.columns.erase(copies.columns.begin() + 3);
  return copies;
}

void expect_same_encoder(const Encoder& one, const Encoder& other) {
  ASSERT_EQ(one.features.size(), other.features.size());
  for (std::size_t k = 0; k < one.features.size(); ++k) {
    const FeatureColumn& a = one.features[k];
    const FeatureColumn& b = other.features[k];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.kind, b.kind);
    EXPECT_NEAR(a.mean, b.mean, 1e-14);
    EXPECT_NEAR(a.deviation, b.deviation, 1e-14);
    EXPECT_NEAR(a.reach, b.reach, 1e-13);
    EXPECT_EQ(a.categories, b.categories);
  }
  EXPECT_NEAR(one.targets[0].mean, other.targets[0].mean, 1e-14);
  EXPECT_NEAR(one.targets[0].deviation, other.targets[0].deviation, 1e-14);
}

TEST(WeightedEncoder, IsThatOfCopies) {
  const std::vector<double> weights = whole_weights(80, 2);
  const Table table = weighted_table(80, weights);
  const Encoder encoder = Encoder::fit(table, {.targets = {"y"}, .weight = "w"});
  EXPECT_EQ(encoder.weight, "w");
  expect_same_encoder(encoder, Encoder::fit(copies_of(table, weights), {.targets = {"y"}}));
  const EncodedRows rows = encoder.encode(table);
  EXPECT_EQ(rows.weights, weights);
  EXPECT_EQ(rows.rows, 80U);
}

TEST(WeightedEncoder, TablesOwnWeightsAreLikeAColumn) {
  const std::vector<double> weights = whole_weights(80, 2);
  const Table table = weighted_table(80, weights);
  Table own = table;
  own.weights = weights;
  own.columns.erase(own.columns.begin() + 3);
  const Encoder encoder = Encoder::fit(own, {.targets = {"y"}});
  expect_same_encoder(encoder, Encoder::fit(table, {.targets = {"y"}, .weight = "w"}));
  EXPECT_EQ(encoder.encode(own).weights, weights);
}

TEST(WeightedEncoder, MoreThanOnceIsAsOftenAsMostFrequent) {
  Table table{
      .columns = {
          {.name = "t", .codes = {0, 0, 1, 1, 2}, .values = {"a", "b", "c"}, .is_text = true},
          {.name = "y", .numbers = {1, 2, 3, 4, 5}}}};
  table.weights = {1, 1, 1, 2, 9};
  const Encoder encoder = Encoder::fit(table, {.targets = {"y"}});
  EXPECT_EQ(encoder.features[0].categories, (std::vector<std::string>{"c", "b", "a"}));
}

TEST(WeightedEncoder, RowWithoutWeightIsNotThere) {
  std::vector<double> weights = whole_weights(40, 2);
  weights[3] = weights[17] = 0;
  Table table = weighted_table(40, weights);
  table.columns[0].numbers[3] = 1e6;            // would move the mean
  table.columns[4].numbers[17] = -1e6;          // and this the target's
  table.columns[4].numbers[20] = std::nan("");  // no target: not counted twice
  weights[20] = 1;
  const Encoder encoder = Encoder::fit(table, {.targets = {"y"}, .weight = "w"});
  Table others = copies_of(table, weights);
  expect_same_encoder(encoder, Encoder::fit(others, {.targets = {"y"}}));
  const EncodedRows rows = encoder.encode(table);
  EXPECT_EQ(rows.rows, 37U);
  EXPECT_EQ(rows.without_weight, 2U);
  EXPECT_EQ(rows.without_target, 1U);
}

TEST(WeightedEncoder, PiecesAreTheWhole) {
  const Table table = weighted_table(60, whole_weights(60, 2));
  EncoderBuilder builder({.targets = {"y"}, .weight = "w"});
  for (std::size_t first = 0; first < 60; first += 20) {
    std::vector<std::size_t> places;
    for (std::size_t n = first; n < first + 20; ++n) places.push_back(n);
    builder.add(select_rows(table, places));
  }
  const Encoder whole = Encoder::fit(table, {.targets = {"y"}, .weight = "w"});
  EXPECT_EQ(builder.finish().features[1].mean, whole.features[1].mean);
  EXPECT_EQ(builder.finish().targets[0].deviation, whole.targets[0].deviation);
}

// Two whole numbers in several rows each are classes.
TEST(WeightedEncoder, SeveralRowsMayBeOneThatCountsTwice) {
  Table table{
      .columns = {{.name = "x", .numbers = {1, 2, 3, 4}}, {.name = "y", .numbers = {0, 0, 0, 1}}}};
  const EncoderOptions options{.targets = {"y"}, .kind = TargetKind::automatic};
  EXPECT_FALSE(Encoder::fit(table, options).has_classes());
  table.weights = {1, 1, 1, 2};
  const Encoder encoder = Encoder::fit(table, options);
  EXPECT_TRUE(encoder.has_classes());
  EXPECT_EQ(encoder.targets[0].class_rows, (std::vector<std::size_t>{3, 1}));
}

std::string refusal_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

TEST(WeightedEncoder, NamesTheCellThatIsNoWeight) {
  const auto refusal = [](double wrong) {
    std::vector<double> weights(5, 1);
    weights[2] = wrong;
    const Table table = weighted_table(5, weights);
    return refusal_of([&] { Encoder::fit(table, {.targets = {"y"}, .weight = "w"}); });
  };
  EXPECT_EQ(refusal(-1),
            "file.csv, line 4, column 'w': '-1' is no weight: it must be a number from 0 on");
  EXPECT_EQ(refusal(HUGE_VAL),
            "file.csv, line 4, column 'w': 'inf' is no weight: it must be a number from 0 on");
  EXPECT_EQ(
      refusal(std::nan("")),
      "file.csv, line 4, column 'w': '' is no weight: every row needs one, and 0 leaves it out");
  Table text = weighted_table(3, {1, 1, 1});
  text.columns[3] = {.name = "w", .codes = {0, 1, 0}, .values = {"1", "many"}, .is_text = true};
  EXPECT_EQ(refusal_of([&] { Encoder::fit(text, {.targets = {"y"}, .weight = "w"}); }),
            "file.csv, line 3, column 'w': 'many' is no weight: it must be a number from 0 on");
}

TEST(WeightedEncoder, WeightIsNothingElse) {
  const Table table = weighted_table(5, {1, 2, 1, 2, 1});
  const auto refusal = [&](EncoderOptions options) {
    options.weight = "w";
    if (options.targets.empty()) options.targets = {"y"};
    return refusal_of([&] { Encoder::fit(table, options); });
  };
  EXPECT_EQ(refusal({.targets = {"w"}}), "file.csv, column 'w': both the weight and a target");
  EXPECT_EQ(refusal({.features = {"w"}}), "file.csv, column 'w': both the weight and a feature");
  EXPECT_EQ(refusal({.drop = {"w"}}), "file.csv, column 'w': both the weight and dropped");
  EXPECT_EQ(refusal({.categorical = {"w"}}),
            "file.csv, column 'w': both the weight and categorical");
  EXPECT_NE(refusal_of([&] {
              Encoder::fit(table, {.targets = {"y"}, .weight = "W"});
            }).find("did you mean 'w'?"),
            std::string::npos);
}

TEST(WeightedEncoder, AllWithoutWeightIsNoTable) {
  const Table table = weighted_table(3, {0, 0, 0});
  EXPECT_EQ(refusal_of([&] { Encoder::fit(table, {.targets = {"y"}, .weight = "w"}); }),
            "file.csv: 0 of 3 rows have a target and a weight above 0; at least two are needed");
}

TEST(WeightedEncoder, WeightsAreUsedAsAsked) {
  const Table table = weighted_table(5, {1, 2, 0, 2, 1});
  const Encoder encoder = Encoder::fit(table, {.targets = {"y"}, .weight = "w"});
  EXPECT_EQ(encoder.encode(table, UseWeights::ignored).rows, 5U);
  EXPECT_TRUE(encoder.encode(table, UseWeights::ignored).weights.empty());
  EXPECT_EQ(encoder.encode(table, UseWeights::if_there).rows, 4U);
  const Table without = copies_of(table, std::vector<double>(5, 1));
  EXPECT_EQ(encoder.encode(without, UseWeights::if_there).rows, 5U);
  EXPECT_NE(refusal_of([&] { encoder.encode(without); }).find("no column 'w'"), std::string::npos);
  EXPECT_EQ(encoder.wanted(true).size(), 5U);
  EXPECT_FALSE(encoder.wanted(true)[3].optional);
  EXPECT_TRUE(encoder.wanted(true, UseWeights::if_there)[3].optional);
  EXPECT_EQ(encoder.wanted(true, UseWeights::ignored).size(), 4U);
  EXPECT_EQ(encoder.wanted(false).size(), 3U);
}

TEST(WeightedTable, RowsKeepTheirWeights) {
  Table table{.columns = {{.name = "x", .numbers = {1, 2, 3}}}};
  table.weights = {4, 5, 6};
  const std::vector<std::size_t> places{2, 0};
  EXPECT_EQ(select_rows(table, places).weights, (std::vector<double>{6, 4}));
  append_rows(table, {.columns = {{.name = "x", .numbers = {7}}}});
  EXPECT_EQ(table.weights, (std::vector<double>{4, 5, 6, 1}));
  table.weights = {1};
  EXPECT_THROW(table.validate(), DataError);
  table.weights = {1, 1, -2, 1};
  EXPECT_EQ(refusal_of([&] { table.validate(); }),
            "the table and the table, line 3: the weight -2.000000 is not a number from 0 on");
}

// The sums have twice the digits of a double.
TEST(WeightedScale, IsThatOfCopies) {
  for (const double far : {0.0, 1e9}) {
    const std::vector<double> weights = whole_weights(500, 3);
    special::Random random(4);
    ScaleBuilder one;
    ScaleBuilder all;
    for (const double weight : weights) {
      const double number = far + random.normal();
      one.add(number, weight);
      for (double k = 0; k < weight; ++k) all.add(number);
    }
    EXPECT_NEAR(one.finish().mean, all.finish().mean, 1e-15 * (1 + far));
    EXPECT_NEAR(one.finish().deviation, all.finish().deviation, 1e-14);
    EXPECT_EQ(one.count(), 500U);
  }
}

TEST(WeightedScale, FractionsWeigh) {
  ScaleBuilder scale;
  scale.add(1, 0.25);
  scale.add(5, 0.75);
  EXPECT_DOUBLE_EQ(scale.finish().mean, 4);
  EXPECT_DOUBLE_EQ(scale.finish().deviation, std::sqrt(3.0));
}

TEST(WantedColumns, OptionalOneMayBeMissing) {
  const test::Scratch scratch;
  const auto path = scratch.file("rows.csv", "x,y\n1,2\n");
  CsvOptions options;
  options.columns = {{"x", CellType::number}, {"w", CellType::number, true}};
  EXPECT_EQ(read_csv(path, options).columns.size(), 1U);
  options.columns.back().optional = false;
  EXPECT_THROW(read_csv(path, options), DataError);
}

}  // namespace
}  // namespace dma
