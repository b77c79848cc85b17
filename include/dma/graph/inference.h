// graph/inference.h: options and results of inference on a graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dma/base/arrays.h>
#include <dma/factors/factor.h>
#include <dma/graph/factor_table.h>
#include <dma/messages/gaussian.h>

namespace dma {

struct FactorArray;
struct FactorId;
struct Variable;
struct VariableArray;
class Graph;

// direct  approximates each message (DMA), by either rule.
// ep      projects each marginal and divides by the incoming message.
// vmp     sends exp of the expected log factor under the beliefs; on a Dirac factor it collapses.
// adf     projects each marginal once, in order of insertion; sends nothing back.
enum class Engine { direct, ep, vmp, adf };

std::string_view name_of(Engine engine);

// What EP does with a message of negative precision.
enum class OnImproper { pass, skip, stop };

struct InferenceOptions {
  Engine engine = Engine::direct;
  Rule rule = Rule::direct;  // engine direct only
  std::size_t sweeps = 1;    // maximum
  // Stop when no marginal moved by more than this between two sweeps, mean and standard deviation in
  // units of the standard deviation. 0: run all sweeps.
  double tolerance = 0;
  OnImproper on_improper = OnImproper::pass;
  // Share of the message before that is kept, in [0, 1): a message is old^damping new^(1 - damping). The first on an edge
  // is sent whole. Engines direct and ep.
  double damping = 0;
  // How many sweeps to look back on to extrapolate the next messages (Anderson); 0: none. For graphs that converge slowly;
  // the fixed points stay the same. It needs a tolerance, and the engines direct or ep.
  std::size_t acceleration = 0;
  // At most so many threads for rows of arrays that do not touch each other's variables; 0: all cores. The beliefs are the
  // same for any number. With OnImproper::stop there is one.
  std::size_t threads = 1;
};

// A message with negative precision, or a projection that does not exist.
struct ImproperMessage {
  std::uint32_t factor;
  std::uint32_t edge;
  std::size_t sweep;
  double tau;
  double rho;
};

struct FailedMessage {
  std::uint32_t factor;
  std::uint32_t edge;
  std::size_t sweep;
  std::string why;
};

// The result of inference.
class Beliefs {
 public:
  // Throws GraphError for a Gamma variable.
  Gaussian<double> marginal(Variable variable) const;
  // Row by row.
  std::span<const Gaussian<double>> marginals(const VariableArray& array) const;
  // The same of Gamma variables; throws GraphError for another.
  Gamma gamma_marginal(Variable variable) const;
  std::vector<Gamma> gamma_marginals(const VariableArray& array) const;
  MessageFamily family(Variable variable) const;
  // Of any family, as the two numbers of a message.
  Gaussian<double> natural(Variable variable) const;
  std::span<const Gaussian<double>> naturals(const VariableArray& array) const;
  // The last message from a factor to one of its edges; of a Gamma variable see Gamma::from_message.
  Gaussian<double> message(FactorId factor, std::size_t edge) const;
  // The same of every row.
  std::vector<Gaussian<double>> messages(FactorArray factors, std::size_t edge) const;

  // Of the graph as it was.
  std::size_t variable_count() const { return marginals_.size(); }
  std::size_t factor_count() const { return layout_.factor_count(); }
  std::size_t arity(FactorId factor) const;

  // Whether the last sweep's movements were measured: with a tolerance, from the second sweep on.
  bool measured() const { return !changes_.empty(); }
  // Movement in the last sweep, in standard deviations, if it was measured; else 0.
  double change(Variable variable) const;
  std::vector<double> changes(const VariableArray& array) const;

  std::size_t sweeps = 0;
  bool converged = false;  // only if a tolerance was given, or the schedule is exact on this graph
  double last_change = 0;  // largest movement of a marginal in the last sweep, if it was measured
  double damping = 0;      // as asked for
  std::size_t messages_sent = 0;
  std::vector<ImproperMessage> improper;
  std::vector<FailedMessage> failed;
  // Steps at which VMP put a point mass on a variable that had a width (factor, edge).
  std::vector<ImproperMessage> collapsed;
  // Variables whose marginal is not a distribution (EP with negative precisions).
  std::vector<std::uint32_t> improper_marginals;
  // Variables that moved by more than the tolerance in the last sweep.
  std::vector<std::uint32_t> moving;

  // Everything but `improper`, `failed` and `collapsed`, which are of the run that found the beliefs.
  Arrays store() const;
  // Throws NetworkError.
  static Beliefs restore(Arrays stored);

 private:
  friend class Graph;
  void require_family(Variable variable, MessageFamily family) const;

  Engine engine_ = Engine::direct;
  std::uint64_t structure_ = 0;      // the graph's
  std::size_t forgotten_count_ = 0;  // the graph's
  std::vector<Gaussian<double>> marginals_;
  std::vector<MessageFamily> families_;  // by variable; empty if all are Gaussian
  std::vector<double> changes_;
  std::vector<Gaussian<double>> messages_;
  detail::EdgeLayout layout_;
};

}  // namespace dma
