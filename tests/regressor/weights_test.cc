// Whole fits: a row that counts twice is two rows.
#include <dma/regressor/regressor.h>
#include <dma/regressor/stream.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <sstream>

#include "copies.h"
#include "regressor/wave_table.h"
#include "scratch.h"

namespace dma {
namespace {

using test::repeated;
using test::wave_table;
using test::whole_weights;

enum class Kind {
  joint,
  independent,
  classes,
  independent_classes,
  counts,
  independent_counts,
  amounts,
  independent_amounts
};

TargetKind target_of(Kind kind) {
  constexpr std::array targets{TargetKind::number, TargetKind::classes, TargetKind::count,
                               TargetKind::amount};
  return targets[static_cast<std::size_t>(kind) / 2];
}

RegressorOptions options_of(Kind kind) {
  RegressorOptions options{.target = "y"};
  const bool joint = static_cast<std::size_t>(kind) % 2 == 0;
  options.kind = target_of(kind);
  options.belief = joint ? BeliefKind::joint : BeliefKind::independent;
  options.hidden = {5};
  options.epochs = joint ? 30 : 6;
  options.ensemble = 3;
  options.tolerance = 0;
  options.threads = 1;
  return options;
}

Table table_of(Kind kind, std::size_t rows, std::uint64_t seed) {
  Table table = wave_table(rows, 0.3, seed);
  for (double& y : table.columns[2].numbers) {
    if (target_of(kind) == TargetKind::classes) y = y > 10 ? 1 : 0;
    if (target_of(kind) == TargetKind::count) y = std::max(0.0, std::floor(y - 7));
    if (target_of(kind) == TargetKind::amount) y = std::exp(y / 4);
  }
  return table;
}

// As often as the weights say, in another order.
Table mixed_copies(const Table& table, std::span<const double> weights) {
  std::vector<std::size_t> places(table.rows());
  std::iota(places.begin(), places.end(), std::size_t{0});
  places = repeated(places, weights);
  std::shuffle(places.begin(), places.end(), std::mt19937_64(1));
  Table copies = select_rows(table, places);
  copies.weights.clear();
  return copies;
}

// Means and deviations, or probabilities.
std::vector<double> numbers_of(const std::vector<Predicted>& predicted) {
  std::vector<double> numbers;
  for (const Predicted& p : predicted) {
    numbers.insert(numbers.end(), p.probabilities.begin(), p.probabilities.end());
    if (p.probabilities.empty()) numbers.insert(numbers.end(), {p.mean, p.stddev(), p.noise_std});
  }
  return numbers;
}

void expect_alike(const Regressor& one, const Regressor& other, const Table& at,
                  double error = 1e-6) {
  const std::vector<double> a = numbers_of(one.predict(at));
  const std::vector<double> b = numbers_of(other.predict(at));
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t n = 0; n < a.size(); ++n) {
    ASSERT_NEAR(a[n], b[n], error * (1 + std::abs(b[n]))) << n;
  }
}

double largest_difference(const Regressor& one, const Regressor& other, const Table& at) {
  const std::vector<double> a = numbers_of(one.predict(at));
  const std::vector<double> b = numbers_of(other.predict(at));
  double most = 0;
  for (std::size_t n = 0; n < a.size(); ++n) most = std::max(most, std::abs(a[n] - b[n]));
  return most;
}

class WeightedFit : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, WeightedFit,
                         testing::Values(Kind::joint, Kind::independent, Kind::classes,
                                         Kind::independent_classes, Kind::counts,
                                         Kind::independent_counts, Kind::amounts,
                                         Kind::independent_amounts));

TEST_P(WeightedFit, IsThatOfCopies) {
  Table table = table_of(GetParam(), 50, 1);
  const RegressorOptions options = options_of(GetParam());
  const Regressor unweighted = Regressor::fit(table, options);
  table.weights = whole_weights(50, 2);
  const Regressor weighted = Regressor::fit(table, options);
  const Table copies = mixed_copies(table, table.weights);
  const Regressor repeated_rows = Regressor::fit(copies, options);
  const Table at = table_of(GetParam(), 20, 3);
  expect_alike(weighted, repeated_rows, at);
  EXPECT_GT(largest_difference(weighted, unweighted, at), 1e-3);
  EXPECT_EQ(weighted.report().rows, 50U);
  EXPECT_EQ(weighted.report().copies, 0U);
  EXPECT_EQ(repeated_rows.report().rows, copies.rows());
  EXPECT_EQ(repeated_rows.report().copies, copies.rows() - 50);
  EXPECT_NEAR(weighted.report().train_nll, repeated_rows.report().train_nll, 1e-6);
  EXPECT_NEAR(weighted.report().cavity_nll(), repeated_rows.report().cavity_nll(), 1e-6);
}

TEST_P(WeightedFit, RowWithoutWeightIsNotThere) {
  Table table = table_of(GetParam(), 40, 1);
  table.weights.assign(40, 1);
  table.weights[4] = table.weights[39] = 0;
  std::vector<std::size_t> others;
  for (std::size_t n = 0; n < 39; ++n) {
    if (n != 4) others.push_back(n);
  }
  Table rest = select_rows(table, others);
  rest.weights.clear();
  const RegressorOptions options = options_of(GetParam());
  const Regressor weighted = Regressor::fit(table, options);
  const Regressor without = Regressor::fit(rest, options);
  EXPECT_EQ(numbers_of(weighted.predict(rest)), numbers_of(without.predict(rest)));
  EXPECT_EQ(weighted.report().rows_without_weight, 2U);
}

// Whatever order rows are learnt in.
void expect_own_weights(const Regressor& model, const Table& table) {
  const EncodedRows rows = model.encoder().encode(table);
  const std::vector<std::uint64_t>& hashes = model.model().row_hashes;
  for (std::size_t n = 0; n < rows.rows; ++n) {
    const auto place = std::find(hashes.begin(), hashes.end(), rows.hashes[n]) - hashes.begin();
    EXPECT_EQ(model.model().row_weights.at(static_cast<std::size_t>(place)), rows.weights[n]) << n;
  }
}

TEST_P(WeightedFit, EachRowKeepsItsWeight) {
  Table table = table_of(GetParam(), 30, 1);
  Table more = table_of(GetParam(), 10, 2);
  for (std::size_t n = 0; n < 30; ++n) table.weights.push_back(1 + 0.1 * static_cast<double>(n));
  for (std::size_t n = 0; n < 10; ++n) more.weights.push_back(6 + 0.1 * static_cast<double>(n));
  for (const bool with_data : {false, true}) {
    Regressor model = Regressor::fit(table, options_of(GetParam()));
    expect_own_weights(model, table);
    model.update(more, {.data = with_data ? &table : nullptr});
    expect_own_weights(model, table);
    expect_own_weights(model, more);
  }
}

// Rows of the same features disagree, nine to one.
// Of an amount, that of its logarithm.
TEST_P(WeightedFit, PredictsTheWeightedMean) {
  const TargetKind kind = target_of(GetParam());
  Table table{.columns = {{.name = "a"}, {.name = "y"}}};
  for (std::size_t n = 0; n < 40; ++n) {
    table.columns[0].numbers.push_back(static_cast<double>(n / 2));
    const double y = n % 2 == 0 ? 0 : 1;
    table.columns[1].numbers.push_back(kind == TargetKind::amount ? std::exp(y) : y);
    table.weights.push_back(n % 2 == 0 ? 9 : 1);
  }
  const Regressor model = Regressor::fit(table, options_of(GetParam()));
  for (const Predicted& p : model.predict(table)) {
    const double found = kind == TargetKind::classes  ? p.probabilities[1]
                         : kind == TargetKind::amount ? std::log(p.mean)
                                                      : p.mean;
    EXPECT_NEAR(found, 0.1, 0.12);
  }
}

// Scales do not change, but rows that count three times say more.
TEST_P(WeightedFit, EqualWeightsAreMoreRows) {
  Table table = table_of(GetParam(), 40, 1);
  const RegressorOptions options = options_of(GetParam());
  const Regressor once = Regressor::fit(table, options);
  table.weights.assign(40, 1);
  EXPECT_EQ(Regressor::fit(table, options).to_bytes(), once.to_bytes());
  table.weights.assign(40, 3);
  const Regressor thrice = Regressor::fit(table, options);
  EXPECT_NEAR(thrice.encoder().features[0].mean, once.encoder().features[0].mean, 1e-14);
  EXPECT_NEAR(thrice.encoder().features[0].deviation, once.encoder().features[0].deviation, 1e-14);
  EXPECT_GT(largest_difference(once, thrice, table), 1e-3);
}

TEST_P(WeightedFit, ColumnIsLikeTheTablesOwn) {
  Table table = table_of(GetParam(), 30, 1);
  RegressorOptions options = options_of(GetParam());
  table.weights = whole_weights(30, 2);
  const Regressor own = Regressor::fit(table, options);
  Table column = table;
  column.weights.clear();
  column.columns.push_back({.name = "w", .numbers = table.weights});
  options.weight = "w";
  const Regressor named = Regressor::fit(column, options);
  EXPECT_EQ(numbers_of(named.predict(table)), numbers_of(own.predict(table)));
  EXPECT_EQ(named.evaluate(column)[0].nll, own.evaluate(table)[0].nll);
  EXPECT_EQ(named.evaluate(column)[0].weight,
            std::accumulate(table.weights.begin(), table.weights.end(), 0.0));
}

TEST_P(WeightedFit, UpdateIsThatOfCopies) {
  const Table first = table_of(GetParam(), 40, 1);
  Table more = table_of(GetParam(), 15, 5);
  more.weights = whole_weights(15, 6);
  const Table at = table_of(GetParam(), 20, 3);
  for (const bool with_data : {false, true}) {
    Regressor weighted = Regressor::fit(first, options_of(GetParam()));
    Regressor repeated_rows = weighted;
    const ChangeOptions change{.data = with_data ? &first : nullptr};
    const ChangeReport one = weighted.update(more, change);
    const Table copies = mixed_copies(more, more.weights);
    const ChangeReport all = repeated_rows.update(copies, change);
    expect_alike(weighted, repeated_rows, at, 1e-5);
    EXPECT_EQ(one.rows_added, 15U);
    EXPECT_EQ(all.rows_added, copies.rows());
    EXPECT_NEAR(one.new_rows_nll, all.new_rows_nll, 1e-9);
    EXPECT_EQ(repeated_rows.report().rows, 40 + copies.rows());
    EXPECT_EQ(repeated_rows.report().copies, copies.rows() - 15);
  }
}

TEST_P(WeightedFit, IsReadAsItWasWritten) {
  Table table = table_of(GetParam(), 30, 1);
  table.weights = whole_weights(30, 2);
  table.weights[0] = 0.25;
  const Regressor model =
      Regressor::fit(mixed_copies(table, std::vector<double>(30, 2)), options_of(GetParam()));
  const Regressor weighted = Regressor::fit(table, options_of(GetParam()));
  for (const Regressor& one : {model, weighted}) {
    const Regressor again = Regressor::from_bytes(one.to_bytes());
    EXPECT_EQ(again.model().row_weights, one.model().row_weights);
    EXPECT_EQ(again.model().row_copies, one.model().row_copies);
    EXPECT_EQ(again.to_bytes(), one.to_bytes());
  }
  EXPECT_EQ(model.model().row_copies, std::vector<std::size_t>(30, 2));
  EXPECT_EQ(known_rows(model.model()), 60U);
}

// Learnt twice, forgotten once: as if learnt once.
TEST_P(WeightedFit, ForgettingACopyLeavesTheOthers) {
  const Table table = table_of(GetParam(), 30, 1);
  std::vector<double> weights(30, 2);
  const Table copies = mixed_copies(table, weights);
  const std::vector<std::size_t> place{7};
  const Table one = select_rows(table, place);
  Regressor model = Regressor::fit(copies, options_of(GetParam()));
  const ChangeReport report = model.forget_rows(one, {.data = &copies});
  EXPECT_EQ(report.rows_removed, 1U);
  EXPECT_EQ(report.rows_put_back, 1U);
  EXPECT_EQ(report.copies_left, 1U);
  EXPECT_EQ(model.report().rows, 59U);
  EXPECT_EQ(model.report().copies, 29U);
  const std::vector<double>& left = model.model().row_weights;
  EXPECT_EQ(std::count(left.begin(), left.end(), 1), 1);
  EXPECT_EQ(std::count(left.begin(), left.end(), 2), 29);
  EXPECT_EQ(model.forget_rows(one, {.data = &copies}).copies_left, 0U);
  EXPECT_EQ(model.report().rows, 58U);
  EXPECT_THROW(model.forget_rows(one), DataError);
}

TEST_P(WeightedFit, SaysThatNewRowsWereKnown) {
  const Table table = table_of(GetParam(), 30, 1);
  Regressor model = Regressor::fit(table, options_of(GetParam()));
  EXPECT_EQ(model.update(table_of(GetParam(), 5, 2)).rows_known, 0U);
  const std::vector<std::size_t> places{7, 8};
  const ChangeReport report = model.update(select_rows(table, places));
  EXPECT_EQ(report.rows_known, 2U);
  EXPECT_EQ(report.rows_added, 2U);
}

TEST_P(WeightedFit, ForgettingACopyWithoutTheRows) {
  const Table table = table_of(GetParam(), 30, 1);
  const Table copies = mixed_copies(table, std::vector<double>(30, 2));
  const std::vector<std::size_t> place{7};
  const Table one = select_rows(table, place);
  RegressorOptions options = options_of(GetParam());
  options.batch_size = 1;
  Regressor model = Regressor::fit(copies, options);
  const Regressor before = model;
  const ChangeReport report = model.forget_rows(one);
  EXPECT_EQ(report.rows_removed, 1U);
  EXPECT_EQ(report.rows_lost, 0U);
  EXPECT_EQ(report.batches_reduced, 1U);
  EXPECT_TRUE(report.batches_removed.empty());
  EXPECT_EQ(model.report().rows, 59U);
  EXPECT_GT(largest_difference(model, before, one), 0);
  // The two halves of the way are the whole way.
  Regressor at_once = before;
  at_once.forget_rows(mixed_copies(one, std::vector<double>{2}));
  model.forget_rows(one);
  expect_alike(model, at_once, table);
  EXPECT_EQ(model.report().rows, 58U);
}

// A batch of several rows goes as a whole, with the copies that were to stay.
TEST_P(WeightedFit, ForgettingACopyTakesItsBatchAlong) {
  const Table table = table_of(GetParam(), 30, 1);
  RegressorOptions options = options_of(GetParam());
  options.batch_size = 3;
  Regressor model = Regressor::fit(mixed_copies(table, std::vector<double>(30, 2)), options);
  const std::vector<std::size_t> place{7};
  const ChangeReport report = model.forget_rows(select_rows(table, place));
  EXPECT_EQ(report.rows_removed, 1U);
  EXPECT_EQ(report.rows_lost, 5U);
  EXPECT_EQ(report.batches_removed.size(), 1U);
  EXPECT_EQ(model.report().rows, 54U);
}

TEST(WeightedRegressor, SeveralTargetsShareTheWeights) {
  Table table = wave_table(40, 0.3, 1);
  table.columns.push_back({.name = "z"});
  for (const double y : table.columns[2].numbers) {
    table.columns[3].numbers.push_back(std::sin(y) - y / 3);
  }
  table.weights = whole_weights(40, 2);
  for (const Kind kind : {Kind::joint, Kind::independent}) {
    RegressorOptions options = options_of(kind);
    options.target = {"y", "z"};
    const Regressor weighted = Regressor::fit(table, options);
    const Regressor copies = Regressor::fit(mixed_copies(table, table.weights), options);
    expect_alike(weighted, copies, table);
    EXPECT_NEAR(weighted.report().cavity[1].nll, copies.report().cavity[1].nll, 1e-6);
  }
}

// Rows that are alike but for the target, or for a column that the encoder leaves out, are no copies, or copies.
TEST(WeightedRegressor, CopiesAreAlikeInWhatIsUsed) {
  Table table = wave_table(20, 0.3, 1);
  append_rows(table, table);
  table.columns[2].numbers[25] += 1;
  EXPECT_EQ(Regressor::fit(table, options_of(Kind::independent)).report().copies, 19U);
  Column z{.name = "z"};
  for (std::size_t n = 0; n < 40; ++n) z.numbers.push_back(static_cast<double>(n));
  table.columns.push_back(z);
  EXPECT_EQ(Regressor::fit(table, options_of(Kind::independent)).report().copies, 0U);
  RegressorOptions without = options_of(Kind::independent);
  without.drop = "z";
  EXPECT_EQ(Regressor::fit(table, without).report().copies, 19U);
}

TEST(WeightedRegressor, CheckpointIsOfTheseWeights) {
  const test::Scratch scratch;
  const Checkpoint checkpoint{.path = scratch.path("c"), .seconds = 0};
  Table table = wave_table(30, 0.3, 1);
  table.weights = whole_weights(30, 2);
  const RegressorOptions options = options_of(Kind::joint);
  const Regressor fitted = Regressor::fit(table, options, {}, checkpoint);
  EXPECT_EQ(Regressor::fit(table, options, {}, checkpoint).to_bytes(), fitted.to_bytes());
  for (double& weight : table.weights) weight *= 2;  // which leaves all scales as they are
  EXPECT_THROW(Regressor::fit(table, options, {}, checkpoint), ModelError);
}

// A fit that is stopped after some epochs and resumed, with rows that count other than once.
TEST(WeightedRegressor, ResumesWithTheSameBits) {
  const test::Scratch scratch;
  const Checkpoint checkpoint{.path = scratch.path("c"), .seconds = 0};
  Table table = wave_table(40, 0.3, 1);
  table.weights = whole_weights(40, 2);
  for (const Kind kind : {Kind::joint, Kind::independent}) {
    const RegressorOptions options = options_of(kind);
    int calls = 0;
    Regressor::fit(
        table, options, [&](const FitProgress&) { return ++calls < 60; }, checkpoint);
    const Regressor resumed = Regressor::fit(table, options, {}, checkpoint);
    EXPECT_EQ(resumed.to_bytes(), Regressor::fit(table, options).to_bytes());
    std::filesystem::remove(checkpoint.path);
  }
}

std::string csv_of(const Table& table, std::span<const double> weights) {
  std::ostringstream text;
  text.precision(17);
  text << (weights.empty() ? "a,b,y\n" : "a,b,y,w\n");
  for (std::size_t n = 0; n < table.rows(); ++n) {
    text << table.columns[0].numbers[n] << ',' << table.columns[1].numbers[n] << ','
         << table.columns[2].numbers[n];
    if (!weights.empty()) text << ',' << weights[n];
    text << '\n';
  }
  return text.str();
}

TEST(WeightedRegressor, StreamIsThatOfCopies) {
  const test::Scratch scratch;
  const Table table = wave_table(400, 0.3, 1);
  std::vector<double> weights = whole_weights(400, 2);
  weights[3] = 0;
  RegressorOptions options = options_of(Kind::independent);
  options.epochs = 1;
  options.ledger = LedgerMode::none;
  const StreamedFile copies{scratch.file("copies.csv", csv_of(mixed_copies(table, weights), {}))};
  const Regressor expected = fit_stream(copies, options);
  options.weight = "w";
  const StreamedFile file{scratch.file("weights.csv", csv_of(table, weights))};
  EXPECT_EQ(look_through(file, options).without_weight, 1U);
  const Regressor weighted = fit_stream(file, options);
  expect_alike(weighted, expected, table);
  EXPECT_EQ(weighted.report().rows, 399U);
  EXPECT_EQ(weighted.report().rows_without_weight, 1U);
  EXPECT_NEAR(weighted.report().cavity_nll(), expected.report().cavity_nll(), 1e-6);
  EXPECT_NEAR(evaluate_stream(weighted, file)[0].nll, evaluate_stream(expected, copies)[0].nll,
              1e-6);
  EXPECT_NEAR(evaluate_stream(weighted, copies)[0].nll, evaluate_stream(expected, copies)[0].nll,
              1e-6);
}

}  // namespace
}  // namespace dma
