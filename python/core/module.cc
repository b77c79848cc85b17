// dma._core: the library for Python. Users call the Python code on top of it.
#include <dma/base/error.h>
#include <dma/belief/independent.h>
#include <dma/data/atomic_file.h>
#include <dma/graph/graph.h>
#include <dma/regressor/model_file.h>
#include <pybind11/pybind11.h>

#include "bindings.h"

namespace py = pybind11;

namespace {

// Data and graphs that cannot be used are ValueErrors, as are the std::invalid_argument and std::domain_error
// that pybind11 translates by itself.
void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const dma::DataError& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const dma::GraphError& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const dma::ModelError& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const dma::FileError& error) {
    PyErr_SetString(PyExc_OSError, error.what());
  } catch (const dma::NumericalBreakdown& error) {
    PyErr_SetString(PyExc_FloatingPointError, error.what());
  } catch (const dma::NoPrediction& error) {
    PyErr_SetString(PyExc_FloatingPointError, error.what());
  }
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  module.doc() = "The compiled part of dma.";
  module.attr("__version__") = DMA_VERSION;
  py::register_exception_translator(&translate);
  dma::python::bind_regressor(module);
  dma::python::bind_graph(module);
}
