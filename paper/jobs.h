// paper/jobs.h: independent jobs on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "cli/progress.h"

namespace dma::cli {

// Runs job(0), ..., job(count - 1), started in this order, on so many threads; 0: all cores. After Ctrl-C, or once a
// job has thrown, no more are started; an exception is rethrown here.
inline void run_jobs(std::size_t count, std::size_t threads,
                     const std::function<void(std::size_t)>& job) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    for (std::size_t j = next++; j < count && !Interruption::asked(); j = next++) {
      try {
        job(j);
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
        next = count;
        return;
      }
    }
  };
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> others;
  for (std::size_t t = 1; t < (threads > 0 ? threads : cores); ++t) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace dma::cli
