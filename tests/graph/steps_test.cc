// Steps that are kept as rows are the steps written out, to whoever reads them and to inference.
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

std::vector<Step> written_out(const Steps& steps) { return {steps.begin(), steps.end()}; }

void expect_same(const Graph& graph, const Beliefs& one, const Beliefs& other) {
  EXPECT_EQ(one.messages_sent, other.messages_sent);
  for (std::uint32_t v = 0; v < graph.variable_count(); ++v)
    EXPECT_EQ(one.marginal({v}), other.marginal({v})) << graph.name(Variable{v});
}

TEST(Steps, AreListsAndRows) {
  Steps steps{{1, 0}, {2, 1}};
  const std::vector<Step> pattern{{10, 0}, {20, 3}};
  steps.append_rows(pattern, 3);
  steps.append_rows(pattern, 2, true);
  steps.push_back({7, 0});
  steps.push_back({7, 1});
  const std::vector<Step> expected{{1, 0},  {2, 1},  {10, 0}, {20, 3}, {11, 0}, {21, 3}, {12, 0},
                                   {22, 3}, {10, 0}, {20, 3}, {9, 0},  {19, 3}, {7, 0},  {7, 1}};
  EXPECT_EQ(written_out(steps), expected);
  EXPECT_EQ(steps.size(), expected.size());
  EXPECT_EQ(steps.parts().size(), 4U);
  EXPECT_EQ(steps, expected);
  steps.push_back({7, 2});
  EXPECT_NE(steps, expected);
  EXPECT_NE(Steps(expected), (std::vector<Step>{{1, 0}}));
}

TEST(Steps, AppendedToThemselvesAreTwice) {
  Steps steps{{1, 0}};
  steps.append_rows(std::vector<Step>{{3, 1}}, 2);
  steps.append(steps);
  EXPECT_EQ(steps, (std::vector<Step>{{1, 0}, {3, 1}, {4, 1}, {1, 0}, {3, 1}, {4, 1}}));
}

TEST(Steps, OfNoRowsAreNone) {
  Steps steps;
  steps.append_rows(std::vector<Step>{{3, 1}}, 0);
  steps.append_rows({}, 4);
  EXPECT_TRUE(steps.empty());
  EXPECT_EQ(steps.begin(), steps.end());
  EXPECT_EQ(steps, Steps{});
}

// Players of whom some are hubs and some are not, in arrays and, every tenth match, one by one.
Graph league(std::size_t players, std::size_t matches) {
  std::mt19937_64 random(3);
  Graph g;
  const auto skill = g.variables("skill", players, Prior{0, 1});
  const auto lead = g.variables("lead", matches);
  std::vector<std::size_t> home, away;
  for (std::size_t m = 0; m < matches; ++m) {
    home.push_back(random() % 5 == 0 ? 0 : random() % players);
    away.push_back((home[m] + 1 + random() % (players - 1)) % players);
  }
  g.add(WeightedSum{{1, -1}, 0, 0.3}, {lead, skill.at(home), skill.at(away)});
  for (std::size_t m = 0; m < matches; m += 10) g.add(GreaterThan{-2}, lead[m]);
  g.add([](std::size_t m) { return Observation{double(m % 3) - 1, 1}; }, {lead});
  return g;
}

TEST(Steps, AsRowsInferWhatTheyInferWrittenOut) {
  const Graph graph = league(12, 100);
  for (const Engine engine : {Engine::direct, Engine::ep, Engine::adf}) {
    InferenceOptions options{.engine = engine, .sweeps = engine == Engine::adf ? 1U : 3U};
    const Schedule kept = graph.schedule(options);
    EXPECT_LT(kept.forward.parts().size() + kept.backward.parts().size(), 20U);
    const Schedule written{written_out(kept.forward), written_out(kept.backward)};
    EXPECT_EQ(kept, written);
    expect_same(graph, graph.infer(options, kept), graph.infer(options, written));
  }
}

// Rows may run over the end of an array into factors of another type.
TEST(Steps, RowsOfDifferentArraysAreWrittenOut) {
  Graph graph;
  const auto x = graph.variables("x", 4);
  const auto priors = graph.add(Prior{1, 2}, {x});
  graph.add(Observation{0, 3}, {x});
  Steps rows;
  rows.append_rows(std::vector<Step>{{priors.first + 2, 0}}, 4);
  expect_same(graph, graph.infer({}, {rows, {}}), graph.infer({}, {written_out(rows), {}}));
}

TEST(Steps, OfRowsAreCheckedToTheLast) {
  Graph graph;
  const auto x = graph.variables("x", 4);
  const auto priors = graph.add(Prior{1, 2}, {x});
  Steps rows;
  rows.append_rows(std::vector<Step>{{priors.first, 0}}, 5);
  expect_error(error_of([&] { graph.infer({}, {rows, {}}); }), "factor 4, edge 0");
  graph.forget(priors[3]);
  Steps all;
  all.append_rows(std::vector<Step>{{priors.first, 0}}, 4);
  expect_error(error_of([&] { graph.infer({}, {all, {}}); }), "prior#3, which is forgotten");
}

TEST(Steps, OfRowsArePrintedAsTheStepsWrittenOut) {
  const Graph graph = league(12, 100);
  const Schedule kept = graph.sequential_schedule();
  EXPECT_EQ(graph.text(kept), graph.text({written_out(kept.forward), written_out(kept.backward)}));
}

}  // namespace
}  // namespace dma
