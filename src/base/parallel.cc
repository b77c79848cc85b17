#include <dma/base/parallel.h>

#include <tbb/blocked_range.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <vector>

// libtbb is not instrumented, so the thread sanitizer would see tasks that no one started or waited for. Only this file
// is compiled without the sanitizer (CMakeLists.txt), which hides oneTBB's templates from it too, and tells it what
// oneTBB promises.
#ifdef DMA_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace dma::detail {

namespace {

// Marks something that happens before something else.
class Moment {
 public:
#ifdef DMA_THREAD_SANITIZER
  void reached() { __tsan_release(&place_); }
  void awaited() { __tsan_acquire(&place_); }

 private:
  char place_ = 0;
#else
  void reached() {}
  void awaited() {}
#endif
};

// Lies between two moments of other threads, even when an exception leaves it.
class Between {
 public:
  Between(Moment& before, Moment& after) : after_(after) { before.awaited(); }
  Between(const Between&) = delete;
  Between& operator=(const Between&) = delete;
  ~Between() { after_.reached(); }

 private:
  Moment& after_;
};

// A call that returns when everything it started has ended.
class Call {
 public:
  Call() { begin_.reached(); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() { end_.awaited(); }

  Between run() { return {begin_, end_}; }

 private:
  Moment begin_, end_;
};

// 0 means all cores; more threads than cores are of no use.
int concurrency(std::size_t threads) {
  const auto cores = static_cast<std::size_t>(tbb::info::default_concurrency());
  return static_cast<int>(threads == 0 ? cores : std::min(threads, cores));
}

}  // namespace

void parallel_for(std::size_t count, std::size_t threads, Callable<void, std::size_t> run) {
  Call call;
  tbb::task_arena arena(concurrency(threads));
  arena.execute([&] {
    tbb::parallel_for(std::size_t{0}, count, [&](std::size_t n) {
      const Between within = call.run();
      run(n);
    });
  });
}

void parallel_for_within(std::size_t count, Callable<void, std::size_t> run) {
  Call call;
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(std::size_t{0}, count, [&](std::size_t n) {
      const Between within = call.run();
      run(n);
    });
  });
}

void parallel_ranges(std::size_t count, std::size_t longest, std::size_t threads,
                     Callable<void, std::size_t, std::size_t> run) {
  Call call;
  tbb::task_arena arena(concurrency(threads));
  const auto run_range = [&](const tbb::blocked_range<std::size_t>& range) {
    const Between within = call.run();
    run(range.begin(), range.end());
  };
  arena.execute([&] {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count, longest), run_range,
                      tbb::simple_partitioner());
  });
}

void pipeline(std::size_t slots, std::size_t threads, Callable<bool, std::size_t> first,
              Callable<void, std::size_t> second, Callable<void, std::size_t> third) {
  using Slot = std::size_t;
  constexpr auto in_order = tbb::filter_mode::serial_in_order;
  Call call;
  std::array<Moment, 3> stage_left;
  std::vector<Moment> slot_left(slots);
  // Runs after this stage's previous item and after this item's previous stage.
  const auto at = [&](std::size_t stage, Slot slot, const auto& run) {
    const Between within = call.run();
    const Between items(stage_left[stage], stage_left[stage]);
    const Between stages(slot_left[slot], slot_left[slot]);
    return run(slot);
  };
  std::size_t begun = 0;
  const auto begin = [&](tbb::flow_control& control) -> Slot {
    const Slot slot = begun++ % slots;
    if (!at(0, slot, first)) control.stop();
    return slot;
  };
  const auto go_on = [&](Slot slot) {
    at(1, slot, second);
    return slot;
  };
  const auto finish = [&](Slot slot) { at(2, slot, third); };
  tbb::task_arena arena(concurrency(threads));
  arena.execute([&] {
    tbb::parallel_pipeline(slots, tbb::make_filter<void, Slot>(in_order, begin) &
                                      tbb::make_filter<Slot, Slot>(in_order, go_on) &
                                      tbb::make_filter<Slot, void>(in_order, finish));
  });
}

}  // namespace dma::detail
