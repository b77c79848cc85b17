// Whole commands, as a user runs them: dma fit and dma predict on tables of up to 3,000,000 rows, and how time and
// memory grow with rows, weights and batches.
#include <dma/special/random.h>

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/child.h"
#include "bench/sections.h"

namespace dma::bench {
namespace {

constexpr std::size_t features = 8;

void append_number(double value, char end, std::string& text) {
  std::array<char, 32> digits{};
  const auto last = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                  std::chars_format::fixed, 4);
  text.append(digits.data(), last.ptr);
  text += end;
}

// Eight columns and y, a smooth function of four of them with noise. Written once per number of rows.
std::string table_file(std::size_t rows) {
  const auto path = scratch_folder() / fmt::format("{}.csv", rows);
  if (std::filesystem::exists(path)) return path.string();
  std::ofstream file(path, std::ios::binary);
  std::string text = "a,b,c,d,e,f,g,h,y\n";
  special::Random random(1);
  for (std::size_t n = 0; n < rows; ++n) {
    std::array<double, features> x{};
    for (double& value : x) {
      value = random.uniform(-2, 2);
      append_number(value, ',', text);
    }
    append_number(std::sin(x[0]) + x[1] * x[2] + 0.3 * x[3] + random.uniform(-0.5, 0.5), '\n',
                  text);
    if (text.size() > (1 << 20) || n + 1 == rows) {
      file << text;
      text.clear();
    }
  }
  if (!file.flush()) throw std::runtime_error(path.string() + ": cannot be written");
  return path.string();
}

std::string model_file(const std::string& name) {
  return (scratch_folder() / (name + ".safetensors")).string();
}

// One pass without a ledger: the fit for a table that is too large for anything else.
std::vector<std::string> one_pass(std::size_t rows, const std::string& hidden,
                                  const std::string& model) {
  return {"fit",      table_file(rows), "--target",   "y", "--ledger", "none", "--epochs", "1",
          "--hidden", hidden,           "--ensemble", "1", "--model",  model,  "--json"};
}

std::vector<std::string> with_ledger(std::size_t rows, const std::string& model) {
  return {"fit",          table_file(rows),
          "--target",     "y",
          "--belief",     "independent",
          "--epochs",     "1",
          "--hidden",     "50",
          "--ensemble",   "1",
          "--batch-size", "20",
          "--model",      model,
          "--json"};
}

// Wall-clock seconds; counters are processor seconds, peak memory and what the command reports.
void add_command(Plan& plan, const std::string& name, int repetitions,
                 const std::function<std::vector<std::string>()>& arguments) {
  const auto run = [arguments](benchmark::State& state) {
    for (auto _ : state) {
      const Child child = run_command(arguments());
      state.SetIterationTime(child.seconds);
      state.counters["processor seconds"] = child.processor_seconds;
      state.counters["peak bytes"] = child.peak_bytes;
      const auto json = nlohmann::json::parse(child.out, nullptr, false);
      if (!json.is_object()) continue;
      for (const char* field : {"ledger_bytes", "rows_per_second"}) {
        if (json.contains(field) && json[field].is_number()) {
          state.counters[field] = json[field].get<double>();
        }
      }
    }
  };
  plan.measure({.name = name,
                .unit = "s",
                .scale = 1,
                .run = run,
                .manual = true,
                .iterations = 1,
                .repetitions = repetitions});
}

struct Size {
  std::string measurement;
  double size;
};

// Growth exponent of the processor time with the size, one per repetition; 1: proportional.
void add_exponent(Plan& plan, const std::string& name, std::vector<Size> sizes) {
  const auto values = [sizes = std::move(sizes)](const Results& results) {
    std::vector<double> exponents;
    for (std::size_t k = 0;; ++k) {
      std::vector<double> x;
      std::vector<double> y;
      for (const Size& one : sizes) {
        const auto& costs = results.values(one.measurement + "/processor seconds");
        if (k >= costs.size()) return exponents;
        x.push_back(one.size);
        y.push_back(costs[k]);
      }
      exponents.push_back(fitted_exponent(x, y));
    }
  };
  plan.ratio({name, Better::smaller, Target{0.95, 1.05}, values});
}

// ---- Rows: fit and predict ---------------------------------------------------------------------------------

void add_rows(Plan& plan, const std::vector<std::size_t>& sizes) {
  std::vector<Size> fits;
  std::vector<Size> predictions;
  for (const std::size_t rows : sizes) {
    const int repetitions = rows > 500'000 || plan.quick ? 1 : 3;
    const auto name = [&](const char* what) {
      return fmt::format("commands/{}/{:07} rows", what, rows);
    };
    add_command(plan, name("dma fit"), repetitions,
                [rows] { return one_pass(rows, "50", model_file("rows")); });
    // Uses a model made in advance, because the order of measurements is random.
    add_command(plan, name("dma predict"), repetitions, [rows] {
      return std::vector<std::string>{"predict", model_file("prediction"), table_file(rows),
                                      "--output", (scratch_folder() / "predicted.csv").string()};
    });
    if (rows < 10'000) continue;  // starting the process is most of it
    fits.push_back({name("dma fit"), static_cast<double>(rows)});
    predictions.push_back({name("dma predict"), static_cast<double>(rows)});
  }
  // A quick run has other sizes, so they are part of the name.
  const std::string most = std::to_string(sizes.back());
  add_exponent(plan, "commands/dma fit/exponent up to " + most + " rows", fits);
  add_exponent(plan, "commands/dma predict/exponent up to " + most + " rows", predictions);
  for (const auto* of : {&fits, &predictions}) {
    const std::string name = of->front().measurement.substr(0, of->front().measurement.rfind('/'));
    plan.quotient(name + "/growth of the peak memory up to " + most + " rows",
                  of->back().measurement + "/peak bytes", of->front().measurement + "/peak bytes",
                  Better::smaller);
  }
}

// ---- Weights and batches -----------------------------------------------------------------------------------

void add_weights(Plan& plan) {
  std::vector<Size> sizes;
  for (const std::size_t width : {200U, 400U, 800U}) {
    const std::size_t weights = (features + 1) * width + (width + 1) * width + width + 1;
    const std::string name = fmt::format("commands/weights/{:06}", weights);
    add_command(plan, name, plan.quick ? 1 : 3, [width] {
      return one_pass(1000, fmt::format("{0},{0}", width), model_file("weights"));
    });
    sizes.push_back({name, static_cast<double>(weights)});
  }
  add_exponent(plan, "commands/weights/exponent", sizes);
}

// Batches of 20 rows with a full ledger: its memory compared with that of the rows.
void add_batches(Plan& plan) {
  std::vector<Size> sizes;
  for (const std::size_t batches : {1000U, 2000U, 4000U}) {
    const std::string name = fmt::format("commands/batches/{:04}", batches);
    add_command(plan, name, plan.quick ? 1 : 3,
                [batches] { return with_ledger(20 * batches, model_file("batches")); });
    sizes.push_back({name, static_cast<double>(batches)});
  }
  add_exponent(plan, "commands/batches/exponent", sizes);
  const auto growth = [first = sizes.front().measurement,
                       last = sizes.back().measurement](const Results& results) {
    const auto grown = [&](const char* of) {
      return results.median(last + of) - results.median(first + of);
    };
    return std::vector{grown("/peak bytes") / grown("/ledger_bytes")};
  };
  plan.ratio({"commands/batches/growth of the peak memory over the ledger's", Better::smaller,
              std::nullopt, growth});
}

}  // namespace

void add_commands(Plan& plan) {
  const std::vector<std::size_t> sizes =
      plan.quick ? std::vector<std::size_t>{1'000, 20'000, 100'000}
                 : std::vector<std::size_t>{1'000, 100'000, 550'000, 3'000'000};
  fmt::print(stderr, "writing tables of up to {} rows\n", sizes.back());
  for (const std::size_t rows : sizes) table_file(rows);
  run_command(one_pass(1'000, "50", model_file("prediction")));
  add_rows(plan, sizes);
  add_weights(plan);
  add_batches(plan);
}

}  // namespace dma::bench
