// cli/progress.h: a progress bar, and ending a fit cleanly on Ctrl-C.
#pragma once

#include <dma/regressor/regressor.h>
#include <dma/regressor/stream.h>

#include <chrono>
#include <memory>
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

// 40 s, 3 min, 2 h 10 min; minutes are rounded up
std::string duration_text(double seconds);
// What is left of work of which a share was done after so many seconds, as many seconds ago as `since`, if the rest goes as
// fast: "up to about 40 s left"; empty as long as little is known. Work may turn out to be less, as when a network settles early.
std::string time_left_text(double seconds, double share, double since = 0);

// Says on standard error, if that is a terminal, what is being done and for how long, from a second on and twice a second,
// so that nothing is silent. The line is cleared at the end. One at a time.
class Working {
 public:
  explicit Working(std::string what);
  ~Working();
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;

  // From any thread. How far it is; with a share of the work the time that is left is shown too.
  void tell(std::string what, double share);

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;  // null: no terminal
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
  Working working_{"preparing"};
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
  Working working_{"reading"};
};

}  // namespace dma::cli
