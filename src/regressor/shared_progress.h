// regressor/shared_progress.h: one progress callback for members that are fitted in parallel.
#pragma once

#include <algorithm>
#include <functional>
#include <mutex>
#include <vector>

#include <dma/regressor/regressor.h>

namespace dma::detail {

// Calls it from one thread at a time; once it has returned false, it is not called again.
class SharedProgress {
 public:
  SharedProgress(const OnProgress& call, std::size_t members)
      : call_(call), members_(members), shares_(members) {}

  std::function<bool(const Progress&)> of(std::size_t member) {
    return [this, member](const Progress& now) {
      if (!call_) return true;
      const std::lock_guard lock(mutex_);
      if (!go_on_) return false;
      const double epochs = static_cast<double>(now.epoch - 1) +
                            static_cast<double>(now.batch) / static_cast<double>(now.batches);
      shares_[member] = std::max(shares_[member], epochs / static_cast<double>(now.epochs));
      double sum = 0;
      for (const double share : shares_) sum += share;
      go_on_ = call_({member, members_, now.epoch, now.epochs, now.batch, now.batches,
                      sum / static_cast<double>(members_)});
      return go_on_;
    };
  }

 private:
  const OnProgress& call_;
  std::size_t members_;
  std::vector<double> shares_;  // of each member's work
  std::mutex mutex_;
  bool go_on_ = true;
};

}  // namespace dma::detail
