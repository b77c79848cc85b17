#include <dma/factors/conformance.h>
#include <dma/factors/factors.h>
#include <pybind11/operators.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph.h"
#include "python_function.h"

namespace dma::python {
namespace {

namespace py = pybind11;

// The class name in Python and its documentation, which the headers do not contain.
struct Words {
  const char* name;
  const char* summary;
  const char* edges;
  const char* parameters;
  const char* example;
};

// In the order of BuiltinFactors.
constexpr std::array<Words, std::tuple_size_v<BuiltinFactors>> words{{
    {"Prior", "What is known about x in advance.", "x",
     "mean : float\nvariance : float\n    0 fixes x at the mean.",
     ">>> dma.Prior(3, variance=2)\nPrior(mean=3.0, variance=2.0)"},
    {"Observation", "An observed value of z, with Gaussian noise.", "z",
     "value : float\nvariance : float\n    Variance of the noise; 0 is an observation without "
     "noise.",
     ">>> dma.Observation(10, 5).value\n10.0"},
    {"WeightedSum", "z = a_1 x_1 + ... + a_n x_n + offset + noise.", "z, x_1, ..., x_n",
     "coefficients : sequence of float\n    a_1, ..., a_n.\noffset : float\nvariance : float\n"
     "    Variance of the noise.",
     ">>> dma.WeightedSum([1, -1])  # z = x_1 - x_2\n"
     "WeightedSum(coefficients=[1.0, -1.0], offset=0.0, variance=0.0)"},
    {"Equality", "All its variables are equal.", "x_0, x_1, ..., as many as it is added to",
     "None.", ">>> dma.Equality()\nEquality()"},
    {"Product", "z = x y.", "z, x, y", "None.", ">>> dma.Product()\nProduct()"},
    {"LeakyRelu", "y = max(0, x) + slope min(0, x).", "y, x",
     "slope : float\n    At least 0. With slope 0 the direct rule has no message to x.",
     ">>> dma.LeakyRelu(0.1).slope\n0.1"},
    {"LogNormalCopy", "x = sign exp(l): a variable and its logarithm.", "x, l",
     "sign : int\n    1 or -1.", ">>> dma.LogNormalCopy()\nLogNormalCopy(sign=1)"},
    {"GreaterThan", "x is greater than a threshold.", "x", "threshold : float",
     ">>> dma.GreaterThan()\nGreaterThan(threshold=0.0)"},
    {"Between", "x lies between two numbers.", "x", "lower : float\nupper : float",
     ">>> dma.Between(-1, 1)\nBetween(lower=-1.0, upper=1.0)"},
    {"Probit", "x, seen through Gaussian noise, is above a threshold or below it.", "x",
     "sign : int\n    1: above; -1: below.\nthreshold : float\nvariance : float\n    Variance of "
     "the "
     "noise, positive.",
     ">>> dma.Probit(-1)\nProbit(sign=-1, threshold=0.0, variance=1.0)"},
    {"Poisson", "An observed count whose mean is exp(x).", "x",
     "count : float\n    A whole number from 0 on.", ">>> dma.Poisson(3)\nPoisson(count=3.0)"},
    {"NegativeBinomial",
     "An observed count whose mean is exp(x) and whose variance is exp(x) + exp(2 x) / shape.", "x",
     "count : float\n    A whole number from 0 on.\nshape : float\n    Positive; the larger, the "
     "more "
     "like a Poisson count.",
     ">>> dma.NegativeBinomial(3, shape=2)\nNegativeBinomial(count=3.0, shape=2.0)"},
    {"LogNormalObservation", "An observed amount whose logarithm is x, with Gaussian noise.", "x",
     "value : float\n    Positive.\nvariance : float\n    Variance of the noise of the logarithm.",
     ">>> dma.LogNormalObservation(10, 0.5).value\n10.0"},
    {"Argmax", "One of several variables, each seen through Gaussian noise, is the largest.",
     "x_0, x_1, ..., as many as it is added to",
     "winner : int\n    Which of them, from 0 on.\nvariance : float\n    Variance of the noise, "
     "positive.",
     ">>> dma.Argmax(2)\nArgmax(winner=2, variance=1.0)"},
    {"Softmax", "The class of a softmax of several variables: exp(x_winner) / sum of exp(x_k).",
     "x_0, x_1, ..., as many as it is added to", "winner : int\n    Which of them, from 0 on.",
     ">>> dma.Softmax(2)\nSoftmax(winner=2)"},
    {"WinDrawLoss",
     "Which of x and y was better, seen through Gaussian noise, or neither by a margin.", "x, y",
     "result : int\n    1: x won; 0: a draw; -1: y won.\nmargin : float\n    A lead that is "
     "smaller is a "
     "draw.\nvariance : float\n    Variance of the noise of the lead.",
     ">>> dma.WinDrawLoss(0, margin=0.7)\nWinDrawLoss(result=0, margin=0.7, variance=0.0)"},
    {"InnerProduct", "z = u_1 v_1 + ... + u_n v_n + offset + noise.",
     "z, u_1, ..., u_n, v_1, ..., v_n, as many as it is added to",
     "offset : float\nvariance : float\n    Variance of the noise.",
     ">>> dma.InnerProduct(variance=0.5)\nInnerProduct(offset=0.0, variance=0.5)"},
    {"GammaPrior", "What is known about a precision in advance.", "precision",
     "shape : float\n    Positive; how many observations this is worth, halved.\nrate : float\n   "
     " Positive; the mean is shape / rate.",
     ">>> dma.GammaPrior(2, rate=0.5)\nGammaPrior(shape=2.0, rate=0.5)"},
    {"GaussianPrecision", "x is Gaussian about a mean, with a precision that is itself a variable.",
     "x, mean, precision", "None.", ">>> dma.GaussianPrecision()\nGaussianPrecision()"},
    {"Ordinal", "A score, seen through Gaussian noise, lies between two cut points.",
     "score, lower, upper", "variance : float\n    Variance of the noise.",
     ">>> dma.Ordinal(variance=1)\nOrdinal(variance=1.0)"},
}};

static_assert(words.back().name != nullptr, "a factor of factors.h has no words for Python");

std::string documentation(const Words& about, const FactorInfo& info) {
  return std::string(about.summary) + "\n\nDensity ``" + std::string(info.density) + "``; edges " +
         about.edges + ".\n\nParameters\n----------\n" + about.parameters +
         "\n\nExamples\n--------\n" + about.example + "\n";
}

template <class F, std::size_t I>
inline constexpr auto parameter = std::get<I>(F::parameters);

template <class F, std::size_t I>
using Member = std::remove_cvref_t<decltype(std::declval<F>().*(parameter<F, I>.member))>;

template <class F, std::size_t I>
auto argument() {
  constexpr auto& one = parameter<F, I>;
  if constexpr (one.required) {
    return py::arg(one.name.data());
  } else {
    return py::arg(one.name.data()) = F{}.*(one.member);
  }
}

template <class F>
void validate(const F& factor) {
  if constexpr (requires { factor.validate(); }) factor.validate();
}

template <class F, std::size_t... I>
F from_parameters(const Member<F, I>&... value) {
  F factor;
  ((factor.*(parameter<F, I>.member) = value), ...);
  // As many as it needs; add() knows how many there are.
  if constexpr (requires {
                  factor.winner < 0;
                  factor.edges;
                }) {
    factor.edges =
        std::max<std::size_t>(2, static_cast<std::size_t>(std::max(0, factor.winner)) + 1);
  }
  validate(factor);
  return factor;
}

template <class F, std::size_t... I>
std::string representation(const char* name, [[maybe_unused]] const F& factor,
                           std::index_sequence<I...>) {
  std::string text;
  ((text += (I == 0 ? "" : ", ") + std::string(parameter<F, I>.name) + "=" +
            std::string(py::repr(py::cast(factor.*(parameter<F, I>.member))))),
   ...);
  return name + ("(" + text + ")");
}

py::tuple report_of(const FactorReport& report) {
  py::list checks;
  for (const auto& check : report.checks) {
    checks.append(py::make_tuple(check.name, check.passed, check.detail));
  }
  return py::make_tuple(report.factor, checks, report.text());
}

template <class F>
FactorReport checked(const F& factor, std::size_t random_inputs, std::uint64_t seed) {
  const py::gil_scoped_release unlocked;
  return check_factor(factor, {.random_inputs = random_inputs, .seed = seed});
}

template <class F>
std::uint32_t add(SharedGraph& graph, F factor, const std::vector<std::uint32_t>& variables) {
  // An equality, an argmax or a softmax has as many edges as it is given variables.
  if constexpr (requires { factor.edges = variables.size(); }) factor.edges = variables.size();
  const auto edges = variables_of(variables);
  return graph.idle().add(std::move(factor), std::span<const Variable>(edges)).index;
}

template <class F>
auto add_shared(SharedGraph& graph, F factor, const py::list& of_rows) {
  const EdgesOfRows rows(of_rows);
  std::size_t width = 0;
  for (const EdgeRows& edge : rows.edges()) width += edge.width();
  if constexpr (requires { factor.edges = width; }) factor.edges = width;
  return numbers_of(graph.idle().add(factor, rows.edges()));
}

using Values = py::array_t<double, py::array::c_style | py::array::forcecast>;

// A parameter of every row: one value for all, or a first dimension with one entry per row.
template <class F, std::size_t I>
class Rows {
 public:
  explicit Rows(Values values, std::size_t rows) : values_(std::move(values)) {
    constexpr py::ssize_t own = std::is_same_v<Member<F, I>, std::vector<double>> ? 1 : 0;
    const std::string name(parameter<F, I>.name);
    if (values_.ndim() != own && values_.ndim() != own + 1) {
      throw py::value_error(name + " must have " + std::to_string(own) + " or " +
                            std::to_string(own + 1) + " dimensions, got " +
                            std::to_string(values_.ndim()));
    }
    by_row_ = values_.ndim() == own + 1;
    if (by_row_ && static_cast<std::size_t>(values_.shape(0)) != rows) {
      throw py::value_error(name + " has " + std::to_string(values_.shape(0)) +
                            " rows, the edges have " + std::to_string(rows));
    }
    width_ = own == 1 ? values_.shape(values_.ndim() - 1) : 1;
  }

  void set(F& factor, std::size_t row) const {
    const double* const at =
        values_.data() + (by_row_ ? static_cast<py::ssize_t>(row) * width_ : 0);
    auto& member = factor.*(parameter<F, I>.member);
    if constexpr (std::is_same_v<Member<F, I>, std::vector<double>>) {
      member.assign(at, at + width_);
    } else if constexpr (std::is_same_v<Member<F, I>, int>) {
      if (!(std::abs(*at) < 1e9) || *at != std::floor(*at)) {
        throw py::value_error(std::string(parameter<F, I>.name) + ", row " + std::to_string(row) +
                              ": must be a whole number, got " + std::to_string(*at));
      }
      member = static_cast<int>(*at);
    } else {
      member = *at;
    }
  }

 private:
  Values values_;
  bool by_row_ = false;
  py::ssize_t width_ = 1;
};

// How many rows the edges have; Graph::add checks that they agree.
std::size_t rows_of(std::span<const EdgeRows> edges) {
  for (const EdgeRows& edge : edges) {
    if (edge.rows()) return *edge.rows();
  }
  return 0;
}

template <class F, std::size_t... I>
auto add_by_row(SharedGraph& graph, const py::list& of_rows,
                [[maybe_unused]] const py::args& values, std::index_sequence<I...>) {
  const EdgesOfRows edges(of_rows);
  std::size_t width = 0;
  for (const EdgeRows& edge : edges.edges()) width += edge.width();
  const std::tuple parameters{
      Rows<F, I>(values[I].template cast<Values>(), rows_of(edges.edges()))...};
  const auto make = [&]([[maybe_unused]] std::size_t row) {
    F factor;
    (std::get<I>(parameters).set(factor, row), ...);
    if constexpr (requires { factor.edges = width; }) factor.edges = width;
    return factor;
  };
  return numbers_of(graph.idle().add(make, edges.edges()));
}

template <class F, std::size_t... I>
void bind_builtin(py::module_& module, GraphClass& graph, const Words& about,
                  std::index_sequence<I...> all) {
  py::class_<F> type(module, about.name, documentation(about, F{}.info()).c_str());
  type.attr("__module__") = "dma";
  type.def(py::init(&from_parameters<F, I...>), argument<F, I>()...);
  (type.def_readonly(parameter<F, I>.name.data(), parameter<F, I>.member), ...);
  type.def("__repr__",
           [name = about.name, all](const F& factor) { return representation(name, factor, all); });
  type.def(
      "__eq__",
      [](const F& a, const F& b) {
        return (true && ... && (a.*(parameter<F, I>.member) == b.*(parameter<F, I>.member)));
      },
      py::is_operator());
  type.def("__reduce__", [](const py::object& self) {
    [[maybe_unused]] const auto& factor = py::cast<const F&>(self);
    return py::make_tuple(py::type::of(self), py::make_tuple(factor.*(parameter<F, I>.member)...));
  });
  // Parameters without a default have None.
  py::dict defaults;
  (defaults.attr("__setitem__")(parameter<F, I>.name.data(),
                                parameter<F, I>.required
                                    ? py::object(py::none())
                                    : py::object(py::cast(F{}.*(parameter<F, I>.member)))),
   ...);
  type.attr("_defaults") = defaults;
  type.def_static("_add_by_row",
                  [all](SharedGraph& self, const py::list& edges, const py::args& values) {
                    return add_by_row<F>(self, edges, values, all);
                  });
  graph.def("add", &add<F>);
  graph.def("add_rows", &add_shared<F>);
  module.def("check_factor", [](const F& factor, std::size_t random_inputs, std::uint64_t seed) {
    return report_of(checked(factor, random_inputs, seed));
  });
}

template <std::size_t... K>
void bind_builtins(py::module_& module, GraphClass& graph, std::index_sequence<K...>) {
  const auto bind = [&]<class F>(const Words& about, const F*) {
    bind_builtin<F>(module, graph, about,
                    std::make_index_sequence<std::tuple_size_v<decltype(F::parameters)>>{});
  };
  (bind(words[K], static_cast<const std::tuple_element_t<K, BuiltinFactors>*>(nullptr)), ...);
}

// A message must not need more memory than there is.
constexpr std::size_t most_points = 1'000'000;

template <std::size_t N>
PythonFactor python_factor(py::function evaluate, std::size_t inputs, const std::string& name,
                           std::size_t order, double tolerance) {
  if constexpr (N > 6) {
    throw py::value_error(name + ": a factor takes 1 to 6 inputs, got " + std::to_string(inputs));
  } else {
    if (inputs != N) {
      return python_factor<N + 1>(std::move(evaluate), inputs, name, order, tolerance);
    }
    std::size_t points = 1;
    for (std::size_t k = 0; k < N; ++k) points *= order;
    if (points > most_points) {
      throw py::value_error(name + ": order " + std::to_string(order) + " makes " +
                            std::to_string(points) + " points of a message; the most is " +
                            std::to_string(most_points));
    }
    return {batch_function<N>(name, PythonFunction(std::move(evaluate)), order, tolerance)};
  }
}

void bind_python_factor(py::module_& module, GraphClass& graph) {
  module.attr("default_order") = py::tuple(py::cast(detail::default_order));
  py::class_<PythonFactor>(module, "PythonFactor")
      .def(py::init(&python_factor<1>), py::arg("evaluate"), py::arg("inputs"), py::arg("name"),
           py::arg("order"), py::arg("tolerance"));
  graph.def("add", [](SharedGraph& self, const PythonFactor& factor,
                      const std::vector<std::uint32_t>& variables) {
    return std::visit([&](const auto& one) { return add(self, one, variables); },
                      factor.with_inputs);
  });
  graph.def("add_rows", [](SharedGraph& self, const PythonFactor& factor, const py::list& edges) {
    return std::visit([&](const auto& one) { return add_shared(self, one, edges); },
                      factor.with_inputs);
  });
  module.def("check_factor", [](const PythonFactor& factor, std::size_t random_inputs,
                                std::uint64_t seed) {
    return report_of(std::visit([&](const auto& one) { return checked(one, random_inputs, seed); },
                                factor.with_inputs));
  });
}

}  // namespace

void bind_factors(py::module_& module, GraphClass& graph) {
  bind_builtins(module, graph, std::make_index_sequence<words.size()>{});
  bind_python_factor(module, graph);
}

}  // namespace dma::python
