// dma_bench: what the library costs, as ratios between measurements of one run.
#include <fmt/core.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/accepted.h"
#include "bench/machine.h"
#include "bench/report.h"
#include "bench/sections.h"

namespace dma::bench {
namespace {

struct Section {
  const char* name;
  const char* what;
  void (*add)(Plan&);
};

constexpr std::array<Section, 9> all_sections{{
    {"kernels", "one layer: nanoseconds per weight, share of the machine's ceilings", add_kernels},
    {"joint", "the joint belief's algebra: share of the matrix product's rate; rows predicted",
     add_joint},
    {"epochs", "five networks compared with Adam, the scalar kernel and the graph engine",
     add_epochs},
    {"quality", "seconds until the held-out likelihood equals Adam's", add_quality},
    {"commands", "dma fit and dma predict on up to 3,000,000 rows; how cost grows", add_commands},
    {"honesty", "the cost of the certificate and the cavity score", add_honesty},
    {"threads", "two threads compared with one", add_threads},
    {"graph", "the factor-graph engine: cost per message and per variable", add_graph},
    {"images", "Fashion-MNIST: error, calibration and seconds per pass, beside Adam's", add_images},
}};

constexpr int wrong_usage = 2;

struct Usage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Arguments {
  std::vector<std::string> sections;
  std::optional<std::string> json;  // a file, or - for standard output
  bool check = false, accept = false, quick = false, help = false;
};

std::string help() {
  std::string text =
      "usage: dma_bench [SECTION...] [--json FILE|-] [--check] [--accept] [--quick]\n\n"
      "sections (default: all):\n";
  for (const Section& section : all_sections) {
    text += fmt::format("  {:<10} {}\n", section.name, section.what);
  }
  return text +
         "\n  --json FILE  write the run as one JSON object; -: to standard output\n"
         "  --check      fail if a ratio is more than 15 % worse than the accepted one\n"
         "  --accept     make this run's ratios the accepted ones for this kind of machine\n"
         "  --quick      fewer sizes and repetitions: one or two minutes\n";
}

bool is_section(const std::string& name) {
  for (const Section& section : all_sections) {
    if (name == section.name) return true;
  }
  return false;
}

Arguments parse(const std::vector<std::string>& words) {
  Arguments result;
  for (std::size_t k = 0; k < words.size(); ++k) {
    const std::string& word = words[k];
    if (word == "--check") {
      result.check = true;
    } else if (word == "--accept") {
      result.accept = true;
    } else if (word == "--quick") {
      result.quick = true;
    } else if (word == "--help" || word == "-h") {
      result.help = true;
    } else if (word == "--json") {
      if (++k == words.size()) throw Usage("--json takes a file, or - for standard output");
      result.json = words[k];
    } else if (is_section(word)) {
      result.sections.push_back(word);
    } else {
      throw Usage("there is no " + std::string(word[0] == '-' ? "option " : "section ") + word);
    }
  }
  if (result.accept && result.quick) throw Usage("a quick run cannot be accepted");
  if (result.accept && result.check) throw Usage("--check and --accept exclude each other");
  if (result.sections.empty()) {
    for (const Section& section : all_sections) result.sections.emplace_back(section.name);
  }
  return result;
}

Report measure(const Arguments& arguments) {
  Plan plan(arguments.quick);
  for (const Section& section : all_sections) {
    for (const std::string& name : arguments.sections) {
      if (name == section.name) section.add(plan);
    }
  }
  return plan.run();
}

void print(const Arguments& arguments, const Report& report) {
  if (arguments.json == "-") {
    fmt::print("{}", json(report));
    return;
  }
  fmt::print("{}", table(report));
  if (!arguments.json) return;
  std::ofstream file(*arguments.json);
  file << json(report);
  if (!file.flush()) throw std::runtime_error(*arguments.json + ": cannot be written");
}

int run(const Arguments& arguments) {
  if (arguments.help) {
    fmt::print("{}", help());
    return EXIT_SUCCESS;
  }
  const auto path = accepted_file(DMA_ACCEPTED_DIR, machine_kind());
  if (arguments.check && !std::filesystem::exists(path)) {
    throw std::runtime_error("nothing was checked: no accepted ratios for this kind of machine (" +
                             path.filename().string() + "); --accept stores them");
  }
  const Report report = measure(arguments);
  print(arguments, report);
  if (arguments.accept) write_accepted(path, report, arguments.sections);
  if (!arguments.check) return EXIT_SUCCESS;
  const Check found = check(read_accepted(path), report, arguments.sections);
  fmt::print(stderr, "{}", text(found));
  return found.passed() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace dma::bench

int main(int argc, char** argv) {
  // Set before any library reads it: all comparisons use one thread.
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  try {
    return dma::bench::run(dma::bench::parse({argv + 1, argv + argc}));
  } catch (const dma::bench::Usage& error) {
    fmt::print(stderr, "dma_bench: {}; see --help\n", error.what());
    return dma::bench::wrong_usage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "dma_bench: {}\n", error.what());
    return EXIT_FAILURE;
  }
}
