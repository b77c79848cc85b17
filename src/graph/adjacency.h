// graph/adjacency.h: the edges of a factor graph, listed by variable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <dma/graph/factor_table.h>
#include <dma/graph/schedule.h>

namespace dma::detail {

struct Adjacency {
  std::vector<std::size_t> begin;  // variable -> its first place in edges; one more at the end
  std::vector<Step> edges;         // ascending within a variable

  std::span<const Step> of(std::size_t variable) const {
    return std::span(edges).subspan(begin[variable], begin[variable + 1] - begin[variable]);
  }
};

inline Adjacency adjacency(std::size_t variables, const FactorTable& table) {
  Adjacency result{std::vector<std::size_t>(variables + 1), {}};
  const auto visit_edges = [&](const auto& visit) {
    table.for_each([&](std::uint32_t number, const FactorView& factor) {
      for (std::uint32_t k = 0; k < factor.variables.size(); ++k) {
        if (!is_known(factor.variables[k])) visit(factor.variables[k], Step{number, k});
      }
    });
  };
  visit_edges([&](std::uint32_t variable, Step) { ++result.begin[variable + 1]; });
  for (std::size_t v = 0; v < variables; ++v) result.begin[v + 1] += result.begin[v];
  result.edges.resize(result.begin.back());
  std::vector<std::size_t> next(result.begin.begin(), result.begin.end() - 1);
  visit_edges([&](std::uint32_t variable, Step edge) { result.edges[next[variable]++] = edge; });
  return result;
}

}  // namespace dma::detail
