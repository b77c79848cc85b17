// What a user holds: fit, predict, update, forget.
#include <dma/regressor/regressor.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <dma/special/random.h>

#include "regressor/beliefs.h"
#include "regressor/wave_table.h"
#include "scratch.h"

namespace dma {
namespace {

using test::rows_of;
using test::Scratch;
using test::wave_table;

RegressorOptions quick_options(BeliefKind belief) {
  return {.target = "y",
          .hidden = {10},
          .belief = belief,
          .epochs = 30,
          .batch_size = 5,
          .ensemble = 2};
}

// Every promise holds for weights that are one variable and for weights that are many.
class EachBelief : public testing::TestWithParam<BeliefKind> {
 protected:
  static RegressorOptions quick() { return quick_options(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Regressor, EachBelief,
                         testing::Values(BeliefKind::joint, BeliefKind::independent),
                         [](const auto& belief) {
                           return belief.param == BeliefKind::joint ? "joint" : "independent";
                         });

std::vector<double> means(const std::vector<Predicted>& predicted) {
  std::vector<double> result;
  for (const Predicted& p : predicted) result.push_back(p.mean);
  return result;
}

bool same(const std::vector<Predicted>& a, const std::vector<Predicted>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.mean == y.mean && x.epistemic_std == y.epistemic_std && x.noise_std == y.noise_std;
  });
}

template <class Run>
std::string error_of(const Run& run) {
  try {
    run();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

void expect_error(const std::string& said, const std::string& wanted) {
  EXPECT_NE(said.find(wanted), std::string::npos) << said << "\nwanted: " << wanted;
}

// The model file could not hold it, and would say so only after the fit.
TEST_P(EachBelief, TextThatIsNotUtf8IsRefusedBeforeTheFit) {
  const std::vector<std::string> wrong{"\xed\xa0\x80", "\xe0\x80\xaf", "\xf0\x80\x80\xaf",
                                       "\xf4\x90\x80\x80", "Z\xfcrich"};
  for (const std::string& text : wrong) {
    Table table = wave_table(60, 0.2, 1);
    Column place{.name = "place", .values = {"Bern", text}, .is_text = true};
    for (std::size_t n = 0; n < 60; ++n) place.codes.push_back(n % 2);
    table.columns.push_back(place);
    bool begun = false;
    const auto fit = [&] {
      Regressor::fit(table, quick(), [&](const FitProgress&) { return begun = true; });
    };
    expect_error(error_of(fit), "column 'place': its name or one of its values is not UTF-8 text");
    EXPECT_FALSE(begun);
  }
}

TEST_P(EachBelief, FitLearnsAndKnowsHowWell) {
  const Table train = wave_table(400, 0.2, 1);
  const Table test = wave_table(2000, 0.2, 2);
  const auto model = Regressor::fit(train, {.target = "y", .belief = GetParam(), .ensemble = 3});
  const Metrics metrics = model.evaluate(test).front();
  const FitReport& report = model.report();
  EXPECT_LT(metrics.rmse, 1.3);  // the noise is 1
  EXPECT_NEAR(report.noise_std.front(), 1, 0.2);
  // Independent weights are unsure of each other: their cavity is pessimistic (docs/network.md).
  EXPECT_NEAR(report.cavity_nll(), metrics.nll, GetParam() == BeliefKind::joint ? 0.1 : 0.5);
  EXPECT_LT(report.train_nll, report.cavity_nll());
  EXPECT_NEAR(metrics.coverage[3], 0.95, 0.05);
  EXPECT_EQ(report.rows, 400U);
  EXPECT_EQ(report.layers, architecture_of(model.model()).widths);
  EXPECT_EQ(report.weights, architecture_of(model.model()).weight_count());
  EXPECT_EQ(report.certificate.joint.has_value(), GetParam() == BeliefKind::joint);
  if (!report.certificate.joint) {
    EXPECT_EQ(report.certificate.negative_messages, 0U);
  }
}

// What decides is the cost, not the number of weights: thousands of them, and so few rows that they cost little.
TEST(Regressor, AWideTableKeepsAJointBelief) {
  special::Random random(1);
  Table table{"wide", {}};
  for (std::size_t column = 0; column < 200; ++column) {
    std::vector<double> numbers(60);
    for (double& number : numbers) number = random.normal();
    table.columns.push_back({"x" + std::to_string(column), std::move(numbers)});
  }
  Column target{"y", table.columns.front().numbers};
  for (double& number : target.numbers) number += 0.1 * random.normal();
  table.columns.push_back(std::move(target));
  const auto model = Regressor::fit(table, {.target = "y", .ensemble = 1});
  EXPECT_EQ(model.model().options.belief, BeliefKind::joint);
  EXPECT_GT(model.report().weights, 1000U);
  EXPECT_TRUE(test::joint(model.model(), 0).function.in_messages());
  // The file holds rows, not the weights' precision.
  EXPECT_LT(model.to_bytes().size(), 1'000'000U);
  EXPECT_EQ(Regressor::from_bytes(model.to_bytes()).to_bytes(), model.to_bytes());
}

TEST_P(EachBelief, FitIsWiderWhereNothingWasSeen) {
  const auto model = Regressor::fit(wave_table(200, 0.2, 1), quick());
  Table places{.columns = {{.name = "a", .numbers = {0, 8}}, {.name = "b", .numbers = {0, 0}}}};
  const auto predicted = model.predict(places);
  EXPECT_GT(predicted[1].epistemic_std, 3 * predicted[0].epistemic_std);
  EXPECT_NEAR(predicted[0].cdf(predicted[0].upper(0.95)), 0.975, 1e-10);
  EXPECT_NEAR(predicted[0].cdf(predicted[0].lower(0.5)), 0.25, 1e-10);
}

// Noise 1 everywhere. Thirty of the rows have twenty columns of their own, and hardly a residual left. The noise is asked
// of rows that were not learnt, which miss by more.
TEST(Regressor, WhatWasFittedIsNotTakenForQuiet) {
  double log_ratio = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    special::Random random(seed);
    Table table;
    for (int k = 0; k < 20; ++k) table.columns.push_back({.name = "c" + std::to_string(k)});
    table.columns.push_back({.name = "own"});
    table.columns.push_back({.name = "y"});
    for (int n = 0; n < 230; ++n) {
      const bool own = n < 30;
      double y = random.normal();
      for (std::size_t k = 0; k < 20; ++k) {
        table.columns[k].numbers.push_back(own ? random.normal() : 0);
        y += 3 * table.columns[k].numbers.back();
      }
      table.columns[20].numbers.push_back(own ? 1 : 0);
      table.columns[21].numbers.push_back(y);
    }
    const auto model = Regressor::fit(table, {.target = "y", .hidden = {2}});
    const auto predicted = model.predict(table);
    double own = 0;
    double others = 0;
    for (std::size_t n = 0; n < 230; ++n) {
      (n < 30 ? own : others) += std::log(predicted[n].noise_std) / (n < 30 ? 30 : 200);
    }
    log_ratio += (own - others) / 5;
  }
  EXPECT_GT(log_ratio, -0.2);
}

// y = a + N(0, exp(a)): the noise grows with a, but not beyond what was seen.
TEST(Regressor, NoiseIsNotExtrapolated) {
  special::Random random(4);
  Table table{.columns = {{.name = "a"}, {.name = "y"}}};
  for (int n = 0; n < 300; ++n) {
    const double a = random.uniform(-2, 2);
    table.columns[0].numbers.push_back(a);
    table.columns[1].numbers.push_back(a + std::exp(a / 2) * random.normal());
  }
  const auto model = Regressor::fit(table, {.target = "y"});
  const double edge =
      *std::max_element(table.columns[0].numbers.begin(), table.columns[0].numbers.end());
  const auto predicted =
      model.predict({.columns = {{.name = "a", .numbers = {-2, edge, 10, 1e6}}}});
  EXPECT_GT(predicted[1].noise_std, 3 * predicted[0].noise_std);
  // The function's value is an input of the noise too, and goes on to its own edge.
  EXPECT_LT(predicted[2].noise_std, 3 * predicted[1].noise_std);
  EXPECT_LT(predicted[3].noise_std, 3 * predicted[1].noise_std);
  // What is known of the function does not reach so far, though 1e6 counts as not quite 8.
  EXPECT_GT(predicted[2].epistemic_std, 5 * predicted[1].epistemic_std);
  EXPECT_GT(predicted[3].epistemic_std, predicted[2].epistemic_std);
}

// Noise with tails: the shape follows it, and what it says of itself becomes true.
TEST(Regressor, CalibrationFollowsTheTails) {
  const auto draw = [](std::size_t rows, std::uint64_t seed) {
    special::Random random(seed);
    Table table{.columns = {{.name = "a"}, {.name = "y"}}};
    for (std::size_t n = 0; n < rows; ++n) {
      const double a = random.uniform(-2, 2);
      table.columns[0].numbers.push_back(a);
      const double spread = std::exp(0.8 * random.normal());
      table.columns[1].numbers.push_back(a + spread * random.normal());
    }
    return table;
  };
  const Table train = draw(500, 1);
  const Table test = draw(4000, 2);
  RegressorOptions options{.target = "y", .hidden = {5}};
  const auto with = Regressor::fit(train, options);
  options.calibration = false;
  const auto without = Regressor::fit(train, options);
  const auto calibration = [](const Regressor& model) {
    return model.model().calibrations.front();
  };
  EXPECT_GT(calibration(with).noise_spread, 1);
  EXPECT_EQ(calibration(without).noise_spread, 0);
  EXPECT_EQ(calibration(without).noise_shift, 0);
  EXPECT_EQ(calibration(without).function_shift, 0);
  const Metrics good = with.evaluate(test).front();
  const Metrics plain = without.evaluate(test).front();
  EXPECT_LT(good.nll, plain.nll - 0.02);
  EXPECT_LT(good.calibration_error, plain.calibration_error);
  EXPECT_NEAR(good.coverage[0], 0.5, 0.04);
}

// Three of four members switch off an irrelevant column; without selection none does.
TEST(Regressor, SelectionSwitchesColumnsOff) {
  Table table = wave_table(300, 0.2, 8);
  special::Random random(9);
  Column idle{.name = "idle"};
  for (std::size_t n = 0; n < 300; ++n) idle.numbers.push_back(random.normal());
  table.columns.insert(table.columns.begin(), idle);
  const auto precisions = [&](bool selection) {
    const auto model = Regressor::fit(
        table, {.target = "y", .hidden = {20}, .selection = selection, .ensemble = 4});
    std::vector<double> ratios;  // of the idle column, the last, to the first
    for (std::size_t m = 0; m < model.model().members.size(); ++m) {
      const auto& precision = test::joint(model.model(), m).function.prior_precision;
      ratios.push_back(precision[2] / precision[0]);
    }
    return ratios;
  };
  const auto with = precisions(true);
  EXPECT_GT(std::min({with[0], with[1], with[2]}), 3);
  EXPECT_EQ(with[3], 1);
  for (const double ratio : precisions(false)) EXPECT_EQ(ratio, 1);
}

TEST_P(EachBelief, FitSameBitsWhateverTheThreads) {
  const Table table = wave_table(150, 0.3, 3);
  auto options = quick();
  options.threads = 1;
  const auto one = Regressor::fit(table, options);
  options.threads = 0;
  const auto all = Regressor::fit(table, options);
  EXPECT_TRUE(same(one.predict(table, 1), all.predict(table, 0)));
  options.seed = 2;
  EXPECT_FALSE(same(one.predict(table), Regressor::fit(table, options).predict(table)));
}

// Fits one epoch: later ones amplify the rounding of earlier ones by a random factor. A row is one update,
// and may cost one rounding.
TEST(Fit, SinglePrecisionIsDoubleUpToRounding) {
  const Table table = wave_table(150, 0.3, 3);
  auto options = quick_options(BeliefKind::independent);
  options.epochs = 1;
  const auto exact = Regressor::fit(table, options).predict(table);
  options.single_precision = true;
  const auto model = Regressor::fit(table, options);
  EXPECT_TRUE(test::is_independent<float>(model.model()));
  const auto single = model.predict(table);
  EXPECT_FALSE(same(single, exact));
  constexpr double rounding = 150 * std::numeric_limits<float>::epsilon();
  for (std::size_t n = 0; n < exact.size(); ++n) {
    EXPECT_NEAR(single[n].mean, exact[n].mean, rounding * exact[n].stddev());
    EXPECT_NEAR(single[n].epistemic_std, exact[n].epistemic_std, rounding * exact[n].stddev());
    EXPECT_NEAR(single[n].noise_std, exact[n].noise_std, rounding * exact[n].stddev());
  }
}

// y -> 3 + 1000 y must only change the unit.
TEST_P(EachBelief, FitFollowsTheUnitOfTheTarget) {
  Table table = wave_table(100, 0.3, 4);
  auto options = quick();
  options.epochs = 5;
  const auto before = Regressor::fit(table, options);
  const auto first = before.predict(table);
  for (double& y : table.columns[2].numbers) y = 3 + 1000 * y;
  const auto after = Regressor::fit(table, options);
  const auto second = after.predict(table);
  for (std::size_t n = 0; n < first.size(); ++n) {
    EXPECT_NEAR(second[n].mean, 3 + 1000 * first[n].mean, 1e-6 * std::abs(second[n].mean));
    EXPECT_NEAR(second[n].stddev(), 1000 * first[n].stddev(), 1e-6 * second[n].stddev());
  }
  EXPECT_NEAR(after.report().cavity_nll(), before.report().cavity_nll() + std::log(1000), 1e-6);
}

// The wave, and z = b plus a little noise: another target, of other noise.
Table table_of_two_targets() {
  Table table = wave_table(200, 0.2, 5);
  special::Random random(6);
  Column z{.name = "z", .numbers = table.columns[1].numbers};
  for (double& value : z.numbers) value += random.normal() / 4;
  table.columns.push_back(std::move(z));
  return table;
}

// z -> 3 + 1000 z changes the unit of z, and nothing of y.
TEST_P(EachBelief, FitEachTargetInItsOwnUnit) {
  Table table = table_of_two_targets();
  auto options = quick();
  options.target = {"y", "z"};
  const auto before = Regressor::fit(table, options);
  const auto first = before.predict(table);
  for (double& z : table.columns[3].numbers) z = 3 + 1000 * z;
  const auto after = Regressor::fit(table, options);
  const auto second = after.predict(table);
  ASSERT_EQ(second.size(), 400U);
  const std::array<double, 2> unit{1, 1000};
  const std::array<double, 2> origin{0, 3};
  for (std::size_t n = 0; n < 400; ++n) {
    const double mean = origin[n % 2] + unit[n % 2] * first[n].mean;
    EXPECT_NEAR(second[n].mean, mean, 1e-6 * second[n].stddev());
    EXPECT_NEAR(second[n].stddev(), unit[n % 2] * first[n].stddev(), 1e-6 * second[n].stddev());
  }
  const auto metrics = after.evaluate(table);
  for (std::size_t k = 0; k < 2; ++k) {
    const double noise = after.report().noise_std[k];
    EXPECT_NEAR(noise, unit[k] * before.report().noise_std[k], 1e-6 * noise);
    EXPECT_LT(metrics[k].rmse, after.encoder().targets[k].deviation / 2);  // both are learnt
  }
}

// A joint belief has networks of each target, learnt as if it were alone.
TEST(Fit, JointNetworksOfSeveralTargetsAreThoseOfEachAlone) {
  const Table table = table_of_two_targets();
  const auto networks = [&](const std::vector<std::string>& targets) {
    auto options = quick_options(BeliefKind::joint);
    options.features = {"a", "b"};
    options.target = targets;
    options.ensemble = 1;
    return Regressor::fit(table, options).model();
  };
  const Model both = networks({"y", "z"});
  const std::array<Model, 2> alone{networks({"y"}), networks({"z"})};
  ASSERT_EQ(both.members.size(), 2U);
  for (std::size_t k = 0; k < 2; ++k) {
    const JointKnowledge& one = test::joint(both, k);
    const JointKnowledge& other = test::joint(alone[k], 0);
    EXPECT_EQ(one.function.mean, other.function.mean);
    EXPECT_EQ(one.function.factor, other.function.factor);
    EXPECT_EQ(one.log_noise->mean, other.log_noise->mean);
  }
}

// The curve ends where the fit ends: of a joint belief at the mean of the weights.
TEST_P(EachBelief, FitKeepsItsTrainingCurve) {
  Table table = wave_table(60, 0.2, 5);
  table.columns.push_back({.name = "z", .numbers = table.columns[0].numbers});
  auto options = quick();
  options.target = {"y", "z"};
  options.features = {"a", "b"};
  options.noise = 0.7;
  options.ensemble = 1;
  Model model = Regressor::fit(table, options).model();
  // Of the functions alone, not of what the targets say of them.
  for (Calibration& calibration : model.calibrations) calibration.prior_precision = 0;
  const auto predicted = Regressor(model).predict(table);
  const bool joint = GetParam() == BeliefKind::joint;
  const auto& training = model.report.training;
  ASSERT_EQ(training.size(), joint ? 2U : 1U);  // a joint network has one target
  for (std::size_t m = 0; m < training.size(); ++m) {
    double sum = 0;
    for (std::size_t n = m; n < predicted.size(); n += training.size()) {
      Predicted p = predicted[n];
      ASSERT_EQ(p.parts.size(), 1U);
      if (joint) p.parts[0].epistemic_std = 0;
      sum -= p.log_density(table.columns[n % 2 == 0 ? 2 : 3].numbers[n / 2]);
    }
    EXPECT_LE(training[m].size(), model.report.epochs);
    EXPECT_NEAR(training[m].back(), sum / (joint ? 60 : 120), 1e-9);
    EXPECT_LT(training[m].back(), training[m].front());
  }
}

TEST_P(EachBelief, FitHasATrainingCurvePerMember) {
  auto options = quick();
  options.constant_noise = true;
  const auto model = Regressor::fit(wave_table(60, 0.2, 5), options);
  const auto& training = model.report().training;
  ASSERT_EQ(training.size(), 2U);
  EXPECT_NE(training[0], training[1]);
  EXPECT_EQ(std::max(training[0].size(), training[1].size()), model.report().epochs);
}

TEST_P(EachBelief, FitNoiseThatIsGivenIsKept) {
  auto options = quick();
  options.noise = 0.7;
  const auto model = Regressor::fit(wave_table(100, 0.3, 4), options);
  EXPECT_NEAR(model.report().noise_std.front(), 0.7, 1e-12);
}

TEST_P(EachBelief, FitStopsWhenAsked) {
  const Table table = wave_table(200, 0.2, 5);
  const std::size_t most = GetParam() == BeliefKind::joint ? 10 : 100;
  std::size_t calls = 0;
  const auto model = Regressor::fit(table, quick(), [&](const FitProgress& now) {
    EXPECT_EQ(now.members, 2U);
    EXPECT_EQ(now.epochs, 30U);
    return ++calls < most;
  });
  EXPECT_EQ(calls, most);  // no thread asks again after a no
  EXPECT_EQ(model.report().stopped, Stopped::interrupted);
  EXPECT_TRUE(std::isfinite(model.report().cavity_nll()));
  EXPECT_TRUE(std::isfinite(model.evaluate(table).front().nll));
}

TEST_P(EachBelief, FitStoppedAtOnceStillIsAModel) {
  const Table table = wave_table(50, 0.2, 5);
  std::size_t calls = 0;
  const auto model = Regressor::fit(table, quick(), [&](const auto&) {
    ++calls;
    return false;
  });
  EXPECT_EQ(calls, 1U);
  EXPECT_EQ(model.report().stopped, Stopped::interrupted);
  EXPECT_TRUE(std::isfinite(model.evaluate(table).front().nll));
}

TEST_P(EachBelief, FitSurvivesOddTables) {
  const std::vector<Table> tables{
      {.columns = {{.name = "a", .numbers = {1, 2}}, {.name = "y", .numbers = {2, 3}}}},
      {.columns = {{.name = "a", .numbers = {1, 2, 3}},
                   {.name = "b", .numbers = {2, 3, 1}},
                   {.name = "c", .numbers = {3, 1, 4}},
                   {.name = "d", .numbers = {4, 4, 1}},
                   {.name = "y", .numbers = {6, 7, 9}}}},
      {.columns = {{.name = "a", .numbers = {1, 1, 1, 2, 2, 2}},
                   {.name = "y", .numbers = {3, 3, 3, 4, 4, 4}}}},
      {.columns = {{.name = "a", .numbers = {1, 2, 3, 4, 5, 6}},
                   {.name = "b", .numbers = {2, 4, 6, 8, 10, 12}},
                   {.name = "y", .numbers = {1e9, 0, 1, 0, 1, 0}}}}};
  RegressorOptions options = quick();
  options.kind = TargetKind::number;
  for (const Table& table : tables) {
    const auto model = Regressor::fit(table, options);
    EXPECT_TRUE(std::isfinite(model.report().cavity_nll()));
    EXPECT_TRUE(std::isfinite(model.report().train_nll));
    for (const Predicted& p : model.predict(table)) {
      EXPECT_TRUE(std::isfinite(p.mean));
      EXPECT_TRUE(p.stddev() > 0 && std::isfinite(p.stddev()));
    }
  }
}

TEST_P(EachBelief, PredictColumnsMayMoveAndBeMore) {
  const Table table = wave_table(60, 0.3, 6);
  const auto model = Regressor::fit(table, quick());
  Table moved{.columns = {table.columns[1],
                          {.name = "new", .numbers = std::vector<double>(60)},
                          table.columns[0]}};
  EXPECT_TRUE(same(model.predict(table), model.predict(moved)));
  moved.columns.pop_back();
  expect_error(error_of([&] { model.predict(moved); }), "'a'");
}

TEST_P(EachBelief, PredictAnUnseenCategoryWidensTheInterval) {
  Table table = wave_table(300, 0.2, 7);
  Column kind{.name = "kind", .values = {"one", "two"}, .is_text = true};
  for (std::size_t n = 0; n < 300; ++n) {
    kind.codes.push_back(n % 2);
    table.columns[2].numbers[n] += n % 2 == 0 ? 0 : 10;
  }
  table.columns.push_back(kind);
  const auto model = Regressor::fit(table, quick());
  Table place{.columns = {{.name = "a", .numbers = {0, 0, 0}},
                          {.name = "b", .numbers = {0, 0, 0}},
                          {.name = "kind",
                           .codes = {0, 1, 2},
                           .values = {"one", "two", "three"},
                           .is_text = true}}};
  const auto predicted = model.predict(place);
  EXPECT_NEAR(predicted[1].mean - predicted[0].mean, 10, 2);
  EXPECT_GT(predicted[2].epistemic_std, 1.5 * predicted[0].epistemic_std);
  EXPECT_GT(predicted[2].epistemic_std, 1.5 * predicted[1].epistemic_std);
}

// Of the function and of the noise: those of a mixture's parts, by the law of total variance.
std::array<double, 2> roots_of_variances(const Predicted& p) {
  double epistemic = 0;
  double noise = 0;
  for (const PredictedPart& part : p.parts) {
    epistemic += part.weight * (std::pow(part.epistemic_std, 2) + std::pow(part.mean - p.mean, 2));
    noise += part.weight * std::pow(part.noise_std, 2);
  }
  return {std::sqrt(epistemic), std::sqrt(noise)};
}

// With so few rows the noise's variance is that of tails; and so is what is said far from all rows.
TEST(Regressor, DeviationsAreOfTheSizeOfTheTarget) {
  for (const std::size_t rows : {3U, 6U, 9U}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      Table table = wave_table(rows, 0.3, seed);
      table.columns.back().numbers.front() += 30;  // an outlier
      const auto model = Regressor::fit(table, {.target = "y", .seed = seed});
      const double deviation = model.encoder().targets.front().deviation;
      EXPECT_LT(model.report().noise_std.front(), 3 * deviation) << rows << ' ' << seed;
      for (double& value : table.columns.front().numbers) value = 20 * value + 7;
      for (const Predicted& p : model.predict(table)) {
        EXPECT_LT(p.stddev(), p.upper(0.8) - p.lower(0.8));
        EXPECT_LT(p.stddev(), 8 * deviation) << rows << ' ' << seed;
        EXPECT_NEAR(std::hypot(p.epistemic_std, p.noise_std), p.stddev(), 1e-12 * p.stddev());
      }
    }
  }
}

// Each draw of a function is one function: the same at a row that stands twice. Over draws their moments are
// those of the predictions, and with noise those of targets.
TEST_P(EachBelief, SamplesAreWhatIsPredicted) {
  const Table train = wave_table(200, 0.5, 1);
  const auto model = Regressor::fit(train, quick());
  Table rows = select_rows(train, std::vector<std::size_t>{0, 1, 2, 0});
  rows.columns[0].numbers[2] *= 3;  // where the members differ
  const auto predicted = model.predict(rows);
  constexpr std::size_t count = 20000;
  const auto functions = model.sample(rows, count, 7, false);
  const auto targets = model.sample(rows, count, 7);
  ASSERT_EQ(functions.size(), 4 * count);
  const auto deviation_of = [&](const std::vector<double>& draws, std::size_t row, double& mean) {
    mean = 0;
    double square = 0;
    for (std::size_t s = 0; s < count; ++s) mean += draws[4 * s + row] / count;
    for (std::size_t s = 0; s < count; ++s)
      square += std::pow(draws[4 * s + row] - mean, 2) / count;
    return std::sqrt(square);
  };
  // Independent weights: predictions are moment-matched layer by layer, draws are not.
  const double tolerance = GetParam() == BeliefKind::joint ? 0.03 : 0.15;
  for (std::size_t row = 0; row < 3; ++row) {
    const Predicted& p = predicted[row];
    double mean = 0;
    const auto [epistemic, noise] = roots_of_variances(p);
    EXPECT_NEAR(deviation_of(functions, row, mean) / epistemic, 1, tolerance);
    EXPECT_NEAR((mean - p.mean) / epistemic, 0, tolerance);
    EXPECT_NEAR(deviation_of(targets, row, mean) / std::hypot(epistemic, noise), 1, tolerance);
  }
  for (std::size_t s = 0; s < count; ++s) EXPECT_EQ(functions[4 * s], functions[4 * s + 3]);
  EXPECT_EQ(functions, model.sample(rows, count, 7, false));
  EXPECT_NE(functions, model.sample(rows, count, 8, false));
}

// A row that is unlike the others may be so in its function: the noise is next to nothing here.
TEST(Regressor, DrawsHaveTheTailsOfTheFunction) {
  const Table train = wave_table(100, 0.5, 1);
  Model model = Regressor::fit(train, quick_options(BeliefKind::joint)).model();
  model.calibrations.front() = {
      .noise_shift = -8, .noise_spread = 1.5, .function_spread = 1.5, .of_one = true};
  const Regressor tailed(model);
  const Table rows = rows_of(train, 0, 3);
  const auto predicted = tailed.predict(rows);
  constexpr std::size_t count = 20000;
  const auto draws = tailed.sample(rows, count, 7);
  for (std::size_t row = 0; row < 3; ++row) {
    for (const double level : {0.5, 0.8, 0.95}) {
      const Interval interval = predicted[row].interval(CentralLevel(level));
      double inside = 0;
      for (std::size_t s = 0; s < count; ++s) {
        const double draw = draws[3 * s + row];
        inside += draw > interval.lower && draw < interval.upper ? 1.0 / count : 0;
      }
      EXPECT_NEAR(inside, level, 0.015);
    }
  }
}

// Columns that go together, and a row where they do not: the networks have no idea, but the targets are known.
TEST(Regressor, FarOutTheFunctionIsNotFarFromTheTargets) {
  Table train = wave_table(60, 0.1, 1);
  train.columns[1].numbers = train.columns[0].numbers;
  special::Random random(2);
  for (double& number : train.columns[1].numbers) number += 1e-3 * random.normal();
  const Model model = Regressor::fit(train, quick_options(BeliefKind::joint)).model();
  Table far = rows_of(train, 0, 1);
  far.columns[0].numbers[0] = 4;
  far.columns[1].numbers[0] = -4;
  const auto deviation = [&](const Model& by) {
    return Regressor(by).predict(far).front().parts.front().epistemic_std /
           by.encoder.targets.front().deviation;
  };
  Model without = model;
  without.calibrations.front().prior_precision = 0;
  EXPECT_GT(deviation(without), 10);
  const Calibration& known = model.calibrations.front();
  EXPECT_LE(deviation(model),
            5 * std::exp((known.function_shift + std::pow(known.function_spread, 2) / 2) / 2));
}

// Two joint members hold two of three parts of the rows out.
std::size_t scored_rows(std::size_t rows) {
  return EachBelief::GetParam() == BeliefKind::joint ? 2 * rows / 3 : rows;
}

TEST_P(EachBelief, UpdateLearnsNewRowsWhileTheOldStand) {
  const Table table = wave_table(300, 0.2, 8);
  Table elsewhere = wave_table(60, 0.2, 9);  // the same function, 3 higher
  for (std::size_t n = 0; n < 60; ++n) {
    elsewhere.columns[2].numbers[n] += 3;
  }
  auto model = Regressor::fit(table, quick());
  const double before = model.evaluate(elsewhere).front().nll;
  const double at_home = model.evaluate(table).front().rmse;
  const auto report = model.update(elsewhere);
  EXPECT_EQ(report.rows_added, 60U);
  EXPECT_EQ(report.batches_added, 12U);
  EXPECT_EQ(report.batches_swept, 12U);
  EXPECT_NEAR(report.new_rows_nll, before, 1e-9);
  EXPECT_LT(model.evaluate(elsewhere).front().nll, before - 0.1);
  EXPECT_LT(model.evaluate(table).front().rmse, at_home + 1.5);
  EXPECT_GT(report.moved.mean_shift, 0.1);
  EXPECT_EQ(model.report().rows, 360U);
  EXPECT_EQ(model.model().row_hashes.size(), 360U);
  // Scores are those of the fit, and the model says so.
  EXPECT_EQ(model.report().cavity.front().values, scored_rows(300));
  EXPECT_EQ(model.report().rows_changed, 60U);
}

TEST_P(EachBelief, UpdateWithTheOldDataIsNearANewFit) {
  const Table table = wave_table(300, 0.2, 8);
  auto model = Regressor::fit(rows_of(table, 0, 250), quick());
  const auto before = model.report().training;
  const Table old = rows_of(table, 0, 250);
  const auto report = model.update(rows_of(table, 250, 300), {.data = &old, .compare = true});
  ASSERT_TRUE(report.compared);
  EXPECT_EQ(report.batches_swept, 60U);
  EXPECT_LT(report.compared->mean_shift, 0.3);
  EXPECT_NEAR(report.compared->mean_std_ratio, 1, 0.1);
  EXPECT_EQ(report.moved.rows, 300U);
  const FitReport& now = model.report();
  EXPECT_EQ(now.cavity.front().values, scored_rows(300));
  EXPECT_EQ(now.rows_changed, 0U);
  EXPECT_NEAR(now.train_nll, model.evaluate(table).front().nll, 1e-9);
  ASSERT_EQ(now.training.size(), 2U);
  EXPECT_GE(now.training[0].size(), 1U);
  EXPECT_NE(now.training, before);
}

TEST_P(EachBelief, TheOrderOfForgettingDoesNotMatter) {
  const Table table = wave_table(60, 0.3, 10);
  const auto model = Regressor::fit(table, quick());
  auto earlier_first = model;
  earlier_first.forget_batch(2);
  earlier_first.forget_batch(6);  // has been 7
  auto later_first = model;
  later_first.forget_batch(7);
  later_first.forget_batch(2);
  const auto one = earlier_first.predict(table);
  const auto other = later_first.predict(table);
  for (std::size_t n = 0; n < one.size(); ++n) {
    EXPECT_NEAR(one[n].mean, other[n].mean, 1e-9 * one[n].stddev());
    EXPECT_NEAR(one[n].stddev(), other[n].stddev(), 1e-9 * one[n].stddev());
  }
}

TEST_P(EachBelief, ForgetWithoutDataWholeBatchesGo) {
  const Table table = wave_table(100, 0.3, 10);
  auto model = Regressor::fit(table, quick());
  const auto report = model.forget_rows(rows_of(table, 0, 1));
  EXPECT_EQ(report.rows_removed, 1U);
  EXPECT_EQ(report.rows_lost, 4U);
  EXPECT_EQ(report.batches_removed.size(), 1U);
  EXPECT_EQ(report.batches_swept, 0U);
  EXPECT_EQ(model.report().rows, 95U);
  EXPECT_EQ(model.report().rows_changed, 5U);
  // What is forgotten cannot be forgotten again, and neither can what went with it.
  expect_error(error_of([&] { model.forget_rows(rows_of(table, 0, 1)); }),
               "line 1: this row is not among");
  if (GetParam() == BeliefKind::joint) return;
  // The belief is what the ledger says.
  EXPECT_LT(test::independent<double>(model.model(), 0).ledger_error(), 1e-10);
}

TEST_P(EachBelief, ForgetWithDataTheOthersComeBack) {
  const Table table = wave_table(200, 0.2, 10);
  auto model = Regressor::fit(table, quick());
  const auto report = model.forget_rows(rows_of(table, 0, 20), {.data = &table, .compare = true});
  EXPECT_EQ(report.rows_removed, 20U);
  EXPECT_EQ(report.rows_lost, 0U);
  EXPECT_EQ(report.rows_put_back, 5 * report.batches_removed.size() - 20);
  EXPECT_EQ(model.report().rows, 180U);
  EXPECT_EQ(model.model().row_hashes.size(), 180U);
  ASSERT_TRUE(report.compared);
  EXPECT_LT(report.compared->mean_shift, 0.3);
}

// Forgetting what was just learnt leads back, up to what the new rows had taught meanwhile.
TEST_P(EachBelief, ForgetUndoesAnUpdate) {
  const Table table = wave_table(100, 0.3, 10);
  const auto before = Regressor::fit(table, quick());
  auto model = before;
  const Table more = wave_table(10, 0.3, 11);
  model.update(more);
  EXPECT_FALSE(same(model.predict(table), before.predict(table)));
  model.forget_rows(more);
  const auto there = means(before.predict(table));
  const auto back = means(model.predict(table));
  for (std::size_t n = 0; n < there.size(); ++n) EXPECT_NEAR(back[n], there[n], 1e-9);
}

TEST_P(EachBelief, ForgetBatchByNumber) {
  const Table table = wave_table(100, 0.3, 10);
  auto model = Regressor::fit(table, quick());
  const auto report = model.forget_batch(3);
  EXPECT_EQ(report.rows_removed, 5U);
  EXPECT_EQ(report.rows_lost, 0U);
  EXPECT_EQ(report.batches_removed, std::vector<std::size_t>{3});
  EXPECT_EQ(report.moved_on, "random inputs");
  expect_error(error_of([&] { model.forget_batch(19); }), "there is no batch 19");
}

TEST_P(EachBelief, ChangeRefusesWhatItCannotDo) {
  const Scratch scratch;
  const Table table = wave_table(40, 0.3, 10);
  auto model = Regressor::fit(table, quick());
  const Table half = rows_of(table, 0, 20);
  expect_error(error_of([&] { model.update(half, {.data = &half}); }),
               "20 of the model's 40 rows are not in it");
  expect_error(error_of([&] { model.forget_rows(table); }), "no rows would be left");
  expect_error(error_of([&] { model.forget_batch(0, {.compare = true}); }),
               "needs the training rows");
  const auto untouched = model.predict(table);
  EXPECT_TRUE(same(untouched, Regressor::fit(table, quick()).predict(table)));

  model.save(scratch.path("slim"), {.slim = true});
  auto slim = Regressor::load(scratch.path("slim"));
  EXPECT_EQ(slim.report().rows, 40U);
  expect_error(error_of([&] { slim.forget_rows(half); }), "is not among");
  expect_error(error_of([&] { slim.update(half, {.data = &table}); }), "saved slim");
  const auto there = means(untouched);
  const auto again = means(slim.predict(table));
  for (std::size_t n = 0; n < there.size(); ++n) EXPECT_EQ(again[n], there[n]);
  // New rows can be learnt, and forgotten again.
  const Table more = wave_table(10, 0.3, 12);
  slim.update(more);
  slim.forget_rows(more);
  const auto back = means(slim.predict(table));
  for (std::size_t n = 0; n < there.size(); ++n) EXPECT_NEAR(back[n], there[n], 1e-9);

  auto options = quick_options(BeliefKind::independent);
  options.ledger = LedgerMode::average;
  auto average = Regressor::fit(table, options);
  average.update(wave_table(10, 0.3, 12));
  expect_error(error_of([&] { average.forget_batch(0); }), "only a model with the ledger 'full'");
}

// As a fit does whose ledger would be too large.
TEST(Regressor, ForgetsWithTheRowsIfItKeepsNoLedger) {
  const Table table = wave_table(40, 0.3, 10);
  RegressorOptions options = quick_options(BeliefKind::joint);
  options.ledger = LedgerMode::none;
  auto model = Regressor::fit(table, options);
  const Table gone = rows_of(table, 0, 5);
  expect_error(error_of([&] { model.forget_rows(gone); }), "(--data)");
  EXPECT_EQ(model.forget_rows(gone, {.data = &table}).rows_removed, 5U);
  EXPECT_EQ(model.report().rows, 35U);
}

TEST_P(EachBelief, ChangeAfterSavingIsTheSame) {
  const Scratch scratch;
  const Table table = wave_table(80, 0.3, 10);
  const Table more = wave_table(15, 0.3, 11);
  auto here = Regressor::fit(table, quick());
  here.save(scratch.path("m"));
  auto there = Regressor::load(scratch.path("m"));
  here.update(more, {.data = &table});
  there.update(more, {.data = &table});
  EXPECT_TRUE(same(here.predict(table), there.predict(table)));
}

// A row that stands twice must be forgotten as often as it is named.
TEST_P(EachBelief, ForgetTwinsAreCounted) {
  Table table = wave_table(40, 0.3, 10);
  for (Column& column : table.columns) column.numbers[7] = column.numbers[3];
  auto options = quick();
  options.batch_size = 1;
  auto model = Regressor::fit(table, options);
  EXPECT_EQ(model.forget_rows(rows_of(table, 3, 4)).rows_removed, 1U);
  EXPECT_EQ(model.forget_rows(rows_of(table, 7, 8)).rows_removed, 1U);
  expect_error(error_of([&] { model.forget_rows(rows_of(table, 7, 8)); }), "is not among");
}

TEST(Options, AreChecked) {
  const Table table = wave_table(40, 0.3, 10);
  const auto fit = [&](RegressorOptions options) {
    return error_of([&] { Regressor::fit(table, options); });
  };
  expect_error(fit({}), "no target");
  expect_error(fit({.target = "y", .noise = -1.0}), "noise");
  for (const bool selection : {true, false}) {
    RegressorOptions options{.target = "y", .rule = Rule::direct};
    (selection ? options.selection : options.calibration) = false;
    expect_error(fit(options), "can only be switched off with the belief joint");
  }
  expect_error(fit({.target = "y", .hidden = {3, 0}}), "at least 1 unit");
  expect_error(fit({.target = "q"}), "'q'");
}

}  // namespace
}  // namespace dma
