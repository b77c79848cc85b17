// Known numbers on the edges of factors: what a variable would say that is observed without noise.
#include <dma/factors/factors.h>
#include <dma/graph/saved_beliefs.h>

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "graph_errors.h"
#include "scratch.h"

namespace dma {
namespace {

using test::error_of;
using test::expect_error;

struct Ratings {
  std::vector<int> user, item;
  std::vector<double> rating;
};

// Some users are hubs.
Ratings random_ratings(std::size_t count) {
  std::mt19937_64 random(5);
  Ratings all;
  for (std::size_t r = 0; r < count; ++r) {
    all.user.push_back(random() % 3 == 0 ? 0 : static_cast<int>(random() % 7));
    all.item.push_back(static_cast<int>(random() % 9));
    all.rating.push_back(std::normal_distribution<double>()(random));
  }
  return all;
}

struct Traits {
  Graph graph;
  VariableArray user = graph.variables("user", {7, 3}, [](std::size_t k) {
    return Prior{0.1 * double(k % 5), 1};
  });
  VariableArray item = graph.variables("item", {9, 3}, [](std::size_t k) {
    return Prior{0.2 * double(k % 3) - 0.1, 1};
  });
};

// Ratings that are variables, observed without noise, and the 1 of each bias; or all of these as known numbers.
Traits observed(const Ratings& ratings) {
  Traits model;
  Graph& g = model.graph;
  const auto one = g.variable("one"), other = g.variable("other");
  g.add(Observation{1, 0}, one);
  g.add(Observation{1, 0}, other);
  const auto score = g.variables("score", ratings.rating.size());
  g.add([&](std::size_t r) { return Observation{ratings.rating[r], 0}; }, {score});
  g.add(InnerProduct{9, 0, 0.3},
        {score, model.user.at(ratings.user), one, other, model.item.at(ratings.item)});
  return model;
}

Traits known(const Ratings& ratings) {
  Traits model;
  Graph& g = model.graph;
  const auto one = g.known("one", 1);
  const auto rating = g.known("rating", ratings.rating);
  g.add(InnerProduct{9, 0, 0.3},
        {rating, model.user.at(ratings.user), one, one, model.item.at(ratings.item)});
  return model;
}

// All priors, then the ratings row by row to users and items.
Beliefs infer(const Traits& model, const InferenceOptions& options) {
  Schedule schedule;
  for (std::uint32_t f = 0; f < model.graph.factor_count(); ++f) {
    if (model.graph.arity({f}) == 1) schedule.forward.push_back({f, 0});
  }
  const FactorArray inner = model.graph.factor_arrays().back();
  std::vector<RowStep> rows;
  for (const std::uint32_t edge : {1U, 2U, 3U, 6U, 7U, 8U}) rows.push_back({inner, edge});
  schedule.forward.append(row_by_row(rows).forward);
  return model.graph.infer(options, schedule);
}

TEST(Known, NumbersSayWhatObservationsWithoutNoiseSay) {
  const Ratings ratings = random_ratings(150);
  const Traits variables = observed(ratings), numbers = known(ratings);
  EXPECT_EQ(numbers.graph.variable_count(), 7U * 3 + 9 * 3);
  for (const auto& options : {InferenceOptions{.sweeps = 4},
                              {.rule = Rule::linear, .sweeps = 4},
                              {.engine = Engine::ep, .sweeps = 2},
                              {.engine = Engine::vmp, .sweeps = 4}}) {
    const Beliefs one = infer(variables, options), other = infer(numbers, options);
    for (std::uint32_t v = 0; v < numbers.graph.variable_count(); ++v) {
      EXPECT_EQ(one.marginal({v}), other.marginal({v}))
          << numbers.graph.name(Variable{v}) << ", " << name_of(options.engine);
    }
    EXPECT_EQ(one.improper.size(), other.improper.size());
  }
}

// x is seen through noise: by an observation, or by a sum whose result is known.
TEST(Known, SumsHaveTheBeliefsAndTheEvidenceOfObservations) {
  const std::vector<double> seen{1, 2, 4};
  Graph written, numbers;
  for (Graph* g : {&written, &numbers}) {
    const auto x = g->variables("x", 3, Prior{0, 2});
    g->add(WeightedSum{{0.9}, 0, 0.5}, {x.slice(1), x.slice(0, 2)});
  }
  const VariableArray x{0, 3, 1};
  written.add([&](std::size_t row) { return Observation{seen[row], 0.7}; }, {x});
  numbers.add(WeightedSum{{1}, 0, 0.7}, {numbers.known("seen", seen), x});
  EXPECT_TRUE(numbers.is_forest());
  const Beliefs one = written.sweep(), other = numbers.sweep();
  for (std::uint32_t v = 0; v < 3; ++v) {
    EXPECT_NEAR(one.marginal({v}).mean(), other.marginal({v}).mean(), 1e-13);
    EXPECT_NEAR(one.marginal({v}).rho, other.marginal({v}).rho, 1e-12);
  }
  EXPECT_NEAR(written.log_evidence(one), numbers.log_evidence(other), 1e-12);
  for (const auto& schedule : {numbers.sequential_schedule(), numbers.assimilation_schedule()}) {
    for (const Steps* steps : {&schedule.forward, &schedule.backward}) {
      for (const Step step : *steps)
        EXPECT_LT(numbers.edge({step.factor}, step.edge).index, numbers.variable_count());
    }
  }
}

TEST(Known, BeliefsAreSavedAndGoneOnFrom) {
  const test::Scratch scratch;
  const auto path = scratch.path("beliefs.safetensors");
  const Ratings ratings = random_ratings(60);
  const Traits model = known(ratings);
  const auto before = infer(model, {.sweeps = 2});
  save_beliefs(before, path);
  Traits again = known(ratings);
  const Beliefs loaded = load_beliefs(path, again.graph);
  const FactorId last = again.graph.factor_arrays().back()[59];
  for (std::size_t edge = 0; edge < 9; ++edge)
    EXPECT_EQ(before.message(last, edge), loaded.message(last, edge)) << edge;
  EXPECT_TRUE(loaded.message(last, 0).is_uniform());  // nothing is sent there
  const auto more = again.graph.known("more", 0.5);
  const auto next =
      again.graph.add(InnerProduct{9, 0, 0.3},
                      {EdgeRows(more, 1), again.user.slice(3, 4), again.graph.known("a", 1),
                       again.graph.known("b", 1), again.item.slice(2, 3)});
  const Schedule schedule = row_by_row({{next, 1}, {next, 7}});
  const auto from_file = again.graph.infer({}, schedule, loaded);
  const auto from_memory = again.graph.infer({}, schedule, before);
  for (std::uint32_t v = 0; v < again.graph.variable_count(); ++v) {
    EXPECT_EQ(from_file.marginal({v}), from_memory.marginal({v}));
    const bool touched = v == again.user(3, 0).index || v == again.item(2, 1).index;
    EXPECT_EQ(from_file.marginal({v}) == before.marginal({v}), !touched);
  }
}

TEST(Known, NumbersHaveNamesAndNoMessages) {
  Graph g;
  const auto x = g.variable("x");
  const auto seen = g.known("seen", std::vector<double>{1, 2});
  EXPECT_EQ(g.name(seen[1]), "seen[1]");
  EXPECT_EQ(g.name(g.known("pi", 3.14)), "pi");
  const auto sum = g.add(WeightedSum{{1}, 0, 1}, seen[1], x);
  EXPECT_EQ(g.name(g.edge(sum, 0)), "seen[1]");
  expect_error(error_of([&] {
                 g.infer({}, Schedule{{{sum.index, 0}}, {}});
               }),
               "variable 'seen[1]': nothing is sent to a known number");
  expect_error(error_of([&] { g.known("x", 1); }), "already a variable called 'x'");
  expect_error(error_of([&] { g.variable("seen"); }), "already a variable called 'seen'");
  expect_error(error_of([&] { g.variable("seen[0]"); }), "already a variable called 'seen[0]'");
  expect_error(error_of([&] { g.known("none", std::vector<double>{}); }), "at least one number");
  expect_error(error_of([&] {
                 g.known("odd", std::vector<double>{1, std::numeric_limits<double>::infinity()});
               }),
               "'odd', row 1: a known number must be finite");
  expect_error(error_of([&] {
                 g.add(WeightedSum{{1}, 0, 1}, {seen.at(std::vector<int>{0, 2}), EdgeRows(x)});
               }),
               "the index 2 is not one of 0 to 1, the rows of 'seen'");
}

}  // namespace
}  // namespace dma
