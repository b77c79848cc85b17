// Graphs, beliefs and messages. Variables and factors are numbers here; dma/graph.py gives them their handles,
// and every number is checked, since the library's look-ups are not.
#include "graph.h"

#include <dma/factors/factors.h>
#include <pybind11/operators.h>
#include <pybind11/stl.h>

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
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

namespace {

using Message = Gaussian<double>;
using Steps = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
using ScheduleOfNumbers = std::pair<Steps, Steps>;

Variable variable_at(const Graph& graph, std::uint32_t index) {
  if (index >= graph.variable_count()) throw py::index_error("no such variable");
  return {index};
}

FactorId factor_at(const Graph& graph, std::uint32_t index) {
  if (index >= graph.factor_count()) throw py::index_error("no such factor");
  return {index};
}

ScheduleOfNumbers to_numbers(const Schedule& schedule) {
  const auto convert = [](const std::vector<Step>& steps) {
    Steps numbers;
    for (const Step step : steps) numbers.emplace_back(step.factor, step.edge);
    return numbers;
  };
  return {convert(schedule.forward), convert(schedule.backward)};
}

Schedule to_schedule(const ScheduleOfNumbers& numbers) {
  const auto convert = [](const Steps& pairs) {
    std::vector<Step> steps;
    for (const auto& [factor, edge] : pairs) steps.push_back({factor, edge});
    return steps;
  };
  return {convert(numbers.first), convert(numbers.second)};
}

std::string text(const SharedGraph& self, const ScheduleOfNumbers& numbers) {
  for (const auto* steps : {&numbers.first, &numbers.second}) {
    for (const auto& [factor, edge] : *steps) {
      if (edge >= self.graph.arity(factor_at(self.graph, factor))) {
        throw py::index_error("no such edge");
      }
    }
  }
  return self.graph.text(to_schedule(numbers));
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
                            double tolerance, const std::string& on_improper) {
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
          .on_improper = choose("on_improper", on_improper, improper)};
}

// Beliefs, with the sizes to check look-ups against: the graph may have grown since.
struct SizedBeliefs {
  Beliefs beliefs;
  std::size_t variables = 0;
  std::vector<std::size_t> arity;

  Message marginal(std::uint32_t variable) const {
    if (variable >= variables) throw py::index_error("no such variable");
    return beliefs.marginal({variable});
  }

  Message message(std::uint32_t factor, std::size_t edge) const {
    if (factor >= arity.size() || edge >= arity[factor]) throw py::index_error("no such edge");
    return beliefs.message({factor}, edge);
  }
};

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
                       const std::optional<Schedule>& schedule) {
  const Running running(self);
  const py::gil_scoped_release unlocked;
  return schedule ? self.graph.infer(options, *schedule) : self.graph.infer(options);
}

SizedBeliefs infer(SharedGraph& self, const std::string& engine, const std::string& rule,
                   std::size_t sweeps, double tolerance, const std::string& on_improper,
                   const std::optional<ScheduleOfNumbers>& numbers) {
  const auto options = options_of(engine, rule, sweeps, tolerance, on_improper);
  std::optional<Schedule> schedule;
  if (numbers) schedule = to_schedule(*numbers);
  SizedBeliefs result{infer_unlocked(self, options, schedule), self.graph.variable_count(), {}};
  for (std::uint32_t f = 0; f < self.graph.factor_count(); ++f) {
    result.arity.push_back(self.graph.arity({f}));
  }
  return result;
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

GraphClass bind_graph_class(py::module_& module) {
  GraphClass type(module, "Graph");
  type.def(py::init<>())
      .def("variable", [](SharedGraph& self,
                          std::string name) { return self.idle().variable(std::move(name)).index; })
      .def("variable", [](SharedGraph& self) { return self.idle().variable().index; })
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
      .def("schedule",
           [](const SharedGraph& self, const std::string& engine, const std::string& rule) {
             return to_numbers(self.graph.schedule(options_of(engine, rule, 1, 0, "pass")));
           })
      .def("text", &text)
      .def("infer", &infer);
  return type;
}

void bind_beliefs(py::module_& module) {
  py::class_<SizedBeliefs>(module, "Beliefs")
      .def("marginal", &SizedBeliefs::marginal)
      .def("message", &SizedBeliefs::message)
      .def_readonly("variable_count", &SizedBeliefs::variables)
      .def_property_readonly("factor_count",
                             [](const SizedBeliefs& self) { return self.arity.size(); })
      .def_property_readonly("sweeps", [](const SizedBeliefs& self) { return self.beliefs.sweeps; })
      .def_property_readonly("converged",
                             [](const SizedBeliefs& self) { return self.beliefs.converged; })
      .def_property_readonly("last_change",
                             [](const SizedBeliefs& self) { return self.beliefs.last_change; })
      .def_property_readonly("messages_sent",
                             [](const SizedBeliefs& self) { return self.beliefs.messages_sent; })
      .def_property_readonly(
          "improper", [](const SizedBeliefs& self) { return tuples_of(self.beliefs.improper); })
      .def_property_readonly(
          "collapsed", [](const SizedBeliefs& self) { return tuples_of(self.beliefs.collapsed); })
      .def_property_readonly(
          "failed", [](const SizedBeliefs& self) { return tuples_of(self.beliefs.failed); })
      .def_property_readonly("improper_marginals", [](const SizedBeliefs& self) {
        return self.beliefs.improper_marginals;
      });
}

}  // namespace

void bind_graph(py::module_& module) {
  bind_gaussian(module);
  bind_beliefs(module);
  GraphClass graph = bind_graph_class(module);
  bind_factors(module, graph);
}

}  // namespace dma::python
