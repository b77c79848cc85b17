// cli/progress.h: a progress bar on a terminal, and Ctrl-C that ends a fit cleanly.
#pragma once

#include <dma/regressor/regressor.h>

#include <chrono>
#include <vector>

namespace dma::cli {

// While one of these exists, the first Ctrl-C only asks to stop; the second ends the program.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  static bool asked();
};

// Draws on standard error, if that is a terminal, at most ten times a second.
class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // False once Ctrl-C was pressed.
  bool show(const FitProgress& now);
  OnProgress callback() {
    return [this](const FitProgress& now) { return show(now); };
  }

 private:
  bool terminal_, drawn_ = false;
  std::chrono::steady_clock::time_point last_{};
  std::vector<std::size_t> epochs_;  // of each member
};

}  // namespace dma::cli
