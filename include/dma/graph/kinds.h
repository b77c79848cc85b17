// graph/kinds.h: how a graph holds factors of any type and sweeps over them without virtual calls.
//
// Each factor type F has one FactorKind, a table of plain functions. Steps of a schedule are grouped
// into runs of one kind; a run is one call, and inside it everything is known at compile time.
#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dma/factors/factor.h>
#include <dma/graph/graph.h>
#include <dma/graph/schedule.h>

namespace dma::detail {

// Above this degree a variable keeps the product of its messages, and the message it sends is a quotient. Below, it is
// the product of the other messages: nothing is subtracted, nothing cancels.
inline constexpr std::uint32_t hub_degree = 32;

// Flat arrays of one inference. Edges are numbered factor by factor.
struct SweepState {
  std::span<const std::uint32_t> edge_begin;       // factor -> its first edge
  std::span<const std::uint32_t> edge_variable;    // edge -> variable
  std::span<const std::uint32_t> factor_local;     // factor -> position among its kind
  std::vector<std::uint32_t> variable_edge_begin;  // variable -> its first place in ...
  std::vector<std::uint32_t> variable_edges;       // ... the edges, variable by variable
  std::vector<Gaussian<double>> message;           // edge -> message to its variable
  std::vector<Gaussian<double>> total;             // variable -> belief; hubs, and all under VMP
  std::vector<Gaussian<double>> incoming;          // one factor's messages, reused
  InferenceOptions options;
  Beliefs* result = nullptr;
  Step current{};
  std::size_t sweep = 0;
  bool stopped = false;

  std::uint32_t degree(std::uint32_t variable) const {
    return variable_edge_begin[variable + 1] - variable_edge_begin[variable];
  }

  // The product of a variable's messages, except for the one on `except`.
  Gaussian<double> product(std::uint32_t variable, std::uint32_t except = UINT32_MAX) const {
    auto result_message = Gaussian<double>::uniform();
    for (std::uint32_t i = variable_edge_begin[variable]; i < variable_edge_begin[variable + 1];
         ++i) {
      if (variable_edges[i] != except) result_message *= message[variable_edges[i]];
    }
    return result_message;
  }

  // The message from a variable to a factor.
  Gaussian<double> cavity(std::uint32_t edge) const {
    const std::uint32_t variable = edge_variable[edge];
    if (degree(variable) <= hub_degree || message[edge].is_point()) return product(variable, edge);
    return total[variable] / message[edge];
  }

  std::span<const Gaussian<double>> gather_cavities(Step step) {
    const std::uint32_t begin = edge_begin[step.factor];
    const std::uint32_t arity = edge_begin[step.factor + 1] - begin;
    for (std::uint32_t k = 0; k < arity; ++k) incoming[k] = cavity(begin + k);
    return {incoming.data(), arity};
  }

  std::span<const Gaussian<double>> gather_beliefs(Step step) {
    const std::uint32_t begin = edge_begin[step.factor];
    const std::uint32_t arity = edge_begin[step.factor + 1] - begin;
    for (std::uint32_t k = 0; k < arity; ++k) incoming[k] = total[edge_variable[begin + k]];
    return {incoming.data(), arity};
  }

  void deliver(Step step, Gaussian<double> sent);
  void deliver_variational(Step step, Gaussian<double> sent);
  void record_failure(Step step, const char* why);
};

struct FactorKind {
  std::string_view (*refusal)(const std::any& factors, std::uint32_t local, std::size_t edge,
                              Rule rule);
  const FactorInfo& (*info)(const std::any& factors, std::uint32_t local);
  // Whether the engine has a message for factors of this kind.
  bool has_marginal, has_variational, may_refuse;
  std::array<void (*)(const std::any& factors, SweepState& state, std::span<const Step> steps), 4>
      run;
};

template <Factor F>
inline constexpr bool has_marginal = requires(const F factor, Incoming<double> in) {
  { factor.marginal(std::size_t{}, in) } -> std::same_as<Gaussian<double>>;
};

template <Factor F>
inline constexpr bool has_variational = requires(const F factor, Incoming<double> in) {
  { factor.variational(std::size_t{}, in) } -> std::same_as<Gaussian<double>>;
};

template <Factor F>
inline constexpr bool may_refuse = requires(const F factor) {
  factor.refusal(std::size_t{}, Rule::direct);
};

template <Factor F>
const std::vector<F>& factors_of(const std::any& factors) {
  return *std::any_cast<std::vector<F>>(&factors);
}

template <Factor F>
void run_direct(const std::any& store, SweepState& state, std::span<const Step> steps) {
  const auto& factors = factors_of<F>(store);
  for (const Step step : steps) {
    state.current = step;
    const F& factor = factors[state.factor_local[step.factor]];
    state.deliver(step, factor.message(step.edge, state.gather_cavities(step), state.options.rule));
    if (state.stopped) return;
  }
}

// The projected marginal divided by the incoming message: EP, and ADF, which visits each factor once.
template <Factor F>
void run_projection(const std::any& store, SweepState& state, std::span<const Step> steps) {
  const auto& factors = factors_of<F>(store);
  for (const Step step : steps) {
    state.current = step;
    const F& factor = factors[state.factor_local[step.factor]];
    const auto in = state.gather_cavities(step);
    if constexpr (has_marginal<F>) {
      if (in[step.edge].is_point()) continue;  // nothing can be learnt about a known value
      try {
        state.deliver(step, factor.marginal(step.edge, in) / in[step.edge]);
      } catch (const NoProjection& error) {
        state.record_failure(step, error.what());
      }
    } else {
      state.deliver(step, factor.message(step.edge, in, Rule::direct));
    }
    if (state.stopped) return;
  }
}

template <Factor F>
void run_variational(const std::any& store, SweepState& state, std::span<const Step> steps) {
  if constexpr (has_variational<F>) {
    const auto& factors = factors_of<F>(store);
    for (const Step step : steps) {
      state.current = step;
      const F& factor = factors[state.factor_local[step.factor]];
      state.deliver_variational(step, factor.variational(step.edge, state.gather_beliefs(step)));
    }
  }
}

template <Factor F>
const FactorKind& factor_kind() {
  static constexpr FactorKind kind{
      .refusal = [](const std::any& factors, std::uint32_t local, std::size_t edge,
                    Rule rule) -> std::string_view {
        if constexpr (may_refuse<F>) return factors_of<F>(factors)[local].refusal(edge, rule);
        return {};
      },
      .info = [](const std::any& factors, std::uint32_t local) -> const FactorInfo& {
        return factors_of<F>(factors)[local].info();
      },
      .has_marginal = has_marginal<F>,
      .has_variational = has_variational<F>,
      .may_refuse = may_refuse<F>,
      .run = {&run_direct<F>, &run_projection<F>, &run_variational<F>, &run_projection<F>}};
  return kind;
}

}  // namespace dma::detail

namespace dma {

template <Factor F>
FactorId Graph::add(F factor, std::span<const Variable> edges) {
  check_edges(factor.info(), factor.arity(), edges);
  if constexpr (requires { factor.validate(); }) {
    try {
      factor.validate();
    } catch (const std::invalid_argument& error) {
      throw GraphError(place(factor.info()) + ": " + error.what());
    }
  }
  const std::uint16_t kind =
      kind_index(detail::factor_kind<F>(), [] { return std::any(std::vector<F>()); });
  auto& factors = *std::any_cast<std::vector<F>>(&factors_[kind]);
  factors.push_back(std::move(factor));
  return append(kind, static_cast<std::uint32_t>(factors.size() - 1), edges);
}

}  // namespace dma
