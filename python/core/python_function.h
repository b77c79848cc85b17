// python/core/python_function.h: a function written in Python, as a factor.
#pragma once

#include <dma/factors/function.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace dma::python {

// evaluate takes one array of doubles, inputs x points, and returns one double per point.
class PythonFunction {
 public:
  explicit PythonFunction(pybind11::function evaluate) : evaluate_(std::move(evaluate)) {}

  void operator()(std::span<const double> inputs, std::span<double> y) const {
    const pybind11::gil_scoped_acquire lock;
    // The memory is NumPy's own: the function may keep or change it.
    pybind11::array_t<double> points({inputs.size() / y.size(), y.size()});
    std::copy(inputs.begin(), inputs.end(), points.mutable_data());
    const auto values = Values::ensure(evaluate_(points));
    if (!values) throw pybind11::error_already_set();
    if (values.ndim() != 1 || static_cast<std::size_t>(values.size()) != y.size()) {
      throw std::invalid_argument("a function must return one value per point, " +
                                  std::to_string(y.size()) + ", got " +
                                  std::to_string(values.size()));
    }
    std::copy_n(values.data(), y.size(), y.begin());
  }

 private:
  using Values = pybind11::array_t<double, pybind11::array::c_style | pybind11::array::forcecast>;

  pybind11::function evaluate_;
};

struct PythonFactor {
  std::variant<Function<PythonFunction, 1>, Function<PythonFunction, 2>,
               Function<PythonFunction, 3>, Function<PythonFunction, 4>,
               Function<PythonFunction, 5>, Function<PythonFunction, 6>>
      with_inputs;
};

}  // namespace dma::python
