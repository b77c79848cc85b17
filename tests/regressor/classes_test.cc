// A target that is a class: fit, predict, sample, update, forget, files, streams.
#include <dma/regressor/regressor.h>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>

#include <dma/data/csv.h>
#include <dma/regressor/stream.h>
#include <dma/special/random.h>

#include "regressor/beliefs.h"
#include "sanitized.h"
#include "scratch.h"

namespace dma {
namespace {

using test::Scratch;

// Points of the plane; the class is the sector that they lie in, but for a tenth of them, which have any.
Table sectors(std::size_t rows, std::size_t classes, std::uint64_t seed) {
  special::Random random(seed);
  Column a{.name = "a"}, b{.name = "b"};
  Column y{.name = "y", .is_text = true};
  for (std::size_t k = 0; k < classes; ++k) y.values.push_back("sector " + std::to_string(k));
  for (std::size_t n = 0; n < rows; ++n) {
    a.numbers.push_back(random.normal());
    b.numbers.push_back(random.normal());
    const double turn = std::atan2(b.numbers.back(), a.numbers.back()) / (2 * M_PI) + 0.5;
    const double place = random.uniform() < 0.1 ? random.uniform() : turn;
    y.codes.push_back(static_cast<std::uint32_t>(
        std::min(place * static_cast<double>(classes), static_cast<double>(classes - 1))));
  }
  return {.source = "sectors", .columns = {a, b, y}};
}

struct Case {
  BeliefKind belief;
  std::size_t classes;
};

class ClassTarget : public testing::TestWithParam<Case> {
 protected:
  static std::size_t classes() { return GetParam().classes; }
  static RegressorOptions quick() {
    return {.target = "y",
            .hidden = {8},
            .belief = GetParam().belief,
            .epochs = 30,
            .batch_size = 5,
            .ensemble = 2};
  }
  static bool is_joint() { return GetParam().belief == BeliefKind::joint; }
};
INSTANTIATE_TEST_SUITE_P(
    Regressor, ClassTarget,
    testing::Values(Case{BeliefKind::joint, 2}, Case{BeliefKind::joint, 3},
                    Case{BeliefKind::independent, 2}, Case{BeliefKind::independent, 3}),
    [](const auto& info) {
      return std::string(info.param.belief == BeliefKind::joint ? "joint" : "independent") +
             std::to_string(info.param.classes);
    });

double largest_difference(const std::vector<Predicted>& one, const std::vector<Predicted>& two) {
  double largest = 0;
  for (std::size_t n = 0; n < one.size(); ++n) {
    for (std::size_t k = 0; k < one[n].probabilities.size(); ++k) {
      largest = std::max(largest, std::abs(one[n].probabilities[k] - two[n].probabilities[k]));
    }
  }
  return largest;
}

// The best that can be done is known: 0.1 of the rows have any class.
double best_log_loss(std::size_t classes) {
  const double other = 0.1 / static_cast<double>(classes);
  const double own = 0.9 + other;
  return -own * std::log(own) - static_cast<double>(classes - 1) * other * std::log(other);
}

TEST_P(ClassTarget, IsLearntAndTheModelKnowsHowWell) {
  RegressorOptions options = quick();
  options.hidden = {};
  options.epochs = test::sanitized ? 6 : 0;
  const auto model = Regressor::fit(sectors(test::sanitized ? 60 : 500, classes(), 1), options);
  if (test::sanitized) return;
  const Metrics metrics = model.evaluate(sectors(2000, classes(), 2)).front();
  ASSERT_TRUE(metrics.classes);
  EXPECT_EQ(metrics.nll, metrics.classes->log_loss);
  EXPECT_EQ(metrics.classes->auc.has_value(), classes() == 2);
  EXPECT_LT(metrics.nll, best_log_loss(classes()) + (is_joint() ? 0.08 : 0.3));
  EXPECT_GT(metrics.classes->accuracy, is_joint() ? 0.88 : 0.8);
  EXPECT_LT(metrics.classes->calibration_error, is_joint() ? 0.07 : 0.25);
  const FitReport& report = model.report();
  EXPECT_NEAR(report.cavity_nll(), metrics.nll, is_joint() ? 0.1 : 0.5);
  EXPECT_EQ(report.cavity.front().classes->confusion.size(), classes() * classes());
  EXPECT_EQ(report.certificate.joint.has_value(), is_joint());
}

TEST_P(ClassTarget, ProbabilitiesSumToOneAndDoubtIsAPartOfTheirEntropy) {
  const auto model = Regressor::fit(sectors(120, classes(), 1), quick());
  for (const Predicted& p : model.predict(sectors(60, classes(), 3))) {
    ASSERT_EQ(p.probabilities.size(), classes());
    EXPECT_NEAR(std::accumulate(p.probabilities.begin(), p.probabilities.end(), 0.0), 1, 1e-9);
    EXPECT_GE(p.doubt(), 0);
    EXPECT_LE(p.doubt(), p.entropy());
    EXPECT_LE(p.entropy(), std::log(static_cast<double>(classes())) + 1e-12);
  }
}

double mean_doubt(const Regressor& model, const Table& rows) {
  double sum = 0;
  for (const Predicted& p : model.predict(rows)) sum += p.doubt();
  return sum / static_cast<double>(rows.rows());
}

// That is what doubt means. (Independent weights stay in doubt of each other.)
TEST(ClassTargets, MoreRowsRemoveDoubt) {
  const RegressorOptions options{
      .target = "y", .hidden = {8}, .belief = BeliefKind::joint, .epochs = 30, .ensemble = 2};
  for (const std::size_t classes : {2U, 3U}) {
    const Table rows = sectors(100, classes, 5);
    const double few = mean_doubt(Regressor::fit(sectors(50, classes, 1), options), rows);
    const std::size_t more = test::sanitized ? 300 : 1000;
    const double many = mean_doubt(Regressor::fit(sectors(more, classes, 1), options), rows);
    EXPECT_LT(many, 0.5 * few);
  }
}

TEST_P(ClassTarget, DrawsAgreeWithProbabilities) {
  const auto model = Regressor::fit(sectors(100, classes(), 1), quick());
  const Table rows = sectors(5, classes(), 4);
  const auto predicted = model.predict(rows);
  constexpr std::size_t count = 20'000;
  const auto draws = model.sample(rows, count, 1);
  ASSERT_EQ(draws.size(), count * 5);
  for (std::size_t n = 0; n < 5; ++n) {
    std::vector<double> share(classes());
    for (std::size_t s = 0; s < count; ++s) {
      share.at(static_cast<std::size_t>(draws[s * 5 + n])) += 1.0 / count;
    }
    for (std::size_t k = 0; k < classes(); ++k) {
      EXPECT_NEAR(share[k], predicted[n].probabilities[k], 0.02);
    }
  }
  EXPECT_THROW(model.sample(rows, 1, 1, false), NetworkError);
}

TEST_P(ClassTarget, AFileSaysTheSame) {
  const auto model = Regressor::fit(sectors(100, classes(), 1), quick());
  const auto again = Regressor::from_bytes(model.to_bytes());
  EXPECT_EQ(again.to_bytes(), model.to_bytes());
  EXPECT_EQ(again.encoder().targets[0].classes, model.encoder().targets[0].classes);
  const Table rows = sectors(20, classes(), 4);
  EXPECT_EQ(largest_difference(again.predict(rows), model.predict(rows)), 0);
  EXPECT_EQ(again.report().cavity.front().classes->reliability[14].rows,
            model.report().cavity.front().classes->reliability[14].rows);
}

TEST_P(ClassTarget, RowsComeAndAreForgottenAgain) {
  const Table first = sectors(100, classes(), 1);
  const Table more = sectors(10, classes(), 2);
  const Table rows = sectors(50, classes(), 4);
  const auto model = Regressor::fit(first, quick());
  auto changed = model;
  const ChangeReport report = changed.update(more);
  EXPECT_EQ(report.rows_added, 10U);
  EXPECT_GT(report.moved.largest_shift, 0);
  EXPECT_LE(report.moved.largest_shift, 1);
  EXPECT_GT(report.new_rows_nll, 0);
  const double moved = largest_difference(changed.predict(rows), model.predict(rows));
  EXPECT_GT(moved, 1e-4);
  changed.forget_rows(more);
  EXPECT_LT(largest_difference(changed.predict(rows), model.predict(rows)), 1e-6 * moved + 1e-9);
}

// A class that the new rows lack is no mistake; one that training lacked is.
TEST_P(ClassTarget, NewRowsMayLackAClassButNotBringOne) {
  auto model = Regressor::fit(sectors(100, classes(), 1), quick());
  Table one = sectors(40, classes(), 2);
  one.columns.back().codes.assign(40, 0);
  EXPECT_EQ(model.evaluate(one).front().classes->rows, 40U);
  EXPECT_EQ(model.update(one).rows_added, 40U);
  Table strange = sectors(3, classes(), 2);
  strange.columns.back().values.push_back("nowhere");
  strange.columns.back().codes[1] = static_cast<std::uint32_t>(classes());
  const auto before = model.to_bytes();
  EXPECT_THROW(model.update(strange), DataError);
  EXPECT_THROW(model.evaluate(strange), DataError);
  EXPECT_EQ(model.to_bytes(), before);
}

TEST_P(ClassTarget, AFitResumesWithTheSameBits) {
  const Scratch scratch;
  const Table table = sectors(80, classes(), 1);
  const auto whole = Regressor::fit(table, quick());
  int calls = 0;
  const Checkpoint checkpoint{scratch.path("c"), 0};
  Regressor::fit(
      table, quick(), [&](const FitProgress&) { return ++calls < 25; }, checkpoint);
  const auto resumed = Regressor::fit(table, quick(), {}, checkpoint);
  EXPECT_EQ(resumed.to_bytes(), whole.to_bytes());
}

// Two numbers are classes, unless it is said that they are not.
TEST(ClassTargets, NumbersCanBeBoth) {
  Table table = sectors(60, 2, 1);
  Column zero_or_one{.name = "y"};
  for (const std::uint32_t code : table.columns.back().codes) zero_or_one.numbers.push_back(code);
  table.columns.back() = zero_or_one;
  const RegressorOptions options{.target = "y", .hidden = {4}, .epochs = 12, .ensemble = 1};
  EXPECT_TRUE(Regressor::fit(table, options).encoder().has_classes());
  RegressorOptions as_number = options;
  as_number.kind = TargetKind::number;
  EXPECT_FALSE(Regressor::fit(table, as_number).encoder().has_classes());
}

// A class with one row is held out by one member and unknown to no other.
TEST(ClassTargets, AClassMayHaveOneRow) {
  Table table = sectors(60, 3, 1);
  table.columns.back().values.push_back("once");
  table.columns.back().codes[17] = 3;
  const auto model = Regressor::fit(table, {.target = "y", .hidden = {4}, .epochs = 12});
  for (const Predicted& p : model.predict(table)) {
    EXPECT_GT(*std::min_element(p.probabilities.begin(), p.probabilities.end()), 0);
  }
}

TEST(ClassTargets, AreLearntFromAStream) {
  const Scratch scratch;
  const Table table = sectors(3000, 3, 1);
  std::string text = "a,b,y\n";
  for (std::size_t n = 0; n < table.rows(); ++n) {
    text += std::to_string(table.columns[0].numbers[n]) + "," +
            std::to_string(table.columns[1].numbers[n]) + "," +
            table.columns[2].values[table.columns[2].codes[n]] + "\n";
  }
  const StreamedFile file{scratch.file("s.csv", text), {}, 0.2};
  const auto model = fit_stream(file, {.target = "y", .epochs = 1, .ledger = LedgerMode::none});
  EXPECT_TRUE(model.encoder().has_classes());
  const Metrics metrics = evaluate_stream(model, file).front();
  ASSERT_TRUE(metrics.classes);
  EXPECT_GT(metrics.classes->accuracy, 0.6);
  EXPECT_EQ(model.report().cavity.front().classes->rows, model.report().rows);
}

}  // namespace
}  // namespace dma
