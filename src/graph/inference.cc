#include <dma/graph/inference.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <dma/graph/graph.h>
#include <dma/special/larger.h>

#include "graph/acceleration.h"
#include "graph/adjacency.h"

namespace dma {

std::string_view name_of(Engine engine) {
  constexpr std::array<std::string_view, 4> names{"direct", "ep", "vmp", "adf"};
  return names[static_cast<std::size_t>(engine)];
}

MessageFamily Beliefs::family(Variable variable) const {
  return families_.empty() ? MessageFamily::gaussian : families_[variable.index];
}

Gaussian<double> Beliefs::natural(Variable variable) const { return marginals_[variable.index]; }

Gaussian<double> Beliefs::marginal(Variable variable) const {
  require_family(variable, MessageFamily::gaussian);
  return natural(variable);
}

std::span<const Gaussian<double>> Beliefs::marginals(const VariableArray& array) const {
  require_family(Variable{array.first}, MessageFamily::gaussian);
  return naturals(array);
}

std::span<const Gaussian<double>> Beliefs::naturals(const VariableArray& array) const {
  return std::span(marginals_).subspan(array.first, array.size());
}

Gamma Beliefs::gamma_marginal(Variable variable) const {
  require_family(variable, MessageFamily::gamma);
  return Gamma::from_message(natural(variable));
}

std::vector<Gamma> Beliefs::gamma_marginals(const VariableArray& array) const {
  require_family(Variable{array.first}, MessageFamily::gamma);
  std::vector<Gamma> result;
  result.reserve(array.size());
  for (std::uint32_t k = 0; k < array.size(); ++k)
    result.push_back(gamma_marginal({array.first + k}));
  return result;
}

void Beliefs::require_family(Variable variable, MessageFamily family) const {
  const MessageFamily own = this->family(variable);
  if (own == family) return;
  throw GraphError("variable " + std::to_string(variable.index) + " is a " +
                   std::string(name_of(own)) + " variable: ask for its " +
                   (own == MessageFamily::gamma ? "gamma_marginal" : "marginal"));
}

Gaussian<double> Beliefs::message(FactorId factor, std::size_t edge) const {
  return messages_[edge_begin_[factor.index] + edge];
}

std::vector<Gaussian<double>> Beliefs::messages(FactorArray factors, std::size_t edge) const {
  std::vector<Gaussian<double>> result;
  result.reserve(factors.rows);
  for (std::size_t row = 0; row < factors.rows; ++row)
    result.push_back(message(factors[row], edge));
  return result;
}

std::size_t Beliefs::arity(FactorId factor) const {
  return edge_begin_[factor.index + 1] - edge_begin_[factor.index];
}

double Beliefs::change(Variable variable) const {
  return changes_.empty() ? 0 : changes_[variable.index];
}

std::vector<double> Beliefs::changes(const VariableArray& array) const {
  if (changes_.empty()) return std::vector<double>(array.size());
  const auto begin = changes_.begin() + array.first;
  return {begin, begin + static_cast<std::ptrdiff_t>(array.size())};
}

namespace detail {

void SweepState::record_failure(Step step, const char* why) {
  result->failed.push_back({step.factor, step.edge, sweep, why});
}

void SweepState::deliver(Step step, Gaussian<double> sent) {
  ++result->messages_sent;
  const std::uint32_t edge = edge_begin[step.factor] + step.edge;
  const std::uint32_t variable = edge_variable[edge];
  if (!is_valid_message(sent, family(variable))) {
    if (!std::isfinite(sent.tau) || !std::isfinite(sent.rho)) {
      record_failure(step, "the message is not a number");
      return;
    }
    result->improper.push_back({step.factor, step.edge, sweep, sent.tau, sent.rho});
    stopped = options.on_improper == OnImproper::stop;
    if (options.on_improper != OnImproper::pass) return;
  }
  const Gaussian<double> old = message[edge];
  const bool both_proper = old.is_proper() && sent.is_proper();
  if (options.damping > 0 && both_proper)
    sent = power(old, options.damping) * power(sent, 1 - options.damping);
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

// The movement of a marginal, in units of its new standard deviation (for a point mass: of its size, or 1).
template <class Belief>
double movement(const Belief& before, const Belief& after) {
  if (before == after) return 0;
  if (before.is_point() && after.is_point())
    return std::abs(after.mean() - before.mean()) / std::max(1.0, std::abs(after.mean()));
  if (!before.is_proper() || !after.is_proper()) return std::numeric_limits<double>::infinity();
  const double moved = special::larger(std::abs(after.mean() - before.mean()),
                                       std::abs(after.stddev() - before.stddev()));
  return moved / after.stddev();
}

double movement(Gaussian<double> before, Gaussian<double> after, MessageFamily family) {
  if (family == MessageFamily::gaussian) return movement(before, after);
  return movement(Gamma::from_message(before), Gamma::from_message(after));
}

// Whether each ten sweeps move the marginals by more than the ten before.
class Watch {
 public:
  // True if the least movement of these ten is more than a standard deviation and more than the largest of the ten before.
  bool diverges(double change) {
    least_ = std::min(least_, change);
    most_ = std::max(most_, change);
    if (++count_ < 10) return false;
    const bool rises = least_ > 1 && least_ > before_ && std::isfinite(least_);
    before_ = most_;
    least_ = std::numeric_limits<double>::infinity();
    most_ = 0;
    count_ = 0;
    return rises;
  }

 private:
  double least_ = std::numeric_limits<double>::infinity();
  double most_ = 0;
  double before_ = std::numeric_limits<double>::infinity();
  int count_ = 0;
};

}  // namespace

void Graph::check_step(const InferenceOptions& options, Step step) const {
  if (step.factor >= factor_count() || step.edge >= arity({step.factor})) {
    throw GraphError("the schedule names factor " + std::to_string(step.factor) + ", edge " +
                     std::to_string(step.edge) + ", which the graph does not have");
  }
  if (forgotten_[step.factor]) {
    throw GraphError("the schedule names factor " + name(FactorId{step.factor}) +
                     ", which is forgotten");
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
          .outgoing = Marginals(widest),
          .families = result.families_,
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
  return infer_from(options, schedule, nullptr);
}

Beliefs Graph::infer(const InferenceOptions& options, const Schedule& schedule,
                     const Beliefs& start) const {
  return infer_from(options, schedule, &start);
}

// 1 / sqrt(rho) of each edge's variable: times a change of tau, the change of its mean in its deviations. 0 for a Gamma
// variable.
std::vector<double> Graph::edge_scales(const Beliefs& beliefs) const {
  std::vector<double> scales(edge_count());
  std::transform(
      edge_variable_.begin(), edge_variable_.end(), scales.begin(), [&](std::uint32_t variable) {
        const auto marginal = beliefs.natural({variable});
        const bool scales =
            marginal.is_proper() && beliefs.family({variable}) == MessageFamily::gaussian;
        return scales ? 1 / std::sqrt(marginal.rho) : 0;
      });
  return scales;
}

void Graph::go_on(const Beliefs& start, detail::SweepState& state) const {
  if (start.engine_ != state.options.engine) {
    throw GraphError("inference goes on with the engine of its beliefs, " +
                     std::string(name_of(start.engine_)));
  }
  check_own(start);
  std::copy(start.messages_.begin(), start.messages_.end(), state.message.begin());
  for (std::uint32_t factor = 0; factor < start.factor_count(); ++factor) {
    if (!forgotten_[factor]) continue;
    std::fill(state.message.begin() + edge_begin_[factor],
              state.message.begin() + edge_begin_[factor + 1], Gaussian<double>::uniform());
  }
  for (std::uint32_t v = 0; v < variable_count(); ++v) {
    const bool collapsed = start.engine_ == Engine::vmp && v < start.variable_count() &&
                           start.marginal({v}).is_point();
    state.total[v] = collapsed ? start.marginal({v}) : state.product(v);
  }
}

Beliefs Graph::infer_from(const InferenceOptions& options, const Schedule& schedule,
                          const Beliefs* start) const {
  if (options.sweeps == 0) throw GraphError("inference needs at least one sweep");
  if (options.engine == Engine::adf && (options.sweeps > 1 || !schedule.backward.empty())) {
    throw GraphError("ADF visits every factor once: it takes one sweep and no backward steps");
  }
  if (!(options.damping >= 0 && options.damping < 1)) {
    throw GraphError("damping must be at least 0 and below 1, got " +
                     std::to_string(options.damping));
  }
  if (options.damping > 0 && options.engine != Engine::direct && options.engine != Engine::ep)
    throw GraphError("damping is for the engines direct and ep");
  if (options.acceleration > 0 && (options.tolerance == 0 || options.engine == Engine::vmp))
    throw GraphError("acceleration needs a tolerance, and the engine direct or ep");
  for (const Step step : schedule.forward) check_step(options, step);
  for (const Step step : schedule.backward) check_step(options, step);

  Beliefs result;
  result.engine_ = options.engine;
  result.structure_ = structure_;
  result.families_ = families();
  result.forgotten_count_ = forgotten_count_;
  result.damping = options.damping;
  Watch watch;
  detail::Acceleration acceleration(options.acceleration);
  detail::SweepState state = initial_state(options, result);
  if (start != nullptr) {
    go_on(*start, state);
    result.marginals_ = marginals(state);
  }
  const std::vector<Run> runs = runs_of(schedule, factor_kind_);
  const auto engine = static_cast<std::size_t>(options.engine);
  const auto sweep_once = [&] {
    for (const Run& run : runs) {
      kinds_[run.kind]->run[engine](factors_[run.kind], state, run.steps);
      if (state.stopped) return;
    }
  };
  for (state.sweep = 1; state.sweep <= options.sweeps && !state.stopped; ++state.sweep) {
    acceleration.begin(state.message);
    try {
      sweep_once();
    } catch (const std::logic_error& error) {  // a factor refused its messages
      throw GraphError(place(state.current) + error.what());
    }
    result.sweeps = state.sweep;
    const bool last = state.sweep == options.sweeps || state.stopped;
    if (options.tolerance == 0 && !last) continue;
    auto now = marginals(state);
    if (options.tolerance > 0 && !result.marginals_.empty()) {
      result.changes_.resize(now.size());
      for (std::uint32_t v = 0; v < now.size(); ++v)
        result.changes_[v] = movement(result.marginals_[v], now[v], state.family(v));
      const auto most = std::max_element(result.changes_.begin(), result.changes_.end());
      result.last_change = most == result.changes_.end() ? 0 : *most;
      result.converged = result.last_change <= options.tolerance;
      if (watch.diverges(result.last_change)) {
        throw Diverged("inference diverges: sweep " + std::to_string(state.sweep) +
                       " moved variable '" +
                       name(Variable{static_cast<std::uint32_t>(most - result.changes_.begin())}) +
                       "' by " + std::to_string(result.last_change) +
                       " standard deviations, and every ten sweeps move by more than the ten "
                       "before; try damping (now " +
                       std::to_string(options.damping) + "), or another engine, rule or schedule");
      }
    }
    result.marginals_ = std::move(now);
    if (result.converged) break;
    if (!last && acceleration.extrapolate(state.message, edge_scales(result))) {
      for (std::uint32_t v = 0; v < variable_count(); ++v) state.total[v] = state.product(v);
      result.marginals_ = marginals(state);
    }
  }
  result.messages_ = std::move(state.message);
  result.edge_begin_ = edge_begin_;
  for (std::uint32_t v = 0; v < variable_count(); ++v) {
    if (!is_distribution(result.marginals_[v], state.family(v)))
      result.improper_marginals.push_back(v);
    if (result.change(Variable{v}) > options.tolerance) result.moving.push_back(v);
  }
  return result;
}

}  // namespace dma
