// regressor/shared_progress.h: one progress callback for members that are fitted in parallel.
#pragma once

#include <functional>
#include <mutex>

#include <dma/regressor/regressor.h>

namespace dma::detail {

// Calls it from one thread at a time; once it has returned false, it is not called again.
class SharedProgress {
 public:
  SharedProgress(const OnProgress& call, std::size_t members) : call_(call), members_(members) {}

  std::function<bool(const Progress&)> of(std::size_t member) {
    return [this, member](const Progress& now) {
      if (!call_) return true;
      const std::lock_guard lock(mutex_);
      if (go_on_) {
        go_on_ = call_({member, members_, now.epoch, now.epochs, now.batch, now.batches});
      }
      return go_on_;
    };
  }

 private:
  const OnProgress& call_;
  std::size_t members_;
  std::mutex mutex_;
  bool go_on_ = true;
};

}  // namespace dma::detail
