// Models that learnt different rows from one start, as one: exact sums, refusals, rows that come and go, files.
#include <dma/regressor/merging.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <dma/special/random.h>

#include "regressor/wave_table.h"
#include "sanitized.h"
#include "scratch.h"

namespace dma {
namespace {

using test::rows_of;
using test::Scratch;
using test::wave_table;

RegressorOptions quick() { return {.target = "y", .hidden = {6}, .epochs = 20, .ensemble = 2}; }

// One table, a sample of it, and a start. All tests share them.
struct Places {
  Table table = wave_table(240, 0.3, 1);
  Table fresh = wave_table(50, 0.3, 2);
  Regressor sample = Regressor::fit(rows_of(table, 0, 60), quick());
  Start start = Start::from(sample);
  Regressor at_once = start.fit(table);

  // Of so many parts; the first is small.
  std::vector<Regressor> parts(std::size_t count) const {
    std::vector<Regressor> all{start.fit(rows_of(table, 0, 7))};
    const std::size_t left = table.rows() - 7;
    for (std::size_t k = 0; k + 1 < count; ++k) {
      all.push_back(
          start.fit(rows_of(table, 7 + k * left / (count - 1), 7 + (k + 1) * left / (count - 1))));
    }
    return all;
  }
};

const Places& places() {
  static const Places all;
  return all;
}

// In deviations of the predictions.
double distance(const Regressor& a, const Regressor& b) {
  const auto left = a.predict(places().fresh);
  const auto right = b.predict(places().fresh);
  double most = 0;
  for (std::size_t n = 0; n < left.size(); ++n) {
    most = std::max(most, std::abs(left[n].mean - right[n].mean) / left[n].stddev());
    most = std::max(most, std::abs(left[n].epistemic_std / right[n].epistemic_std - 1));
  }
  return most;
}

constexpr double rounding = 1e-9;

void expect_refused(std::span<const Regressor> parts, const std::string& said) {
  try {
    const std::array<std::string, 2> names{"north.dma", "south.dma"};
    Regressor::merge(parts, names);
    FAIL() << "wanted: " << said;
  } catch (const NetworkError& error) {
    EXPECT_NE(std::string(error.what()).find(said), std::string::npos) << error.what();
  }
}

TEST(Merging, IsTheModelOfAllRows) {
  for (const std::size_t count : {2U, 5U}) {
    const std::vector<Regressor> parts = places().parts(count);
    const Regressor merged = Regressor::merge(parts);
    EXPECT_LT(distance(places().at_once, merged), rounding);
    EXPECT_GT(distance(places().at_once, parts.back()), 1e-3);  // the test can fail
    EXPECT_EQ(merged.report().rows, 240U);
    EXPECT_EQ(merged.model().start->parts.size(), count);
    EXPECT_EQ(known_rows(merged.model()), 240U);
  }
}

// With ramps, noise that depends on the inputs, and of an amount.
TEST(Merging, IsExactForTheDefaultMixture) {
  Table table = places().table;
  for (double& y : table.columns.back().numbers) y = std::exp(y / 10);
  RegressorOptions options{.target = "y", .kind = TargetKind::amount, .epochs = 12, .ensemble = 1};
  if (test::sanitized) options.hidden = {5};
  const Start start = Start::from(Regressor::fit(rows_of(table, 0, 60), options));
  const Regressor merged = Regressor::merge(
      std::array{start.fit(rows_of(table, 0, 50)), start.fit(rows_of(table, 50, 240))});
  EXPECT_LT(distance(start.fit(table), merged), rounding);
}

TEST(Merging, DoesNotDependOnTheOrder) {
  const std::vector<Regressor> parts = places().parts(5);
  std::vector<Regressor> other(parts.rbegin(), parts.rend());
  const Regressor merged = Regressor::merge(parts);
  EXPECT_LT(distance(merged, Regressor::merge(other)), rounding);
  const Regressor first = Regressor::merge(std::array{parts[3], parts[0]});
  const Regressor second = Regressor::merge(std::array{parts[4], parts[2], parts[1]});
  EXPECT_LT(distance(merged, Regressor::merge(std::array{first, second})), rounding);
}

TEST(Merging, HasTheSameBitsInTheSameOrder) {
  const std::vector<Regressor> parts = places().parts(3);
  const auto bytes = Regressor::merge(parts).to_bytes();
  EXPECT_EQ(Regressor::merge(parts).to_bytes(), bytes);
  const Table rows = rows_of(places().table, 7, 90);
  EXPECT_EQ(places().start.fit(rows, 1).to_bytes(), places().start.fit(rows, 2).to_bytes());
}

// Not even by the rows that the start was made of.
TEST(Merging, AStartKnowsNoRow) {
  const Model& start = places().start.model();
  EXPECT_TRUE(start.row_hashes.empty());
  EXPECT_TRUE(start.probabilities_below.empty());
  for (const auto& rows : start.report.held_out) EXPECT_TRUE(rows.empty());
  for (const Member& member : start.members) {
    const JointKnowledge& known = dynamic_cast<const JointBelief&>(*member.belief).knowledge();
    EXPECT_TRUE(known.function.factor.empty());
    EXPECT_TRUE(known.function.ledger.empty());
    EXPECT_TRUE(!known.log_noise || known.log_noise->ledger.empty());
  }
  // With few rows the noise is held as their messages, which a start must not have.
  const Regressor few = Regressor::fit(rows_of(places().table, 0, 20), quick());
  const auto noise_of = [](const Model& model) {
    const Belief& belief = *model.members.front().belief;
    return dynamic_cast<const JointBelief&>(belief).knowledge().log_noise;
  };
  ASSERT_TRUE(noise_of(few.model()) && noise_of(few.model())->in_messages());
  EXPECT_TRUE(noise_of(Start::from(few).model())->ledger.empty());
  // A place that has them fits them as any other.
  const Regressor both =
      Regressor::merge(std::array{places().start.fit(rows_of(places().table, 0, 60)),
                                  places().start.fit(rows_of(places().table, 60, 240))});
  EXPECT_LT(distance(places().at_once, both), rounding);
}

TEST(Merging, APartKeepsNoRow) {
  const Regressor& part = places().at_once;
  for (const Member& member : part.model().members) {
    const JointKnowledge& known = dynamic_cast<const JointBelief&>(*member.belief).knowledge();
    EXPECT_TRUE(known.function.ledger.empty());
    EXPECT_TRUE(member.belief->learnt_inputs().empty());
  }
  EXPECT_TRUE(part.column_importance().empty());
}

TEST(Merging, ForgetsRowsOfAnyPart) {
  Regressor merged = Regressor::merge(places().parts(5));
  const ChangeReport report = merged.forget_rows(rows_of(places().table, 30, 100));
  EXPECT_EQ(report.rows_removed, 70U);
  EXPECT_EQ(report.copies_left, 0U);
  EXPECT_EQ(merged.report().rows, 170U);
  const Regressor rest =
      Regressor::merge(std::array{places().start.fit(rows_of(places().table, 0, 30)),
                                  places().start.fit(rows_of(places().table, 100, 240))});
  EXPECT_LT(distance(rest, merged), rounding);
  EXPECT_GT(distance(places().at_once, merged), 1e-3);
  // What went cannot go again.
  EXPECT_THROW(merged.forget_rows(rows_of(places().table, 40, 41)), DataError);
  EXPECT_EQ(merged.report().rows, 170U);
}

TEST(Merging, LearnsMoreRows) {
  Regressor part = places().start.fit(rows_of(places().table, 0, 100));
  const ChangeReport report = part.update(rows_of(places().table, 100, 240));
  EXPECT_EQ(report.rows_added, 140U);
  EXPECT_LT(distance(places().at_once, part), rounding);
  EXPECT_EQ(part.report().rows, 240U);
  EXPECT_EQ(part.model().start->parts.size(), 2U);
}

TEST(Merging, CountsCopiesAndWeights) {
  Table weighted = rows_of(places().table, 0, 20);
  Table twice = rows_of(places().table, 0, 20);
  append_rows(twice, rows_of(places().table, 0, 20));
  const Regressor copies = places().start.fit(twice);
  EXPECT_EQ(copies.report().rows, 40U);
  EXPECT_EQ(copies.report().copies, 20U);
  const Regressor once = places().start.fit(weighted);
  Regressor again =
      Regressor::merge(std::array{copies, places().start.fit(rows_of(places().table, 20, 60))});
  const ChangeReport report = again.forget_rows(rows_of(places().table, 0, 20));
  EXPECT_EQ(report.copies_left, 20U);
  EXPECT_EQ(again.report().rows, 60U);
  EXPECT_LT(distance(Regressor::merge(
                         std::array{once, places().start.fit(rows_of(places().table, 20, 60))}),
                     again),
            rounding);
}

TEST(Merging, SaysWhatItDoesNotNeed) {
  Regressor part = places().start.fit(rows_of(places().table, 0, 100));
  const Table rows = rows_of(places().table, 0, 5);
  const auto said = [&](const auto& change) {
    try {
      change();
    } catch (const NetworkError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string no_data = "leave --data out";
  EXPECT_NE(said([&] { part.forget_rows(rows, {.data = &places().table}); }).find(no_data),
            std::string::npos);
  EXPECT_NE(said([&] { part.update(rows, {.data = &places().table}); }).find(no_data),
            std::string::npos);
  EXPECT_NE(said([&] { part.forget_batch(0); }).find("has no batches"), std::string::npos);
  EXPECT_NE(said([&] {
              part.forget_rows(rows_of(places().table, 0, 100));
            }).find("no rows would be left"),
            std::string::npos);
}

TEST(Merging, RefusesWhatDoesNotFit) {
  const Regressor part = places().start.fit(rows_of(places().table, 0, 100));
  const Regressor other = places().start.fit(rows_of(places().table, 100, 200));
  expect_refused(std::array{part}, "two models at least");
  expect_refused(std::array{part, places().sample}, "south.dma was not fitted from a start");
  // The same rows in another order are the same part.
  std::vector<std::size_t> backwards(100);
  for (std::size_t n = 0; n < 100; ++n) backwards[n] = 99 - n;
  const Regressor same = places().start.fit(select_rows(places().table, backwards));
  expect_refused(std::array{part, same}, "south.dma has a part that north.dma has too");
  const Regressor both = Regressor::merge(std::array{part, other});
  expect_refused(std::array{both, other}, "100 rows): its rows would count twice");
  Regressor less = other;
  less.forget_rows(rows_of(places().table, 100, 120));
  expect_refused(std::array{both, less}, "would count twice");

  RegressorOptions options = quick();
  options.seed = 7;
  const Start stranger = Start::from(Regressor::fit(rows_of(places().table, 0, 60), options));
  expect_refused(std::array{part, stranger.fit(rows_of(places().table, 100, 200))},
                 "another start");
  options.drop = {"b"};
  const Start narrow = Start::from(Regressor::fit(rows_of(places().table, 0, 60), options));
  expect_refused(std::array{part, narrow.fit(rows_of(places().table, 100, 200))}, "other columns");
  const Regressor independent =
      Regressor::fit(rows_of(places().table, 0, 60), {.target = "y",
                                                      .hidden = {4},
                                                      .belief = BeliefKind::independent,
                                                      .epochs = 3,
                                                      .ensemble = 1});
  expect_refused(std::array{part, independent}, "has the belief independent");
  Model later = other.model();
  ++later.start->format;
  expect_refused(std::array{part, Regressor(later)}, "another version of dma");
  Model moved = other.model();
  moved.members.front() = places().sample.model().members.front();
  expect_refused(std::array{part, Regressor(moved)}, "its centres are others");
}

TEST(Merging, RefusesTargetsAndBeliefsItCannotAdd) {
  special::Random random(1);
  Table table{.columns = {{.name = "a"}, {.name = "y"}}};
  for (int n = 0; n < 60; ++n) {
    table.columns[0].numbers.push_back(random.normal());
    table.columns[1].numbers.push_back(random.uniform() < 0.5 ? 0 : 1);
  }
  const auto fitted = [&](TargetKind kind, BeliefKind belief) {
    return Regressor::fit(
        table,
        {.target = "y", .kind = kind, .hidden = {3}, .belief = belief, .epochs = 6, .ensemble = 1});
  };
  for (const TargetKind kind : {TargetKind::classes, TargetKind::count}) {
    EXPECT_THROW(Start::from(fitted(kind, BeliefKind::joint)), NetworkError);
  }
  EXPECT_THROW(Start::from(fitted(TargetKind::number, BeliefKind::independent)), NetworkError);
  EXPECT_NO_THROW(Start::from(fitted(TargetKind::number, BeliefKind::joint)));
}

TEST(Merging, TellsRowsThatAreAlike) {
  const Regressor part = places().start.fit(rows_of(places().table, 0, 100));
  EXPECT_EQ(
      rows_in_several(std::array{part, places().start.fit(rows_of(places().table, 100, 200))}), 0U);
  EXPECT_EQ(rows_in_several(std::array{part, places().start.fit(rows_of(places().table, 90, 200))}),
            10U);
}

TEST(Merging, SurvivesAFile) {
  const Scratch scratch;
  places().start.save(scratch.path("s.dma"));
  const Start start = Start::load(scratch.path("s.dma"));
  EXPECT_EQ(start.to_bytes(), places().start.to_bytes());
  std::vector<Regressor> parts;
  for (const Regressor& part : places().parts(3)) {
    part.save(scratch.path("p.dma"));
    parts.push_back(Regressor::load(scratch.path("p.dma")));
    EXPECT_EQ(parts.back().to_bytes(), part.to_bytes());
  }
  const Regressor merged = Regressor::merge(parts);
  EXPECT_EQ(merged.to_bytes(), Regressor::merge(places().parts(3)).to_bytes());
  merged.save(scratch.path("all.dma"));
  Regressor read = Regressor::load(scratch.path("all.dma"));
  EXPECT_EQ(distance(merged, read), 0);
  read.forget_rows(rows_of(places().table, 0, 5));
  EXPECT_EQ(read.report().rows, 235U);
  EXPECT_THROW(Regressor::load(scratch.path("s.dma")), ModelError);
  EXPECT_THROW(Start::load(scratch.path("all.dma")), ModelError);
}

// A file whose networks were told nothing is a start, and no model; nor may its noise know nothing.
TEST(Merging, RefusesFilesOfNetworksThatKnowNothing) {
  const auto told_nothing = [](JointPosterior& posterior) {
    posterior.centre = posterior.mean;
    posterior.factor.clear();
    posterior.ledger = {};
  };
  for (const bool noise : {false, true}) {
    Model model = places().at_once.model();
    Member& member = model.members.front();
    JointKnowledge known = dynamic_cast<const JointBelief&>(*member.belief).knowledge();
    ASSERT_TRUE(known.log_noise.has_value());
    told_nothing(noise ? *known.log_noise : known.function);
    member.belief = std::make_shared<JointBelief>(std::move(known), Heard{{}, false});
    EXPECT_THROW(read_model(model_bytes(model)), ModelError);
  }
  Model start = places().start.model();
  start.members.front() = places().at_once.model().members.front();
  EXPECT_THROW(read_model(model_bytes(start)), ModelError);
}

// Without hashes parts can be merged, and recognised, but no row can be forgotten.
TEST(Merging, ASlimPartDoesNotKnowItsRows) {
  const Scratch scratch;
  const auto slim = [&](std::size_t first, std::size_t end) {
    places()
        .start.fit(rows_of(places().table, first, end))
        .save(scratch.path("p.dma"), {.slim = true});
    return Regressor::load(scratch.path("p.dma"));
  };
  const Regressor part = slim(0, 100);
  EXPECT_TRUE(part.model().row_hashes.empty());
  Regressor merged = Regressor::merge(std::array{part, slim(100, 240)});
  EXPECT_LT(distance(places().at_once, merged), rounding);
  EXPECT_THROW(Regressor::merge(std::array{merged, part}), NetworkError);
  EXPECT_THROW(merged.forget_rows(rows_of(places().table, 0, 5)), DataError);
}

// The next round linearises at the means of the last one, and learns the prior precisions from its sums.
TEST(Merging, BeginsAnotherRound) {
  const Regressor first = Regressor::merge(places().parts(3));
  const Start second = Start::from(first);
  EXPECT_EQ(second.shared().round, 2U);
  EXPECT_NE(second.shared().digest, first.model().start->digest);
  for (std::size_t m = 0; m < first.model().members.size(); ++m) {
    const auto function = [m](const Model& model) {
      return dynamic_cast<const JointBelief&>(*model.members[m].belief).knowledge().function;
    };
    EXPECT_EQ(function(second.model()).centre, function(first.model()).mean);
    EXPECT_NE(function(second.model()).prior_precision, function(first.model()).prior_precision);
  }
  const Regressor next = Regressor::merge(std::array{
      second.fit(rows_of(places().table, 0, 100)), second.fit(rows_of(places().table, 100, 240))});
  EXPECT_LT(next.evaluate(places().fresh).front().nll,
            places().sample.evaluate(places().fresh).front().nll);
  expect_refused(std::array{first, next}, "another start");
}

// Categories that the sample did not have, in one part alone; bounds that the sample suggested, and one row breaks.
TEST(Merging, TakesWhatOnePartMet) {
  special::Random random(5);
  Column color{.name = "color", .is_text = true};
  color.values = {"red", "blue", "green"};
  Table table{.columns = {{.name = "a"}, color, {.name = "y"}}};
  for (std::size_t n = 0; n < 90; ++n) {
    table.columns[0].numbers.push_back(random.normal());
    table.columns[1].codes.push_back(n < 80 ? static_cast<std::uint32_t>(n % 2) : 2);
    table.columns[2].numbers.push_back(n == 79 ? -3 : std::abs(random.normal()) * 0.5);
  }
  const Start start = Start::from(Regressor::fit(
      rows_of(table, 0, 40),
      {.target = "y", .kind = TargetKind::number, .hidden = {4}, .epochs = 12, .ensemble = 2}));
  ASSERT_TRUE(start.encoder().targets.front().bounds.any());
  const auto others = [](const Regressor& model) { return model.encoder().features[1].others; };
  const auto bounded = [](const Regressor& model) {
    return model.encoder().targets.front().bounds.any();
  };
  const Regressor plain = start.fit(rows_of(table, 0, 79));
  const Regressor green = start.fit(rows_of(table, 79, 90));
  EXPECT_FALSE(others(plain));
  EXPECT_TRUE(bounded(plain));
  for (const auto& order : {std::array{plain, green}, std::array{green, plain}}) {
    const Regressor merged = Regressor::merge(order);
    EXPECT_TRUE(others(merged));
    EXPECT_FALSE(bounded(merged));
  }
}

}  // namespace
}  // namespace dma
