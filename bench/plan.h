// bench/plan.h: what is measured, and which ratios are reported.
//
// A section adds its measurements and the ratios between them; run() repeats all of them in random order
// (Google Benchmark), so that other programs disturb all of them alike. Times are processor time, unless a section
// measures them itself: waiting for another program does not count.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/statistics.h"

namespace dma::bench {

struct Measurement {
  std::string name;  // section/what/of what
  std::string unit;
  double scale;  // from seconds per iteration to the unit
  std::function<void(benchmark::State&)> run;
  bool manual = false;          // run() sets the time itself
  std::int64_t iterations = 0;  // 0: as many as the least time takes
  int repetitions = 0;          // 0: the plan's
};

// The values of every repetition, in the order in which they were taken.
struct Measured {
  std::string unit;
  std::vector<double> values;
};
class Results {
 public:
  void add(const std::string& name, const std::string& unit, double value);
  // Empty if it was not measured.
  const std::vector<double>& values(const std::string& name) const;
  double median(const std::string& name) const { return spread(values(name)).median; }
  bool has(const std::string& name) const { return !values(name).empty(); }
  const std::map<std::string, Measured>& all() const { return measured_; }

 private:
  std::map<std::string, Measured> measured_;
};

enum class Better { smaller, larger };

struct Target {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();

  bool met(double value) const { return value >= least && value <= most; }
};
inline Target at_most(double value) { return {.most = value}; }
inline Target at_least(double value) { return {.least = value}; }

struct Ratio {
  std::string name;
  Better better;
  std::optional<Target> target;
  std::function<std::vector<double>(const Results&)> values;  // none: it could not be measured
  bool absolute = false;  // over a fixed time: shown, but never accepted nor checked
};

struct RatioResult {
  std::string name;
  Better better;
  std::optional<Target> target;
  Spread value;
  bool absolute = false;
};

struct Report {
  std::string machine;
  bool quick = false;
  std::vector<std::string> notes;
  Results results;
  std::vector<RatioResult> ratios;
};

class Plan {
 public:
  explicit Plan(bool quick_run) : quick(quick_run) {}

  const bool quick;

  // A name that was already added is not measured twice.
  void measure(Measurement measurement);
  // One value per repetition, which need not be a time.
  void once(const std::string& name, const std::string& unit, int repetitions,
            std::function<double()> value);
  // Wall-clock seconds of one call.
  void seconds(const std::string& name, int repetitions, std::function<void()> call);
  // Values computed from others; called after all measurements.
  void after(std::function<void(Results&)> derive) { derive_.push_back(std::move(derive)); }
  void ratio(Ratio ratio) { ratios_.push_back(std::move(ratio)); }
  void quotient(const std::string& name, const std::string& top, const std::string& bottom,
                Better better, std::optional<Target> target = {});
  void note(std::string text) { notes_.push_back(std::move(text)); }

  Report run();

 private:
  std::vector<Measurement> measurements_;
  std::vector<std::function<void(Results&)>> derive_;
  std::vector<Ratio> ratios_;
  std::vector<std::string> notes_;
};

}  // namespace dma::bench
