// Targets that are amounts and counts: fit, predict, sample, update, forget, files, streams, and how the kind is found.
#include <dma/regressor/regressor.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <dma/data/csv.h>
#include <dma/metrics/predicted.h>
#include <dma/regressor/stream.h>
#include <dma/special/gamma.h>
#include <dma/special/random.h>

#include "sanitized.h"
#include "scratch.h"

namespace dma {
namespace {

using test::Scratch;

constexpr double dispersion = 0.3;
constexpr double noise_of_log = 0.4;

// A known function, and what is expected if it is known.
struct Drawn {
  Table table;
  double best_nll;
};

Drawn draw_table(TargetKind kind, std::size_t rows, std::uint64_t seed) {
  special::Random random(seed);
  Column a{.name = "a"}, b{.name = "b"}, y{.name = "y"};
  double nll = 0;
  const double noise =
      kind == TargetKind::count ? std::sqrt(special::trigamma(1 / dispersion)) : noise_of_log;
  const Family family = kind == TargetKind::count ? Family::count : Family::amount;
  for (std::size_t n = 0; n < rows; ++n) {
    a.numbers.push_back(random.normal());
    b.numbers.push_back(random.normal());
    const double function = 1 + 0.8 * std::sin(2 * a.numbers.back()) + 0.5 * b.numbers.back();
    const Predicted known = mixture_of({{function, 0, noise}}, family);
    y.numbers.push_back(known.quantile(random.uniform()));
    nll -= known.log_density(y.numbers.back()) / static_cast<double>(rows);
  }
  return {{.source = "drawn", .columns = {a, b, y}}, nll};
}

Table drawn(TargetKind kind, std::size_t rows, std::uint64_t seed) {
  return draw_table(kind, rows, seed).table;
}

struct Case {
  BeliefKind belief;
  TargetKind kind;
};

class LogTarget : public testing::TestWithParam<Case> {
 protected:
  static TargetKind kind() { return GetParam().kind; }
  static bool is_joint() { return GetParam().belief == BeliefKind::joint; }
  static Table table(std::size_t rows, std::uint64_t seed) { return drawn(kind(), rows, seed); }
  static RegressorOptions quick() {
    return {.target = "y",
            .kind = GetParam().kind,
            .hidden = {8},
            .belief = GetParam().belief,
            .epochs = 30,
            .batch_size = 5,
            .ensemble = 2};
  }
};
INSTANTIATE_TEST_SUITE_P(Regressor, LogTarget,
                         testing::Values(Case{BeliefKind::joint, TargetKind::count},
                                         Case{BeliefKind::joint, TargetKind::amount},
                                         Case{BeliefKind::independent, TargetKind::count},
                                         Case{BeliefKind::independent, TargetKind::amount}),
                         [](const auto& info) {
                           return std::string(name_of(info.param.kind)) +
                                  (info.param.belief == BeliefKind::joint ? "Joint"
                                                                          : "Independent");
                         });

TEST_P(LogTarget, IsLearntAndTheModelKnowsHowWell) {
  RegressorOptions options = quick();
  options.hidden = {};
  options.epochs = test::sanitized ? 6 : 0;
  const auto model = Regressor::fit(table(test::sanitized ? 60 : 500, 1), options);
  if (test::sanitized) return;
  const Drawn test = draw_table(kind(), 2000, 2);
  const Metrics metrics = model.evaluate(test.table).front();
  EXPECT_LT(metrics.nll, test.best_nll + (is_joint() ? 0.05 : 0.35));
  EXPECT_LT(metrics.calibration_error, is_joint() ? 0.025 : 0.1);
  EXPECT_NEAR(model.report().cavity_nll(), metrics.nll, is_joint() ? 0.12 : 0.35);
  const double noise = model.report().noise_std.front();
  if (is_joint()) {
    EXPECT_NEAR(noise, kind() == TargetKind::count ? std::sqrt(dispersion) : noise_of_log, 0.08);
  }
  EXPECT_EQ(model.report().certificate.joint.has_value(), is_joint());
}

double largest_difference(const std::vector<Predicted>& one, const std::vector<Predicted>& two) {
  double largest = 0;
  for (std::size_t n = 0; n < one.size(); ++n) {
    largest = std::max(largest, std::abs(std::log(one[n].mean / two[n].mean)));
  }
  return largest;
}

TEST_P(LogTarget, NothingNegativeIsPredicted) {
  const auto model = Regressor::fit(table(60, 1), quick());
  Table far = table(20, 3);
  for (double& x : far.columns[0].numbers) x *= 10;
  for (const Predicted& p : model.predict(far)) {
    EXPECT_GT(p.mean, 0);
    EXPECT_GE(p.lower(0.99), 0);
    EXPECT_GT(p.stddev(), 0);
    EXPECT_TRUE(std::isfinite(p.upper(0.99)));
    EXPECT_EQ(p.family, kind() == TargetKind::count ? Family::count : Family::amount);
  }
}

TEST_P(LogTarget, DrawsAgreeWithPredictions) {
  const auto model = Regressor::fit(table(100, 1), quick());
  const Table rows = table(5, 4);
  const auto predicted = model.predict(rows);
  constexpr std::size_t count = 20'000;
  const auto draws = model.sample(rows, count, 1);
  for (std::size_t n = 0; n < 5; ++n) {
    for (const double probability : {0.1, 0.5, 0.9}) {
      const double at = predicted[n].quantile(probability);
      double below = 0;
      for (std::size_t s = 0; s < count; ++s) below += draws[s * 5 + n] <= at ? 1.0 / count : 0;
      EXPECT_NEAR(below, predicted[n].cdf(at), 0.03) << n;
    }
  }
  for (const double value : model.sample(rows, 100, 1, false)) EXPECT_GT(value, 0);
}

TEST_P(LogTarget, AFileSaysTheSame) {
  const auto model = Regressor::fit(table(100, 1), quick());
  const auto again = Regressor::from_bytes(model.to_bytes());
  EXPECT_EQ(again.to_bytes(), model.to_bytes());
  EXPECT_EQ(again.encoder().targets[0].kind, kind());
  const Table rows = table(20, 4);
  EXPECT_EQ(largest_difference(again.predict(rows), model.predict(rows)), 0);
}

TEST_P(LogTarget, RowsComeAndAreForgottenAgain) {
  const Table more = table(10, 2);
  const Table rows = table(50, 4);
  const auto model = Regressor::fit(table(100, 1), quick());
  auto changed = model;
  EXPECT_EQ(changed.update(more).rows_added, 10U);
  const double moved = largest_difference(changed.predict(rows), model.predict(rows));
  EXPECT_GT(moved, 1e-4);
  changed.forget_rows(more);
  EXPECT_LT(largest_difference(changed.predict(rows), model.predict(rows)), 1e-6 * moved + 1e-9);
}

// What a row cannot be is refused, and the model is as it was.
TEST_P(LogTarget, NewRowsMustBeOfItsKind) {
  auto model = Regressor::fit(table(60, 1), quick());
  Table wrong = table(3, 2);
  wrong.columns.back().numbers[1] = -2;
  const auto before = model.to_bytes();
  EXPECT_THROW(model.update(wrong), DataError);
  EXPECT_THROW(model.evaluate(wrong), DataError);
  EXPECT_EQ(model.to_bytes(), before);
}

TEST_P(LogTarget, AFitResumesWithTheSameBits) {
  const Scratch scratch;
  const Table rows = table(80, 1);
  const auto whole = Regressor::fit(rows, quick());
  int calls = 0;
  const Checkpoint checkpoint{scratch.path("c"), 0};
  Regressor::fit(
      rows, quick(), [&](const FitProgress&) { return ++calls < 25; }, checkpoint);
  EXPECT_EQ(Regressor::fit(rows, quick(), {}, checkpoint).to_bytes(), whole.to_bytes());
}

std::string csv_of(const Table& table) {
  std::string text = "a,b,y\n";
  for (std::size_t n = 0; n < table.rows(); ++n) {
    for (const Column& column : table.columns) {
      text += std::to_string(column.numbers[n]) + (column.name == "y" ? "\n" : ",");
    }
  }
  return text;
}

TEST(LogTargets, AreLearntFromAStream) {
  const Scratch scratch;
  for (const TargetKind kind : {TargetKind::count, TargetKind::amount}) {
    const Drawn rows = draw_table(kind, test::sanitized ? 500 : 3000, 1);
    const StreamedFile file{scratch.file("s.csv", csv_of(rows.table)), {}, 0.2};
    const auto model =
        fit_stream(file, {.target = "y", .kind = kind, .epochs = 1, .ledger = LedgerMode::none});
    const double nll = evaluate_stream(model, file).front().nll;
    EXPECT_LT(nll, rows.best_nll + (test::sanitized ? 1 : 0.35));
    EXPECT_GT(model.report().noise_std.front(), 0.1);
  }
}

TargetKind found_kind(const Table& table) {
  return Regressor::encoder_for(table, {.target = "y"}).targets.front().kind;
}

// Counts by what they are, amounts by rows that were not learnt.
TEST(LogTargets, AreFound) {
  EXPECT_EQ(found_kind(drawn(TargetKind::count, 200, 1)), TargetKind::count);
  EXPECT_EQ(found_kind(drawn(TargetKind::amount, 200, 1)), TargetKind::amount);
  const Encoder encoder =
      Regressor::encoder_for(drawn(TargetKind::amount, 200, 1), {.target = "y"});
  EXPECT_NE(encoder.targets.front().reason.find("as a number"), std::string::npos);

  // A positive number with Gaussian noise; one that hardly varies; a negative one among positive ones.
  Table straight = drawn(TargetKind::amount, 200, 1);
  special::Random random(3);
  for (std::size_t n = 0; n < 200; ++n) {
    const double a = straight.columns[0].numbers[n];
    straight.columns[2].numbers[n] = 10 + 5 * std::tanh(2 * a) + random.normal();
  }
  ASSERT_GT(*std::ranges::min_element(straight.columns[2].numbers), 0);
  EXPECT_EQ(found_kind(straight), TargetKind::number);
  for (double& y : straight.columns[2].numbers) y += 1000;
  EXPECT_EQ(found_kind(straight), TargetKind::number);
  Table negative = drawn(TargetKind::amount, 200, 1);
  negative.columns[2].numbers[7] = -0.1;
  EXPECT_EQ(found_kind(negative), TargetKind::number);
  Table half = drawn(TargetKind::count, 200, 1);
  half.columns[2].numbers[7] = 0.5;
  EXPECT_NE(found_kind(half), TargetKind::count);
}

TEST(LogTargets, ANoiseIsGivenForANumberOnly) {
  const Table counts = drawn(TargetKind::count, 60, 1);
  RegressorOptions options{.target = "y", .hidden = {4}, .noise = 0.5, .epochs = 12};
  EXPECT_EQ(Regressor::fit(counts, options).encoder().targets.front().kind, TargetKind::number);
  options.kind = TargetKind::count;
  EXPECT_THROW(Regressor::fit(counts, options), NetworkError);
}

}  // namespace
}  // namespace dma
