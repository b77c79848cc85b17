// regressor/checkpoint.h: the progress of a fit on disk, so that it can be resumed after the process was killed.
//
// One file in the safetensors layout, replaced as a whole. Its metadata identifies the fit; its arrays,
// "member.M.NAME", are the members' states, each as it was after an epoch. Members do not depend on each other, so
// their states need not be from the same moment.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include <dma/base/arrays.h>
#include <dma/regressor/regressor.h>

namespace dma::detail {

class CheckpointFile {
 public:
  // Reads the file if there is one, and writes it, so that a place that cannot be written shows at once. Throws
  // ModelError, also if the file belongs to another fit; the options are those that the fit uses.
  CheckpointFile(const Checkpoint& where, const RegressorOptions& options, const Rows& rows,
                 std::size_t members);

  // The member's state in the file that was read.
  bool knows(std::size_t member) const { return !members_[member].empty(); }
  const Arrays& read(std::size_t member) const { return members_[member]; }
  [[noreturn]] void fail(const std::string& reason) const;

  // Whether it is time to keep() a state; may be called from any thread.
  bool is_due() const;
  // Remembers a member's state, and writes all of them if asked to; may be called from any thread.
  void keep(std::size_t member, Arrays state, bool write_now = true);

 private:
  void load();
  void check_fit(const std::string& options, const std::string& rows) const;
  void write() const;

  const Checkpoint& where_;
  std::string options_, rows_;  // of the fit
  std::vector<Arrays> members_;
  mutable std::mutex mutex_;
  std::chrono::steady_clock::time_point written_;
  bool failed_ = false;
};

}  // namespace dma::detail
