// graph/kinds.h: how a graph holds factors of any type and sweeps over them without virtual calls.
//
// Each factor type F has one FactorKind, a table of plain functions. Steps of a schedule are grouped
// into runs of one kind; a run is one call, and inside it everything is known at compile time.
#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dma/factors/factor.h>
#include <dma/factors/normaliser.h>
#include <dma/graph/factor_table.h>
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

// Where the messages to each variable are. Those to hubs are listed when they are asked for: their product is known.
class Neighbours {
 public:
  // With `of_all`, hubs are listed like the others.
  Neighbours(const FactorTable& table, std::size_t variables, bool of_all);

  bool has_hubs() const { return !hub_.empty(); }
  bool is_hub(std::uint32_t variable) const { return has_hubs() && hub_[variable] != 0; }
  std::span<const std::uint32_t> messages(std::uint32_t variable) const {
    return (is_hub(variable) && !of_all_ ? of_hubs() : others_).of(variable);
  }

 private:
  struct Lists {
    std::vector<std::uint32_t> begin, messages;

    std::span<const std::uint32_t> of(std::uint32_t variable) const {
      return std::span(messages).subspan(begin[variable], begin[variable + 1] - begin[variable]);
    }
  };
  const Lists& of_hubs() const;
  template <class Listed>
  Lists list(const Listed& listed, std::vector<std::uint32_t> degree) const;

  const FactorTable* table_;
  bool of_all_;
  std::vector<std::uint8_t> hub_;  // by variable; empty: none
  Lists others_;
  mutable std::once_flag hubs_listed_;
  mutable Lists hubs_;
};

// What went wrong with a message; a text if it could not be computed.
struct MessageEvent {
  enum class Kind { improper, collapsed, failed } kind;
  std::uint32_t row;  // of the part of the schedule
  Step step;
  Gaussian<double> message = {};
  std::string why = {};
};

// What one thread needs to sweep over a graph.
struct SweepState {
  FactorTable::Reader read;
  const Neighbours* neighbours;
  std::span<const MessageFamily> families;  // by variable; empty if all are Gaussian
  std::span<const double> known;            // numbers
  std::span<Gaussian<double>> message;      // place -> message to its variable
  std::span<Gaussian<double>> total;        // variable -> belief; of hubs, and of all under VMP
  std::vector<Gaussian<double>> incoming;   // one factor's messages, reused
  std::vector<Gaussian<double>> outgoing;   // the same
  const InferenceOptions* options;
  std::vector<MessageEvent> events = {};
  std::size_t messages_sent = 0;
  const FactorView* factor = nullptr;  // the one that is visited
  Step current = {};
  std::uint32_t row = 0;  // of the part of the schedule
  bool stopped = false;

  MessageFamily family(std::uint32_t variable) const {
    return families.empty() ? MessageFamily::gaussian : families[variable];
  }

  // The product of a variable's messages, except for the one at this place.
  Gaussian<double> product(std::uint32_t variable, std::uint32_t except = no_message) const {
    auto result = Gaussian<double>::uniform();
    for (const std::uint32_t place : neighbours->messages(variable)) {
      if (place != except) result *= message[place];
    }
    return result;
  }

  void visit(std::uint32_t number) {
    factor = &read(number);
    current.factor = number;
  }

  // Where the message to this edge of the visited factor is.
  std::uint32_t place(std::size_t edge) const { return factor->message + factor->places[edge]; }

  // The message from a variable to the visited factor.
  Gaussian<double> cavity(std::size_t edge) const {
    const std::uint32_t variable = factor->variables[edge];
    if (is_known(variable)) return Gaussian<double>::point(known[variable - known_begin]);
    const std::uint32_t own = place(edge);
    if (!neighbours->is_hub(variable) || message[own].is_point()) return product(variable, own);
    return total[variable] / message[own];
  }

  std::span<const Gaussian<double>> gather_cavities() {
    const std::size_t arity = factor->variables.size();
    for (std::size_t k = 0; k < arity; ++k) incoming[k] = cavity(k);
    return {incoming.data(), arity};
  }

  std::span<const Gaussian<double>> gather_beliefs() {
    const std::size_t arity = factor->variables.size();
    for (std::size_t k = 0; k < arity; ++k) {
      const std::uint32_t variable = factor->variables[k];
      incoming[k] = is_known(variable) ? Gaussian<double>::point(known[variable - known_begin])
                                       : total[variable];
    }
    return {incoming.data(), arity};
  }

  // From the visited factor.
  void deliver(std::uint32_t edge, Gaussian<double> sent) {
    current.edge = edge;
    ++messages_sent;
    const std::uint32_t variable = factor->variables[edge];
    if (!is_valid_message(sent, family(variable)) && !passes(sent)) return;
    Gaussian<double>& kept = message[place(edge)];
    const Gaussian<double> old = kept;
    if (options->damping > 0 && old.is_proper() && sent.is_proper())
      sent = power(old, options->damping) * power(sent, 1 - options->damping);
    kept = sent;
    if (!neighbours->is_hub(variable)) return;
    // A point mass cannot be divided out: start again from the messages.
    total[variable] = old.is_point() ? product(variable) : total[variable] / old * sent;
  }
  void deliver_variational(std::uint32_t edge, Gaussian<double> sent);
  // Records a message that is not valid; whether it is delivered all the same.
  bool passes(Gaussian<double> sent);
  void record(MessageEvent::Kind kind, Gaussian<double> sent, std::string why = {});
};

// Steps of one kind of factor, for each of so many rows: in row r the factors are shift + r stride further on.
struct Stretch {
  std::span<const Step> steps;
  std::uint32_t shift = 0;
  std::uint32_t stride = 0;
  std::uint32_t rows = 1;
};

struct FactorKind {
  std::string_view (*refusal)(const std::any& factors, std::uint32_t local, std::size_t edge,
                              Rule rule);
  const FactorInfo& (*info)(const std::any& factors, std::uint32_t local);
  // log Z_f; throws NoEvidence.
  double (*log_normaliser)(const std::any& factors, std::uint32_t local, Incoming<double> in);
  // Whether the engine has a message for factors of this kind.
  bool has_marginal, has_variational, may_refuse;
  std::array<void (*)(const std::any& factors, SweepState& state, const Stretch& stretch), 4> run;
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
void visit_factors(const std::any& store, SweepState& state, const Stretch& stretch,
                   const Visit& visit) {
  const auto& factors = factors_of<F>(store);
  const std::uint32_t first_row = state.row;
  std::uint32_t shift = stretch.shift;
  for (std::uint32_t row = 0; row < stretch.rows; ++row, shift += stretch.stride) {
    state.row = first_row + row;
    for (auto steps = stretch.steps; !steps.empty();) {
      std::size_t count = 1;
      while (count < steps.size() && steps[count].factor == steps[0].factor) ++count;
      state.visit(steps[0].factor + shift);
      visit(factors[state.factor->local], steps.first(count));
      if (state.stopped) return;
      steps = steps.subspan(count);
    }
  }
}

template <Factor F>
void send(const F& factor, SweepState& state, std::span<const Step> steps, Rule rule) {
  state.current.edge = steps[0].edge;
  const auto in = state.gather_cavities();
  if constexpr (sends_together<F>) {
    if (steps.size() > 2) {
      factor.messages(in, rule, std::span(state.outgoing).first(in.size()));
      for (const Step step : steps) {
        state.deliver(step.edge, state.outgoing[step.edge]);
        if (state.stopped) return;
      }
      return;
    }
  }
  for (const Step step : steps) {
    state.current.edge = step.edge;
    state.deliver(step.edge, factor.message(step.edge, in, rule));
    if (state.stopped) return;
  }
}

template <Factor F>
void run_direct(const std::any& store, SweepState& state, const Stretch& stretch) {
  visit_factors<F>(store, state, stretch, [&](const F& factor, std::span<const Step> steps) {
    send(factor, state, steps, state.options->rule);
  });
}

template <Factor F>
void send_projected(const F& factor, SweepState& state, std::span<const Step> steps) {
  const auto in = state.gather_cavities();
  for (const Step step : steps) {
    state.current.edge = step.edge;
    if (in[step.edge].is_point()) continue;  // nothing can be learnt about a known value
    try {
      state.deliver(step.edge, factor.marginal(step.edge, in) / in[step.edge]);
    } catch (const NoProjection& error) {
      state.record(MessageEvent::Kind::failed, {}, error.what());
    }
    if (state.stopped) return;
  }
}

// The projected marginal divided by the incoming message: EP, and ADF, which visits each factor once.
template <Factor F>
void run_projection(const std::any& store, SweepState& state, const Stretch& stretch) {
  visit_factors<F>(store, state, stretch, [&](const F& factor, std::span<const Step> steps) {
    if constexpr (has_marginal<F>) {
      send_projected(factor, state, steps);
    } else {
      send(factor, state, steps, Rule::direct);
    }
  });
}

template <Factor F>
void run_variational(const std::any& store, SweepState& state, const Stretch& stretch) {
  if constexpr (has_variational<F>) {
    visit_factors<F>(store, state, stretch, [&](const F& factor, std::span<const Step> steps) {
      for (const Step step : steps) {
        state.current.edge = step.edge;
        state.deliver_variational(step.edge, factor.variational(step.edge, state.gather_beliefs()));
      }
    });
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
void Graph::validate(const F& factor, std::optional<std::size_t> row) const {
  if constexpr (requires { factor.validate(); }) {
    try {
      factor.validate();
    } catch (const std::invalid_argument& error) {
      throw GraphError((row ? place(factor.info(), *row) : place(factor.info())) + ": " +
                       error.what());
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
  validate(factor);
  take_families(factor.info(), std::vector<EdgeRows>(edges.begin(), edges.end()));
  std::uint16_t kind = 0;
  auto& factors = factors_of_type<F>(kind);
  factors.push_back(std::move(factor));
  return append(kind, static_cast<std::uint32_t>(factors.size() - 1), edges);
}

template <Factor F>
FactorArray Graph::add(const F& factor, std::span<const EdgeRows> edges) {
  const std::size_t rows = row_count(edges);
  validate(factor);
  if (rows > 0) check_width(factor.info(), factor.arity(), edges);
  auto columns = columns_of(factor.info(), edges, rows);
  if (rows > 0) take_families(factor.info(), edges);
  std::uint16_t kind = 0;
  auto& factors = factors_of_type<F>(kind);
  if (rows > 0) factors.push_back(factor);
  return append_rows(kind, factors.size() - 1, 0, std::move(columns), rows);
}

template <FactorMaker Make>
FactorArray Graph::add(const Make& make, std::span<const EdgeRows> edges) {
  using F = std::remove_cvref_t<std::invoke_result_t<const Make&, std::size_t>>;
  const std::size_t rows = row_count(edges);
  std::uint16_t kind = 0;
  auto& factors = factors_of_type<F>(kind);
  const std::size_t before = factors.size();
  detail::reserve_more(factors, rows);
  std::vector<detail::EdgeColumn> columns;
  try {
    for (std::size_t row = 0; row < rows; ++row) {
      factors.push_back(make(row));
      const F& factor = factors.back();
      check_width(factor.info(), factor.arity(), edges);
      validate(factor, row);
    }
    if (rows > 0) columns = columns_of(factors.back().info(), edges, rows);
    if (rows > 0) take_families(factors.back().info(), edges);
  } catch (...) {
    factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(before), factors.end());
    throw;
  }
  return append_rows(kind, before, 1, std::move(columns), rows);
}

}  // namespace dma
