// experiments/run.h: how an experiment is run: the maximum number of tasks, and the progress callback.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <mutex>
#include <utility>

#include <dma/base/parallel.h>

namespace dma::experiments {

class Run {
 public:
  // Called after every step, one call at a time, from any thread.
  using OnStep = std::function<void(std::size_t done, std::size_t expected)>;

  explicit Run(std::size_t most_tasks = std::numeric_limits<std::size_t>::max(),
               OnStep on_step = {})
      : most_tasks_(most_tasks), on_step_(std::move(on_step)) {}

  // This many tasks, or fewer in a short run.
  std::size_t tasks(std::size_t wanted) const { return std::min(wanted, most_tasks_); }

  // Fewer tasks than the paper has: a quick check that everything works, with shorter chains and sweeps too.
  bool is_short() const { return most_tasks_ < 20; }

  // Announces this many more steps.
  void expect(std::size_t steps) { expected_ += steps; }

  // Runs job(0), ..., job(count - 1) on all cores; each is one of the expected steps.
  void each(std::size_t count, const std::function<void(std::size_t)>& job) {
    detail::parallel_for(count, 0, [&](std::size_t n) {
      job(n);
      const std::lock_guard lock(mutex_);
      ++done_;
      if (on_step_) on_step_(done_, expected_);
    });
  }

 private:
  std::size_t most_tasks_;
  OnStep on_step_;
  std::mutex mutex_;
  std::size_t done_ = 0, expected_ = 0;
};

}  // namespace dma::experiments
