// The evidence of a graph from the messages of its beliefs.
#include <dma/factors/normaliser.h>

#include <dma/graph/graph.h>

#include "graph/adjacency.h"

namespace dma {
namespace {

// Of one variable, log Z_v - sum over its edges of log Z_fv; and the messages that it sends.
double variable_term(std::span<const std::uint32_t> edges,
                     std::span<const Gaussian<double>> messages,
                     std::span<Gaussian<double>> cavities) {
  double term = 0;
  auto before = Gaussian<double>::uniform();
  for (const std::uint32_t edge : edges) {
    if (!messages[edge].is_uniform()) term += log_overlap(before, messages[edge]);
    cavities[edge] = before;
    before *= messages[edge];
  }
  auto after = Gaussian<double>::uniform();
  for (auto edge = edges.rbegin(); edge != edges.rend(); ++edge) {
    cavities[*edge] *= after;
    after *= messages[*edge];
    term -= log_overlap(cavities[*edge], messages[*edge]);
  }
  return term;
}

// The same of a Gamma variable, whose messages are not normalised: every Z_fv is Z_v.
double gamma_variable_term(std::span<const std::uint32_t> edges,
                           std::span<const Gaussian<double>> messages,
                           std::span<Gaussian<double>> cavities) {
  auto before = Gaussian<double>::uniform();
  for (const std::uint32_t edge : edges) {
    cavities[edge] = before;
    before *= messages[edge];
  }
  auto after = Gaussian<double>::uniform();
  for (auto edge = edges.rbegin(); edge != edges.rend(); ++edge) {
    cavities[*edge] *= after;
    after *= messages[*edge];
  }
  return (1 - static_cast<double>(edges.size())) * log_integral(Gamma::from_message(before));
}

}  // namespace

double Graph::log_evidence(const Beliefs& beliefs) const {
  if (beliefs.engine_ != Engine::direct && beliefs.engine_ != Engine::ep) {
    throw GraphError("the evidence needs beliefs of the engine direct or ep");
  }
  check_own(beliefs);
  if (beliefs.variable_count() != variable_count() || beliefs.factor_count() != factor_count()) {
    throw GraphError("the graph has grown since these beliefs");
  }
  if (beliefs.forgotten_count_ != forgotten_count_)
    throw GraphError("the graph has forgotten factors since these beliefs");
  const auto by_variable = detail::adjacency(variable_count(), edge_variable_);
  const auto edge_factor = detail::edge_factors(edge_begin_);
  std::vector<std::uint32_t> edges;  // of one variable
  std::vector<Gaussian<double>> cavities(edge_count());
  double log = 0;
  for (std::uint32_t v = 0; v < variable_count(); ++v) {
    edges.clear();
    for (std::uint32_t i = by_variable.begin[v]; i < by_variable.begin[v + 1]; ++i) {
      if (!forgotten_[edge_factor[by_variable.edges[i]]]) edges.push_back(by_variable.edges[i]);
    }
    try {
      const auto term = beliefs.family(Variable{v}) == MessageFamily::gaussian
                            ? variable_term
                            : gamma_variable_term;
      log += term(edges, beliefs.messages_, cavities);
    } catch (const std::logic_error& error) {
      throw GraphError("the evidence does not exist: variable '" + name(Variable{v}) +
                       "': " + error.what());
    }
  }
  for (std::uint32_t f = 0; f < factor_count(); ++f) {
    if (forgotten_[f]) continue;
    const std::uint16_t kind = factor_kind_[f];
    const auto in = std::span<const Gaussian<double>>(cavities).subspan(edge_begin_[f], arity({f}));
    try {
      log += kinds_[kind]->log_normaliser(factors_[kind], factor_local_[f], in);
    } catch (const std::logic_error& error) {
      throw GraphError("the evidence does not exist: factor " + name(FactorId{f}) + ": " +
                       error.what());
    }
  }
  return log;
}

}  // namespace dma
