// base/parallel.h: loops and pipelines on several threads. The one place that knows oneTBB.
//
// What was written before a call is seen by what it runs, and what that wrote is seen after the call;
// nothing is promised between two runs of a loop. The thread sanitizer, which cannot look into libtbb,
// is told so in parallel.cc, and holds the callers to it.
#pragma once

#include <cstddef>

namespace dma::detail {

// A reference to something that can be called with these arguments; it has to outlive the reference.
template <class Result, class... Arguments>
class Callable {
 public:
  template <class Function>
  Callable(const Function& function)  // NOLINT(google-explicit-constructor): stands in for it
      : function_(&function), call_([](const void* called, Arguments... arguments) -> Result {
          return (*static_cast<const Function*>(called))(arguments...);
        }) {}

  Result operator()(Arguments... arguments) const { return call_(function_, arguments...); }

 private:
  const void* function_;
  Result (*call_)(const void*, Arguments...);
};

// run(0), ..., run(count - 1) on so many threads at most; 0: all cores.
void parallel_for(std::size_t count, std::size_t threads, Callable<void, std::size_t> run);

// The same on the threads of the pipeline around it. A thread that waits for the others here does not
// take up another stage meanwhile.
void parallel_for_within(std::size_t count, Callable<void, std::size_t> run);

// run(begin, end) for pieces of [0, count) that are at most so long.
void parallel_ranges(std::size_t count, std::size_t longest, std::size_t threads,
                     Callable<void, std::size_t, std::size_t> run);

// Items that go through three stages. A stage takes one item at a time, in their order, and there are
// never more than so many slots' items: a stage is called with the slot of its item, which is free again
// after the last stage. The first stage returns whether there was an item.
void pipeline(std::size_t slots, std::size_t threads, Callable<bool, std::size_t> first,
              Callable<void, std::size_t> second, Callable<void, std::size_t> third);

}  // namespace dma::detail
