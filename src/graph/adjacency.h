// graph/adjacency.h: the edges of a factor graph, listed by variable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dma::detail {

struct Adjacency {
  std::vector<std::uint32_t> begin;  // variable -> its first place in edges; one more at the end
  std::vector<std::uint32_t> edges;  // ascending within a variable
};

inline Adjacency adjacency(std::size_t variables, std::span<const std::uint32_t> edge_variable) {
  Adjacency result{std::vector<std::uint32_t>(variables + 1),
                   std::vector<std::uint32_t>(edge_variable.size())};
  for (const std::uint32_t variable : edge_variable) ++result.begin[variable + 1];
  for (std::size_t v = 0; v < variables; ++v) result.begin[v + 1] += result.begin[v];
  std::vector<std::uint32_t> next(result.begin.begin(), result.begin.end() - 1);
  for (std::uint32_t edge = 0; edge < edge_variable.size(); ++edge) {
    result.edges[next[edge_variable[edge]]++] = edge;
  }
  return result;
}

// Maps each edge to its factor.
inline std::vector<std::uint32_t> edge_factors(std::span<const std::uint32_t> edge_begin) {
  std::vector<std::uint32_t> factor(edge_begin.back());
  for (std::uint32_t f = 0; f + 1 < edge_begin.size(); ++f) {
    for (std::uint32_t e = edge_begin[f]; e < edge_begin[f + 1]; ++e) factor[e] = f;
  }
  return factor;
}

}  // namespace dma::detail
