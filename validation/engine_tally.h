// validation/engine_tally.h: figures of one engine on many graphs (Table 1 of the paper, measured).
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <dma/graph/graph.h>

namespace dma::validation {

struct EngineChoice {
  std::string name;
  InferenceOptions options;
};

// A graph, and what is known about some of its variables.
struct Problem {
  Graph graph;
  Schedule schedule = {};  // for every engine but ADF, which has its own
  std::vector<Variable> variables = {};
  std::vector<Gaussian<double>> exact = {};  // the moments of the exact marginals; empty: unknown
  std::vector<Gaussian<double>> prior = {};  // may be empty
};

struct Tally {
  std::size_t graphs = 0, failed = 0, with_negative = 0, messages = 0, negative = 0;
  std::vector<double> sweeps;  // one per graph
  // One per variable whose marginal is a distribution.
  std::vector<double> variance_kept, variance_to_prior, kl, mean_error;

  void add(const EngineChoice& engine, const Problem& problem);
  void append(const Tally& other);
  nlohmann::json to_json() const;

 private:
  void count_messages(const Graph& graph, const Beliefs& beliefs);
  void compare(const Beliefs& beliefs, const Problem& problem);
};

Tally tally(const EngineChoice& engine, std::span<const Problem> problems);

// How each figure of Tally::to_json is defined.
nlohmann::json tally_definitions();

// The smallest value that has a share `level` < 1 of the values below it.
double quantile(std::vector<double> values, double level);

}  // namespace dma::validation
