#include <dma/graph/inference.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <dma/graph/graph.h>

#include "graph/adjacency.h"

namespace dma {

std::string_view name_of(Engine engine) {
  constexpr std::array<std::string_view, 4> names{"direct", "ep", "vmp", "adf"};
  return names[static_cast<std::size_t>(engine)];
}

Gaussian<double> Beliefs::marginal(Variable variable) const { return marginals_[variable.index]; }

Gaussian<double> Beliefs::message(FactorId factor, std::size_t edge) const {
  return messages_[edge_begin_[factor.index] + edge];
}

namespace detail {

void SweepState::record_failure(Step step, const char* why) {
  result->failed.push_back({step.factor, step.edge, sweep, why});
}

void SweepState::deliver(Step step, Gaussian<double> sent) {
  ++result->messages_sent;
  const std::uint32_t edge = edge_begin[step.factor] + step.edge;
  if (!sent.is_valid()) {
    if (!std::isfinite(sent.tau) || !std::isfinite(sent.rho)) {
      record_failure(step, "the message is not a number");
      return;
    }
    result->improper.push_back({step.factor, step.edge, sweep, sent.tau, sent.rho});
    stopped = options.on_improper == OnImproper::stop;
    if (options.on_improper != OnImproper::pass) return;
  }
  const std::uint32_t variable = edge_variable[edge];
  const Gaussian<double> old = message[edge];
  message[edge] = sent;
  if (degree(variable) > hub_degree) {
    // A point mass cannot be divided out: start again from the messages.
    total[variable] = old.is_point() ? product(variable) : total[variable] / old * sent;
  }
}

void SweepState::deliver_variational(Step step, Gaussian<double> sent) {
  ++result->messages_sent;
  const std::uint32_t edge = edge_begin[step.factor] + step.edge;
  const std::uint32_t variable = edge_variable[edge];
  message[edge] = sent;
  const bool was_point = total[variable].is_point();
  if (sent.is_point()) {
    // Two Dirac factors that disagree leave the variable where the later one put it.
    const bool unary = edge_begin[step.factor + 1] - edge_begin[step.factor] == 1;
    if (!was_point && !unary) {
      result->collapsed.push_back({step.factor, step.edge, sweep, sent.tau, sent.rho});
    }
    total[variable] = sent;
  } else if (!was_point) {
    total[variable] = product(variable);
  }
}

}  // namespace detail

namespace {

using Marginals = std::vector<Gaussian<double>>;

// A stretch of steps whose factors have the same kind.
struct Run {
  std::uint16_t kind;
  std::span<const Step> steps;
};

std::vector<Run> runs_of(const Schedule& schedule, std::span<const std::uint16_t> factor_kind) {
  std::vector<Run> runs;
  for (const auto* steps : {&schedule.forward, &schedule.backward}) {
    for (std::size_t begin = 0; begin < steps->size();) {
      const std::uint16_t kind = factor_kind[(*steps)[begin].factor];
      std::size_t end = begin + 1;
      while (end < steps->size() && factor_kind[(*steps)[end].factor] == kind) ++end;
      runs.push_back({kind, std::span(*steps).subspan(begin, end - begin)});
      begin = end;
    }
  }
  return runs;
}

// The largest movement of a marginal, in units of its new standard deviation (for a point mass: of its size, or 1).
double movement(const Marginals& before, const Marginals& after) {
  double largest = 0;
  for (std::size_t v = 0; v < after.size(); ++v) {
    if (before[v] == after[v]) continue;
    if (before[v].is_point() && after[v].is_point()) {
      const double size = std::max(1.0, std::abs(after[v].mean()));
      largest = std::max(largest, std::abs(after[v].mean() - before[v].mean()) / size);
      continue;
    }
    if (!before[v].is_proper() || !after[v].is_proper())
      return std::numeric_limits<double>::infinity();
    const double moved = std::max(std::abs(after[v].mean() - before[v].mean()),
                                  std::abs(after[v].stddev() - before[v].stddev()));
    largest = std::max(largest, moved / after[v].stddev());
  }
  return largest;
}

}  // namespace

void Graph::check_step(const InferenceOptions& options, Step step) const {
  if (step.factor >= factor_count() || step.edge >= arity({step.factor})) {
    throw GraphError("the schedule names factor " + std::to_string(step.factor) + ", edge " +
                     std::to_string(step.edge) + ", which the graph does not have");
  }
  const std::uint16_t kind = factor_kind_[step.factor];
  const detail::FactorKind& functions = *kinds_[kind];
  const bool projects = options.engine == Engine::ep || options.engine == Engine::adf;
  if (options.engine == Engine::vmp && !functions.has_variational) {
    throw GraphError(place(step) + "VMP has no message for this factor");
  }
  if (projects && !functions.has_marginal && !info(FactorId{step.factor}).conjugate) {
    throw GraphError(place(step) + "EP and ADF have no projection for this factor");
  }
  if (options.engine == Engine::direct && functions.may_refuse) {
    const auto why =
        functions.refusal(factors_[kind], factor_local_[step.factor], step.edge, options.rule);
    if (!why.empty()) throw GraphError(place(step) + std::string(why));
  }
}

Beliefs Graph::sweep(Rule rule) const { return infer({.rule = rule}); }

Beliefs Graph::infer(const InferenceOptions& options) const {
  return infer(options, schedule(options));
}

detail::SweepState Graph::initial_state(const InferenceOptions& options, Beliefs& result) const {
  auto by_variable = detail::adjacency(variable_count(), edge_variable_);
  std::size_t widest = 0;
  for (std::uint32_t factor = 0; factor < factor_count(); ++factor) {
    widest = std::max(widest, arity({factor}));
  }
  return {.edge_begin = edge_begin_,
          .edge_variable = edge_variable_,
          .factor_local = factor_local_,
          .variable_edge_begin = std::move(by_variable.begin),
          .variable_edges = std::move(by_variable.edges),
          .message = Marginals(edge_count()),
          .total = Marginals(variable_count()),
          .incoming = Marginals(widest),
          .options = options,
          .result = &result};
}

std::vector<Gaussian<double>> Graph::marginals(const detail::SweepState& state) const {
  Marginals result(variable_count());
  for (std::uint32_t v = 0; v < variable_count(); ++v) {
    try {
      result[v] = state.options.engine == Engine::vmp ? state.total[v] : state.product(v);
    } catch (const std::domain_error& error) {
      throw GraphError("variable '" + name(Variable{v}) + "': " + error.what());
    }
  }
  return result;
}

Beliefs Graph::infer(const InferenceOptions& options, const Schedule& schedule) const {
  if (options.sweeps == 0) throw GraphError("inference needs at least one sweep");
  if (options.engine == Engine::adf && (options.sweeps > 1 || !schedule.backward.empty())) {
    throw GraphError("ADF visits every factor once: it takes one sweep and no backward steps");
  }
  for (const Step step : schedule.forward) check_step(options, step);
  for (const Step step : schedule.backward) check_step(options, step);

  Beliefs result;
  detail::SweepState state = initial_state(options, result);
  const std::vector<Run> runs = runs_of(schedule, factor_kind_);
  const auto engine = static_cast<std::size_t>(options.engine);
  const auto sweep_once = [&] {
    for (const Run& run : runs) {
      kinds_[run.kind]->run[engine](factors_[run.kind], state, run.steps);
      if (state.stopped) return;
    }
  };
  for (state.sweep = 1; state.sweep <= options.sweeps && !state.stopped; ++state.sweep) {
    try {
      sweep_once();
    } catch (const std::logic_error& error) {  // a factor refused its messages
      throw GraphError(place(state.current) + error.what());
    }
    result.sweeps = state.sweep;
    const bool last = state.sweep == options.sweeps || state.stopped;
    if (options.tolerance == 0 && !last) continue;
    auto now = marginals(state);
    if (options.tolerance > 0 && state.sweep > 1) {
      result.last_change = movement(result.marginals_, now);
      result.converged = result.last_change <= options.tolerance;
    }
    result.marginals_ = std::move(now);
    if (result.converged) break;
  }
  result.messages_ = std::move(state.message);
  result.edge_begin_ = edge_begin_;
  for (std::uint32_t v = 0; v < variable_count(); ++v) {
    if (!result.marginals_[v].is_distribution()) result.improper_marginals.push_back(v);
  }
  return result;
}

}  // namespace dma
