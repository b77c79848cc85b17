#include <dma/graph/graph.h>

#include <algorithm>
#include <limits>

namespace dma {

Variable Graph::variable(std::string name) {
  const auto index = static_cast<std::uint32_t>(variable_names_.size());
  if (name.empty()) throw GraphError("a variable needs a name");
  if (!variable_by_name_.emplace(name, index).second) {
    throw GraphError("there is already a variable called '" + name + "'");
  }
  variable_names_.push_back(std::move(name));
  return {index};
}

Variable Graph::variable() { return variable("v" + std::to_string(variable_names_.size())); }

void Graph::set_name(FactorId factor, std::string name) {
  factor_names_[factor.index] = std::move(name);
}

std::string Graph::name(FactorId factor) const {
  const auto found = factor_names_.find(factor.index);
  if (found != factor_names_.end()) return found->second;
  return std::string(info(factor).name) + "#" + std::to_string(factor.index);
}

const FactorInfo& Graph::info(FactorId factor) const {
  const std::uint16_t kind = factor_kind_[factor.index];
  return kinds_[kind]->info(factors_[kind], factor_local_[factor.index]);
}

Variable Graph::find(const std::string& name) const {
  const auto found = variable_by_name_.find(name);
  if (found == variable_by_name_.end())
    throw GraphError("there is no variable called '" + name + "'");
  return {found->second};
}

std::string Graph::place(const FactorInfo& info) const {
  return "factor " + std::to_string(factor_count()) + " (" + std::string(info.name) + ")";
}

std::string Graph::place(Step step) const {
  return "factor " + name(FactorId{step.factor}) + " to variable '" +
         name(edge({step.factor}, step.edge)) + "': ";
}

void Graph::check_edges(const FactorInfo& info, std::size_t arity,
                        std::span<const Variable> edges) const {
  if (edges.size() != arity) {
    throw GraphError(place(info) + " needs " + std::to_string(arity) + " variables, got " +
                     std::to_string(edges.size()));
  }
  for (std::size_t k = 0; k < edges.size(); ++k) {
    if (edges[k].index >= variable_count()) {
      throw GraphError(place(info) + ": edge " + std::to_string(k) +
                       " is not a variable of this graph");
    }
    for (std::size_t other = 0; other < k; ++other) {
      if (edges[other].index == edges[k].index) {
        throw GraphError(place(info) + ": variable '" + name(edges[k]) +
                         "' is on two of its edges; write the repetition as a function of one "
                         "variable (dma::function)");
      }
    }
  }
  if (edge_variable_.size() + edges.size() >= std::numeric_limits<std::uint32_t>::max()) {
    throw GraphError("a graph holds at most 2^32 - 2 edges");
  }
}

std::uint16_t Graph::kind_index(const detail::FactorKind& kind, std::any (*empty)()) {
  const auto found = std::find(kinds_.begin(), kinds_.end(), &kind);
  const auto index = static_cast<std::uint16_t>(found - kinds_.begin());
  if (found == kinds_.end()) {
    kinds_.push_back(&kind);
    factors_.push_back(empty());
  }
  return index;
}

FactorId Graph::append(std::uint16_t kind, std::uint32_t local, std::span<const Variable> edges) {
  const auto index = static_cast<std::uint32_t>(factor_kind_.size());
  factor_kind_.push_back(kind);
  factor_local_.push_back(local);
  for (const Variable edge : edges) edge_variable_.push_back(edge.index);
  edge_begin_.push_back(static_cast<std::uint32_t>(edge_variable_.size()));
  return {index};
}

std::string Graph::text(const Schedule& schedule) const {
  std::string out;
  const auto list = [&](const char* direction, const std::vector<Step>& steps) {
    for (const Step step : steps) {
      out += std::string(direction) + " " + name(FactorId{step.factor}) + " -> " +
             name(edge({step.factor}, step.edge)) + "\n";
    }
  };
  list("forward ", schedule.forward);
  list("backward", schedule.backward);
  return out;
}

}  // namespace dma
