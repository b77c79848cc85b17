// bench/clock.h: processor seconds of this program, over all threads.
//
// The comparisons here use one thread; other programs on the same core do not count.
#pragma once

#include <time.h>

namespace dma::bench {

inline double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace dma::bench
