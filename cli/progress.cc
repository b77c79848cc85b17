#include "cli/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>

namespace dma::cli {
namespace {

// When the user asked to stop, in milliseconds; 0: not yet. Not a sig_atomic_t, because other threads than the one
// that handles the signal read it.
std::atomic<std::int64_t> first_asked = 0;
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

// Calls only what a signal handler may call.
extern "C" void ask_to_stop(int signal) {
  constexpr std::int64_t patience = 500;
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t milliseconds = now.tv_sec * std::int64_t{1000} + now.tv_nsec / 1'000'000;
  std::int64_t first = 0;
  if (first_asked.compare_exchange_strong(first, milliseconds)) return;
  if (milliseconds - first < patience) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

Interruption::Interruption() {
  first_asked = 0;
  std::signal(SIGINT, ask_to_stop);
  std::signal(SIGTERM, ask_to_stop);
}
Interruption::~Interruption() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}
bool Interruption::asked() { return first_asked != 0; }

ProgressLine::ProgressLine() : terminal_(::isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
}

bool ProgressLine::due() const {
  return terminal_ && std::chrono::steady_clock::now() - last_ >= std::chrono::milliseconds(100);
}

void ProgressLine::draw(double share, const std::string& text) {
  constexpr std::size_t width = 30;
  const auto filled =
      static_cast<std::size_t>(static_cast<double>(width) * std::clamp(share, 0.0, 1.0));
  last_ = std::chrono::steady_clock::now();
  drawn_ = true;
  fmt::print(stderr, "\r\033[K[{}{}] {}", std::string(filled, '='),
             std::string(width - filled, ' '), text);
  std::fflush(stderr);
}

bool ProgressBar::show(const FitProgress& now) {
  if (line_.due()) {
    std::string text = fmt::format("member {} of {}, epoch {} of at most {}", now.member + 1,
                                   now.members, now.epoch, now.epochs);
    if (now.batches > 1) text += fmt::format(", batch {} of {}", now.batch, now.batches);
    line_.draw(now.share, text);
  }
  return !Interruption::asked();
}

bool StreamBar::show(const StreamProgress& now) {
  if (line_.due()) {
    line_.draw(now.share,
               fmt::format("{} rows learnt, {:.0f} % of the file", now.rows, 100 * now.share));
  }
  return !Interruption::asked();
}

}  // namespace dma::cli
