// Graphs as JSON. A small graph is swept by the engine that the first byte names; the rest is the file.
#include <nlohmann/json.hpp>

#include <sstream>

#include "cli/bad_input.h"
#include "cli/graph_json.h"
#include "fuzz.h"

namespace dma::fuzz {
namespace {

constexpr std::size_t most_factors = 12;

InferenceOptions options_from(std::uint8_t first) {
  InferenceOptions options;
  options.engine = static_cast<Engine>(first & 3U);
  options.rule = (first & 4U) != 0 ? Rule::linear : Rule::direct;
  options.on_improper = static_cast<OnImproper>((first >> 3U & 3U) % 3);
  options.sweeps = 1 + (first >> 5U & 1U);
  options.tolerance = (first & 64U) != 0 ? 1e-3 : 0;
  return options;
}

// Like the command.
void sweep(const cli::GraphFile& file, const InferenceOptions& options) {
  try {
    const bool supplied = file.schedule && options.engine != Engine::adf;
    const Schedule schedule = supplied ? *file.schedule : file.graph.schedule(options);
    require(file.graph.text(schedule).size() < 100000, "a small graph has a small schedule");
    const Beliefs beliefs = file.graph.infer(options, schedule);
    const nlohmann::json result = cli::to_json(file, beliefs, options);
    require(nlohmann::json::parse(result.dump()).size() == result.size(), "the answer is JSON");
  } catch (const GraphError&) {
  } catch (const std::invalid_argument&) {
  }
}

}  // namespace
}  // namespace dma::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dma::fuzz;
  if (size == 0) return 0;
  std::istringstream in{std::string(text_of(data + 1, size - 1))};
  try {
    const dma::cli::GraphFile file = dma::cli::read_graph(in, "graph.json");
    if (file.graph.factor_count() <= most_factors) sweep(file, options_from(data[0]));
  } catch (const dma::cli::BadInput& error) {
    require_one_line(error.what());
  }
  return 0;
}
