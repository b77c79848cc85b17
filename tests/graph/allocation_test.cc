// A sweep allocates nothing: ten sweeps make as many allocations as one.
#include <dma/factors/factors.h>
#include <dma/graph/graph.h>

#include <gtest/gtest.h>

#include "counting_new.h"

namespace dma {
namespace {

// y_i = r(w x_i) + noise: a shared weight, so that there are cycles and a variable of high degree.
Graph shared_weight(int examples) {
  Graph graph;
  const auto w = graph.variable("w");
  graph.add(Prior{1, 0.5}, w);
  for (int i = 0; i < examples; ++i) {
    const auto x = graph.variable();
    const auto z = graph.variable();
    const auto y = graph.variable();
    graph.add(Prior{0.1 * i - 1, 0.2}, x);
    graph.add(Product{}, z, w, x);
    graph.add(LeakyRelu{0.3}, y, z);
    graph.add(Observation{0.2 * i, 0.3}, y);
  }
  return graph;
}

std::size_t allocations_of(const Graph& graph, InferenceOptions options, const Schedule& schedule) {
  const std::size_t before = test::allocations;
  const auto beliefs = graph.infer(options, schedule);
  EXPECT_TRUE(beliefs.improper.empty());
  return test::allocations - before;
}

TEST(Sweep, AllocatesNothing) {
  for (const int examples : {3, 50}) {
    const Graph graph = shared_weight(examples);
    for (const Rule rule : {Rule::direct, Rule::linear}) {
      const auto schedule = graph.sequential_schedule();
      const std::size_t one = allocations_of(graph, {.rule = rule, .sweeps = 1}, schedule);
      const std::size_t ten = allocations_of(graph, {.rule = rule, .sweeps = 10}, schedule);
      EXPECT_GT(one, 0U);
      EXPECT_EQ(one, ten);
    }
  }
}

TEST(Sweep, EpAllocatesNothing) {
  Graph graph;  // one product with positive messages throughout
  const auto x = graph.variable();
  const auto y = graph.variable();
  const auto z = graph.variable();
  graph.add(Prior{3, 1}, x);
  graph.add(Prior{4, 1}, y);
  graph.add(Product{}, z, x, y);
  graph.add(Observation{10, 5}, z);
  const auto schedule = graph.sequential_schedule();
  const std::size_t one = allocations_of(graph, {.engine = Engine::ep, .sweeps = 1}, schedule);
  const std::size_t ten = allocations_of(graph, {.engine = Engine::ep, .sweeps = 10}, schedule);
  EXPECT_EQ(one, ten);
}

TEST(Sweep, AFunctionOfNumbersAllocatesNothing) {
  Graph graph;
  const auto x = graph.variable();
  const auto y = graph.variable();
  graph.add(Prior{0, 1}, x);
  graph.add(function("tanh", [](double at) { return std::tanh(at); }), y, x);
  graph.add(Observation{0.5, 0.1}, y);
  const auto schedule = graph.sequential_schedule();
  for (const Engine engine : {Engine::direct, Engine::ep}) {
    const std::size_t one = allocations_of(graph, {.engine = engine, .sweeps = 1}, schedule);
    const std::size_t ten = allocations_of(graph, {.engine = engine, .sweeps = 10}, schedule);
    EXPECT_EQ(one, ten);
  }
}

// x_t = 0.9 x_{t-1} + noise, each x_t observed: two factors per variable.
TEST(Sweep, ArraysTakeFewBytes) {
  constexpr std::size_t variables = 100'000;
  const std::size_t before = test::bytes_in_use;
  test::most_bytes_in_use = before;
  Graph graph;
  const auto x = graph.variables("x", variables);
  graph.add(Prior{0, 1}, x[0]);
  graph.add(WeightedSum{{0.9}, 0, 0.2}, {x.slice(1), x.slice(0, variables - 1)});
  graph.add([](std::size_t t) { return Observation{0.5 * static_cast<double>(t % 7), 1}; }, {x});
  const auto beliefs = graph.sweep();
  EXPECT_EQ(beliefs.messages_sent, graph.edge_count());
  const auto per_variable = [&](std::size_t bytes) {
    return static_cast<double>(bytes - before) / static_cast<double>(variables);
  };
  EXPECT_LE(per_variable(test::most_bytes_in_use), 150);
  EXPECT_LE(per_variable(test::bytes_in_use), 120);
  RecordProperty("most_bytes", std::to_string(per_variable(test::most_bytes_in_use)));
}

// A rating of rank 10 with two biases has 22 messages of 16 bytes; its number, two indices and a share of the users and
// items come on top, and nothing for its place in the schedule.
TEST(Sweep, RatingsTakeFewBytes) {
  constexpr std::size_t ratings = 50'000;
  constexpr std::uint32_t rank = 10;
  const std::vector<double> seen(ratings, 0.5);
  std::vector<std::uint32_t> user(ratings), item(ratings);
  for (std::size_t r = 0; r < ratings; ++r) {
    user[r] = static_cast<std::uint32_t>(r * 7 % 500);
    item[r] = static_cast<std::uint32_t>(r * 13 % 100);
  }
  const std::size_t before = test::bytes_in_use;
  test::most_bytes_in_use = before;
  Graph graph;
  const auto of_user = graph.variables("user", {500, rank + 1}, Prior{0.3, 1});
  const auto of_item = graph.variables("item", {100, rank + 1}, Prior{-0.2, 1});
  const auto rating = graph.known("rating", seen);
  const auto one = graph.known("one", 1);
  const auto inner = graph.add(InnerProduct{2 * rank + 5, 0, 0.25},
                               {rating, of_user.at(user), one, one, of_item.at(item)});
  std::vector<RowStep> row;
  for (std::uint32_t k = 0; k <= rank; ++k) row.push_back({inner, 1 + k});
  for (std::uint32_t k = 0; k <= rank; ++k) row.push_back({inner, rank + 4 + k});
  const auto beliefs =
      graph.infer({.rule = Rule::linear, .sweeps = 2, .threads = 2}, row_by_row(row));
  EXPECT_EQ(beliefs.messages_sent, 2 * 2 * (rank + 1) * ratings);
  const double bytes = static_cast<double>(test::most_bytes_in_use - before) / ratings;
  EXPECT_LE(bytes, 400);
  RecordProperty("most_bytes", std::to_string(bytes));
}

}  // namespace
}  // namespace dma
