// bench/clock.h: seconds that the processor spent on this program, in all threads.
//
// What is compared in here has one thread; other programs that take their turn on the same core are not counted.
#pragma once

#include <time.h>

namespace dma::bench {

inline double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace dma::bench
