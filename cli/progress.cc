#include "cli/progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <string>
#include <thread>

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

namespace {

// A line that is wider than the terminal could not be drawn over.
void draw_line(const std::string& text) {
  constexpr std::size_t usual_width = 80;
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  const std::size_t width = known ? size.ws_col : usual_width;
  fmt::print(stderr, "\r\033[K{}", text.substr(0, width - 1));
  std::fflush(stderr);
}

std::string bar_text(double share) {
  constexpr std::size_t width = 20;
  const auto filled =
      static_cast<std::size_t>(static_cast<double>(width) * std::clamp(share, 0.0, 1.0));
  return "[" + std::string(filled, '=') + std::string(width - filled, ' ') + "] ";
}

}  // namespace

void ProgressLine::draw(double share, const std::string& text) {
  last_ = std::chrono::steady_clock::now();
  drawn_ = true;
  draw_line(bar_text(share) + text);
}

std::string duration_text(double seconds) {
  constexpr double minute = 60;
  constexpr double hour = 3600;
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  if (seconds < 100 * minute) return fmt::format("{:.0f} min", std::ceil(seconds / minute));
  const double hours = std::floor(seconds / hour);
  return fmt::format("{:.0f} h {:.0f} min", hours, std::floor((seconds - hours * hour) / minute));
}

std::string time_left_text(double seconds, double share, double since) {
  constexpr double least_seconds = 2;
  constexpr double least_share = 0.01;
  if (seconds < least_seconds || share < least_share) return "";
  const double left = std::ceil(seconds * (1 - share) / share - since);
  return left > 0 ? "up to about " + duration_text(left) + " left" : "finishing";
}

struct Working::Shared {
  using Clock = std::chrono::steady_clock;

  std::mutex mutex;
  std::condition_variable changed;
  std::string what;
  double share = -1;  // not known
  bool over = false;
  bool drawn = false;
  Clock::time_point start = Clock::now();
  Clock::time_point told = start;
  std::thread thread;

  void run() {
    constexpr auto until_first = std::chrono::seconds(1);
    constexpr auto between = std::chrono::milliseconds(500);
    std::unique_lock lock(mutex);
    for (auto next = start + until_first; !changed.wait_until(lock, next, [this] { return over; });
         next += between) {
      draw();
    }
    if (drawn) draw_line("");
  }
  void draw() {
    const auto seconds = [](Clock::time_point end, Clock::time_point begin) {
      return std::chrono::duration<double>(end - begin).count();
    };
    const Clock::time_point now = Clock::now();
    std::string text = duration_text(seconds(now, start));
    if (share >= 0) {
      const std::string left = time_left_text(seconds(told, start), share, seconds(now, told));
      text = bar_text(share) + text + (left.empty() ? "" : ", " + left);
    }
    draw_line(text + ": " + what);
    drawn = true;
  }
};

Working::Working(std::string what) {
  if (::isatty(STDERR_FILENO) != 1) return;
  shared_ = std::make_unique<Shared>();
  shared_->what = std::move(what);
  shared_->thread = std::thread([shared = shared_.get()] { shared->run(); });
}

Working::~Working() {
  if (!shared_) return;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->over = true;
  }
  shared_->changed.notify_all();
  shared_->thread.join();
}

void Working::tell(std::string what, double share) {
  if (!shared_) return;
  const std::lock_guard lock(shared_->mutex);
  shared_->what = std::move(what);
  shared_->share = share;
  shared_->told = Shared::Clock::now();
}

bool ProgressBar::show(const FitProgress& now) {
  std::string text = fmt::format("network {} of {}, epoch {} of at most {}", now.member + 1,
                                 now.members, now.epoch, now.epochs);
  if (now.batches > 1) text += fmt::format(", batch {} of {}", now.batch, now.batches);
  working_.tell(std::move(text), now.share);
  return !Interruption::asked();
}

bool StreamBar::show(const StreamProgress& now) {
  working_.tell(fmt::format("{} rows learnt, {:.0f} % of the file", now.rows, 100 * now.share),
                now.share);
  return !Interruption::asked();
}

}  // namespace dma::cli
