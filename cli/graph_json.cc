#include "cli/graph_json.h"

#include <dma/factors/factors.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <type_traits>
#include <unordered_map>

#include "cli/bad_input.h"
#include "cli/plates.h"

namespace dma::cli {
namespace {

using nlohmann::json;

constexpr int deepest = 32;

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

// The edges of a factor, or of one per element of a plate.
struct Edges {
  const PlateData& data;
  const Plate* plate = nullptr;
  std::vector<Variable> variables = {};                // without a plate
  std::vector<EdgeRows> rows = {};                     // with one
  std::deque<std::vector<std::int64_t>> indices = {};  // kept alive
  std::size_t count = 0;
};

// Parameters that are read from columns, row by row.
template <class F>
struct ByRow {
  struct Use {
    std::string parameter;
    const Column* column;
    std::function<void(F& factor, double value)> set;
  };
  std::vector<Use> uses = {};
};

template <class F, class Member>
void set_from_cell(F& factor, Member F::*member, double value) {
  if constexpr (std::is_same_v<Member, int>) {
    if (value != std::floor(value) || std::abs(value) > 1000)
      throw std::invalid_argument("must be a whole number");
    factor.*member = static_cast<int>(value);
  } else {
    factor.*member = value;
  }
}

// A number, or with a plate over rows the name of a column.
template <class F, class Member>
void read_parameter(F& factor, Member F::*member, const json& value, const Edges& edges,
                    const std::string& where, ByRow<F>& by_row) {
  const bool over_rows = edges.plate != nullptr && edges.plate->over_rows;
  const auto column = [&](const json& name) {
    return &edges.data.column(name.get<std::string>(), where);
  };
  if constexpr (std::is_same_v<Member, std::vector<double>>) {
    if (!over_rows || !value.is_array()) return assign(factor.*member, value, where);
    for (std::size_t k = 0; k < value.size(); ++k) {
      const std::string here = where + "[" + std::to_string(k) + "]";
      (factor.*member).push_back(value[k].is_string() ? 0 : number_at(value[k], here));
      if (!value[k].is_string()) continue;
      by_row.uses.push_back({here, column(value[k]),
                             [member, k](F& one, double number) { (one.*member)[k] = number; }});
    }
  } else {
    if (!over_rows || !value.is_string()) return assign(factor.*member, value, where);
    by_row.uses.push_back({where, column(value), [member](F& one, double number) {
                             set_from_cell(one, member, number);
                           }});
  }
}

template <class F>
F read_parameters(const Place& place, const Edges& edges, ByRow<F>& by_row) {
  F factor;
  std::set<std::string> known{"factor", "edges", "name", "plate"};
  const auto read = [&](const auto& parameter) {
    const std::string name(parameter.name);
    known.insert(name);
    const auto found = place.object.find(name);
    if (found != place.object.end()) {
      read_parameter(factor, parameter.member, *found, edges, place.where + ": \"" + name + "\"",
                     by_row);
    } else if (parameter.required) {
      fail(place.where, "has no \"" + name + "\"");
    }
  };
  std::apply([&](const auto&... parameter) { (read(parameter), ...); }, F::parameters);
  place.only(known);
  if constexpr (requires { factor.edges = edges.count; }) factor.edges = edges.count;
  return factor;
}

// The factor of one row; throws BadInput that names the cell if it cannot be.
template <class F>
F factor_of_row(const F& shared, const ByRow<F>& by_row, const Edges& edges, std::size_t row,
                const std::string& where) {
  F factor = shared;
  const typename ByRow<F>::Use* last = nullptr;
  try {
    for (const auto& use : by_row.uses) {
      last = &use;
      use.set(factor, edges.data.number(*edges.plate, *use.column, row));
    }
    if constexpr (requires { factor.validate(); }) factor.validate();
  } catch (const std::invalid_argument& error) {
    fail(where, edges.data.place(*edges.plate, *last->column, row) + ": " +
                    std::to_string(last->column->numbers[row]) + ": " + error.what());
  }
  return factor;
}

template <class F>
FactorArray add_one(Graph& graph, const Place& place, const Edges& edges) {
  ByRow<F> by_row;
  const F shared = read_parameters<F>(place, edges, by_row);
  if (edges.plate == nullptr)
    return {graph.add(shared, std::span<const Variable>(edges.variables)).index, 1};
  const std::span<const EdgeRows> rows(edges.rows);
  if (by_row.uses.empty()) return graph.add(shared, rows);
  return graph.add(
      [&](std::size_t row) { return factor_of_row(shared, by_row, edges, row, place.where); },
      rows);
}

std::string known_factors() {
  std::string names;
  const auto list = [&](const auto&... factor) {
    ((names += (names.empty() ? "" : ", ") + std::string(factor.info().name)), ...);
  };
  std::apply(list, BuiltinFactors{});
  return names;
}

// Adds the factors whose type is `type`; false if there is none.
template <class... F>
bool add_builtin(Graph& graph, std::tuple<F...>, const std::string& type, const Place& place,
                 const Edges& edges, FactorArray& added) {
  return ((F{}.info().name == type ? (added = add_one<F>(graph, place, edges), true) : false) ||
          ...);
}

// Arrays, and the plate that each ranges over.
using PlateOf = std::unordered_map<std::string, const Plate*>;

// An edge of a factor on a plate: a variable, an array on the same plate, or array[column].
void add_edge(const Graph& graph, const PlateOf& plate_of, const std::string& name,
              const std::string& where, Edges& edges) {
  const Plate& plate = *edges.plate;
  if (const auto same = plate_of.find(name); same != plate_of.end()) {
    if (same->second != &plate) {
      fail(where, "the array '" + name + "' is on plate '" + same->second->name +
                      "', the factor on plate '" + plate.name + "': say which element, " + name +
                      "[column]");
    }
    edges.rows.emplace_back(graph.find_array(name));
    return;
  }
  const auto parts = bracketed(name);
  const auto array = parts ? plate_of.find(parts->array) : plate_of.end();
  if (array == plate_of.end() || !plate.over_rows) {
    edges.rows.emplace_back(graph.find(name), plate.size);
    return;
  }
  edges.indices.push_back(
      edges.data.indices(plate, edges.data.column(parts->inside, where), *array->second, where));
  edges.rows.push_back(graph.find_array(parts->array).at(edges.indices.back()));
}

// An edge of a single factor: a variable, or an element by its label.
Variable single_edge(const Graph& graph, const PlateOf& plate_of, const std::string& name) {
  const auto parts = bracketed(name);
  const auto array = parts ? plate_of.find(parts->array) : plate_of.end();
  if (array != plate_of.end()) {
    const auto labelled = array->second->row.find(parts->inside);
    if (labelled != array->second->row.end())
      return graph.find_array(parts->array)[static_cast<std::size_t>(labelled->second)];
  }
  return graph.find(name);
}

void add_factor(GraphFile& file, const PlateData& data, const PlateOf& plate_of,
                const Place& place) {
  Graph& graph = file.graph;
  if (!place.object.is_object()) fail(place.where, "must be an object, got " + place.object.dump());
  const std::string type = string_at(place.required("factor"), place.where + ": \"factor\"");
  const json& names = place.required("edges");
  if (!names.is_array()) fail(place.where, "\"edges\" must be an array of variable names");
  Edges edges{data};
  if (const auto plate = place.object.find("plate"); plate != place.object.end()) {
    const std::string name = string_at(*plate, place.where + ": \"plate\"");
    edges.plate = data.find(name);
    if (edges.plate == nullptr) fail(place.where, "there is no plate called \"" + name + "\"");
  }
  FactorArray added{};
  try {
    for (std::size_t k = 0; k < names.size(); ++k) {
      const std::string where = place.where + ": \"edges\"[" + std::to_string(k) + "]";
      const std::string name = string_at(names[k], where);
      if (edges.plate == nullptr) {
        edges.variables.push_back(single_edge(graph, plate_of, name));
        ++edges.count;
      } else {
        add_edge(graph, plate_of, name, where, edges);
        edges.count += edges.rows.back().width();
      }
    }
    if (!add_builtin(graph, BuiltinFactors{}, type, place, edges, added)) {
      fail(place.where, "unknown factor \"" + type + "\"; the factors are " + known_factors());
    }
  } catch (const RowError& error) {
    const bool over_rows = edges.plate != nullptr && edges.plate->over_rows;
    fail(place.where, (over_rows ? data.place(*edges.plate, error.row) + ": " : "") + error.what());
  } catch (const GraphError& error) {
    fail(place.where, error.what());
  }
  if (const auto name = place.object.find("name"); name != place.object.end()) {
    graph.set_name(added, string_at(*name, place.where + ": \"name\""));
  }
  if (edges.plate != nullptr) file.plate_of_factors.emplace(added.first, edges.plate->name);
}

// A name, or {"name", "plate", "columns"}.
void add_variable(GraphFile& file, const PlateData& data, PlateOf& plate_of, const json& variable,
                  const std::string& where) {
  try {
    if (!variable.is_object()) {
      file.graph.variable(string_at(variable, where));
      return;
    }
    const Place place{variable, where};
    place.only({"name", "plate", "columns"});
    const std::string name = string_at(place.required("name"), where + ": \"name\"");
    const std::string on = string_at(place.required("plate"), where + ": \"plate\"");
    const Plate* const plate = data.find(on);
    if (plate == nullptr) fail(where, "there is no plate called \"" + on + "\"");
    int columns = 0;
    if (const auto found = variable.find("columns"); found != variable.end()) {
      assign(columns, *found, where + ": \"columns\"");
      if (columns < 1) fail(where, "\"columns\" must be at least 1");
    }
    file.graph.variables(name, {plate->size, static_cast<std::size_t>(columns)});
    plate_of.emplace(name, plate);
    file.plate_of_variables.emplace(name, plate->name);
    if (!plate->labels.empty()) file.labels.emplace(name, plate->labels);
  } catch (const GraphError& error) {
    fail(where, error.what());
  }
}

using FactorNames = std::unordered_map<std::string, std::uint32_t>;

constexpr const char* no_step =
    "must be a [factor, variable] pair, or [factors of a plate, number of an edge]";

bool is_pair(const json& step) {
  return step.is_array() && step.size() == 2 && step[0].is_string();
}

// ["factor name or number", "variable"].
Step read_step(const Graph& graph, const json& step, const std::string& where,
               const FactorNames& factors) {
  const auto factor = factors.find(string_at(step[0], where));
  if (factor == factors.end()) fail(where, "there is no factor called " + step[0].dump());
  const std::string variable = string_at(step[1], where);
  const FactorId id{factor->second};
  std::uint32_t edge = 0;
  while (edge < graph.arity(id) && graph.name(graph.edge(id, edge)) != variable) ++edge;
  if (edge == graph.arity(id)) {
    fail(where, "factor " + step[0].dump() + " has no edge to variable '" + variable + "'");
  }
  return {id.index, edge};
}

// ["factors", 0]: all factors of a plate, by the number of the edge.
RowStep read_row_step(const Graph& graph, const json& step, const std::string& where,
                      const FactorNames& factors) {
  if (!is_pair(step) || !step[1].is_number_unsigned()) fail(where, no_step);
  const std::string name = string_at(step[0], where);
  const auto first = factors.find(name + "[0]");
  const auto arrays = graph.factor_arrays();
  const auto found = std::find_if(arrays.begin(), arrays.end(), [&](const FactorArray& array) {
    return first != factors.end() && array.first == first->second;
  });
  if (found == arrays.end()) fail(where, "there are no factors of a plate called \"" + name + "\"");
  const auto edge = step[1].get<std::uint64_t>();
  const std::size_t arity = graph.arity((*found)[0]);
  if (edge >= arity) {
    fail(where, "\"" + name + "\" has the edges 0 to " + std::to_string(arity - 1) + ", not " +
                    std::to_string(edge));
  }
  return {*found, static_cast<std::uint32_t>(edge)};
}

// Of ["factor", "variable"]; ["factors", edge], a step per row; and [["factors", edge], ...], all of them row by row, on the
// way back from the last row on.
Steps read_steps(const Graph& graph, const json& list, const std::string& where,
                 const FactorNames& factors, bool back) {
  if (!list.is_array()) fail(where, "must be an array of [factor, variable] pairs");
  Steps steps;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string here = where + "[" + std::to_string(i) + "]";
    if (!list[i].is_array() || list[i].empty()) fail(here, no_step);
    if (is_pair(list[i]) && list[i][1].is_string()) {
      steps.push_back(read_step(graph, list[i], here, factors));
      continue;
    }
    const bool one_after_the_other = !is_pair(list[i]);
    std::vector<RowStep> rows;
    if (one_after_the_other) {
      for (const json& step : list[i]) rows.push_back(read_row_step(graph, step, here, factors));
    } else {
      rows.push_back(read_row_step(graph, list[i], here, factors));
    }
    try {
      const bool from_the_last = back && one_after_the_other;
      steps.append(from_the_last ? row_by_row({}, rows).backward : row_by_row(rows).forward);
    } catch (const GraphError& error) {
      fail(here, error.what());
    }
  }
  return steps;
}

Schedule read_schedule(const Graph& graph, const json& object, const std::string& path) {
  const Place place{object, path + ": \"schedule\""};
  if (!object.is_object()) fail(place.where, "must be an object with \"forward\" and \"backward\"");
  place.only({"forward", "backward"});
  FactorNames factors;
  for (std::uint32_t f = 0; f < graph.factor_count(); ++f) {
    if (!factors.emplace(graph.name(FactorId{f}), f).second) {
      fail(path, "two factors are called \"" + graph.name(FactorId{f}) +
                     "\", which a schedule cannot tell apart");
    }
  }
  const auto steps = [&](const char* way, bool back) {
    return read_steps(graph, place.required(way), place.where + ": \"" + way + "\"", factors, back);
  };
  return {steps("forward", false), steps("backward", true)};
}

json improper_to_json(const Graph& graph, const ImproperMessage& message) {
  return {{"factor", graph.name(FactorId{message.factor})},
          {"to", graph.name(graph.edge({message.factor}, message.edge))},
          {"sweep", message.sweep},
          {"tau", finite(message.tau)},
          {"rho", finite(message.rho)}};
}

}  // namespace

std::string GraphFile::name(Variable variable) const {
  std::string plain = graph.name(variable);
  const auto parts = bracketed(plain);
  const auto found = parts ? labels.find(parts->array) : labels.end();
  if (found == labels.end()) return plain;
  const auto comma = parts->inside.find(',');
  const std::size_t row = std::stoul(parts->inside);
  return parts->array + "[" + found->second[row] +
         (comma == std::string::npos ? "" : parts->inside.substr(comma)) + "]";
}

GraphFile read_graph(const std::string& path, const std::string& data_path) {
  std::ifstream in(path);
  if (!in || std::filesystem::is_directory(path)) fail(path, "cannot be opened for reading");
  return read_graph(in, path, data_path);
}

GraphFile read_graph(std::istream& in, const std::string& path, const std::string& data_path) {
  const json file = parse(in, path);
  if (!file.is_object()) fail(path, "must hold one JSON object");
  const Place place{file, path};
  place.only({"variables", "factors", "schedule", "about", "plates"});
  const json& variables = place.required("variables");
  const json& factors = place.required("factors");
  if (!variables.is_array()) fail(path, "\"variables\" must be an array of names");
  if (!factors.is_array()) fail(path, "\"factors\" must be an array of objects");
  const PlateData data(file, path, data_path);
  PlateOf plate_of;
  GraphFile result;
  if (const auto about = file.find("about"); about != file.end() && about->is_string())
    result.about = about->get<std::string>();
  for (const auto& [name, plate] : data.plates()) result.plates.emplace(name, plate.size);
  for (std::size_t i = 0; i < variables.size(); ++i) {
    add_variable(result, data, plate_of, variables[i],
                 path + ": \"variables\"[" + std::to_string(i) + "]");
  }
  for (std::size_t i = 0; i < factors.size(); ++i) {
    add_factor(result, data, plate_of,
               {factors[i], path + ": \"factors\"[" + std::to_string(i) + "]"});
  }
  if (const auto schedule = file.find("schedule"); schedule != file.end()) {
    result.schedule = read_schedule(result.graph, *schedule, path);
  }
  return result;
}

namespace {

// Mean and variance of a message; of a Gamma variable its shape and rate too.
json moments(Gaussian<double> message, MessageFamily family) {
  if (family == MessageFamily::gaussian)
    return {{"mean", finite(message.mean())}, {"variance", finite(message.variance())}};
  const auto gamma = Gamma::from_message(message);
  return {{"mean", finite(gamma.mean())},
          {"variance", finite(gamma.variance())},
          {"shape", finite(gamma.shape)},
          {"rate", finite(gamma.rate)}};
}

// The same of many as arrays, with columns as arrays of arrays.
json moments(std::span<const Gaussian<double>> messages, MessageFamily family,
             std::uint32_t columns) {
  json result = moments(Gaussian<double>::uniform(), family);
  for (auto& [key, values] : result.items()) values = json::array();
  for (std::size_t row = 0; row * std::max(1U, columns) < messages.size(); ++row) {
    const json of_row = columns == 0 ? moments(messages[row], family)
                                     : moments(messages.subspan(row * columns, columns), family, 0);
    for (auto& [key, values] : result.items()) values.push_back(of_row[key]);
  }
  return result;
}

json marginals_to_json(const GraphFile& file, const Beliefs& beliefs) {
  json result = json::object();
  for (const NamedVariables& names : file.graph.names()) {
    if (!names.is_array()) {
      const Variable variable{names.first};
      result[names.name] = moments(beliefs.natural(variable), beliefs.family(variable));
      continue;
    }
    result[names.name] = moments(beliefs.naturals(names.array()),
                                 beliefs.family(Variable{names.first}), names.columns);
    if (const auto found = file.labels.find(names.name); found != file.labels.end())
      result[names.name]["labels"] = found->second;
  }
  return result;
}

json messages_to_json(const Graph& graph, const Beliefs& beliefs) {
  json result = json::array();
  for (const auto& [factors, is_array] : factor_nodes(graph)) {
    const FactorId first{factors.first};
    for (std::size_t k = 0; k < graph.arity(first); ++k) {
      const MessageFamily family = beliefs.family(graph.edge(first, k));
      json message = is_array ? moments(beliefs.messages(factors, k), family, 0)
                              : moments(beliefs.message(first, k), family);
      message["factor"] = is_array ? graph.name(factors) : graph.name(first);
      if (is_array) {
        message["edge"] = k;
      } else {
        message["to"] = graph.name(graph.edge(first, k));
      }
      result.push_back(std::move(message));
    }
  }
  return result;
}

}  // namespace

json finite(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

std::vector<Variable> listed(const Graph& graph, std::size_t most_elements) {
  std::vector<Variable> result;
  for (const NamedVariables& names : graph.names()) {
    const std::size_t size = names.array().size();
    if (size > most_elements) continue;
    for (std::uint32_t k = 0; k < size; ++k) result.push_back({names.first + k});
  }
  return result;
}

std::vector<FactorNode> factor_nodes(const Graph& graph) {
  std::vector<FactorNode> nodes;
  auto array = graph.factor_arrays().begin();
  for (std::uint32_t f = 0; f < graph.factor_count();) {
    const bool rows = array != graph.factor_arrays().end() && array->first == f;
    nodes.push_back({rows ? *array : FactorArray{f, 1}, rows});
    f += rows ? (array++)->rows : 1;
  }
  return nodes;
}

Evidence evidence_of(const Graph& graph, const Beliefs& beliefs) {
  try {
    return {.log = graph.log_evidence(beliefs)};
  } catch (const GraphError& error) {
    return {.why = error.what()};
  }
}

json to_json(const GraphFile& file, const Beliefs& beliefs, const InferenceOptions& options) {
  const Graph& graph = file.graph;
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
    improper_marginals.push_back(file.name(Variable{v}));
  const Evidence evidence = evidence_of(graph, beliefs);
  json moving = json::array();
  for (const auto v : beliefs.moving) moving.push_back(file.name(Variable{v}));
  const bool watched = options.tolerance > 0;
  return {{"engine", name_of(options.engine)},
          {"rule", name_of(options.rule)},
          {"log_evidence", evidence.log ? finite(*evidence.log) : json(nullptr)},
          {"no_evidence", evidence.log ? json(nullptr) : json(evidence.why)},
          {"marginals", marginals_to_json(file, beliefs)},
          {"messages", messages_to_json(graph, beliefs)},
          {"sweeps", beliefs.sweeps},
          {"converged", watched ? json(beliefs.converged) : json(nullptr)},
          {"last_change", watched ? finite(beliefs.last_change) : json(nullptr)},
          {"damping", beliefs.damping},
          {"moving", std::move(moving)},
          {"messages_sent", beliefs.messages_sent},
          {"improper_messages", std::move(improper)},
          {"failed_messages", std::move(failed)},
          {"collapsed", std::move(collapsed)},
          {"improper_marginals", std::move(improper_marginals)}};
}

}  // namespace dma::cli
