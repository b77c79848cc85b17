// python/core/graph.h: a graph as dma._core holds it.
#pragma once

#include <dma/graph/graph.h>
#include <pybind11/pybind11.h>

#include <cstdint>
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

}  // namespace dma::python
