// cli/progress.h: a progress bar, and ending a fit cleanly on Ctrl-C.
#pragma once

#include <dma/regressor/regressor.h>
#include <dma/regressor/stream.h>

#include <chrono>
#include <string>
#include <vector>

namespace dma::cli {

// While one of these exists, Ctrl-C (or SIGTERM) only asks to stop; another one, half a second later or more, ends the
// program. timeout(1) sends its signal twice at once.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  static bool asked();
};

// One line on standard error, if that is a terminal, drawn at most ten times a second and cleared at the end.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // False if it is not time yet.
  bool due() const;
  // `share` of the work is done, from 0 to 1.
  void draw(double share, const std::string& text);

 private:
  bool terminal_, drawn_ = false;
  std::chrono::steady_clock::time_point last_{};
};

// Progress of a fit.
class ProgressBar {
 public:
  // False once Ctrl-C was pressed.
  bool show(const FitProgress& now);
  OnProgress callback() {
    return [this](const FitProgress& now) { return show(now); };
  }

 private:
  ProgressLine line_;
};

// Progress of a stream.
class StreamBar {
 public:
  // False once Ctrl-C was pressed.
  bool show(const StreamProgress& now);
  OnStreamProgress callback() {
    return [this](const StreamProgress& now) { return show(now); };
  }

 private:
  ProgressLine line_;
};

}  // namespace dma::cli
