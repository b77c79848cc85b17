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

#include <algorithm>
#include <any>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <dma/factors/factor.h>
#include <dma/graph/arrays.h>
#include <dma/graph/factor_table.h>
#include <dma/graph/inference.h>
#include <dma/graph/schedule.h>
#include <dma/messages/gaussian.h>

namespace dma {

namespace detail {
struct FactorKind;
}  // namespace detail

// How many variables an array has; a number converts to so many rows. With columns, its elements are called
// name[row,column].
struct Shape {
  std::size_t rows;
  std::size_t columns = 0;

  Shape(std::size_t row_count) : rows(row_count) {}
  Shape(std::size_t row_count, std::size_t column_count) : rows(row_count), columns(column_count) {}
};

// A variable, or an array of them.
struct NamedVariables {
  std::string name;
  std::uint32_t first;
  std::uint32_t rows = 0;     // 0: one variable, without an index
  std::uint32_t columns = 0;  // 0: elements have one index
  // Decided by the first factor that is added to one of them.
  std::optional<MessageFamily> family = {};

  bool is_array() const { return rows > 0; }
  VariableArray array() const { return {first, std::max(1U, rows), std::max(1U, columns)}; }
};

// A factor whose type and parameters depend on the row.
template <class Make>
concept FactorMaker = std::invocable<const Make&, std::size_t> &&
    Factor<std::remove_cvref_t<std::invoke_result_t<const Make&, std::size_t>>>;

class Graph {
 public:
  // Adds a variable. The name must be new; without one it is called v0, v1, ...
  Variable variable(std::string name);
  Variable variable();

  // Adds an array of variables, called name[0], name[1], ... (name[0,0], ... of a Shape with columns).
  VariableArray variables(std::string name, Shape shape);
  // The same with a factor on every element.
  template <class Prior>
  VariableArray variables(std::string name, Shape shape, const Prior& prior) {
    const VariableArray array = variables(std::move(name), shape);
    add(prior, {array.flat()});
    return array;
  }

  // Numbers that are known, as a name for the edges of factors: instead of a variable that is observed without noise, in 8
  // bytes. They have no belief, and nothing is sent to them.
  VariableArray known(std::string name, std::span<const double> values);
  Variable known(std::string name, double value);

  // Adds a factor on these variables, in the order of its edges.
  template <Factor F, class... Variables>
  requires(std::same_as<Variables, Variable>&&...) FactorId add(F factor, Variables... edges) {
    return add(std::move(factor), std::span<const Variable>(std::array{edges...}));
  }
  template <Factor F>
  FactorId add(F factor, std::span<const Variable> edges);

  // Adds a factor for each row, as if one by one in their order. All share these parameters, in memory too.
  template <Factor F>
  FactorArray add(const F& factor, std::initializer_list<EdgeRows> edges) {
    return add(factor, std::span<const EdgeRows>(edges.begin(), edges.size()));
  }
  template <Factor F>
  FactorArray add(const F& factor, std::span<const EdgeRows> edges);
  // The same with the factor make(row), which may hold observed values.
  template <FactorMaker Make>
  FactorArray add(const Make& make, std::initializer_list<EdgeRows> edges) {
    return add(make, std::span<const EdgeRows>(edges.begin(), edges.size()));
  }
  template <FactorMaker Make>
  FactorArray add(const Make& make, std::span<const EdgeRows> edges);

  // Names this factor in messages; without a name it is called by its type and number.
  void set_name(FactorId factor, std::string name);
  // Names these factors name[0], name[1], ...
  void set_name(FactorArray factors, std::string name);

  // Takes back what a factor says: no schedule visits it, inference that goes on does without its messages, and no
  // evidence counts it. Its number and its name remain.
  void forget(FactorId factor);
  void forget(FactorArray factors);
  bool is_forgotten(FactorId factor) const { return forgotten_[factor.index]; }

  std::size_t variable_count() const { return variable_count_; }
  std::size_t factor_count() const { return table_.factor_count(); }
  std::size_t edge_count() const { return table_.edge_count(); }
  std::size_t arity(FactorId factor) const { return table_.arity(factor.index); }
  Variable edge(FactorId factor, std::size_t edge) const {
    return {table_.variable(factor.index, edge)};
  }
  // Whether there are such variables, or known numbers.
  bool has(const VariableArray& array) const;
  bool has(Variable variable) const { return has(VariableArray{variable.index, 1, 1}); }
  std::string name(Variable variable) const;
  std::string name(FactorId factor) const;
  // What set_name gave it, else the names of its first and last factor.
  std::string name(FactorArray factors) const;
  const FactorInfo& info(FactorId factor) const;
  // Gaussian before a factor is added to it.
  MessageFamily family(Variable variable) const;
  // Throws GraphError if there is no variable of this name, or it is an array; skill[3] is an element.
  Variable find(const std::string& name) const;
  // Throws GraphError if there is no array of this name.
  VariableArray find_array(const std::string& name) const;
  // Throws GraphError if there is no factor of this name.
  FactorId find_factor(const std::string& name) const;
  // Variables and arrays, in the order in which they were added.
  std::span<const NamedVariables> names() const { return variable_names_; }
  // Factors that were added over rows, in the order in which they were added.
  std::span<const FactorArray> factor_arrays() const { return factor_arrays_; }

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
  // One line per step: "forward product#2 -> z". Steps of an array that follow each other share a line: "forward
  // sum#3 ... sum#9 -> edge 1 (x)".
  std::string text(const Schedule& schedule) const;

  // Runs one forward and one backward sweep of direct messages, on schedule().
  Beliefs sweep(Rule rule = Rule::direct) const;
  Beliefs infer(const InferenceOptions& options) const;
  Beliefs infer(const InferenceOptions& options, const Schedule& schedule) const;
  // Goes on from beliefs of this graph as it is, or as it was before it grew or forgot: factors added since have sent
  // nothing yet. A schedule of the new factors alone moves only what they touch.
  Beliefs infer(const InferenceOptions& options, const Schedule& schedule,
                const Beliefs& start) const;

  // log of the probability of all that was observed, from beliefs of the engine direct or ep that have converged:
  //
  //   sum_f log Z_f + sum_v log Z_v - sum_(f, v) log Z_fv
  //
  // with Z_f of factors/normaliser.h under the messages from its variables, Z_v the integral of the messages to v, and
  // Z_fv that of the two messages on an edge. Exact on a tree if every message is, or if one factor at most is
  // approximated between exact ones; the Bethe approximation otherwise. Throws GraphError where an integral does not exist,
  // or a factor has no log_normaliser.
  double log_evidence(const Beliefs& beliefs) const;

  // Throws GraphError unless these beliefs are of this graph as it is, or as it was before it grew or forgot.
  void check_own(const Beliefs& beliefs) const;

 private:
  // The same for graphs whose first so many factors are of the same types and connected alike.
  std::uint64_t structure(std::size_t factors) const;
  void check_edges(const FactorInfo& info, std::size_t arity,
                   std::span<const Variable> edges) const;
  FactorId append(std::uint16_t kind, std::uint32_t local, std::span<const Variable> edges);
  std::uint16_t kind_index(const detail::FactorKind& kind, std::any (*empty)());
  template <Factor F>
  std::vector<F>& factors_of_type(std::uint16_t& kind);
  template <Factor F>
  void validate(const F& factor, std::optional<std::size_t> row = {}) const;
  // How many rows the edges agree on.
  std::size_t row_count(std::span<const EdgeRows> edges) const;
  // Throws unless the factor has as many edges.
  void check_width(const FactorInfo& info, std::size_t arity,
                   std::span<const EdgeRows> edges) const;
  // Throws unless the edges of this row are different variables of this graph.
  void check_row(const FactorInfo& info, std::span<const EdgeRows> edges, std::size_t row) const;
  // What the edges are connected to; throws the error of the first row that has one.
  std::vector<detail::EdgeColumn> columns_of(const FactorInfo& info,
                                             std::span<const EdgeRows> edges,
                                             std::size_t rows) const;
  // Adds factors that are at `local`, local + stride, ... among their kind.
  FactorArray append_rows(std::uint16_t kind, std::size_t local, std::size_t stride,
                          std::vector<detail::EdgeColumn> columns, std::size_t rows);
  void check_size(std::size_t more_edges) const;
  // Throws unless these variables are, or can become, of the families that the factor's edges take.
  void take_families(const FactorInfo& info, std::span<const EdgeRows> edges);
  // By variable; nothing if all are Gaussian.
  std::vector<MessageFamily> families() const;
  void check_new_name(const std::string& name) const;
  const NamedVariables& names_of(Variable variable) const;
  std::optional<Variable> element(const std::string& name) const;
  // Names the next factor in errors.
  std::string place(const FactorInfo& info) const;
  std::string place(const FactorInfo& info, std::size_t row) const;
  std::string place(Step step) const;
  void check_step(const InferenceOptions& options, Step step) const;
  void check_steps(const InferenceOptions& options, const Steps& steps) const;
  Beliefs infer_from(const InferenceOptions& options, const Schedule& schedule,
                     const Beliefs* start) const;
  std::vector<double> message_scales(const Beliefs& beliefs) const;
  // The messages of these beliefs, where this graph keeps them; those of forgotten factors are uniform.
  std::vector<Gaussian<double>> messages_of(const Beliefs& beliefs) const;
  // The product of every variable's messages.
  std::vector<Gaussian<double>> products(std::span<const Gaussian<double>> messages) const;

  std::size_t variable_count_ = 0;
  std::vector<NamedVariables> variable_names_;
  std::vector<NamedVariables> known_names_;  // numbered from detail::known_begin on
  std::vector<double> known_;
  std::unordered_map<std::string, std::uint32_t> variable_by_name_;  // place in variable_names_
  std::vector<FactorArray> factor_arrays_;
  // By first factor; those of arrays stand for all rows.
  std::unordered_map<std::uint32_t, std::string> factor_names_;
  std::unordered_map<std::string, std::uint32_t> factor_by_name_;

  std::vector<const detail::FactorKind*> kinds_;
  std::vector<std::any> factors_;  // one std::vector<F> per kind

  detail::FactorTable table_;
  std::vector<bool> forgotten_;  // by factor
  std::size_t forgotten_count_ = 0;
  std::uint64_t structure_ = 0;  // of all factors
};

}  // namespace dma

#include <dma/graph/kinds.h>
