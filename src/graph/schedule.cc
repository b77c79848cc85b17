#include <dma/graph/schedule.h>

#include <algorithm>
#include <utility>

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

Traversal traverse(const detail::FactorTable& table, std::size_t variables,
                   const std::vector<bool>& forgotten) {
  const auto by_variable = detail::adjacency(variables, table);
  detail::FactorTable::Reader read(table);
  Traversal result{{}, std::vector<std::uint32_t>(table.factor_count(), none), none};
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
      for (const Step edge : by_variable.of(variable)) {
        const std::uint32_t factor = edge.factor;
        if (factor == parent[variable] || forgotten[factor]) continue;
        if (result.parent_edge[factor] != none) {
          result.cycle_at = variable;
          return result;
        }
        result.parent_edge[factor] = edge.edge;
        result.factors.push_back(factor);
        for (const std::uint32_t next : read(factor).variables) {
          if (next == variable || detail::is_known(next)) continue;
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

// Steps from one factor after the other. Neighbours of one array that send to the same edges become rows.
class Visits {
 public:
  explicit Visits(const detail::FactorTable& table) : table_(table) {}

  // Steps to some edges of a factor, ascending.
  void add(std::uint32_t factor, std::span<const std::uint32_t> edges) {
    if (edges.empty()) return;
    if (rows_ == 1) back_ = factor + 1 == first_;
    const bool next = rows_ > 0 && factor == first_ + (back_ ? 0U - rows_ : rows_);
    if (next && factor - array_.first < array_.rows &&
        std::equal(edges.begin(), edges.end(), edges_.begin(), edges_.end())) {
      ++rows_;
      return;
    }
    flush();
    if (factor - array_.first >= array_.rows) array_ = table_.alike(factor);
    first_ = factor;
    rows_ = 1;
    edges_.assign(edges.begin(), edges.end());
  }

  Steps take() {
    flush();
    return std::move(steps_);
  }

 private:
  void flush() {
    pattern_.clear();
    for (const std::uint32_t edge : edges_) pattern_.push_back({first_, edge});
    steps_.append_rows(pattern_, rows_, back_);
    rows_ = 0;
  }

  const detail::FactorTable& table_;
  bool back_ = false;
  FactorArray array_{};
  std::uint32_t first_ = 0, rows_ = 0;  // factors that wait to be added
  std::vector<std::uint32_t> edges_;
  std::vector<Step> pattern_;
  Steps steps_;
};

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
  const auto of_row = [](std::span<const RowStep> steps, std::uint32_t row) {
    std::vector<Step> pattern;
    for (const auto& [factors, edge] : steps) pattern.push_back({factors.first + row, edge});
    return pattern;
  };
  Schedule schedule;
  if (rows == 0) return schedule;
  schedule.forward.append_rows(of_row(forward, 0), rows);
  schedule.backward.append_rows(of_row(backward, rows - 1), rows, true);
  return schedule;
}

bool Graph::is_forest() const {
  return traverse(table_, variable_count(), forgotten_).cycle_at == none;
}

Schedule Graph::tree_schedule() const {
  const Traversal order = traverse(table_, variable_count(), forgotten_);
  if (order.cycle_at != none) {
    throw GraphError(
        "the tree schedule needs a graph without cycles, but there is one through variable '" +
        name(Variable{order.cycle_at}) + "': use the sequential schedule");
  }
  // Factors with one edge do not depend on others: sending them first makes long runs of one kind.
  detail::FactorTable::Reader read(table_);
  const auto is_leaf = [&](std::uint32_t factor) { return read(factor).variables.size() == 1; };
  std::vector<std::uint32_t> edges;
  // By way of the root all variables are reached, but for known ones.
  const auto add = [&](Visits& visits, std::uint32_t factor, bool to_root) {
    edges.clear();
    const auto variables = read(factor).variables;
    for (std::uint32_t k = 0; k < variables.size(); ++k) {
      const bool wanted = (k == order.parent_edge[factor]) == to_root;
      if (wanted && !detail::is_known(variables[k])) edges.push_back(k);
    }
    visits.add(factor, edges);
  };
  Visits leaves(table_), forward(table_), backward(table_);
  for (std::uint32_t factor = 0; factor < factor_count(); ++factor) {
    if (!forgotten_[factor] && is_leaf(factor)) add(leaves, factor, true);
  }
  for (auto factor = order.factors.rbegin(); factor != order.factors.rend(); ++factor) {
    if (!is_leaf(*factor)) add(forward, *factor, true);
  }
  for (const std::uint32_t factor : order.factors) add(backward, factor, false);
  Schedule schedule{leaves.take(), backward.take()};
  schedule.forward.append(forward.take());
  return schedule;
}

Schedule Graph::sequential_schedule() const {
  std::vector<std::uint32_t> first(variable_count(), none);
  std::vector<std::uint32_t> last(variable_count(), none);
  table_.for_each([&](std::uint32_t factor, const detail::FactorView& view) {
    if (forgotten_[factor]) return;
    for (const std::uint32_t variable : view.variables) {
      if (detail::is_known(variable)) continue;
      if (first[variable] == none) first[variable] = factor;
      last[variable] = factor;
    }
  });
  detail::FactorTable::Reader read(table_);
  std::vector<std::uint32_t> edges;
  // To the variables of a factor that are wanted.
  const auto add = [&](Visits& visits, std::uint32_t factor, const auto& wanted) {
    if (forgotten_[factor]) return;
    edges.clear();
    const auto variables = read(factor).variables;
    for (std::uint32_t k = 0; k < variables.size(); ++k) {
      if (!detail::is_known(variables[k]) && wanted(variables[k])) edges.push_back(k);
    }
    visits.add(factor, edges);
  };
  Visits forward(table_), backward(table_);
  for (std::uint32_t factor = 0; factor < factor_count(); ++factor)
    add(forward, factor, [&](std::uint32_t variable) { return last[variable] > factor; });
  for (auto factor = static_cast<std::uint32_t>(factor_count()); factor-- > 0;) {
    add(backward, factor, [&](std::uint32_t variable) {
      return first[variable] < factor || first[variable] == last[variable];
    });
  }
  return {forward.take(), backward.take()};
}

Schedule Graph::assimilation_schedule() const {
  Visits forward(table_);
  std::vector<std::uint32_t> edges;
  table_.for_each([&](std::uint32_t factor, const detail::FactorView& view) {
    if (forgotten_[factor]) return;
    edges.clear();
    for (std::uint32_t k = 0; k < view.variables.size(); ++k) {
      if (!detail::is_known(view.variables[k])) edges.push_back(k);
    }
    forward.add(factor, edges);
  });
  return {forward.take(), {}};
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
