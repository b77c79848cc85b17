// The evidence of a graph from the messages of its beliefs.
#include <dma/factors/normaliser.h>

#include <dma/graph/graph.h>

namespace dma {
namespace {

// Of one variable, log Z_v - sum over its edges of log Z_fv; and the messages that it sends.
double variable_term(std::span<const std::uint32_t> edges,  // places of messages
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
  const auto messages = messages_of(beliefs);
  const detail::Neighbours neighbours(table_, variable_count(), true);
  // What each factor says; those that are forgotten have no place in the products.
  std::vector<bool> counts(messages.size(), true);
  table_.for_each([&](std::uint32_t f, const detail::FactorView& factor) {
    if (!forgotten_[f]) return;
    for (const std::uint32_t place : factor.places) {
      if (place != detail::no_message) counts[factor.message + place] = false;
    }
  });
  std::vector<std::uint32_t> edges;  // of one variable
  std::vector<Gaussian<double>> cavities(messages.size());
  double log = 0;
  for (std::uint32_t v = 0; v < variable_count(); ++v) {
    edges.clear();
    for (const std::uint32_t place : neighbours.messages(v)) {
      if (counts[place]) edges.push_back(place);
    }
    try {
      const auto term = beliefs.family(Variable{v}) == MessageFamily::gaussian
                            ? variable_term
                            : gamma_variable_term;
      log += term(edges, messages, cavities);
    } catch (const std::logic_error& error) {
      throw GraphError("the evidence does not exist: variable '" + name(Variable{v}) +
                       "': " + error.what());
    }
  }
  std::vector<Gaussian<double>> in;
  table_.for_each([&](std::uint32_t f, const detail::FactorView& factor) {
    if (forgotten_[f]) return;
    in.clear();
    for (std::size_t k = 0; k < factor.variables.size(); ++k) {
      const std::uint32_t variable = factor.variables[k];
      in.push_back(detail::is_known(variable)
                       ? Gaussian<double>::point(known_[variable - detail::known_begin])
                       : cavities[factor.message + factor.places[k]]);
    }
    try {
      log += kinds_[factor.kind]->log_normaliser(factors_[factor.kind], factor.local, in);
    } catch (const std::logic_error& error) {
      throw GraphError("the evidence does not exist: factor " + name(FactorId{f}) + ": " +
                       error.what());
    }
  });
  return log;
}

}  // namespace dma
