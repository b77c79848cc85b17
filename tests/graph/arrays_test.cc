// Arrays of variables and factors: the same graph as written out one by one, bit for bit; names, and errors that name
// factor, row, edge and value.
#include <dma/factors/factors.h>
#include <dma/graph/graph.h>

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <utility>
#include <vector>

#include "graph_errors.h"

namespace dma {
namespace {

using test::error_of;
using test::expect_error;

struct Matches {
  std::vector<int> first, second;
  std::vector<double> goals;
};

Matches random_matches(std::size_t players, std::size_t count) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  Matches matches;
  for (std::size_t m = 0; m < count; ++m) {
    const std::size_t one = random() % players;
    const std::size_t other = (one + 1 + random() % (players - 1)) % players;
    matches.first.push_back(static_cast<int>(one));
    matches.second.push_back(static_cast<int>(other));
    matches.goals.push_back(normal(random));
  }
  return matches;
}

// Skills, home advantage, leads with noise, goals, and who won.
Graph written_out(std::size_t players, const Matches& matches) {
  Graph g;
  std::vector<Variable> skill, lead;
  for (std::size_t p = 0; p < players; ++p) skill.push_back(g.variable("s" + std::to_string(p)));
  for (const Variable one : skill) g.add(Prior{25, 70}, one);
  const Variable home = g.variable("home");
  g.add(Prior{0, 1}, home);
  for (std::size_t m = 0; m < matches.goals.size(); ++m) lead.push_back(g.variable());
  for (std::size_t m = 0; m < matches.goals.size(); ++m) {
    g.add(WeightedSum{{1, 1, -1}, 0, 35}, lead[m], home, skill[std::size_t(matches.first[m])],
          skill[std::size_t(matches.second[m])]);
  }
  for (std::size_t m = 0; m < matches.goals.size(); ++m)
    g.add(Observation{matches.goals[m], 2}, lead[m]);
  for (std::size_t m = 0; m < matches.goals.size(); ++m) g.add(GreaterThan{-3}, lead[m]);
  return g;
}

struct Ratings {
  Graph graph;
  VariableArray skill, lead;
  FactorArray played{};

  Ratings(std::size_t players, const Matches& matches)
      : skill(graph.variables("skill", players, Prior{25, 70})) {
    const Variable home = graph.variable("home");
    graph.add(Prior{0, 1}, home);
    lead = graph.variables("lead", matches.goals.size());
    played = graph.add(WeightedSum{{1, 1, -1}, 0, 35},
                       {lead, home, skill.at(matches.first), skill.at(matches.second)});
    graph.add([&](std::size_t match) { return Observation{matches.goals[match], 2}; }, {lead});
    graph.add(GreaterThan{-3}, {lead});
  }
};

void expect_same(const Beliefs& a, const Beliefs& b, const Graph& graph) {
  for (std::uint32_t v = 0; v < graph.variable_count(); ++v)
    ASSERT_EQ(a.marginal({v}), b.marginal({v})) << graph.name(Variable{v});
  for (std::uint32_t f = 0; f < graph.factor_count(); ++f) {
    for (std::size_t k = 0; k < graph.arity({f}); ++k)
      ASSERT_EQ(a.message({f}, k), b.message({f}, k)) << graph.name(FactorId{f});
  }
}

TEST(Arrays, AreTheGraphWrittenOut) {
  const Matches matches = random_matches(12, 200);  // 33 matches each, so that some are hubs
  const Graph one_by_one = written_out(12, matches);
  const Ratings arrays(12, matches);
  ASSERT_EQ(one_by_one.factor_count(), arrays.graph.factor_count());
  for (const auto& options : {InferenceOptions{.sweeps = 3}, InferenceOptions{.rule = Rule::linear},
                              InferenceOptions{.engine = Engine::ep, .sweeps = 3}}) {
    EXPECT_EQ(one_by_one.schedule(options), arrays.graph.schedule(options));
    expect_same(one_by_one.infer(options), arrays.graph.infer(options), arrays.graph);
  }
}

TEST(Arrays, HaveNames) {
  Graph g;
  g.variable("x");
  const auto skill = g.variables("skill", 3);
  const auto trait = g.variables("trait", {2, 4});
  EXPECT_EQ(g.name(skill[2]), "skill[2]");
  EXPECT_EQ(g.name(trait(1, 3)), "trait[1,3]");
  EXPECT_EQ(g.find("skill[1]").index, skill[1].index);
  EXPECT_EQ(g.find("trait[1,0]").index, trait(1, 0).index);
  EXPECT_EQ(g.find("x").index, 0U);
  EXPECT_EQ(g.find_array("trait").size(), 8U);
  EXPECT_EQ(g.names().size(), 3U);
  const auto priors = g.add(Prior{0, 1}, {skill});
  EXPECT_EQ(g.name(priors[1]), "prior#1");
  EXPECT_EQ(g.name(priors), "prior#0 ... prior#2");
  EXPECT_EQ(g.find_factor("prior#2").index, priors[2].index);
  g.set_name(priors, "known");
  EXPECT_EQ(g.name(priors[1]), "known[1]");
  EXPECT_EQ(g.name(priors), "known");
  EXPECT_EQ(g.find_factor("known[2]").index, priors[2].index);
  EXPECT_THROW((void)g.find_factor("known[3]"), GraphError);
  EXPECT_THROW((void)g.find_factor("prior#1"), GraphError);
}

TEST(Arrays, MarginalsAreArrays) {
  const Matches matches = random_matches(5, 8);
  const Ratings ratings(5, matches);
  const auto beliefs = ratings.graph.sweep();
  const auto marginals = beliefs.marginals(ratings.skill);
  ASSERT_EQ(marginals.size(), 5U);
  for (std::size_t p = 0; p < 5; ++p) EXPECT_EQ(marginals[p], beliefs.marginal(ratings.skill[p]));
  EXPECT_EQ(beliefs.marginals(ratings.skill.slice(3))[0], beliefs.marginal(ratings.skill[3]));
}

TEST(Arrays, MessagesAreArrays) {
  const Ratings ratings(5, random_matches(5, 8));
  const auto beliefs = ratings.graph.sweep();
  const auto messages = beliefs.messages(ratings.played, 2);
  ASSERT_EQ(messages.size(), 8U);
  EXPECT_EQ(messages[3], beliefs.message(ratings.played[3], 2));
  EXPECT_EQ(beliefs.variable_count(), ratings.graph.variable_count());
  EXPECT_EQ(beliefs.factor_count(), ratings.graph.factor_count());
  EXPECT_EQ(beliefs.arity(ratings.played[3]), 4U);
}

TEST(Arrays, StepsOfAnArrayShareALineOfTheSchedule) {
  Graph g;
  const auto x = g.variables("x", 4, Prior{0, 1});
  g.add(WeightedSum{{0.5}, 0, 1}, {x.slice(1), x.slice(0, 3)});
  EXPECT_EQ(g.text(g.tree_schedule()),
            "forward  prior#0 ... prior#3 -> edge 0 (x)\n"
            "forward  sum#4 ... sum#6 -> edge 0 (z)\n"
            "backward sum#6 ... sum#4 -> edge 1 (x)\n");
  EXPECT_EQ(g.text(Schedule{{{4, 1}, {6, 1}}, {}}),
            "forward  sum#4 -> x[0]\n"
            "forward  sum#6 -> x[2]\n");
  EXPECT_EQ(g.text(Schedule{{{4, 0}, {4, 1}, {5, 0}, {5, 1}, {6, 1}, {6, 0}}, {}}),
            "forward  sum#4 ... sum#5 -> edges 0 (z), 1 (x)\n"
            "forward  sum#6 -> x[2]\n"
            "forward  sum#6 -> x[3]\n");
}

// The rows of an array are the entries of a vector: as many edges of one factor.
TEST(Arrays, AVectorOfVariablesIsSeveralEdges) {
  Graph g;
  const auto weight = g.variables("weight", {1, 3}, Prior{0, 1});
  const auto y = g.variables("y", 2);
  const std::vector<std::array<double, 3>> inputs{{1, 2, 3}, {-1, 0.5, 2}};
  const std::vector<std::uint8_t> shared{0, 0};
  const auto rows = g.add(
      [&](std::size_t row) {
        return WeightedSum{{inputs[row].begin(), inputs[row].end()}, 0, 1};
      },
      {y, weight.at(shared)});
  EXPECT_EQ(g.arity(rows[1]), 4U);
  EXPECT_EQ(g.edge(rows[1], 3).index, weight(0, 2).index);
  EXPECT_NEAR(g.sweep().marginal(y[0]).variance(), 1 + 4 + 9 + 1, 1e-12);
}

TEST(Arrays, MayHaveNoRowsOrAVariableSeenOften) {
  Graph g;
  const auto x = g.variables("x", 2, Prior{0, 1});
  const std::vector<int> nobody;
  EXPECT_EQ(g.add(GreaterThan{0}, {x.at(nobody)}).rows, 0U);
  EXPECT_EQ(g.factor_count(), 2U);
  EXPECT_EQ(g.add(Observation{1, 1}, {EdgeRows(x[1], 3)}).rows, 3U);
  EXPECT_NEAR(g.sweep().marginal(x[1]).mean(), 0.75, 1e-12);
}

TEST(ArrayErrors, NameFactorRowEdgeAndValue) {
  Graph g;
  const auto skill = g.variables("skill", 3, Prior{0, 1});
  const auto lead = g.variables("lead", 2);
  const std::vector<int> first{0, 1}, beyond{1, 3}, negative{-1, 0}, same{2, 1}, many{0, 1, 2};
  const auto add = [&](const std::vector<int>& second) {
    return error_of([&] {
      g.add(WeightedSum{{1, -1}}, {lead, skill.at(first), skill.at(second)});
    });
  };
  expect_error(add(beyond),
               "factor 3 (sum), row 1, edge 2 (x): the index 3 is not one of 0 to 2, the rows of "
               "'skill'");
  expect_error(add(negative), "row 0, edge 2 (x): the index -1 is not");
  expect_error(add(same), "factor 3 (sum), row 1: variable 'skill[1]' is on two of its edges");
  expect_error(add(many), "factor 3: its edges have 2 and 3 rows");
  expect_error(error_of([&] {
                 g.add(WeightedSum{{1, -1}}, {lead, skill.at(first)});
               }),
               "factor 3 (sum) needs 3 variables, got 2");
  expect_error(
      error_of([&] {
        g.add([](std::size_t row) { return Observation{1, row == 1 ? -2.0 : 1.0}; }, {lead});
      }),
      "factor 3 (observation), row 1: Gaussian::from_moments");
  expect_error(error_of([&] {
                 g.add(Prior{0, 1}, {EdgeRows(lead[0])});
               }),
               "none of its edges says how many rows");
  expect_error(error_of([&] {
                 g.add(Prior{0, 1}, {VariableArray{4, 9, 1}});
               }),
               "row 0: edge 0 is not a variable of this graph");
  expect_error(error_of([&] { (void)skill[3]; }), "no element 3,0");
  expect_error(error_of([&] { (void)skill.slice(2, 4); }), "no rows 2 to 4");
  EXPECT_EQ(g.factor_count(), 3U);  // nothing was added
  EXPECT_EQ(g.edge_count(), 3U);
  EXPECT_EQ(g.add([](std::size_t) { return Observation{1, 1}; }, {lead}).first, 3U);
}

TEST(ArrayErrors, NamesAreNotTakenTwice) {
  Graph g;
  g.variables("skill", 3);
  g.variable("lead[1]");
  expect_error(error_of([&] { g.variable("skill"); }), "already a variable called 'skill'");
  expect_error(error_of([&] { g.variable("skill[2]"); }), "already a variable called 'skill[2]'");
  EXPECT_EQ(error_of([&] { g.variable("skill[3]"); }), "no error");
  EXPECT_EQ(error_of([&] { g.variable("skill[02]"); }), "no error");
  expect_error(error_of([&] { g.variables("lead", 2); }), "like the variable 'lead[1]'");
  expect_error(error_of([&] { g.variables("none", 0); }), "needs at least one variable");
  expect_error(error_of([&] { g.variables("huge", {1U << 20U, 1U << 20U}); }), "too large");
  expect_error(error_of([&] { (void)g.find("skill"); }), "an element is called 'skill[0]'");
  expect_error(error_of([&] { (void)g.find("skill[7]"); }), "no variable called 'skill[7]'");
  expect_error(error_of([&] { (void)g.find_array("lead[1]"); }), "no array called");
}

}  // namespace
}  // namespace dma
