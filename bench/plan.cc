#include "bench/plan.h"

#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <stdexcept>

#include "bench/machine.h"

namespace dma::bench {
namespace {

constexpr int usual_repetitions = 7;
constexpr int quick_repetitions = 3;
constexpr const char* least_seconds = "--benchmark_min_time=0.04";
constexpr const char* quick_least_seconds = "--benchmark_min_time=0.01";

// One line on standard error that shows the progress; if it is not a terminal, a line at every tenth.
class ProgressLine {
 public:
  explicit ProgressLine(std::size_t total) : total_(total), terminal_(isatty(STDERR_FILENO) != 0) {}
  ~ProgressLine() {
    if (terminal_) fmt::print(stderr, "\r\033[K");
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void next(const std::string& name) {
    const std::size_t tenth = 10 * done_ / total_;
    if (terminal_) {
      fmt::print(stderr, "\r\033[K{} of {} {}", done_ + 1, total_, name);
    } else if (done_ == 0 || tenth != last_tenth_) {
      fmt::print(stderr, "{} of {} measurements taken\n", done_, total_);
    }
    last_tenth_ = tenth;
    if (done_ + 1 < total_) ++done_;
  }

 private:
  std::size_t total_, done_ = 0, last_tenth_ = 0;
  bool terminal_;
};

class Collector : public benchmark::BenchmarkReporter {
 public:
  Collector(const std::vector<Measurement>& measurements, Results& results) : results_(results) {
    for (const Measurement& measurement : measurements) by_name_[measurement.name] = &measurement;
  }

  bool ReportContext(const Context& /*context*/) override { return true; }

  void ReportRuns(const std::vector<Run>& report) override {
    for (const Run& run : report) {
      if (run.run_type != Run::RT_Iteration) continue;
      const Measurement& measurement = *by_name_.at(run.run_name.function_name);
      if (run.error_occurred) throw std::runtime_error(measurement.name + ": " + run.error_message);
      const double spent =
          measurement.manual ? run.real_accumulated_time : run.cpu_accumulated_time;
      const double seconds = spent / static_cast<double>(run.iterations);
      results_.add(measurement.name, measurement.unit, seconds * measurement.scale);
      for (const auto& [name, counter] : run.counters) {
        results_.add(measurement.name + "/" + name, "", counter.value);
      }
    }
  }

 private:
  Results& results_;
  std::map<std::string, const Measurement*> by_name_;
};

void add_to_benchmark(const Measurement& measurement, ProgressLine& progress) {
  auto* benchmark = benchmark::RegisterBenchmark(
      measurement.name.c_str(),
      // Google Benchmark calls it several times to find how many iterations to take; these count as one.
      [&measurement, &progress, last = std::int64_t{0}](benchmark::State& state) mutable {
        const auto iterations = static_cast<std::int64_t>(state.max_iterations);
        if (last == 0 || iterations <= last) progress.next(measurement.name);
        last = iterations;
        measurement.run(state);
      });
  if (measurement.manual) benchmark->UseManualTime();
  if (measurement.iterations > 0) benchmark->Iterations(measurement.iterations);
  if (measurement.repetitions > 0) benchmark->Repetitions(measurement.repetitions);
}

void set_flags(bool quick) {
  std::string repetitions =
      fmt::format("--benchmark_repetitions={}", quick ? quick_repetitions : usual_repetitions);
  std::string least = quick ? quick_least_seconds : least_seconds;
  std::string interleave = "--benchmark_enable_random_interleaving=true";
  std::string program = "dma_bench";
  std::array<char*, 4> flags{program.data(), repetitions.data(), least.data(), interleave.data()};
  int count = static_cast<int>(flags.size());
  benchmark::Initialize(&count, flags.data());
}

}  // namespace

void Results::add(const std::string& name, const std::string& unit, double value) {
  Measured& measured = measured_[name];
  measured.unit = unit;
  measured.values.push_back(value);
}

const std::vector<double>& Results::values(const std::string& name) const {
  static const std::vector<double> none;
  const auto found = measured_.find(name);
  return found == measured_.end() ? none : found->second.values;
}

void Plan::measure(Measurement measurement) {
  for (const Measurement& other : measurements_) {
    if (other.name == measurement.name) return;
  }
  measurements_.push_back(std::move(measurement));
}

void Plan::once(const std::string& name, const std::string& unit, int repetitions,
                std::function<double()> value) {
  measure({.name = name,
           .unit = unit,
           .scale = 1,
           .run =
               [value = std::move(value)](benchmark::State& state) {
                 for (auto _ : state) state.SetIterationTime(value());
               },
           .manual = true,
           .iterations = 1,
           .repetitions = repetitions});
}

void Plan::seconds(const std::string& name, int repetitions, std::function<void()> call) {
  once(name, "s", repetitions, [call = std::move(call)] {
    const auto begin = std::chrono::steady_clock::now();
    call();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  });
}

void Plan::quotient(const std::string& name, const std::string& top, const std::string& bottom,
                    Better better, std::optional<Target> target) {
  const auto values = [top, bottom](const Results& results) {
    return quotients(results.values(top), results.values(bottom));
  };
  ratio({.name = name, .better = better, .target = target, .values = values});
}

Report Plan::run() {
  set_flags(quick);
  std::size_t total = 0;
  for (const Measurement& measurement : measurements_) {
    const int usual = quick ? quick_repetitions : usual_repetitions;
    total +=
        static_cast<std::size_t>(measurement.repetitions > 0 ? measurement.repetitions : usual);
  }
  Report report{
      .machine = machine_kind(), .quick = quick, .notes = {}, .results = {}, .ratios = {}};
  {
    ProgressLine progress(total);
    for (const Measurement& measurement : measurements_) add_to_benchmark(measurement, progress);
    Collector collector(measurements_, report.results);
    benchmark::RunSpecifiedBenchmarks(&collector);
  }
  for (const auto& derive : derive_) derive(report.results);
  for (const Ratio& ratio : ratios_) {
    const std::vector<double> values = ratio.values(report.results);
    if (values.empty()) continue;
    report.ratios.push_back(
        {ratio.name, ratio.better, ratio.target, spread(values), ratio.absolute});
  }
  report.notes = notes_;
  return report;
}

}  // namespace dma::bench
