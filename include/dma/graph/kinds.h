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
#include <dma/factors/normaliser.h>
#include <dma/graph/graph.h>
#include <dma/graph/schedule.h>

namespace dma::detail {

// Makes room for many elements, no more than they need; for few the vector grows as usual.
template <class T>
void reserve_more(std::vector<T>& vector, std::size_t more) {
  if (more > vector.size() / 4) vector.reserve(vector.size() + more);
}

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
  std::vector<Gaussian<double>> outgoing;          // the same
  std::span<const MessageFamily> families;         // by variable; empty if all are Gaussian
  InferenceOptions options;
  Beliefs* result = nullptr;
  Step current{};
  std::size_t sweep = 0;
  bool stopped = false;

  std::uint32_t degree(std::uint32_t variable) const {
    return variable_edge_begin[variable + 1] - variable_edge_begin[variable];
  }

  MessageFamily family(std::uint32_t variable) const {
    return families.empty() ? MessageFamily::gaussian : families[variable];
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

  std::span<const Gaussian<double>> gather_cavities(std::uint32_t factor) {
    const std::uint32_t begin = edge_begin[factor];
    const std::uint32_t arity = edge_begin[factor + 1] - begin;
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
  // log Z_f; throws NoEvidence.
  double (*log_normaliser)(const std::any& factors, std::uint32_t local, Incoming<double> in);
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
inline constexpr bool sends_together = requires(const F factor, Incoming<double> in,
                                                std::span<Gaussian<double>> out) {
  factor.messages(in, Rule::direct, out);
};

// Calls visit(factor, steps) for steps of one factor that follow each other. They share what arrives at it: what a
// factor sends is in none of its cavities.
template <Factor F, class Visit>
void visit_factors(const std::any& store, SweepState& state, std::span<const Step> steps,
                   const Visit& visit) {
  const auto& factors = factors_of<F>(store);
  while (!steps.empty() && !state.stopped) {
    std::size_t count = 1;
    while (count < steps.size() && steps[count].factor == steps[0].factor) ++count;
    state.current = steps[0];
    visit(factors[state.factor_local[steps[0].factor]], steps.first(count));
    steps = steps.subspan(count);
  }
}

template <Factor F>
void send(const F& factor, SweepState& state, std::span<const Step> steps, Rule rule) {
  const auto in = state.gather_cavities(steps[0].factor);
  if constexpr (sends_together<F>) {
    if (steps.size() > 2) {
      factor.messages(in, rule, std::span(state.outgoing).first(in.size()));
      for (const Step step : steps) {
        state.current = step;
        state.deliver(step, state.outgoing[step.edge]);
        if (state.stopped) return;
      }
      return;
    }
  }
  for (const Step step : steps) {
    state.current = step;
    state.deliver(step, factor.message(step.edge, in, rule));
    if (state.stopped) return;
  }
}

template <Factor F>
void run_direct(const std::any& store, SweepState& state, std::span<const Step> steps) {
  visit_factors<F>(store, state, steps, [&](const F& factor, std::span<const Step> visit) {
    send(factor, state, visit, state.options.rule);
  });
}

template <Factor F>
void send_projected(const F& factor, SweepState& state, std::span<const Step> steps) {
  const auto in = state.gather_cavities(steps[0].factor);
  for (const Step step : steps) {
    state.current = step;
    if (in[step.edge].is_point()) continue;  // nothing can be learnt about a known value
    try {
      state.deliver(step, factor.marginal(step.edge, in) / in[step.edge]);
    } catch (const NoProjection& error) {
      state.record_failure(step, error.what());
    }
    if (state.stopped) return;
  }
}

// The projected marginal divided by the incoming message: EP, and ADF, which visits each factor once.
template <Factor F>
void run_projection(const std::any& store, SweepState& state, std::span<const Step> steps) {
  visit_factors<F>(store, state, steps, [&](const F& factor, std::span<const Step> visit) {
    if constexpr (has_marginal<F>) {
      send_projected(factor, state, visit);
    } else {
      send(factor, state, visit, Rule::direct);
    }
  });
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
double log_normaliser(const std::any& factors, std::uint32_t local, Incoming<double> in) {
  const F& factor = factors_of<F>(factors)[local];
  if constexpr (requires { factor.log_normaliser(in); }) {
    return factor.log_normaliser(in);
  } else {
    throw NoEvidence("this factor has no log_normaliser");
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
      .log_normaliser = &log_normaliser<F>,
      .has_marginal = has_marginal<F>,
      .has_variational = has_variational<F>,
      .may_refuse = may_refuse<F>,
      .run = {&run_direct<F>, &run_projection<F>, &run_variational<F>, &run_projection<F>}};
  return kind;
}

}  // namespace dma::detail

namespace dma {

template <Factor F>
void Graph::validate(const F& factor, const std::string& where) const {
  if constexpr (requires { factor.validate(); }) {
    try {
      factor.validate();
    } catch (const std::invalid_argument& error) {
      throw GraphError(where + ": " + error.what());
    }
  }
}

template <Factor F>
std::vector<F>& Graph::factors_of_type(std::uint16_t& kind) {
  kind = kind_index(detail::factor_kind<F>(), [] { return std::any(std::vector<F>()); });
  return *std::any_cast<std::vector<F>>(&factors_[kind]);
}

template <Factor F>
FactorId Graph::add(F factor, std::span<const Variable> edges) {
  check_edges(factor.info(), factor.arity(), edges);
  validate(factor, place(factor.info()));
  take_families(factor.info(), std::vector<EdgeRows>(edges.begin(), edges.end()));
  std::uint16_t kind = 0;
  auto& factors = factors_of_type<F>(kind);
  factors.push_back(std::move(factor));
  return append(kind, static_cast<std::uint32_t>(factors.size() - 1), edges);
}

template <Factor F>
FactorArray Graph::add(const F& factor, std::span<const EdgeRows> edges) {
  const std::size_t rows = row_count(edges);
  validate(factor, place(factor.info()));
  for (std::size_t row = 0; row < rows; ++row) check_row(factor.info(), factor.arity(), edges, row);
  check_size(rows * factor.arity());
  if (rows > 0) take_families(factor.info(), edges);
  std::uint16_t kind = 0;
  auto& factors = factors_of_type<F>(kind);
  if (rows > 0) factors.push_back(factor);
  return append_rows(kind, factors.size() - 1, 0, edges, rows);
}

template <FactorMaker Make>
FactorArray Graph::add(const Make& make, std::span<const EdgeRows> edges) {
  using F = std::remove_cvref_t<std::invoke_result_t<const Make&, std::size_t>>;
  const std::size_t rows = row_count(edges);
  std::uint16_t kind = 0;
  auto& factors = factors_of_type<F>(kind);
  const std::size_t before = factors.size();
  detail::reserve_more(factors, rows);
  std::size_t edges_of_all = 0;
  try {
    for (std::size_t row = 0; row < rows; ++row) {
      factors.push_back(make(row));
      const F& factor = factors.back();
      check_row(factor.info(), factor.arity(), edges, row);
      validate(factor, place(factor.info(), row));
      edges_of_all += factor.arity();
    }
    check_size(edges_of_all);
    if (rows > 0) take_families(factors.back().info(), edges);
  } catch (...) {
    factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(before), factors.end());
    throw;
  }
  return append_rows(kind, before, 1, edges, rows);
}

}  // namespace dma
