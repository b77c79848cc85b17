// graph/graph.h: a factor graph of named variables and any factors, and inference on it.
//
//   dma::Graph g;                                   // z = x y, z observed
//   auto x = g.variable("x"), y = g.variable("y"), z = g.variable("z");
//   g.add(dma::Prior{3, 1}, x);
//   g.add(dma::Prior{4, 1}, y);
//   g.add(dma::Product{}, z, x, y);
//   g.add(dma::Observation{10, 5}, z);
//   auto beliefs = g.sweep();                       // one forward, one backward
//   beliefs.marginal(x).mean();
//
// It holds flat arrays: factors of one type are in one vector, edges and messages in another. A sweep goes over runs of
// steps whose factors have the same type: no allocation, no virtual call and no look-up by name.
#pragma once

#include <any>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <dma/factors/factor.h>
#include <dma/graph/inference.h>
#include <dma/graph/schedule.h>
#include <dma/messages/gaussian.h>

namespace dma {

// Something is wrong with the graph, the schedule or the request; the text names the place.
struct GraphError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Variable {
  std::uint32_t index;
};

struct FactorId {
  std::uint32_t index;
};

namespace detail {
struct FactorKind;
struct SweepState;
}  // namespace detail

class Graph {
 public:
  // Adds a variable. The name must be new; without one it is called v0, v1, ...
  Variable variable(std::string name);
  Variable variable();

  // Adds a factor on these variables, in the order of its edges.
  template <Factor F, class... Variables>
  requires(std::same_as<Variables, Variable>&&...) FactorId add(F factor, Variables... edges) {
    return add(std::move(factor), std::span<const Variable>(std::array{edges...}));
  }
  template <Factor F>
  FactorId add(F factor, std::span<const Variable> edges);

  // Names this factor in messages; without a name it is called by its type and number.
  void set_name(FactorId factor, std::string name);

  std::size_t variable_count() const { return variable_names_.size(); }
  std::size_t factor_count() const { return factor_kind_.size(); }
  std::size_t edge_count() const { return edge_variable_.size(); }
  std::size_t arity(FactorId factor) const {
    return edge_begin_[factor.index + 1] - edge_begin_[factor.index];
  }
  Variable edge(FactorId factor, std::size_t edge) const {
    return {edge_variable_[edge_begin_[factor.index] + edge]};
  }
  const std::string& name(Variable variable) const { return variable_names_[variable.index]; }
  std::string name(FactorId factor) const;
  const FactorInfo& info(FactorId factor) const;
  // Throws GraphError if there is no variable of this name.
  Variable find(const std::string& name) const;

  // Whether there is no cycle, so that every message needs to be sent only once.
  bool is_forest() const;
  // From the leaves to the root and back: exact on a tree. Throws GraphError if there is a cycle.
  Schedule tree_schedule() const;
  // Factors in the order of insertion, then in reverse: a factor sends forward to the variables that
  // later factors share, and backward to those that earlier ones share.
  Schedule sequential_schedule() const;
  // The schedule that infer() uses: the tree schedule if it is exact in one sweep (no cycle, and messages that
  // do not depend on their own edge), the assimilation schedule for ADF, else the sequential one.
  Schedule schedule(const InferenceOptions& options = {}) const;
  // Every factor in the order of insertion, to all of its edges; no backward steps (ADF).
  Schedule assimilation_schedule() const;
  // One line per step: "forward product#2 -> z".
  std::string text(const Schedule& schedule) const;

  // Runs one forward and one backward sweep of direct messages, on schedule().
  Beliefs sweep(Rule rule = Rule::direct) const;
  Beliefs infer(const InferenceOptions& options) const;
  Beliefs infer(const InferenceOptions& options, const Schedule& schedule) const;

 private:
  void check_edges(const FactorInfo& info, std::size_t arity,
                   std::span<const Variable> edges) const;
  FactorId append(std::uint16_t kind, std::uint32_t local, std::span<const Variable> edges);
  std::uint16_t kind_index(const detail::FactorKind& kind, std::any (*empty)());
  // Names the next factor in errors.
  std::string place(const FactorInfo& info) const;
  std::string place(Step step) const;
  void check_step(const InferenceOptions& options, Step step) const;
  detail::SweepState initial_state(const InferenceOptions& options, Beliefs& result) const;
  std::vector<Gaussian<double>> marginals(const detail::SweepState& state) const;

  std::vector<std::string> variable_names_;
  std::unordered_map<std::string, std::uint32_t> variable_by_name_;
  std::unordered_map<std::uint32_t, std::string> factor_names_;

  std::vector<const detail::FactorKind*> kinds_;
  std::vector<std::any> factors_;  // one std::vector<F> per kind

  std::vector<std::uint16_t> factor_kind_;
  std::vector<std::uint32_t> factor_local_;  // position in its kind's vector
  std::vector<std::uint32_t> edge_begin_{0};
  std::vector<std::uint32_t> edge_variable_;
};

}  // namespace dma

#include <dma/graph/kinds.h>
