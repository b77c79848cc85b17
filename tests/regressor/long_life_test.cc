// A model that lives on a stream: a block of rows comes, the oldest goes, again and again.
//
// DMA_LONG_LIFE_SECONDS=600 lets each belief live that long instead of a few hundred cycles.
#include <dma/regressor/regressor.h>

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <fstream>

#include "regressor/invariants.h"
#include "regressor/wave_table.h"

namespace dma {
namespace {

using test::expect_finite;
using test::ledger_error;
using test::LedgerError;
using test::wave_table;

constexpr std::size_t block_rows = 10;
constexpr std::size_t window = 5;  // blocks that the model knows
constexpr double noise = 0.2;      // of the table, in units of 5
constexpr std::size_t warm_up = 100;

class LongLifeOfEachBelief : public testing::TestWithParam<BeliefKind> {};
INSTANTIATE_TEST_SUITE_P(LongLife, LongLifeOfEachBelief,
                         testing::Values(BeliefKind::joint, BeliefKind::independent),
                         [](const auto& belief) {
                           return belief.param == BeliefKind::joint ? "joint" : "independent";
                         });

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0;
  std::size_t resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// What was allocated and not given back; a sanitizer's own allocator is not seen.
std::size_t heap_bytes() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

class LongLife {
 public:
  explicit LongLife(BeliefKind belief) : model_(begin(belief)) {}

  void cycle() {
    const Table fresh = block(next_++);
    model_.update(fresh);
    blocks_.push_back(fresh);
    model_.forget_rows(blocks_.front());
    blocks_.pop_front();
  }

  const Regressor& model() const { return model_; }

 private:
  static Table block(std::uint64_t number) { return wave_table(block_rows, noise, 100 + number); }

  Regressor begin(BeliefKind belief) {
    Table first = block(next_++);
    blocks_.push_back(first);
    while (blocks_.size() < window) {
      blocks_.push_back(block(next_++));
      append_rows(first, blocks_.back());
    }
    return Regressor::fit(first, {.target = "y",
                                  .hidden = {8},
                                  .belief = belief,
                                  .epochs = 20,
                                  .ensemble = 2,
                                  .threads = 1});
  }

  std::uint64_t next_ = 0;
  std::deque<Table> blocks_ = {};
  Regressor model_;
};

bool go_on(std::size_t cycle, std::chrono::steady_clock::time_point start) {
  const char* seconds = std::getenv("DMA_LONG_LIFE_SECONDS");
  if (seconds == nullptr) return cycle < 2000;
  const std::chrono::duration<double> lived = std::chrono::steady_clock::now() - start;
  return lived.count() < std::strtod(seconds, nullptr);
}

struct State {
  std::size_t heap, resident, file;

  static State of(const Regressor& model) {
    return {heap_bytes(), resident_bytes(), model.to_bytes().size()};
  }
};

bool is_power_of_two(std::size_t n) { return (n & (n - 1)) == 0; }

TEST_P(LongLifeOfEachBelief, IsWhatTheLedgerSaysForEver) {
  LongLife life(GetParam());
  const Model fitted = life.model().model();
  const Table test = wave_table(500, noise, 1);
  const auto start = std::chrono::steady_clock::now();
  LedgerError worst;
  State early{};
  std::size_t cycle = 0;
  while (go_on(cycle, start)) {
    life.cycle();
    ++cycle;
    const LedgerError error = ledger_error(life.model().model(), fitted);
    worst.include(error);
    ASSERT_LT(error.worst(), 1e-9) << cycle;
    ASSERT_EQ(life.model().report().rows, window * block_rows);
    if (cycle == warm_up) early = State::of(life.model());
    if (!is_power_of_two(cycle)) continue;
    const Metrics metrics = life.model().evaluate(test).front();
    std::printf("  %7zu cycles: precision off by %.1e, mean by %.1e; NLL %.3f, RMSE %.3f\n", cycle,
                error.precision, error.shift, metrics.nll, metrics.rmse);
    std::fflush(stdout);
    // What is known is five blocks, always; the noise is the first five's.
    ASSERT_LT(metrics.nll, 3);
  }
  const State late = State::of(life.model());
  std::printf("  %7zu cycles: at most %.1e, %.1e; heap %zu, then %zu; resident %zu, then %zu\n",
              cycle, worst.precision, worst.shift, early.heap, late.heap, early.resident,
              late.resident);
  test::expect_sound(life.model().model(), fitted);
  expect_finite(life.model().predict(test));
  // But for the digits of how many rows have come and gone.
  EXPECT_NEAR(static_cast<double>(late.file), static_cast<double>(early.file), 16);
  // malloc's smallest chunk is 32 bytes: a leak in every cycle would be twice this. What malloc keeps at hand for the
  // thread counts as allocated: some kB, however many cycles.
  EXPECT_LT(late.heap, early.heap + 16 * (cycle - warm_up));
}

}  // namespace
}  // namespace dma
