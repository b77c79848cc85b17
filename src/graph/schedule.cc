#include <dma/graph/schedule.h>

#include <algorithm>

#include <dma/graph/graph.h>

#include "graph/adjacency.h"

namespace dma {
namespace {

constexpr std::uint32_t none = UINT32_MAX;

// Factors in breadth-first order from the root of each component, with the edge that leads back.
struct Traversal {
  std::vector<std::uint32_t> factors;
  std::vector<std::uint32_t> parent_edge;  // factor -> edge towards the root
  std::uint32_t cycle_at = none;           // a variable that is reached in two ways
};

Traversal traverse(std::span<const std::uint32_t> edge_begin,
                   std::span<const std::uint32_t> edge_variable, std::size_t variables,
                   const std::vector<bool>& forgotten) {
  const auto by_variable = detail::adjacency(variables, edge_variable);
  const auto edge_factor = detail::edge_factors(edge_begin);
  Traversal result{{}, std::vector<std::uint32_t>(edge_begin.size() - 1, none), none};
  std::vector<std::uint32_t> parent(variables, none);  // variable -> factor that reached it
  std::vector<bool> seen(variables);
  std::vector<std::uint32_t> queue;
  queue.reserve(variables);
  // The last variable of a component is its root, so that forward follows the order of insertion.
  for (std::size_t root = variables; root-- > 0;) {
    if (seen[root]) continue;
    seen[root] = true;
    queue.clear();
    queue.push_back(static_cast<std::uint32_t>(root));
    for (std::size_t head = 0; head < queue.size(); ++head) {
      const std::uint32_t variable = queue[head];
      for (std::uint32_t i = by_variable.begin[variable]; i < by_variable.begin[variable + 1];
           ++i) {
        const std::uint32_t factor = edge_factor[by_variable.edges[i]];
        if (factor == parent[variable] || forgotten[factor]) continue;
        if (result.parent_edge[factor] != none) {
          result.cycle_at = variable;
          return result;
        }
        result.parent_edge[factor] = by_variable.edges[i];
        result.factors.push_back(factor);
        for (std::uint32_t e = edge_begin[factor]; e < edge_begin[factor + 1]; ++e) {
          const std::uint32_t next = edge_variable[e];
          if (next == variable) continue;
          if (seen[next]) {
            result.cycle_at = next;
            return result;
          }
          seen[next] = true;
          parent[next] = factor;
          queue.push_back(next);
        }
      }
    }
  }
  return result;
}

}  // namespace

Schedule row_by_row(std::span<const RowStep> forward, std::span<const RowStep> backward) {
  std::uint32_t rows = 0;
  if (!backward.empty()) rows = backward.front().factors.rows;
  if (!forward.empty()) rows = forward.front().factors.rows;
  for (const auto& steps : {forward, backward}) {
    for (const RowStep& step : steps) {
      if (step.factors.rows == rows) continue;
      throw GraphError("a schedule row by row needs arrays of as many rows, got " +
                       std::to_string(rows) + " and " + std::to_string(step.factors.rows));
    }
  }
  Schedule schedule;
  schedule.forward.reserve(rows * forward.size());
  schedule.backward.reserve(rows * backward.size());
  for (std::uint32_t row = 0; row < rows; ++row) {
    for (const auto& [factors, edge] : forward)
      schedule.forward.push_back({factors.first + row, edge});
  }
  for (std::uint32_t row = rows; row-- > 0;) {
    for (const auto& [factors, edge] : backward)
      schedule.backward.push_back({factors.first + row, edge});
  }
  return schedule;
}

bool Graph::is_forest() const {
  return traverse(edge_begin_, edge_variable_, variable_count(), forgotten_).cycle_at == none;
}

Schedule Graph::tree_schedule() const {
  const Traversal order = traverse(edge_begin_, edge_variable_, variable_count(), forgotten_);
  if (order.cycle_at != none) {
    throw GraphError(
        "the tree schedule needs a graph without cycles, but there is one through variable '" +
        name(Variable{order.cycle_at}) + "': use the sequential schedule");
  }
  Schedule schedule;
  schedule.forward.reserve(order.factors.size());
  const auto towards_root = [&](std::uint32_t factor) {
    return Step{factor, order.parent_edge[factor] - edge_begin_[factor]};
  };
  // Factors with one edge do not depend on others: sending them first makes long runs of one kind.
  const auto is_leaf = [&](std::uint32_t factor) { return arity({factor}) == 1; };
  for (std::uint32_t factor = 0; factor < factor_count(); ++factor) {
    if (is_leaf(factor) && !forgotten_[factor]) schedule.forward.push_back({factor, 0});
  }
  for (auto factor = order.factors.rbegin(); factor != order.factors.rend(); ++factor) {
    if (!is_leaf(*factor)) schedule.forward.push_back(towards_root(*factor));
  }
  schedule.backward.reserve(edge_count() - schedule.forward.size());
  for (const std::uint32_t factor : order.factors) {
    for (std::uint32_t k = 0; k < arity({factor}); ++k) {
      if (edge_begin_[factor] + k != order.parent_edge[factor])
        schedule.backward.push_back({factor, k});
    }
  }
  return schedule;
}

Schedule Graph::sequential_schedule() const {
  std::vector<std::uint32_t> first(variable_count(), none);
  std::vector<std::uint32_t> last(variable_count(), none);
  for (std::uint32_t factor = 0; factor < factor_count(); ++factor) {
    if (forgotten_[factor]) continue;
    for (std::uint32_t e = edge_begin_[factor]; e < edge_begin_[factor + 1]; ++e) {
      if (first[edge_variable_[e]] == none) first[edge_variable_[e]] = factor;
      last[edge_variable_[e]] = factor;
    }
  }
  Schedule schedule;
  for (std::uint32_t factor = 0; factor < factor_count(); ++factor) {
    if (forgotten_[factor]) continue;
    for (std::uint32_t k = 0; k < arity({factor}); ++k) {
      if (last[edge({factor}, k).index] > factor) schedule.forward.push_back({factor, k});
    }
  }
  for (auto factor = static_cast<std::uint32_t>(factor_count()); factor-- > 0;) {
    if (forgotten_[factor]) continue;
    for (std::uint32_t k = 0; k < arity({factor}); ++k) {
      const std::uint32_t variable = edge({factor}, k).index;
      const bool alone = first[variable] == last[variable];
      if (first[variable] < factor || alone) schedule.backward.push_back({factor, k});
    }
  }
  return schedule;
}

Schedule Graph::assimilation_schedule() const {
  Schedule schedule;
  for (std::uint32_t factor = 0; factor < factor_count(); ++factor) {
    if (forgotten_[factor]) continue;
    for (std::uint32_t k = 0; k < arity({factor}); ++k) schedule.forward.push_back({factor, k});
  }
  return schedule;
}

Schedule Graph::schedule(const InferenceOptions& options) const {
  if (options.engine == Engine::adf) return assimilation_schedule();
  bool ignores_own_edge = options.engine != Engine::vmp;
  for (std::uint32_t f = 0; f < factor_count() && ignores_own_edge; ++f) {
    if (forgotten_[f]) continue;
    const FactorInfo& factor = info(FactorId{f});
    const bool direct = options.engine == Engine::direct && options.rule == Rule::direct &&
                        std::all_of(factor.edges.begin(), factor.edges.end(),
                                    [](const EdgeInfo& e) { return e.own_edge_reason.empty(); });
    ignores_own_edge = factor.conjugate || direct;
  }
  return ignores_own_edge && is_forest() ? tree_schedule() : sequential_schedule();
}

}  // namespace dma
