// The factor-graph engine: cost per message, and a chain of a million variables.
#include <dma/factors/factors.h>
#include <dma/graph/graph.h>

#include <benchmark/benchmark.h>
#include <sys/resource.h>

namespace dma {
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

// The process's largest size so far, in bytes (getrusage counts kilobytes on Linux).
double peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

void build_and_sweep(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    const Graph graph = chain(n);
    const Beliefs beliefs = graph.sweep();
    benchmark::DoNotOptimize(beliefs.marginal({0}));
  }
  state.counters["time/variable"] =
      benchmark::Counter(static_cast<double>(n), benchmark::Counter::kIsIterationInvariantRate |
                                                     benchmark::Counter::kInvert);
  state.counters["peak_memory"] =
      benchmark::Counter(peak_memory(), benchmark::Counter::kDefaults, benchmark::Counter::kIs1024);
}
BENCHMARK(build_and_sweep)
    ->Arg(1'000)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Arg(1'000'000)
    ->Unit(benchmark::kMillisecond);

// Further sweeps over a graph that is there: the cost per message must not grow with the graph.
void message(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const Graph graph = chain(n);
  const Schedule schedule = graph.tree_schedule();
  for (auto _ : state) {
    const Beliefs beliefs = graph.infer({.sweeps = 10}, schedule);
    benchmark::DoNotOptimize(beliefs.marginal({0}));
  }
  state.counters["time/message"] = benchmark::Counter(
      10 * static_cast<double>(graph.edge_count()),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(message)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Arg(1'000'000)->Unit(
    benchmark::kMillisecond);

}  // namespace
}  // namespace dma
