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

}  // namespace
}  // namespace dma
