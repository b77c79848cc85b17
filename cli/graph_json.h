// cli/graph_json.h: factor graphs of built-in factors as JSON (docs/graph-json.md).
#pragma once

#include <dma/graph/graph.h>

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <stdexcept>
#include <string>

namespace dma::cli {

// The file cannot be read as a graph; the text names the file and the place in it.
struct BadInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct GraphFile {
  Graph graph;
  std::optional<Schedule> schedule;
};

// Parses the file; errors begin with its name.
GraphFile read_graph(const std::string& path);

nlohmann::json to_json(const Graph& graph, const Beliefs& beliefs, const InferenceOptions& options);

}  // namespace dma::cli
