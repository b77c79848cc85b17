// Inference that goes on from beliefs: graphs that grow and forget, and schedules row by row.
#include <dma/factors/factors.h>
#include <dma/graph/graph.h>

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "graph_errors.h"

namespace dma {
namespace {

using test::error_of;
using test::expect_error;

// Players of known prior, and matches between two of them that are seen with noise.
struct League {
  Graph graph;
  VariableArray skill;
  std::vector<FactorArray> played, seen;

  explicit League(std::size_t players) { skill = graph.variables("skill", players, Prior{0, 1}); }

  void play(const std::vector<int>& first, const std::vector<int>& second,
            const std::vector<double>& goals) {
    const auto lead = graph.variables("lead" + std::to_string(played.size()), goals.size());
    played.push_back(
        graph.add(WeightedSum{{1, -1}, 0, 0.5}, {lead, skill.at(first), skill.at(second)}));
    seen.push_back(graph.add([&](std::size_t row) { return Observation{goals[row], 1}; }, {lead}));
  }
};

const std::vector<int> home{0, 1, 2, 0}, away{1, 2, 3, 3};
const std::vector<double> goals{2, 1, 0, 3};
const std::vector<int> later_home{3, 2}, later_away{1, 0};
const std::vector<double> later_goals{-1, 0.5};

void expect_same(const Beliefs& one, const Beliefs& other, double tolerance) {
  for (std::uint32_t v = 0; v < one.variable_count(); ++v) {
    EXPECT_NEAR(one.marginal({v}).mean(), other.marginal({v}).mean(), tolerance) << v;
    EXPECT_NEAR(one.marginal({v}).variance(), other.marginal({v}).variance(), tolerance) << v;
  }
}

constexpr InferenceOptions to_the_end{.sweeps = 500, .tolerance = 1e-13};

TEST(GoingOn, FromAllBeliefsMovesNothing) {
  for (const Engine engine : {Engine::direct, Engine::ep}) {
    League league(4);
    league.play(home, away, goals);
    auto options = to_the_end;
    options.engine = engine;
    const auto schedule = league.graph.schedule(options);
    const auto before = league.graph.infer(options, schedule);
    options.tolerance = 1e-9;
    const auto after = league.graph.infer(options, schedule, before);
    EXPECT_TRUE(after.converged);
    EXPECT_EQ(after.sweeps, 1U);
    expect_same(before, after, 1e-12);
  }
}

TEST(GoingOn, GivesTheBitsOfSweepsInOneGo) {
  League league(4);
  league.play(home, away, goals);
  for (const Engine engine : {Engine::direct, Engine::ep}) {
    const InferenceOptions options{.engine = engine, .sweeps = 3};
    const auto schedule = league.graph.schedule(options);
    const auto half = league.graph.infer(options, schedule);
    const auto whole = league.graph.infer({.engine = engine, .sweeps = 6}, schedule);
    const auto rest = league.graph.infer(options, schedule, half);
    for (std::uint32_t v = 0; v < whole.variable_count(); ++v)
      EXPECT_EQ(rest.marginal({v}), whole.marginal({v}));
  }
}

TEST(GoingOn, AGrownGraphEndsWhereAWholeOneDoes) {
  League grown(4), whole(4);
  grown.play(home, away, goals);
  const auto before = grown.graph.infer(to_the_end);
  grown.play(later_home, later_away, later_goals);
  whole.play(home, away, goals);
  whole.play(later_home, later_away, later_goals);
  const auto schedule = grown.graph.schedule();
  expect_same(grown.graph.infer(to_the_end, schedule, before), whole.graph.infer(to_the_end),
              1e-11);
}

TEST(GoingOn, NewRowsMoveOnlyWhatTheyTouch) {
  League league(4);
  league.play(home, away, goals);
  const auto before = league.graph.infer(to_the_end);
  league.play({3}, {1}, {-1});
  const auto schedule = row_by_row(
      {{league.played[1], 0}, {league.seen[1], 0}, {league.played[1], 1}, {league.played[1], 2}});
  EXPECT_EQ(schedule.forward.size(), 4U);
  const auto after = league.graph.infer({}, schedule, before);
  EXPECT_EQ(after.messages_sent, 4U);
  for (const std::uint32_t untouched : {0U, 2U})
    EXPECT_EQ(after.marginal({untouched}), before.marginal({untouched}));
  for (const std::uint32_t touched : {1U, 3U})
    EXPECT_GT(after.marginal({touched}).rho, before.marginal({touched}).rho);
}

TEST(GoingOn, WhatIsForgottenWasNeverSaid) {
  League forgetful(4), never(4);
  forgetful.play(home, away, goals);
  forgetful.play(later_home, later_away, later_goals);
  never.play(home, away, goals);
  const auto known = forgetful.graph.infer(to_the_end);
  forgetful.graph.forget(forgetful.played[1]);
  forgetful.graph.forget(forgetful.seen[1]);
  const auto expected = never.graph.infer(to_the_end);
  const auto fresh = forgetful.graph.infer(to_the_end);
  const auto gone_on = forgetful.graph.infer(to_the_end, forgetful.graph.schedule(), known);
  expect_same(expected, fresh, 1e-11);
  expect_same(expected, gone_on, 1e-11);
  EXPECT_NEAR(forgetful.graph.log_evidence(gone_on), never.graph.log_evidence(expected), 1e-10);
  expect_error(error_of([&] { forgetful.graph.log_evidence(known); }), "has forgotten");
}

TEST(GoingOn, ForgettingMayLeaveATree) {
  Graph g;
  const auto x = g.variables("x", 3, Prior{0, 1});
  g.add(WeightedSum{{1}, 0, 1}, x[1], x[0]);
  g.add(WeightedSum{{1}, 0, 1}, x[2], x[1]);
  const auto closing = g.add(WeightedSum{{1}, 0, 1}, x[0], x[2]);
  EXPECT_FALSE(g.is_forest());
  g.forget(closing);
  EXPECT_TRUE(g.is_forest());
  EXPECT_TRUE(g.is_forgotten(closing));
  for (const auto& schedule :
       {g.tree_schedule(), g.sequential_schedule(), g.assimilation_schedule()}) {
    for (const auto* steps : {&schedule.forward, &schedule.backward}) {
      for (const Step step : *steps) EXPECT_NE(step.factor, closing.index);
    }
  }
}

TEST(GoingOn, RefusesWhatDoesNotFit) {
  League league(4), other(5);
  league.play(home, away, goals);
  other.play(home, away, goals);
  const auto schedule = league.graph.schedule();
  const auto beliefs = league.graph.infer({});
  const auto others = other.graph.infer({});
  expect_error(error_of([&] { league.graph.infer({}, schedule, others); }), "of another graph");
  expect_error(error_of([&] { league.graph.infer({.engine = Engine::ep}, schedule, beliefs); }),
               "the engine of its beliefs, direct");
  league.graph.forget(league.seen[0][1]);
  expect_error(error_of([&] { league.graph.infer({}, schedule, beliefs); }), "is forgotten");
  expect_error(error_of([&] { league.graph.forget(league.seen[0]); }), "is forgotten already");
  expect_error(error_of([&] { league.graph.forget(FactorId{10'000}); }), "no factor 10000");
  expect_error(error_of([&] {
                 row_by_row({{league.played[0], 0}, {league.seen[0].slice(1), 0}});
               }),
               "as many rows");
  expect_error(error_of([&] { league.seen[0].slice(2, 9); }), "no rows 2 to 9");
}

TEST(GoingOn, RowByRowGoesForwardAndBackInTime) {
  const FactorArray walk{10, 3}, seen{20, 3};
  const auto schedule = row_by_row({{seen, 0}, {walk, 0}}, {{walk, 1}});
  EXPECT_EQ(schedule.forward,
            (std::vector<Step>{{20, 0}, {10, 0}, {21, 0}, {11, 0}, {22, 0}, {12, 0}}));
  EXPECT_EQ(schedule.backward, (std::vector<Step>{{12, 1}, {11, 1}, {10, 1}}));
  EXPECT_EQ(row_by_row({}, {{walk, 1}}).backward, schedule.backward);
}

}  // namespace
}  // namespace dma
