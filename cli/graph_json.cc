#include "cli/graph_json.h"

#include <dma/factors/factors.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <unordered_map>

#include "cli/bad_input.h"

namespace dma::cli {
namespace {

using nlohmann::json;

constexpr int deepest = 32;

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw BadInput(where + ": " + what);
}

// How far the file has been read; for errors where the parser gives no line.
std::string before_byte(std::istream& in) {
  return "before byte " + std::to_string(in.rdbuf()->pubseekoff(0, std::ios::cur, std::ios::in));
}

json parse(std::istream& in, const std::string& path) {
  // The parser would keep the last of two equal keys; here the second is an error.
  std::vector<std::set<std::string>> keys;
  const auto inspect = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > deepest) {
      fail(path, "nested deeper than " + std::to_string(deepest) + " levels, " + before_byte(in));
    }
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key &&
        !keys.back().insert(parsed.get<std::string>()).second) {
      fail(path, "the key " + parsed.dump() + " appears twice in one object, " + before_byte(in));
    }
    return true;
  };
  try {
    return json::parse(in, inspect);
  } catch (const json::out_of_range&) {
    fail(path, "not valid JSON: a number is too large, " + before_byte(in));
  } catch (const json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 3, column 5: ..." -> "parse error at ..."
    const std::string text = error.what();
    const auto end_of_tag = text.find("] ");
    fail(path, "not valid JSON: " +
                   (end_of_tag == std::string::npos ? text : text.substr(end_of_tag + 2)));
  }
}

// One object of the file, and what to call it in an error.
struct Place {
  const json& object;
  std::string where;

  const json& required(const char* key) const {
    const auto found = object.find(key);
    if (found == object.end()) fail(where, std::string("has no \"") + key + "\"");
    return *found;
  }

  void only(const std::set<std::string>& known) const {
    for (const auto& [key, value] : object.items()) {
      if (!known.contains(key)) fail(where, "has an unknown key \"" + key + "\"");
    }
  }
};

std::string string_at(const json& value, const std::string& where) {
  if (!value.is_string()) fail(where, "must be a string, got " + value.dump());
  return value.get<std::string>();
}

double number_at(const json& value, const std::string& where) {
  if (!value.is_number()) fail(where, "must be a number, got " + value.dump());
  return value.get<double>();
}

void assign(double& member, const json& value, const std::string& where) {
  member = number_at(value, where);
}

void assign(int& member, const json& value, const std::string& where) {
  if (!value.is_number_integer()) fail(where, "must be a whole number, got " + value.dump());
  // Read as a double: as a signed number 18446744073709551615 would be -1.
  const auto number = value.get<double>();
  if (number < -1000 || number > 1000) fail(where, "is out of range: " + value.dump());
  member = static_cast<int>(number);
}

void assign(std::vector<double>& member, const json& value, const std::string& where) {
  if (!value.is_array()) fail(where, "must be an array of numbers, got " + value.dump());
  for (std::size_t i = 0; i < value.size(); ++i) {
    member.push_back(number_at(value[i], where + "[" + std::to_string(i) + "]"));
  }
}

template <class F>
F read_parameters(const Place& place, std::size_t edges) {
  F factor;
  std::set<std::string> known{"factor", "edges", "name"};
  const auto read = [&](const auto& parameter) {
    const std::string name(parameter.name);
    known.insert(name);
    const auto found = place.object.find(name);
    if (found != place.object.end()) {
      assign(factor.*(parameter.member), *found, place.where + ": \"" + name + "\"");
    } else if (parameter.required) {
      fail(place.where, "has no \"" + name + "\"");
    }
  };
  std::apply([&](const auto&... parameter) { (read(parameter), ...); }, F::parameters);
  place.only(known);
  if constexpr (requires { factor.edges = edges; }) factor.edges = edges;
  return factor;
}

std::string known_factors() {
  std::string names;
  const auto list = [&](const auto&... factor) {
    ((names += (names.empty() ? "" : ", ") + std::string(factor.info().name)), ...);
  };
  std::apply(list, BuiltinFactors{});
  return names;
}

// Adds the factor whose name is `type`; false if there is none.
template <class... F>
bool add_builtin(Graph& graph, std::tuple<F...>, const std::string& type, const Place& place,
                 std::span<const Variable> edges, FactorId& added) {
  return ((F{}.info().name == type
               ? (added = graph.add(read_parameters<F>(place, edges.size()), edges), true)
               : false) ||
          ...);
}

FactorId add_factor(Graph& graph, const Place& place) {
  if (!place.object.is_object()) fail(place.where, "must be an object, got " + place.object.dump());
  const std::string type = string_at(place.required("factor"), place.where + ": \"factor\"");
  const json& edges = place.required("edges");
  if (!edges.is_array()) fail(place.where, "\"edges\" must be an array of variable names");
  std::vector<Variable> variables;
  FactorId added{};
  try {
    for (std::size_t k = 0; k < edges.size(); ++k) {
      variables.push_back(
          graph.find(string_at(edges[k], place.where + ": \"edges\"[" + std::to_string(k) + "]")));
    }
    if (!add_builtin(graph, BuiltinFactors{}, type, place, variables, added)) {
      fail(place.where, "unknown factor \"" + type + "\"; the factors are " + known_factors());
    }
  } catch (const GraphError& error) {
    fail(place.where, error.what());
  }
  if (const auto name = place.object.find("name"); name != place.object.end()) {
    graph.set_name(added, string_at(*name, place.where + ": \"name\""));
  }
  return added;
}

// [["factor name or number", "variable"], ...]
std::vector<Step> read_steps(const Graph& graph, const json& list, const std::string& where,
                             const std::unordered_map<std::string, std::uint32_t>& factors) {
  if (!list.is_array()) fail(where, "must be an array of [factor, variable] pairs");
  std::vector<Step> steps;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string here = where + "[" + std::to_string(i) + "]";
    if (!list[i].is_array() || list[i].size() != 2) fail(here, "must be a [factor, variable] pair");
    const auto factor = factors.find(string_at(list[i][0], here));
    if (factor == factors.end()) fail(here, "there is no factor called " + list[i][0].dump());
    const std::string variable = string_at(list[i][1], here);
    std::uint32_t edge = 0;
    const FactorId id{factor->second};
    while (edge < graph.arity(id) && graph.name(graph.edge(id, edge)) != variable) ++edge;
    if (edge == graph.arity(id)) {
      fail(here, "factor " + list[i][0].dump() + " has no edge to variable '" + variable + "'");
    }
    steps.push_back({id.index, edge});
  }
  return steps;
}

Schedule read_schedule(const Graph& graph, const json& object, const std::string& path) {
  const Place place{object, path + ": \"schedule\""};
  if (!object.is_object()) fail(place.where, "must be an object with \"forward\" and \"backward\"");
  place.only({"forward", "backward"});
  std::unordered_map<std::string, std::uint32_t> factors;
  for (std::uint32_t f = 0; f < graph.factor_count(); ++f) {
    if (!factors.emplace(graph.name(FactorId{f}), f).second) {
      fail(path, "two factors are called \"" + graph.name(FactorId{f}) +
                     "\", which a schedule cannot tell apart");
    }
  }
  return {read_steps(graph, place.required("forward"), place.where + ": \"forward\"", factors),
          read_steps(graph, place.required("backward"), place.where + ": \"backward\"", factors)};
}

// JSON has no infinity: an infinite variance is null.
json finite(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

json improper_to_json(const Graph& graph, const ImproperMessage& message) {
  return {{"factor", graph.name(FactorId{message.factor})},
          {"to", graph.name(graph.edge({message.factor}, message.edge))},
          {"sweep", message.sweep},
          {"tau", finite(message.tau)},
          {"rho", finite(message.rho)}};
}

}  // namespace

GraphFile read_graph(const std::string& path) {
  std::ifstream in(path);
  if (!in || std::filesystem::is_directory(path)) fail(path, "cannot be opened for reading");
  return read_graph(in, path);
}

GraphFile read_graph(std::istream& in, const std::string& path) {
  const json file = parse(in, path);
  if (!file.is_object()) fail(path, "must hold one JSON object");
  const Place place{file, path};
  place.only({"variables", "factors", "schedule", "about"});
  const json& variables = place.required("variables");
  const json& factors = place.required("factors");
  if (!variables.is_array()) fail(path, "\"variables\" must be an array of names");
  if (!factors.is_array()) fail(path, "\"factors\" must be an array of objects");
  GraphFile result;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const std::string where = path + ": \"variables\"[" + std::to_string(i) + "]";
    try {
      result.graph.variable(string_at(variables[i], where));
    } catch (const GraphError& error) {
      fail(where, error.what());
    }
  }
  for (std::size_t i = 0; i < factors.size(); ++i) {
    add_factor(result.graph, {factors[i], path + ": \"factors\"[" + std::to_string(i) + "]"});
  }
  if (const auto schedule = file.find("schedule"); schedule != file.end()) {
    result.schedule = read_schedule(result.graph, *schedule, path);
  }
  return result;
}

json to_json(const Graph& graph, const Beliefs& beliefs, const InferenceOptions& options) {
  json marginals = json::object();
  for (std::uint32_t v = 0; v < graph.variable_count(); ++v) {
    const auto marginal = beliefs.marginal({v});
    marginals[graph.name(Variable{v})] = {{"mean", finite(marginal.mean())},
                                          {"variance", finite(marginal.variance())}};
  }
  json messages = json::array();
  for (std::uint32_t f = 0; f < graph.factor_count(); ++f) {
    for (std::size_t k = 0; k < graph.arity({f}); ++k) {
      const auto message = beliefs.message({f}, k);
      messages.push_back({{"factor", graph.name(FactorId{f})},
                          {"to", graph.name(graph.edge({f}, k))},
                          {"mean", finite(message.mean())},
                          {"variance", finite(message.variance())}});
    }
  }
  json improper = json::array();
  for (const auto& message : beliefs.improper) improper.push_back(improper_to_json(graph, message));
  json collapsed = json::array();
  for (const auto& message : beliefs.collapsed)
    collapsed.push_back(improper_to_json(graph, message));
  json failed = json::array();
  for (const auto& message : beliefs.failed) {
    failed.push_back({{"factor", graph.name(FactorId{message.factor})},
                      {"to", graph.name(graph.edge({message.factor}, message.edge))},
                      {"sweep", message.sweep},
                      {"why", message.why}});
  }
  json improper_marginals = json::array();
  for (const auto v : beliefs.improper_marginals)
    improper_marginals.push_back(graph.name(Variable{v}));
  const bool watched = options.tolerance > 0;
  return {{"engine", name_of(options.engine)},
          {"rule", name_of(options.rule)},
          {"marginals", std::move(marginals)},
          {"messages", std::move(messages)},
          {"sweeps", beliefs.sweeps},
          {"converged", watched ? json(beliefs.converged) : json(nullptr)},
          {"last_change", watched ? finite(beliefs.last_change) : json(nullptr)},
          {"messages_sent", beliefs.messages_sent},
          {"improper_messages", std::move(improper)},
          {"failed_messages", std::move(failed)},
          {"collapsed", std::move(collapsed)},
          {"improper_marginals", std::move(improper_marginals)}};
}

}  // namespace dma::cli
