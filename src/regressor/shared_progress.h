// regressor/shared_progress.h: one progress callback for members that are learnt side by side.
#pragma once

#include <functional>
#include <mutex>

#include <dma/regressor/regressor.h>

namespace dma::detail {

// One caller at a time; once it has said no, it is not asked again.
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
