// Graphs, beliefs and messages. Variables and factors are numbers here; dma/graph.py gives them their handles,
// and every number is checked, since the library's look-ups are not.
#include "graph.h"

#include <dma/factors/factors.h>
#include <dma/graph/saved_beliefs.h>
#include <pybind11/operators.h>
#include <pybind11/stl.h>

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "bindings.h"

namespace dma::python {

namespace py = pybind11;

Graph& SharedGraph::idle() {
  if (running > 0) throw std::runtime_error("a graph cannot change while inference runs on it");
  return graph;
}

std::vector<Variable> variables_of(const std::vector<std::uint32_t>& indices) {
  std::vector<Variable> variables;
  variables.reserve(indices.size());
  for (const std::uint32_t index : indices) variables.push_back({index});
  return variables;
}

EdgesOfRows::EdgesOfRows(const py::list& edges) {
  for (const py::handle& edge : edges) {
    const auto [first, rows, columns, indices] =
        edge.cast<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, py::object>>();
    const VariableArray array{first, rows, columns};
    if (rows == 0) {
      edges_.push_back(indices.is_none() ? EdgeRows(Variable{first})
                                         : EdgeRows(Variable{first}, indices.cast<std::size_t>()));
    } else if (indices.is_none()) {
      edges_.emplace_back(array);
    } else {
      indices_.push_back(indices.cast<Indices>());
      const auto& kept = indices_.back();
      edges_.push_back(array.at(
          std::span<const std::int64_t>(kept.data(), static_cast<std::size_t>(kept.size()))));
    }
  }
}

std::pair<std::uint32_t, std::uint32_t> numbers_of(FactorArray factors) {
  return {factors.first, factors.rows};
}

namespace {

using Message = Gaussian<double>;
// A row (factor, edge) per step of the first row; the number of rows; whether they go back.
using Pairs = py::array_t<std::uint32_t, py::array::c_style | py::array::forcecast>;
using Part = std::tuple<Pairs, std::uint32_t, bool>;
using ScheduleOfNumbers = std::pair<std::vector<Part>, std::vector<Part>>;

using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;

std::span<const double> span_of(const Numbers& values) {
  return {values.data(), static_cast<std::size_t>(values.size())};
}

Variable variable_at(const Graph& graph, std::uint32_t index) {
  if (!graph.has(Variable{index})) throw py::index_error("no such variable");
  return {index};
}

FactorId factor_at(const Graph& graph, std::uint32_t index) {
  if (index >= graph.factor_count()) throw py::index_error("no such factor");
  return {index};
}

ScheduleOfNumbers to_numbers(const Schedule& schedule) {
  const auto convert = [](const Steps& steps) {
    std::vector<Part> parts;
    for (const Steps::Rows& rows : steps.parts()) {
      const auto pattern = steps.pattern(rows);
      Pairs numbers({pattern.size(), std::size_t{2}});
      auto at = numbers.mutable_unchecked<2>();
      for (py::ssize_t i = 0; i < numbers.shape(0); ++i) {
        const Step step = pattern[static_cast<std::size_t>(i)];
        at(i, 0) = step.factor;
        at(i, 1) = step.edge;
      }
      parts.emplace_back(std::move(numbers), rows.rows, rows.back);
    }
    return parts;
  };
  return {convert(schedule.forward), convert(schedule.backward)};
}

Schedule to_schedule(const ScheduleOfNumbers& numbers) {
  const auto convert = [](const std::vector<Part>& parts) {
    Steps steps;
    std::vector<Step> pattern;
    for (const auto& [pairs, rows, back] : parts) {
      if (pairs.ndim() != 2 || pairs.shape(1) != 2)
        throw py::value_error("steps are pairs (factor, edge)");
      const auto at = pairs.unchecked<2>();
      pattern.clear();
      for (py::ssize_t i = 0; i < at.shape(0); ++i) pattern.push_back({at(i, 0), at(i, 1)});
      steps.append_rows(pattern, rows, back);
    }
    return steps;
  };
  return {convert(numbers.first), convert(numbers.second)};
}

std::string text(const SharedGraph& self, const ScheduleOfNumbers& numbers) {
  const Schedule schedule = to_schedule(numbers);
  for (const auto* steps : {&schedule.forward, &schedule.backward}) {
    for (const Step step : *steps) {
      if (step.edge >= self.graph.arity(factor_at(self.graph, step.factor))) {
        throw py::index_error("no such edge");
      }
    }
  }
  return self.graph.text(schedule);
}

template <class Choice, std::size_t N>
Choice choose(const char* what, const std::string& name,
              const std::array<std::pair<const char*, Choice>, N>& choices) {
  std::string known;
  for (const auto& [one, choice] : choices) {
    if (one == name) return choice;
    known += (known.empty() ? "'" : ", '") + std::string(one) + "'";
  }
  throw py::value_error(std::string(what) + " must be one of " + known + ", got '" + name + "'");
}

InferenceOptions options_of(const std::string& engine, const std::string& rule, std::size_t sweeps,
                            double tolerance, const std::string& on_improper, double damping,
                            std::size_t acceleration, std::size_t threads) {
  constexpr std::array engines{std::pair{"direct", Engine::direct}, std::pair{"ep", Engine::ep},
                               std::pair{"vmp", Engine::vmp}, std::pair{"adf", Engine::adf}};
  constexpr std::array rules{std::pair{"direct", Rule::direct}, std::pair{"linear", Rule::linear}};
  constexpr std::array improper{std::pair{"pass", OnImproper::pass},
                                std::pair{"skip", OnImproper::skip},
                                std::pair{"stop", OnImproper::stop}};
  if (!(tolerance >= 0) || !std::isfinite(tolerance)) {
    throw py::value_error("tolerance must be finite and not negative, got " +
                          std::to_string(tolerance));
  }
  return {.engine = choose("engine", engine, engines),
          .rule = choose("rule", rule, rules),
          .sweeps = sweeps,
          .tolerance = tolerance,
          .on_improper = choose("on_improper", on_improper, improper),
          .damping = damping,
          .acceleration = acceleration,
          .threads = threads};
}

// A Gaussian or a Gamma.
py::object marginal(const Beliefs& self, std::uint32_t variable) {
  if (variable >= self.variable_count()) throw py::index_error("no such variable");
  return self.family({variable}) == MessageFamily::gamma ? py::cast(self.gamma_marginal({variable}))
                                                         : py::cast(self.marginal({variable}));
}

bool is_gamma(const Beliefs& self, std::uint32_t variable) {
  if (variable >= self.variable_count()) throw py::index_error("no such variable");
  return self.family({variable}) == MessageFamily::gamma;
}

Message message(const Beliefs& self, std::uint32_t factor, std::size_t edge) {
  if (factor >= self.factor_count() || edge >= self.arity({factor}))
    throw py::index_error("no such edge");
  return self.message({factor}, edge);
}

// A row (tau, rho) per message.
py::array_t<double> natural(std::span<const Message> messages) {
  py::array_t<double> result({messages.size(), std::size_t{2}});
  auto at = result.mutable_unchecked<2>();
  for (py::ssize_t i = 0; i < result.shape(0); ++i) {
    at(i, 0) = messages[static_cast<std::size_t>(i)].tau;
    at(i, 1) = messages[static_cast<std::size_t>(i)].rho;
  }
  return result;
}

py::array_t<double> marginals(const Beliefs& self, std::uint32_t first, std::uint32_t count) {
  if (std::size_t{first} + count > self.variable_count()) throw py::index_error("no such variable");
  return natural(self.naturals(VariableArray{first, count, 1}));
}

std::vector<double> changes(const Beliefs& self, std::uint32_t first, std::uint32_t count) {
  if (std::size_t{first} + count > self.variable_count()) throw py::index_error("no such variable");
  return self.changes(VariableArray{first, count, 1});
}

py::array_t<double> messages(const Beliefs& self, std::uint32_t first, std::uint32_t count,
                             std::size_t edge) {
  if (std::size_t{first} + count > self.factor_count()) throw py::index_error("no such factor");
  for (std::uint32_t row = 0; row < count; ++row) {
    if (edge >= self.arity({first + row})) throw py::index_error("no such edge");
  }
  return natural(self.messages({first, count}, edge));
}

class Running {
 public:
  explicit Running(SharedGraph& graph) : graph_(graph) { ++graph_.running; }
  ~Running() { --graph_.running; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  SharedGraph& graph_;
};

Beliefs infer_unlocked(SharedGraph& self, const InferenceOptions& options,
                       const std::optional<Schedule>& schedule, const Beliefs* start) {
  const Running running(self);
  const py::gil_scoped_release unlocked;
  const Schedule steps = schedule ? *schedule : self.graph.schedule(options);
  return start == nullptr ? self.graph.infer(options, steps)
                          : self.graph.infer(options, steps, *start);
}

Beliefs infer(SharedGraph& self, const std::string& engine, const std::string& rule,
              std::size_t sweeps, double tolerance, const std::string& on_improper, double damping,
              std::size_t acceleration, std::size_t threads,
              const std::optional<ScheduleOfNumbers>& numbers, const Beliefs* start) {
  const auto options =
      options_of(engine, rule, sweeps, tolerance, on_improper, damping, acceleration, threads);
  std::optional<Schedule> schedule;
  if (numbers) schedule = to_schedule(*numbers);
  return infer_unlocked(self, options, schedule, start);
}

py::list tuples_of(const std::vector<ImproperMessage>& messages) {
  py::list result;
  for (const auto& one : messages) {
    result.append(py::make_tuple(one.factor, one.edge, one.sweep, one.tau, one.rho));
  }
  return result;
}

py::list tuples_of(const std::vector<FailedMessage>& messages) {
  py::list result;
  for (const auto& one : messages) {
    result.append(py::make_tuple(one.factor, one.edge, one.sweep, one.why));
  }
  return result;
}

Message from_natural(double tau, double rho) {
  if (!std::isfinite(tau) || !(rho > -std::numeric_limits<double>::infinity())) {
    throw py::value_error("tau must be finite and rho a number, got tau " + std::to_string(tau) +
                          ", rho " + std::to_string(rho));
  }
  return {tau, rho};
}

std::string representation(const Message& message) {
  const auto show = [](double value) { return std::string(py::repr(py::float_(value))); };
  if (message.is_uniform()) return "Gaussian.uniform()";
  if (message.is_point()) return "Gaussian.point(" + show(message.mean()) + ")";
  if (message.is_proper()) {
    return "Gaussian(mean=" + show(message.mean()) + ", variance=" + show(message.variance()) + ")";
  }
  return "Gaussian.from_natural(tau=" + show(message.tau) + ", rho=" + show(message.rho) + ")";
}

constexpr auto gaussian_documentation = R"(A Gaussian message or belief, exp(tau x - rho x^2 / 2).

Parameters
----------
mean : float
variance : float
    0 is the point mass, infinity the uniform message.

Attributes
----------
mean, variance, std : float
    The mean of the uniform message is 0 by convention. An improper message has a negative variance and no
    standard deviation (nan).
tau, rho : float
    mean / variance and 1 / variance. A point mass has rho = inf, and tau is its mean.
is_uniform, is_proper, is_point : bool
    No information, a distribution with a width, a known value. A quotient may be none of the three: improper.

Examples
--------
A product adds what two messages know, a quotient takes it away:

>>> a, b = dma.Gaussian.from_moments(1, 2), dma.Gaussian.from_moments(3, 2)
>>> a * b
Gaussian(mean=2.0, variance=1.0)
>>> a * b / b == a
True
>>> (a / (a * b)).is_proper
False
>>> dma.Gaussian.point(3.0) * a
Gaussian.point(3.0)
)";

void bind_gaussian(py::module_& module) {
  py::class_<Message> type(module, "Gaussian", gaussian_documentation);
  type.attr("__module__") = "dma";
  type.def(py::init(&Message::from_moments), py::arg("mean"), py::arg("variance"))
      .def_static("from_moments", &Message::from_moments, py::arg("mean"), py::arg("variance"),
                  "The same as Gaussian(mean, variance).")
      .def_static("from_natural", &from_natural, py::arg("tau"), py::arg("rho"),
                  "From tau = mean / variance and rho = 1 / variance; rho may be negative.")
      .def_static(
          "point", [](double mean) { return Message::from_moments(mean, 0); }, py::arg("mean"),
          "A known value: infinite precision.")
      .def_static("uniform", &Message::uniform, "No information: precision 0.")
      .def_property_readonly("mean", &Message::mean)
      .def_property_readonly("variance", &Message::variance)
      .def_property_readonly("std", &Message::stddev)
      .def_readonly("tau", &Message::tau)
      .def_readonly("rho", &Message::rho)
      .def_property_readonly("is_uniform", &Message::is_uniform)
      .def_property_readonly("is_proper", &Message::is_proper)
      .def_property_readonly("is_point", &Message::is_point)
      .def(py::self * py::self)
      .def(py::self / py::self)
      .def(py::self == py::self)
      .def(
          "__hash__",
          [](const Message& message) { return py::hash(py::make_tuple(message.tau, message.rho)); })
      .def("__repr__", &representation)
      .def(py::pickle(
          [](const Message& message) { return py::make_tuple(message.tau, message.rho); },
          [](const py::tuple& state) {
            return from_natural(state[0].cast<double>(), state[1].cast<double>());
          }));
}

constexpr auto gamma_documentation =
    R"(A Gamma belief about a precision, x^(shape - 1) exp(-rate x).

Parameters
----------
shape, rate : float
    Positive.

Attributes
----------
shape, rate : float
mean, variance, std : float

Examples
--------
>>> dma.Gamma(shape=3, rate=2).mean
1.5
)";

void bind_gamma(py::module_& module) {
  py::class_<Gamma> type(module, "Gamma", gamma_documentation);
  type.attr("__module__") = "dma";
  type.def(py::init<double, double>(), py::arg("shape"), py::arg("rate"))
      .def_readonly("shape", &Gamma::shape)
      .def_readonly("rate", &Gamma::rate)
      .def_property_readonly("mean", &Gamma::mean)
      .def_property_readonly("variance", &Gamma::variance)
      .def_property_readonly("std", &Gamma::stddev)
      .def(py::self == py::self)
      .def("__hash__",
           [](const Gamma& gamma) { return py::hash(py::make_tuple(gamma.shape, gamma.rate)); })
      .def("__repr__",
           [](const Gamma& gamma) {
             const auto show = [](double value) {
               return std::string(py::repr(py::float_(value)));
             };
             return "Gamma(shape=" + show(gamma.shape) + ", rate=" + show(gamma.rate) + ")";
           })
      .def(py::pickle([](const Gamma& gamma) { return py::make_tuple(gamma.shape, gamma.rate); },
                      [](const py::tuple& state) {
                        return Gamma(state[0].cast<double>(), state[1].cast<double>());
                      }));
}

GraphClass bind_graph_class(py::module_& module) {
  GraphClass type(module, "Graph");
  type.def(py::init<>())
      .def("variable", [](SharedGraph& self,
                          std::string name) { return self.idle().variable(std::move(name)).index; })
      .def("variable", [](SharedGraph& self) { return self.idle().variable().index; })
      .def("variables",
           [](SharedGraph& self, std::string name, std::size_t rows, std::size_t columns) {
             return self.idle().variables(std::move(name), {rows, columns}).first;
           })
      .def("known",
           [](SharedGraph& self, std::string name, const Numbers& values) {
             return self.idle().known(std::move(name), span_of(values)).first;
           })
      .def("known_number",
           [](SharedGraph& self, std::string name, double value) {
             return self.idle().known(std::move(name), value).index;
           })
      .def("is_known",
           [](const SharedGraph&, std::uint32_t variable) { return detail::is_known(variable); })
      .def("names",
           [](const SharedGraph& self) {
             py::list names;
             for (const NamedVariables& one : self.graph.names())
               names.append(py::make_tuple(one.name, one.first, one.rows, one.columns));
             return names;
           })
      .def("find_factor",
           [](const SharedGraph& self, const std::string& name) {
             return self.graph.find_factor(name).index;
           })
      .def("set_array_name",
           [](SharedGraph& self, std::uint32_t first, std::uint32_t rows, std::string name) {
             self.idle().set_name(FactorArray{first, rows}, std::move(name));
           })
      .def("array_name",
           [](const SharedGraph& self, std::uint32_t first, std::uint32_t rows) {
             return self.graph.name(FactorArray{first, rows});
           })
      .def("forget",
           [](SharedGraph& self, std::uint32_t first, std::uint32_t rows) {
             self.idle().forget(FactorArray{first, rows});
           })
      .def("find", [](const SharedGraph& self,
                      const std::string& name) { return self.graph.find(name).index; })
      .def("set_name",
           [](SharedGraph& self, std::uint32_t factor, std::string name) {
             Graph& graph = self.idle();
             graph.set_name(factor_at(graph, factor), std::move(name));
           })
      .def("variable_name",
           [](const SharedGraph& self, std::uint32_t variable) {
             return self.graph.name(variable_at(self.graph, variable));
           })
      .def("factor_name",
           [](const SharedGraph& self, std::uint32_t factor) {
             return self.graph.name(factor_at(self.graph, factor));
           })
      .def("edges",
           [](const SharedGraph& self, std::uint32_t factor) {
             const FactorId id = factor_at(self.graph, factor);
             std::vector<std::uint32_t> variables;
             for (std::size_t k = 0; k < self.graph.arity(id); ++k) {
               variables.push_back(self.graph.edge(id, k).index);
             }
             return variables;
           })
      .def_property_readonly("variable_count",
                             [](const SharedGraph& self) { return self.graph.variable_count(); })
      .def_property_readonly("factor_count",
                             [](const SharedGraph& self) { return self.graph.factor_count(); })
      .def_property_readonly("edge_count",
                             [](const SharedGraph& self) { return self.graph.edge_count(); })
      .def("is_forest", [](const SharedGraph& self) { return self.graph.is_forest(); })
      .def("tree_schedule",
           [](const SharedGraph& self) { return to_numbers(self.graph.tree_schedule()); })
      .def("sequential_schedule",
           [](const SharedGraph& self) { return to_numbers(self.graph.sequential_schedule()); })
      .def("assimilation_schedule",
           [](const SharedGraph& self) { return to_numbers(self.graph.assimilation_schedule()); })
      .def(
          "schedule",
          [](const SharedGraph& self, const std::string& engine, const std::string& rule) {
            return to_numbers(self.graph.schedule(options_of(engine, rule, 1, 0, "pass", 0, 0, 1)));
          })
      .def("text", &text)
      .def("log_evidence", [](const SharedGraph& self,
                              const Beliefs& beliefs) { return self.graph.log_evidence(beliefs); })
      .def("infer", &infer)
      .def("load", [](const SharedGraph& self, const std::string& path) {
        return load_beliefs(path, self.graph);
      });
  return type;
}

void bind_beliefs(py::module_& module) {
  py::class_<Beliefs>(module, "Beliefs")
      .def("marginal", &marginal)
      .def("marginals", &marginals)
      .def("is_gamma", &is_gamma)
      .def("message", &message)
      .def("messages", &messages)
      .def_property_readonly("variable_count", &Beliefs::variable_count)
      .def_property_readonly("factor_count", &Beliefs::factor_count)
      .def_property_readonly("measured", &Beliefs::measured)
      .def("save", [](const Beliefs& self, const std::string& path) { save_beliefs(self, path); })
      .def_readonly("sweeps", &Beliefs::sweeps)
      .def_readonly("converged", &Beliefs::converged)
      .def_readonly("last_change", &Beliefs::last_change)
      .def_readonly("damping", &Beliefs::damping)
      .def_readonly("moving", &Beliefs::moving)
      .def("changes", &changes)
      .def_readonly("messages_sent", &Beliefs::messages_sent)
      .def_property_readonly("improper",
                             [](const Beliefs& self) { return tuples_of(self.improper); })
      .def_property_readonly("collapsed",
                             [](const Beliefs& self) { return tuples_of(self.collapsed); })
      .def_property_readonly("failed", [](const Beliefs& self) { return tuples_of(self.failed); })
      .def_readonly("improper_marginals", &Beliefs::improper_marginals);
}

}  // namespace

void bind_graph(py::module_& module) {
  bind_gaussian(module);
  bind_gamma(module);
  bind_beliefs(module);
  GraphClass graph = bind_graph_class(module);
  bind_factors(module, graph);
}

}  // namespace dma::python
