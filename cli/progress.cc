#include "progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>

namespace dma::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;

extern "C" void ask_to_stop(int /*signal*/) {
  interrupted = 1;
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

Interruption::Interruption() {
  interrupted = 0;
  std::signal(SIGINT, ask_to_stop);
}
Interruption::~Interruption() { std::signal(SIGINT, SIG_DFL); }
bool Interruption::asked() { return interrupted != 0; }

ProgressBar::ProgressBar() : terminal_(::isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
}

bool ProgressBar::show(const FitProgress& now) {
  const bool go_on = !Interruption::asked();
  epochs_.resize(now.members, 0);
  epochs_[now.member] = now.batch == now.batches ? now.epoch : now.epoch - 1;
  const auto time = std::chrono::steady_clock::now();
  if (!terminal_ || time - last_ < std::chrono::milliseconds(100)) return go_on;
  last_ = time;
  drawn_ = true;
  constexpr std::size_t width = 30;
  std::size_t done = 0;
  for (const std::size_t epochs : epochs_) done += epochs;
  const std::size_t most = now.members * now.epochs;
  const std::size_t filled = width * done / most;
  fmt::print(stderr, "\r\033[K[{}{}] member {} of {}, epoch {} of at most {}",
             std::string(filled, '='), std::string(width - filled, ' '), now.member + 1,
             now.members, now.epoch, now.epochs);
  if (now.batches > 1) fmt::print(stderr, ", batch {} of {}", now.batch, now.batches);
  std::fflush(stderr);
  return go_on;
}

}  // namespace dma::cli
