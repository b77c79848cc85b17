#include <dma/graph/inference.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <utility>

#include <dma/graph/graph.h>
#include <dma/special/larger.h>

#include "graph/acceleration.h"
#include "graph/independent_rows.h"

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
  const std::uint32_t place = layout_.place(factor.index, edge);
  return place == detail::no_message ? Gaussian<double>::uniform() : messages_[place];
}

std::vector<Gaussian<double>> Beliefs::messages(FactorArray factors, std::size_t edge) const {
  std::vector<Gaussian<double>> result;
  result.reserve(factors.rows);
  for (std::size_t row = 0; row < factors.rows; ++row)
    result.push_back(message(factors[row], edge));
  return result;
}

std::size_t Beliefs::arity(FactorId factor) const { return layout_.arity(factor.index); }

double Beliefs::change(Variable variable) const {
  return changes_.empty() ? 0 : changes_[variable.index];
}

std::vector<double> Beliefs::changes(const VariableArray& array) const {
  if (changes_.empty()) return std::vector<double>(array.size());
  const auto begin = changes_.begin() + array.first;
  return {begin, begin + static_cast<std::ptrdiff_t>(array.size())};
}

namespace detail {

void SweepState::record(MessageEvent::Kind kind, Gaussian<double> sent, std::string why) {
  events.push_back({kind, row, current, sent, std::move(why)});
}

bool SweepState::passes(Gaussian<double> sent) {
  if (!std::isfinite(sent.tau) || !std::isfinite(sent.rho)) {
    record(MessageEvent::Kind::failed, {}, "the message is not a number");
    return false;
  }
  record(MessageEvent::Kind::improper, sent);
  stopped = options->on_improper == OnImproper::stop;
  return options->on_improper == OnImproper::pass;
}

void SweepState::deliver_variational(std::uint32_t edge, Gaussian<double> sent) {
  current.edge = edge;
  ++messages_sent;
  const std::uint32_t variable = factor->variables[edge];
  message[place(edge)] = sent;
  const bool was_point = total[variable].is_point();
  if (sent.is_point()) {
    // Two Dirac factors that disagree leave the variable where the later one put it.
    const bool unary = factor->variables.size() == 1;
    if (!was_point && !unary) record(MessageEvent::Kind::collapsed, sent);
    total[variable] = sent;
  } else if (!was_point) {
    total[variable] = product(variable);
  }
}

}  // namespace detail

namespace {

using Marginals = std::vector<Gaussian<double>>;
using detail::SweepState;

// Steps of one kind of factor.
struct Piece {
  std::uint16_t kind;
  std::span<const Step> steps;
};

// A part of a schedule in pieces, one after the other for each row.
struct Program {
  Steps::Rows part;
  std::vector<Piece> pieces;
  detail::IndependentRows independent = {};  // empty: one row after the other
};

// Whether row after row, each step is of factors of one array.
bool stays_in_arrays(const detail::FactorTable& table, std::span<const Step> pattern,
                     const Steps::Rows& part) {
  return std::all_of(pattern.begin(), pattern.end(), [&](Step step) {
    const FactorArray array = table.alike(step.factor);
    const std::uint32_t last = step.factor + part.shift(part.rows - 1);
    return last - array.first < array.rows;
  });
}

std::vector<Piece> pieces_of(const detail::FactorTable& table, std::span<const Step> steps) {
  std::vector<Piece> pieces;
  while (!steps.empty()) {
    const std::uint16_t kind = table.kind(steps[0].factor);
    std::size_t count = 1;
    while (count < steps.size() && table.kind(steps[count].factor) == kind) ++count;
    pieces.push_back({kind, steps.first(count)});
    steps = steps.subspan(count);
  }
  return pieces;
}

// The schedule with the kinds of its factors. Rows that are not of arrays are written out into `written`.
std::vector<Program> programs_of(const detail::FactorTable& table, const Schedule& schedule,
                                 std::deque<std::vector<Step>>& written) {
  std::vector<Program> programs;
  for (const Steps* steps : {&schedule.forward, &schedule.backward}) {
    for (const Steps::Rows& part : steps->parts()) {
      const auto pattern = steps->pattern(part);
      if (part.rows == 1 || stays_in_arrays(table, pattern, part)) {
        programs.push_back({part, pieces_of(table, pattern)});
        continue;
      }
      auto& all = written.emplace_back();
      for (std::uint32_t row = 0; row < part.rows; ++row) {
        for (const Step step : pattern) all.push_back({step.factor + part.shift(row), step.edge});
      }
      programs.push_back({{.count = all.size()}, pieces_of(table, all)});
    }
  }
  return programs;
}

// Moves what a part of the schedule recorded, in the order of its steps.
void take_events(SweepState& state, std::size_t sweep, Beliefs& result) {
  result.messages_sent += std::exchange(state.messages_sent, 0);
  for (detail::MessageEvent& event : state.events) {
    const auto [factor, edge] = event.step;
    const ImproperMessage message{factor, edge, sweep, event.message.tau, event.message.rho};
    switch (event.kind) {
      case detail::MessageEvent::Kind::improper:
        result.improper.push_back(message);
        break;
      case detail::MessageEvent::Kind::collapsed:
        result.collapsed.push_back(message);
        break;
      case detail::MessageEvent::Kind::failed:
        result.failed.push_back({factor, edge, sweep, std::move(event.why)});
        break;
    }
  }
  state.events.clear();
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
  if (detail::is_known(edge({step.factor}, step.edge).index))
    throw GraphError(place(step) + "nothing is sent to a known number");
  const std::uint16_t kind = table_.kind(step.factor);
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
        functions.refusal(factors_[kind], table_.local(step.factor), step.edge, options.rule);
    if (!why.empty()) throw GraphError(place(step) + std::string(why));
  }
}

void Graph::check_steps(const InferenceOptions& options, const Steps& steps) const {
  for (const Steps::Rows& part : steps.parts()) {
    for (const Step first : steps.pattern(part)) {
      check_step(options, first);
      if (part.rows == 1) continue;
      const FactorArray array = table_.alike(first.factor);
      const std::uint32_t last = first.factor + part.shift(part.rows - 1);
      // What is right for one row of an array is right for all, but for what they say themselves.
      const bool alike = last - array.first < array.rows &&
                         !kinds_[table_.kind(first.factor)]->may_refuse && forgotten_count_ == 0;
      if (alike) continue;
      for (std::uint32_t row = 1; row < part.rows; ++row)
        check_step(options, {first.factor + part.shift(row), first.edge});
    }
  }
}

Beliefs Graph::sweep(Rule rule) const { return infer({.rule = rule}); }

Beliefs Graph::infer(const InferenceOptions& options) const {
  return infer(options, schedule(options));
}

std::vector<Gaussian<double>> Graph::products(std::span<const Gaussian<double>> messages) const {
  Marginals result(variable_count());
  std::uint32_t variable = 0;
  try {
    table_.for_each([&](std::uint32_t, const detail::FactorView& factor) {
      for (std::size_t k = 0; k < factor.variables.size(); ++k) {
        variable = factor.variables[k];
        if (!detail::is_known(variable))
          result[variable] *= messages[factor.message + factor.places[k]];
      }
    });
  } catch (const std::domain_error& error) {
    throw GraphError("variable '" + name(Variable{variable}) + "': " + error.what());
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

// 1 / sqrt(rho) of each message's variable: times a change of tau, the change of its mean in its deviations. 0 for a Gamma
// variable.
std::vector<double> Graph::message_scales(const Beliefs& beliefs) const {
  std::vector<double> scales(table_.layout().message_count());
  table_.for_each([&](std::uint32_t, const detail::FactorView& factor) {
    for (std::size_t k = 0; k < factor.variables.size(); ++k) {
      const Variable variable{factor.variables[k]};
      if (detail::is_known(variable.index)) continue;
      const auto marginal = beliefs.natural(variable);
      const bool counts =
          marginal.is_proper() && beliefs.family(variable) == MessageFamily::gaussian;
      scales[factor.message + factor.places[k]] = counts ? 1 / std::sqrt(marginal.rho) : 0;
    }
  });
  return scales;
}

std::vector<Gaussian<double>> Graph::messages_of(const Beliefs& beliefs) const {
  Marginals result(table_.layout().message_count());
  const bool same_places = table_.layout().begins_with(beliefs.layout_);
  if (same_places) std::copy(beliefs.messages_.begin(), beliefs.messages_.end(), result.begin());
  if (same_places && forgotten_count_ == 0) return result;
  detail::FactorTable::Reader read(table_);
  for (std::uint32_t f = 0; f < beliefs.factor_count(); ++f) {
    const detail::FactorView& factor = read(f);
    for (std::size_t k = 0; k < factor.variables.size(); ++k) {
      if (detail::is_known(factor.variables[k])) continue;
      Gaussian<double>& message = result[factor.message + factor.places[k]];
      if (forgotten_[f]) {
        message = Gaussian<double>::uniform();
      } else if (!same_places) {
        message = beliefs.message({f}, k);
      }
    }
  }
  return result;
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
  check_steps(options, schedule.forward);
  check_steps(options, schedule.backward);

  Beliefs result;
  result.engine_ = options.engine;
  result.structure_ = structure_;
  result.families_ = families();
  result.forgotten_count_ = forgotten_count_;
  result.damping = options.damping;
  Watch watch;
  detail::Acceleration acceleration(options.acceleration);
  const bool variational = options.engine == Engine::vmp;
  const detail::Neighbours neighbours(table_, variable_count(), variational);
  Marginals message, total;
  // Where VMP put a point mass it stays; all else is the product of what is said.
  const auto marginals = [&] { return variational ? total : products(message); };
  if (start != nullptr) {
    if (start->engine_ != options.engine) {
      throw GraphError("inference goes on with the engine of its beliefs, " +
                       std::string(name_of(start->engine_)));
    }
    check_own(*start);
    message = messages_of(*start);
    total = products(message);
    for (std::uint32_t v = 0; variational && v < start->variable_count(); ++v) {
      if (start->natural({v}).is_point()) total[v] = start->natural({v});
    }
    result.marginals_ = total;
  }
  message.resize(table_.layout().message_count());
  total.resize(variational || neighbours.has_hubs() ? variable_count() : 0);

  const auto new_state = [&] {
    const std::size_t widest = table_.widest();
    return SweepState{.read = detail::FactorTable::Reader(table_),
                      .neighbours = &neighbours,
                      .families = result.families_,
                      .known = known_,
                      .message = message,
                      .total = total,
                      .incoming = Marginals(widest),
                      .outgoing = Marginals(widest),
                      .options = &options};
  };
  std::deque<std::vector<Step>> written;
  std::vector<Program> programs = programs_of(table_, schedule, written);
  const auto engine = static_cast<std::size_t>(options.engine);
  const auto run_piece = [&](const Piece& piece, SweepState& state, const Steps::Rows& part,
                             std::uint32_t row, std::uint32_t rows) {
    state.row = row;
    kinds_[piece.kind]->run[engine](factors_[piece.kind], state,
                                    {piece.steps, part.shift(row), part.shift(1), rows});
  };
  const auto run_row = [&](const Program& program, SweepState& state, std::uint32_t row) {
    for (const Piece& piece : program.pieces) {
      if (!state.stopped) run_piece(piece, state, program.part, row, 1);
    }
  };
  const auto run_program = [&](const Program& program, SweepState& state) {
    if (program.pieces.size() == 1)
      return run_piece(program.pieces[0], state, program.part, 0, program.part.rows);
    for (std::uint32_t row = 0; row < program.part.rows && !state.stopped; ++row)
      run_row(program, state, row);
  };
  const std::size_t threads =
      options.on_improper == OnImproper::stop ? 1 : detail::thread_count(options.threads);
  std::vector<SweepState> states;
  for (std::size_t thread = 0; thread < threads; ++thread) states.push_back(new_state());
  SweepState& state = states[0];
  for (Program& program : programs) {
    if (threads == 1 || program.part.rows == 1) continue;
    const std::span<const Piece> pieces = program.pieces;
    const std::span<const Step> pattern(pieces.front().steps.data(), program.part.count);
    program.independent = detail::independent_rows(table_, variable_count(), pattern, program.part);
  }
  std::size_t sweep = 0;
  const auto sweep_once = [&] {
    for (const Program& program : programs) {
      if (program.independent.rows.empty()) {
        run_program(program, state);
      } else {
        detail::run_independent(
            program.independent, states,
            [&](SweepState& own, std::uint32_t row) { run_row(program, own, row); });
      }
      take_events(state, sweep, result);
      if (state.stopped) return;
    }
  };
  for (sweep = 1; sweep <= options.sweeps && !state.stopped; ++sweep) {
    acceleration.begin(message);
    try {
      sweep_once();
    } catch (const std::logic_error& error) {  // a factor refused its messages
      throw GraphError(place(state.current) + error.what());
    }
    result.sweeps = sweep;
    const bool last = sweep == options.sweeps || state.stopped;
    if (options.tolerance == 0 && !last) continue;
    auto now = marginals();
    if (options.tolerance > 0 && !result.marginals_.empty()) {
      result.changes_.resize(now.size());
      for (std::uint32_t v = 0; v < now.size(); ++v)
        result.changes_[v] = movement(result.marginals_[v], now[v], state.family(v));
      const auto most = std::max_element(result.changes_.begin(), result.changes_.end());
      result.last_change = most == result.changes_.end() ? 0 : *most;
      result.converged = result.last_change <= options.tolerance;
      if (watch.diverges(result.last_change)) {
        throw Diverged("inference diverges: sweep " + std::to_string(sweep) + " moved variable '" +
                       name(Variable{static_cast<std::uint32_t>(most - result.changes_.begin())}) +
                       "' by " + std::to_string(result.last_change) +
                       " standard deviations, and every ten sweeps move by more than the ten "
                       "before; try damping (now " +
                       std::to_string(options.damping) + "), or another engine, rule or schedule");
      }
    }
    result.marginals_ = std::move(now);
    if (result.converged) break;
    if (!last && acceleration.extrapolate(message, message_scales(result))) {
      result.marginals_ = products(message);
      if (!total.empty())
        std::copy(result.marginals_.begin(), result.marginals_.end(), total.begin());
    }
  }
  result.messages_ = std::move(message);
  result.layout_ = table_.layout();
  for (std::uint32_t v = 0; v < variable_count(); ++v) {
    if (!is_distribution(result.marginals_[v], state.family(v)))
      result.improper_marginals.push_back(v);
    if (result.change(Variable{v}) > options.tolerance) result.moving.push_back(v);
  }
  return result;
}

}  // namespace dma
