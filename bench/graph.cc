// The factor-graph engine: cost per message and per variable, up to a chain of a million variables and a million ratings.
#include <dma/factors/factors.h>
#include <dma/graph/graph.h>

#include <fmt/core.h>
#include <malloc.h>

#include <algorithm>
#include <memory>
#include <random>

#include "bench/sections.h"

namespace dma::bench {
namespace {

// x_t = 0.9 x_{t-1} + N(0, 0.2), each x_t observed: n variables, 2 n factors.
Graph chain(std::size_t n) {
  Graph graph;
  Variable last = graph.variable();
  graph.add(Prior{0, 1}, last);
  graph.add(Observation{0.5, 1}, last);
  for (std::size_t t = 1; t < n; ++t) {
    const Variable next = graph.variable();
    graph.add(WeightedSum{{0.9}, 0, 0.2}, next, last);
    graph.add(Observation{0.5 * static_cast<double>(t % 7), 1}, next);
    last = next;
  }
  return graph;
}

// The same in three arrays.
Graph chain_of_arrays(std::size_t n) {
  Graph graph;
  const VariableArray x = graph.variables("x", n);
  graph.add(Prior{0, 1}, x[0]);
  graph.add([](std::size_t t) { return Observation{0.5 * static_cast<double>(t % 7), 1}; }, {x});
  graph.add(WeightedSum{{0.9}, 0, 0.2}, {x.slice(1), x.slice(0, n - 1)});
  return graph;
}

// Ratings of rank 10 with biases, in random order: 22 messages each.
struct Ratings {
  static constexpr std::uint32_t rank = 10;

  Graph graph;
  Schedule schedule;

  explicit Ratings(std::size_t count) {
    std::mt19937_64 random(1);
    const std::size_t users = std::max<std::size_t>(10, count / 100);
    const std::size_t items = std::max<std::size_t>(10, count / 500);
    std::vector<std::uint32_t> user(count), item(count);
    std::vector<double> seen(count);
    for (std::size_t row = 0; row < count; ++row) {
      user[row] = static_cast<std::uint32_t>(random() % users);
      item[row] = static_cast<std::uint32_t>(random() % items);
      seen[row] = std::normal_distribution<double>(0, 3)(random);
    }
    const auto prior = [&](std::size_t) {
      return Prior{std::normal_distribution<double>(0, 0.3)(random), 1};
    };
    const VariableArray of_user = graph.variables("user", {users, rank + 1}, prior);
    const VariableArray of_item = graph.variables("item", {items, rank + 1}, prior);
    const VariableArray rating = graph.known("rating", seen);
    const Variable one = graph.known("one", 1);
    const FactorArray inner = graph.add(InnerProduct{2 * rank + 5, 0, 0.25},
                                        {rating, of_user.at(user), one, one, of_item.at(item)});
    std::vector<RowStep> row;
    for (std::uint32_t k = 0; k < rank + 1; ++k) row.push_back({inner, 1 + k});
    for (std::uint32_t k = 0; k < rank + 1; ++k) row.push_back({inner, rank + 4 + k});
    for (const FactorArray& array : {graph.factor_arrays()[0], graph.factor_arrays()[1]})
      schedule.forward.append(row_by_row({{array, 0}}).forward);
    schedule.forward.append(row_by_row(row).forward);
  }

  std::size_t messages() const { return schedule.forward.size(); }
};

double heap_bytes() {
  const auto heap = mallinfo2();
  return static_cast<double>(heap.uordblks + heap.hblkhd);
}

std::string name(const char* what, std::size_t n) { return fmt::format("graph/{}/{:07}", what, n); }

void build_and_sweep(benchmark::State& state, Graph (*build)(std::size_t), std::size_t n) {
  double bytes = 0;
  for (auto _ : state) {
    const double before = heap_bytes();
    const Graph graph = build(n);
    const Beliefs beliefs = graph.sweep();
    benchmark::DoNotOptimize(beliefs.marginal({0}));
    bytes = heap_bytes() - before;
  }
  state.counters["bytes per variable"] = bytes / static_cast<double>(n);
}

constexpr std::size_t sweeps = 10;

// Further sweeps over an existing graph.
void messages(benchmark::State& state, std::size_t n) {
  const Graph graph = chain(n);
  const Schedule schedule = graph.tree_schedule();
  for (auto _ : state) {
    const Beliefs beliefs = graph.infer({.sweeps = sweeps}, schedule);
    benchmark::DoNotOptimize(beliefs.marginal({0}));
  }
}

void sweep_ratings(const Ratings& model, std::size_t threads) {
  const Beliefs beliefs = model.graph.infer(
      {.rule = Rule::linear, .sweeps = sweeps, .threads = threads}, model.schedule);
  benchmark::DoNotOptimize(beliefs.marginal({0}));
}

void add_inner_products(Plan& plan, std::size_t ratings) {
  const auto model = std::make_shared<const Ratings>(ratings);
  plan.measure({.name = name("inner product", ratings),
                .unit = "ns per message",
                .scale = 1e9 / static_cast<double>(sweeps * model->messages()),
                .run =
                    [model](benchmark::State& state) {
                      for (auto _ : state) sweep_ratings(*model, 1);
                    },
                .repetitions = 3});
  const std::string one = name("ratings, one thread", ratings);
  const std::string two = name("ratings, two threads", ratings);
  plan.seconds(one, 3, [model] { sweep_ratings(*model, 1); });
  plan.seconds(two, 3, [model] { sweep_ratings(*model, 2); });
  plan.quotient("graph/ratings, two threads over one", two, one, Better::smaller);
}

}  // namespace

void add_graph(Plan& plan) {
  std::vector<std::size_t> sizes{1'000, 10'000, 100'000};
  if (!plan.quick) sizes.push_back(1'000'000);
  for (const std::size_t n : sizes) {
    plan.measure({.name = name("build and sweep", n),
                  .unit = "ns per variable",
                  .scale = 1e9 / static_cast<double>(n),
                  .run = [n](benchmark::State& state) { build_and_sweep(state, chain, n); },
                  .repetitions = 3});
    plan.measure(
        {.name = name("arrays, build and sweep", n),
         .unit = "ns per variable",
         .scale = 1e9 / static_cast<double>(n),
         .run = [n](benchmark::State& state) { build_and_sweep(state, chain_of_arrays, n); },
         .repetitions = 3});
    plan.measure({.name = name("message", n),
                  .unit = "ns per message",
                  .scale = 1e9 / static_cast<double>(sweeps * chain(n).edge_count()),
                  .run = [n](benchmark::State& state) { messages(state, n); },
                  .repetitions = 3});
  }
  add_inner_products(plan, plan.quick ? 20'000 : 1'000'000);
  // The cost per message must not grow with the graph.
  for (const char* what : {"build and sweep", "arrays, build and sweep", "message"}) {
    plan.quotient(fmt::format("graph/{}, {} over {}", what, sizes.back(), sizes.front()),
                  name(what, sizes.back()), name(what, sizes.front()), Better::smaller);
  }
}

}  // namespace dma::bench
