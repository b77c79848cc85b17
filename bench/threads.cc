// What a second thread gains: members of an ensemble, rows of a prediction, splits of a data set.
#include <dma/regressor/regressor.h>
#include <dma/special/random.h>

#include <fmt/core.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <array>
#include <cmath>
#include <functional>

#include "bench/networks.h"
#include "bench/sections.h"

namespace dma::bench {
namespace {

using OnThreads = std::function<void(std::size_t threads)>;

void add_case(Plan& plan, const char* what, const OnThreads& call) {
  const auto name = [&](const char* threads) {
    return fmt::format("threads/{}/{}", what, threads);
  };
  const int repetitions = plan.quick ? 3 : 7;
  plan.seconds(name("1"), repetitions, [call] { call(1); });
  plan.seconds(name("2"), repetitions, [call] { call(2); });
  plan.quotient(name("two threads over one"), name("2"), name("1"), Better::smaller);
}

Table table(std::size_t rows, std::uint64_t seed) {
  special::Random random(seed);
  Table result{.columns = {{.name = "y"}, {.name = "a"}, {.name = "b"}, {.name = "c"}}};
  for (std::size_t n = 0; n < rows; ++n) {
    const std::array x{random.normal(), random.normal(), random.normal()};
    for (std::size_t j = 0; j < x.size(); ++j) result.columns[j + 1].numbers.push_back(x[j]);
    result.columns[0].numbers.push_back(std::sin(x[0]) + x[1] * x[2] + 0.2 * random.normal());
  }
  return result;
}

void fit(std::size_t rows, std::uint64_t seed, std::size_t threads) {
  const auto model = Regressor::fit(table(rows, seed), {.target = "y", .threads = threads});
  benchmark::DoNotOptimize(model.report().epochs);
}

void fit_splits(std::size_t threads) {
  tbb::task_arena(static_cast<int>(threads)).execute([] {
    tbb::parallel_for(0, 4, [](int split) { fit(100, static_cast<std::uint64_t>(split), 1); });
  });
}

}  // namespace

void add_threads(Plan& plan) {
  static const Network members_network = table_network();
  static const Network prediction_network = network({8, 100, 100, 1}, 5000);
  static const auto posterior = belief<float>(prediction_network).posterior();

  add_case(plan, "restarts, independent weights", [](std::size_t threads) {
    constexpr std::array<std::uint64_t, 4> seeds{1, 2, 3, 4};
    const auto mixture =
        fit_mixture<float>(members_network.architecture, seeds, members_network.data(),
                           {.max_epochs = 10, .tolerance = 0}, {}, threads);
    benchmark::DoNotOptimize(mixture.members.size());
  });
  add_case(plan, "ensemble, joint weights", [](std::size_t threads) { fit(200, 1, threads); });
  add_case(plan, "rows predicted", [](std::size_t threads) {
    benchmark::DoNotOptimize(
        predict(posterior, prediction_network.inputs, prediction_network.rows, threads).mean[0]);
  });
  add_case(plan, "splits", fit_splits);
}

}  // namespace dma::bench
