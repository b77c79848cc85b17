// factors/factor.h: what a factor is.
//
// A factor f(x_0, ..., x_n) is a small struct that answers, for each of its edges, with the message
// it sends there, given the messages that arrive on all of its edges:
//
//   struct Halve {                                              // y = x / 2
//     static const dma::FactorInfo& info();                     // what it is and what covers it
//     static constexpr std::size_t arity() { return 2; }        // edges: y, x
//     template <std::floating_point T>
//     dma::Gaussian<T> message(std::size_t edge, dma::Incoming<T> in, dma::Rule rule) const;
//   };
//
// Optional members, found by name:
//   double relation(std::span<const double> inputs) const       the factor is
//       delta(x_0 - relation(x_1, ..., x_n)): lets dma::check_factor and the EP engine know it
//   double noise_variance() const                               ... blurred by N(0, noise_variance)
//   double log_density(std::span<const double> at) const        log f of a factor with one edge
//   Gaussian<double> marginal(std::size_t edge, Incoming<double> in) const
//       the moment-matched marginal of in[edge] times the exact message (EP, ADF)
//   Gaussian<double> variational(std::size_t edge, Incoming<double> in) const
//       exp of the expected log factor under the beliefs in (VMP)
//   double log_normaliser(Incoming<double> in) const            log Z_f of factors/normaliser.h (evidence)
//   void messages(Incoming<T> in, Rule rule, std::span<Gaussian<T>> out) const
//                                                               every message(edge, in, rule) at once, where that is faster
//   std::string_view refusal(std::size_t edge, Rule rule) const why there is no message; else empty
//   void validate() const                                       throws if a parameter is wrong
//   static constexpr auto parameters                            names for JSON, see factors/factors.h
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string_view>

#include <dma/messages/gamma.h>
#include <dma/messages/gaussian.h>

namespace dma {

// direct: the paper's messages (Definition 1). linear: statistical linearisation under the incoming messages. If a
// factor has only one rule, both names mean it.
enum class Rule { direct, linear };

constexpr std::string_view name_of(Rule rule) { return rule == Rule::direct ? "direct" : "linear"; }

// The messages that arrive at a factor, one per edge, in the order of its edges.
template <std::floating_point T>
using Incoming = std::span<const Gaussian<T>>;

// One row of the paper's table of theorem coverage (App. B).
struct EdgeInfo {
  std::string_view name;
  // Whether the exact sum-product message to this edge can be normalised.
  bool proper = true;
  std::string_view theorem;
  // Under Rule::direct the message must not depend on what arrives on its own edge. A factor for
  // which that is impossible says so here, with the reason.
  std::string_view own_edge_reason = {};
  // Of the variables that this edge takes.
  MessageFamily family = MessageFamily::gaussian;
};

struct FactorInfo {
  std::string_view name;
  std::string_view density;
  std::string_view domain;
  // Edge 0 first; the last row applies to every further edge of a factor with n inputs.
  std::span<const EdgeInfo> edges;
  // Conjugate: every message is exact, under every engine.
  bool conjugate = false;

  constexpr const EdgeInfo& edge(std::size_t index) const {
    return edges[index < edges.size() ? index : edges.size() - 1];
  }
};

template <class F>
concept Factor = std::copyable<F> &&
    requires(const F factor, std::size_t edge, Incoming<double> in, Rule rule) {
  { factor.info() } -> std::same_as<const FactorInfo&>;
  { factor.arity() } -> std::convertible_to<std::size_t>;
  { factor.message(edge, in, rule) } -> std::same_as<Gaussian<double>>;
};

// The factor is delta(x_0 - relation(x_1, ..., x_n)).
template <class F>
concept DeterministicFactor = Factor<F> &&
    requires(const F factor, std::span<const double> inputs) {
  { factor.relation(inputs) } -> std::convertible_to<double>;
};

// Thrown if the exact marginal at a factor has no finite moments, so that EP has no projection.
struct NoProjection : std::domain_error {
  using std::domain_error::domain_error;
};

// The Gaussian with these moments; uniform if they overflow, since a Gaussian cannot represent a spread beyond the
// largest number. A negative variance can only come from a negative precision that EP passed on; it is kept, and the
// engine records it.
template <std::floating_point T>
Gaussian<T> message_from_moments(T mean, T variance) {
  if (!std::isfinite(mean) || !std::isfinite(variance)) return Gaussian<T>::uniform();
  if (variance < 0) return {mean / variance, 1 / variance};
  return Gaussian<T>::from_moments(mean, variance);
}

// A named parameter of a factor: a pointer to the member that holds it.
template <class F, class Member>
struct Parameter {
  std::string_view name;
  Member F::*member;
  bool required = true;
};
template <class F, class Member>
Parameter(std::string_view, Member F::*) -> Parameter<F, Member>;
template <class F, class Member>
Parameter(std::string_view, Member F::*, bool) -> Parameter<F, Member>;

}  // namespace dma
