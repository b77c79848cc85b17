// base/parallel.h: loops and pipelines on several threads. The only place that uses oneTBB.
//
// Runs see what was written before the call, and the caller sees what they wrote after it; nothing is promised between
// two runs of a loop. The thread sanitizer cannot look into libtbb, so parallel.cc tells it this, and it checks the
// callers.
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

// Calls run(0), ..., run(count - 1) on at most so many threads; 0: all cores.
void parallel_for(std::size_t count, std::size_t threads, Callable<void, std::size_t> run);

// The same on the threads of the surrounding pipeline. A thread that waits here for the others does not start another
// stage meanwhile.
void parallel_for_within(std::size_t count, Callable<void, std::size_t> run);

// Calls run(begin, end) for pieces of [0, count) of limited length.
void parallel_ranges(std::size_t count, std::size_t longest, std::size_t threads,
                     Callable<void, std::size_t, std::size_t> run);

// Sends items through three stages. A stage takes one item at a time, in order. There are at most as many items as
// slots: a stage is called with the slot of its item, which is free again after the last stage. The first stage returns
// whether there was an item.
void pipeline(std::size_t slots, std::size_t threads, Callable<bool, std::size_t> first,
              Callable<void, std::size_t> second, Callable<void, std::size_t> third);

}  // namespace dma::detail
