// cli/graph_json.h: factor graphs of built-in factors as JSON (docs/graph-json.md).
#pragma once

#include <dma/graph/graph.h>

#include <nlohmann/json_fwd.hpp>

#include <iosfwd>
#include <optional>
#include <string>

namespace dma::cli {

struct GraphFile {
  Graph graph;
  std::optional<Schedule> schedule;
};

// Throws BadInput with the name of the file and the place in it.
GraphFile read_graph(const std::string& path);
// The same for an open stream.
GraphFile read_graph(std::istream& in, const std::string& path);

nlohmann::json to_json(const Graph& graph, const Beliefs& beliefs, const InferenceOptions& options);

}  // namespace dma::cli
