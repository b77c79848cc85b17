// python/core/bindings.h: what the module dma._core is made of, one function per part.
#pragma once

#include <pybind11/pybind11.h>

namespace dma::python {

void bind_regressor(pybind11::module_& module);
void bind_graph(pybind11::module_& module);

}  // namespace dma::python
