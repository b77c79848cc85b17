// python/core/graph.h: a graph as dma._core holds it.
#pragma once

#include <dma/graph/graph.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace dma::python {

// Inference runs without Python's lock, and a factor may itself be a Python function: nothing may change the
// graph meanwhile. Read and written under the lock.
struct SharedGraph {
  Graph graph;
  int running = 0;

  // The graph, to change it.
  Graph& idle();
};

using GraphClass = pybind11::class_<SharedGraph>;

// Factor classes, what adds them to a graph, and check_factor.
void bind_factors(pybind11::module_& module, GraphClass& graph);

std::vector<Variable> variables_of(const std::vector<std::uint32_t>& indices);

using Indices = pybind11::array_t<std::int64_t, pybind11::array::c_style>;

// Edges over rows: (first, rows, columns, indices). indices: an array of row numbers; None for the rows in order; the
// number of repetitions, or None, of a single variable, which has rows 0.
class EdgesOfRows {
 public:
  explicit EdgesOfRows(const pybind11::list& edges);
  std::span<const EdgeRows> edges() const { return edges_; }

 private:
  std::vector<Indices> indices_;  // kept alive
  std::vector<EdgeRows> edges_;
};

// A FactorArray as Python sees it.
std::pair<std::uint32_t, std::uint32_t> numbers_of(FactorArray factors);

}  // namespace dma::python
