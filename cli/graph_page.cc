#include "cli/graph_page.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include <fmt/core.h>

namespace dma::cli {
namespace {

using nlohmann::json;

constexpr std::size_t most_drawn = 80;  // variables and factors; larger graphs are counted by type
constexpr std::size_t most_listed = 100;    // rows of a table
constexpr std::size_t most_elements = 40;   // of an array that are shown one by one
constexpr std::size_t most_points = 2'000;  // of a chart, of larger arrays every n-th

std::size_t node_of(const Graph& graph, Variable variable) {
  const auto names = graph.names();
  const auto after = std::upper_bound(
      names.begin(), names.end(), variable.index,
      [](std::uint32_t index, const NamedVariables& named) { return index < named.first; });
  return static_cast<std::size_t>(after - names.begin()) - 1;
}

std::string plate_of(const GraphFile& file, const NamedVariables& names) {
  const auto found = file.plate_of_variables.find(names.name);
  return found == file.plate_of_variables.end() ? "" : found->second;
}

std::string plate_of(const GraphFile& file, const FactorNode& node) {
  const auto found = file.plate_of_factors.find(node.factors.first);
  return found == file.plate_of_factors.end() ? "" : found->second;
}

std::string in_words(Gaussian<double> belief) {
  if (belief.is_uniform()) return "unknown";
  if (!belief.is_distribution()) return fmt::format("precision {:.3g}", belief.rho);
  if (belief.is_point()) return fmt::format("{:.4g}", belief.mean());
  // The mean to two digits of the deviation.
  const double unit = std::pow(10.0, std::floor(std::log10(belief.stddev())) - 1);
  const double mean = std::round(belief.mean() / unit) * unit;
  return fmt::format("{:.6g} ± {:.2g}", mean + 0.0, belief.stddev());  // no -0
}

// A mean and a standard deviation, of a belief of any family; nothing if it is no distribution.
struct Summary {
  double mean;
  std::optional<double> deviation;
};

Summary summary_of(const Beliefs& beliefs, Variable variable) {
  const auto summarise = [](const auto& belief) -> Summary {
    if (!belief.is_distribution()) return {belief.mean(), std::nullopt};
    return {belief.mean(), belief.stddev()};
  };
  return beliefs.family(variable) == MessageFamily::gamma
             ? summarise(beliefs.gamma_marginal(variable))
             : summarise(beliefs.marginal(variable));
}

std::string in_words(Gaussian<double> message, MessageFamily family) {
  if (family == MessageFamily::gaussian) return in_words(message);
  if (message.is_uniform()) return "unknown";
  const auto gamma = Gamma::from_message(message);
  if (gamma.is_point()) return fmt::format("{:.4g}", gamma.mean());
  return fmt::format("Gamma, shape {:.4g}, rate {:.4g}", gamma.shape, gamma.rate);
}

// How many of these are in a list of numbers that ascend.
std::size_t count_in(const std::vector<std::uint32_t>& numbers, const NamedVariables& names) {
  const auto begin = std::lower_bound(numbers.begin(), numbers.end(), names.first);
  const auto end = std::lower_bound(begin, numbers.end(), names.first + names.array().size());
  return static_cast<std::size_t>(end - begin);
}

json variable_node(const GraphFile& file, const Beliefs& beliefs, const NamedVariables& names) {
  const std::size_t improper = count_in(beliefs.improper_marginals, names);
  const std::size_t moving = count_in(beliefs.moving, names);
  std::string text = fmt::format("{} variables", names.array().size());
  if (!names.is_array()) {
    const Variable variable{names.first};
    text = in_words(beliefs.natural(variable), beliefs.family(variable));
  }
  std::string state;
  if (moving > 0) state = "moving";
  if (improper > 0) state = "improper";
  return {{"name", names.name},        {"plate", plate_of(file, names)},
          {"text", std::move(text)},   {"is_array", names.is_array()},
          {"state", std::move(state)}, {"moving", moving},
          {"improper", improper}};
}

json factor_node(const GraphFile& file, const FactorNode& node) {
  const Graph& graph = file.graph;
  const FactorId first{node.factors.first};
  json edges = json::array();
  for (std::size_t k = 0; k < graph.arity(first); ++k) {
    const std::size_t to = node_of(graph, graph.edge(first, k));
    const bool known =
        std::any_of(edges.begin(), edges.end(), [&](const json& edge) { return edge == to; });
    if (!known) edges.push_back(to);
  }
  return {{"name", node.is_array ? graph.name(node.factors) : graph.name(first)},
          {"type", graph.info(first).name},
          {"plate", plate_of(file, node)},
          {"factors", node.factors.rows},
          {"edges", std::move(edges)}};
}

// Types of factors, and how many there are.
json counts_by_type(const Graph& graph, const std::vector<FactorNode>& nodes) {
  std::map<std::string, std::size_t> counts;
  for (const FactorNode& node : nodes) {
    const FactorId first{node.factors.first};
    counts[std::string(graph.info(first).name)] += node.factors.rows;
  }
  json rows = json::array();
  for (const auto& [type, count] : counts) rows.push_back({{"factor", type}, {"factors", count}});
  return rows;
}

json drawing(const GraphFile& file, const Beliefs& beliefs) {
  const Graph& graph = file.graph;
  const auto nodes = factor_nodes(graph);
  json result{{"types", counts_by_type(graph, nodes)}};
  if (graph.names().size() + nodes.size() > most_drawn) return result;
  result["plates"] = json::array();
  for (const auto& [name, size] : file.plates)
    result["plates"].push_back({{"name", name}, {"size", size}});
  result["variables"] = json::array();
  for (const NamedVariables& names : graph.names())
    result["variables"].push_back(variable_node(file, beliefs, names));
  result["factors"] = json::array();
  for (const FactorNode& node : nodes) result["factors"].push_back(factor_node(file, node));
  return result;
}

json belief_row(const GraphFile& file, const Beliefs& beliefs, Variable variable) {
  const auto [mean, deviation] = summary_of(beliefs, variable);
  json row{{"variable", file.name(variable)},
           {"mean", finite(mean)},
           {"std", deviation ? finite(*deviation) : json(nullptr)}};
  if (beliefs.measured()) row["movement"] = finite(beliefs.change(variable));
  return row;
}

std::vector<Variable> shown(const Graph& graph) {
  std::vector<Variable> variables = listed(graph, most_elements);
  if (variables.size() > most_listed) variables.resize(most_listed);
  return variables;
}

// Two deviations about the mean; a precision is not below 0. Nothing if the belief is no distribution.
std::optional<json> interval(const Beliefs& beliefs, Variable variable) {
  const auto [mean, deviation] = summary_of(beliefs, variable);
  if (!deviation) return std::nullopt;
  const bool is_gamma = beliefs.family(variable) == MessageFamily::gamma;
  const double lower = mean - 2 * *deviation;
  return json{{"mean", mean},
              {"lower", is_gamma ? std::max(0.0, lower) : lower},
              {"upper", mean + 2 * *deviation}};
}

// {variable, group, mean, lower, upper}, and of larger arrays {group, row, mean, lower, upper}, for the charts.
json figures_of(const GraphFile& file, const Beliefs& beliefs) {
  const Graph& graph = file.graph;
  json single = json::array();
  for (const Variable variable : shown(graph)) {
    auto row = interval(beliefs, variable);
    if (!row) continue;
    (*row)["variable"] = file.name(variable);
    single.push_back(std::move(*row));
  }
  json rows = json::array();
  for (const NamedVariables& names : graph.names()) {
    const std::size_t size = names.array().size();
    if (size <= most_elements) continue;
    const std::size_t columns = std::max(1U, names.columns);
    const std::size_t step = 1 + (size - 1) / most_points;
    for (std::uint32_t k = 0; k < size; k += static_cast<std::uint32_t>(step)) {
      auto row = interval(beliefs, {names.first + k});
      if (!row) continue;
      (*row)["array"] =
          names.columns > 1 ? fmt::format("{}, column {}", names.name, k % columns) : names.name;
      (*row)["row"] = k / columns;
      rows.push_back(std::move(*row));
    }
  }
  return {{"beliefs", std::move(single)}, {"belief_rows", std::move(rows)}};
}

json messages_of(const GraphFile& file, const Beliefs& beliefs) {
  const Graph& graph = file.graph;
  json rows = json::array();
  if (graph.edge_count() > most_listed) return rows;
  for (std::uint32_t f = 0; f < graph.factor_count(); ++f) {
    for (std::size_t k = 0; k < graph.arity({f}); ++k) {
      const auto message = beliefs.message({f}, k);
      const MessageFamily family = beliefs.family(graph.edge({f}, k));
      const bool has_precision = family == MessageFamily::gaussian;
      rows.push_back({{"factor", graph.name(FactorId{f})},
                      {"to", file.name(graph.edge({f}, k))},
                      {"message", in_words(message, family)},
                      {"precision", has_precision ? finite(message.rho) : json(nullptr)}});
    }
  }
  return rows;
}

// Those that moved most first.
json moving_of(const GraphFile& file, const Beliefs& beliefs) {
  std::vector<std::uint32_t> order = beliefs.moving;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return beliefs.change({a}) > beliefs.change({b});
  });
  if (order.size() > most_listed) order.resize(most_listed);
  json rows = json::array();
  for (const std::uint32_t v : order) rows.push_back(belief_row(file, beliefs, {v}));
  return rows;
}

// Messages of negative precision, and those that do not exist.
json trouble_of(const GraphFile& file, const Beliefs& beliefs) {
  const Graph& graph = file.graph;
  json rows = json::array();
  const auto add = [&](const auto& at, std::string what) {
    if (rows.size() == most_listed) return;
    rows.push_back({{"factor", graph.name(FactorId{at.factor})},
                    {"to", file.name(graph.edge({at.factor}, at.edge))},
                    {"sweep", at.sweep},
                    {"what", std::move(what)}});
  };
  for (const auto& one : beliefs.improper) add(one, fmt::format("precision {:.4g}", one.rho));
  for (const auto& one : beliefs.failed) add(one, one.why);
  for (const auto& one : beliefs.collapsed) add(one, "put a point mass on a variable with a width");
  return rows;
}

json facts_of(const GraphFile& file, const Beliefs& beliefs, const InferenceOptions& options) {
  const Graph& graph = file.graph;
  json facts = json::array();
  const auto add = [&](const char* name, json value) {
    facts.push_back({{"name", name}, {"value", std::move(value)}});
  };
  add("variables", graph.variable_count());
  add("factors", graph.factor_count());
  add("engine", options.engine == Engine::direct
                    ? fmt::format("direct, rule {}", name_of(options.rule))
                    : std::string(name_of(options.engine)));
  add("sweeps", beliefs.sweeps);
  add("messages sent", beliefs.messages_sent);
  if (options.tolerance > 0) {
    add("converged", beliefs.converged);
    add("last movement, in deviations", beliefs.last_change);
  }
  if (options.damping > 0) add("damping", options.damping);
  const Evidence evidence = evidence_of(graph, beliefs);
  const char* const log_evidence =
      graph.is_forest() ? "log evidence" : "log evidence, Bethe approximation";
  if (evidence.log) add(log_evidence, *evidence.log);
  if (!beliefs.moving.empty()) add("variables that still move", beliefs.moving.size());
  if (!beliefs.improper.empty()) add("negative precisions", beliefs.improper.size());
  if (!beliefs.failed.empty()) add("failed messages", beliefs.failed.size());
  if (!beliefs.collapsed.empty()) add("collapsed variables", beliefs.collapsed.size());
  if (!beliefs.improper_marginals.empty())
    add("beliefs that are no distribution", beliefs.improper_marginals.size());
  return facts;
}

}  // namespace

json graph_page(const GraphFile& file, const Beliefs& beliefs, const InferenceOptions& options,
                const std::string& name) {
  json variables = json::array();
  for (const Variable variable : shown(file.graph))
    variables.push_back(belief_row(file, beliefs, variable));
  return {{"kind", "graph"},
          {"version", DMA_VERSION},
          {"model", name},
          {"about", file.about},
          {"facts", facts_of(file, beliefs, options)},
          {"graph", drawing(file, beliefs)},
          {"variables", std::move(variables)},
          {"messages", messages_of(file, beliefs)},
          {"moving", moving_of(file, beliefs)},
          {"trouble", trouble_of(file, beliefs)},
          {"figures", figures_of(file, beliefs)}};
}

}  // namespace dma::cli
