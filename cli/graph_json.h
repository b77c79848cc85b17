// cli/graph_json.h: factor graphs of built-in factors as JSON (docs/graph-json.md).
#pragma once

#include <dma/graph/graph.h>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace dma::cli {

struct GraphFile {
  Graph graph;
  std::optional<Schedule> schedule;
  // Of arrays over distinct values: what their rows are called.
  std::unordered_map<std::string, std::vector<std::string>> labels;
  std::string about;
  std::map<std::string, std::size_t> plates;  // how many elements each has
  // Of arrays by their name, and of factors on a plate by their first.
  std::unordered_map<std::string, std::string> plate_of_variables;
  std::unordered_map<std::uint32_t, std::string> plate_of_factors;

  // As the graph calls it, but skill[Brazil] where rows have labels.
  std::string name(Variable variable) const;
};

// Throws BadInput with the name of the file and the place in it. data_path: the table that plates range over, or empty.
GraphFile read_graph(const std::string& path, const std::string& data_path = {});
// The same for an open stream.
GraphFile read_graph(std::istream& in, const std::string& path, const std::string& data_path = {});

// The log evidence, or why there is none.
struct Evidence {
  std::optional<double> log = {};
  std::string why = {};
};
Evidence evidence_of(const Graph& graph, const Beliefs& beliefs);

// Null if it is not finite: JSON has no infinity.
nlohmann::json finite(double value);

// Single variables, and those of arrays that have at most so many.
std::vector<Variable> listed(const Graph& graph, std::size_t most_elements);

// A factor, or those of an array.
struct FactorNode {
  FactorArray factors;
  bool is_array;
};
// All factors, in the order in which they were added.
std::vector<FactorNode> factor_nodes(const Graph& graph);

nlohmann::json to_json(const GraphFile& file, const Beliefs& beliefs,
                       const InferenceOptions& options);

}  // namespace dma::cli
