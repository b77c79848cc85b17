// graph/inference.h: options and results of inference on a graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <dma/factors/factor.h>
#include <dma/messages/gaussian.h>

namespace dma {

struct Variable;
struct FactorId;
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
  Gaussian<double> marginal(Variable variable) const;
  // The last message from a factor to one of its edges.
  Gaussian<double> message(FactorId factor, std::size_t edge) const;

  std::size_t sweeps = 0;
  bool converged = false;  // only if a tolerance was given, or the schedule is exact on this graph
  double last_change = 0;  // movement of the marginals in the last sweep, if it was measured
  std::size_t messages_sent = 0;
  std::vector<ImproperMessage> improper;
  std::vector<FailedMessage> failed;
  // Steps at which VMP put a point mass on a variable that had a width (factor, edge).
  std::vector<ImproperMessage> collapsed;
  // Variables whose marginal is not a distribution (EP with negative precisions).
  std::vector<std::uint32_t> improper_marginals;

 private:
  friend class Graph;
  std::vector<Gaussian<double>> marginals_;
  std::vector<Gaussian<double>> messages_;
  std::vector<std::uint32_t> edge_begin_;
};

}  // namespace dma
