#include "validation/engine_tally.h"

#include <algorithm>
#include <cmath>

namespace dma::validation {
namespace {

using nlohmann::json;

// JSON has no infinity: null.
json quantile_or_null(const std::vector<double>& values, double level) {
  if (values.empty()) return nullptr;
  const double value = quantile(values, level);
  return std::isfinite(value) ? json(value) : json(nullptr);
}

json share(std::size_t part, std::size_t whole) {
  if (whole == 0) return nullptr;
  return static_cast<double>(part) / static_cast<double>(whole);
}

bool stands_still(const Graph& graph, const Beliefs& before, const Beliefs& after,
                  double tolerance) {
  for (std::uint32_t v = 0; v < graph.variable_count(); ++v) {
    const auto was = before.marginal({v});
    const auto now = after.marginal({v});
    if (was == now) continue;
    if (!was.is_point() || !now.is_point()) return false;
    const double scale = std::max(1.0, std::abs(now.mean()));
    if (std::abs(now.mean() - was.mean()) > tolerance * scale) return false;
  }
  return true;
}

// The engine measures movement in standard deviations, and a point mass has none: there the step of
// the last bit would count as movement.
Beliefs infer_point_masses(const Graph& graph, const InferenceOptions& options,
                           const Schedule& schedule) {
  InferenceOptions fixed = options;
  fixed.tolerance = 0;
  fixed.sweeps = 1;
  Beliefs last = graph.infer(fixed, schedule);
  while (fixed.sweeps < options.sweeps && !last.converged) {
    ++fixed.sweeps;
    Beliefs next = graph.infer(fixed, schedule);
    next.converged = stands_still(graph, last, next, options.tolerance);
    last = std::move(next);
  }
  return last;
}

Beliefs infer(const EngineChoice& engine, const Problem& problem) {
  const InferenceOptions& options = engine.options;
  if (options.engine == Engine::adf) return problem.graph.infer(options);
  if (options.engine == Engine::vmp && options.tolerance > 0) {
    return infer_point_masses(problem.graph, options, problem.schedule);
  }
  return problem.graph.infer(options, problem.schedule);
}

// A quotient of two equal messages may round to either side of zero.
bool is_negative(const Graph& graph, const Beliefs& beliefs, const ImproperMessage& message) {
  const auto marginal = beliefs.marginal(graph.edge({message.factor}, message.edge));
  return message.rho < -1e-9 * std::abs(marginal.rho);
}

}  // namespace

double quantile(std::vector<double> values, double level) {
  const double place = level * static_cast<double>(values.size());
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

void Tally::add(const EngineChoice& engine, const Problem& problem) {
  ++graphs;
  try {
    const Beliefs beliefs = infer(engine, problem);
    const bool finished = beliefs.converged || engine.options.tolerance == 0;
    const bool proper = beliefs.failed.empty() && beliefs.improper_marginals.empty();
    failed += finished && proper ? 0 : 1;
    sweeps.push_back(static_cast<double>(finished ? beliefs.sweeps : engine.options.sweeps));
    count_messages(problem.graph, beliefs);
    compare(beliefs, problem);
  } catch (const std::exception&) {  // inference failed: there is nothing to count
    ++failed;
    sweeps.push_back(static_cast<double>(engine.options.sweeps));
  }
}

void Tally::count_messages(const Graph& graph, const Beliefs& beliefs) {
  const auto count = static_cast<std::size_t>(
      std::count_if(beliefs.improper.begin(), beliefs.improper.end(),
                    [&](const auto& message) { return is_negative(graph, beliefs, message); }));
  messages += beliefs.messages_sent;
  negative += count;
  with_negative += count > 0 ? 1 : 0;
}

void Tally::compare(const Beliefs& beliefs, const Problem& problem) {
  for (std::size_t k = 0; k < problem.variables.size(); ++k) {
    const auto marginal = beliefs.marginal(problem.variables[k]);
    if (!marginal.is_distribution()) continue;
    const double variance = marginal.variance();
    if (!problem.prior.empty()) variance_to_prior.push_back(variance / problem.prior[k].variance());
    if (problem.exact.empty()) continue;
    const auto exact = problem.exact[k];
    variance_kept.push_back(variance / exact.variance());
    kl.push_back(kl_divergence(exact, marginal));
    mean_error.push_back(std::abs(marginal.mean() - exact.mean()) / exact.stddev());
  }
}

void Tally::append(const Tally& other) {
  graphs += other.graphs;
  failed += other.failed;
  with_negative += other.with_negative;
  messages += other.messages;
  negative += other.negative;
  for (const auto member : {&Tally::sweeps, &Tally::variance_kept, &Tally::variance_to_prior,
                            &Tally::kl, &Tally::mean_error}) {
    const auto& more = other.*member;
    (this->*member).insert((this->*member).end(), more.begin(), more.end());
  }
}

json Tally::to_json() const {
  return {{"negative_precision_share", share(negative, messages)},
          {"graphs_with_negative_precision", share(with_negative, graphs)},
          {"median_sweeps", quantile_or_null(sweeps, 0.5)},
          {"largest_sweeps", sweeps.empty() ? 0 : *std::max_element(sweeps.begin(), sweeps.end())},
          {"dirac_variance_kept", quantile_or_null(variance_kept, 0.5)},
          {"variance_kept_90", quantile_or_null(variance_kept, 0.9)},
          {"variance_to_prior", quantile_or_null(variance_to_prior, 0.5)},
          {"failure_share", share(failed, graphs)},
          {"median_kl", quantile_or_null(kl, 0.5)},
          {"kl_90", quantile_or_null(kl, 0.9)},
          {"median_mean_error", quantile_or_null(mean_error, 0.5)},
          {"graphs", graphs}};
}

Tally tally(const EngineChoice& engine, std::span<const Problem> problems) {
  Tally result;
  for (const Problem& problem : problems) result.add(engine, problem);
  return result;
}

json tally_definitions() {
  return {
      {"negative_precision_share",
       "messages of precision below -1e-9 of the precision of the receiving marginal (above that "
       "it "
       "is rounding), among all messages sent, those of unary factors and of all sweeps included; "
       "runs that broke off are not counted"},
      {"graphs_with_negative_precision", "share of graphs on which at least one was sent"},
      {"median_sweeps",
       "until no marginal moves by more than the tolerance, in standard deviations (point masses: "
       "relative to max(1, |mean|)); the last sweep is the one that sees it; a run that never "
       "stops "
       "counts with the cap; ADF is one sweep by definition"},
      {"largest_sweeps", "the same, the largest"},
      {"dirac_variance_kept",
       "variance of the engine's marginal over that of the exact one, median over the variables; "
       "on a network the variables are its weights"},
      {"variance_kept_90", "the same, the 90 % quantile"},
      {"variance_to_prior", "the median over the prior variance of the weights"},
      {"failure_share",
       "graphs on which the marginals still moved at the cap, a marginal had no positive "
       "precision, "
       "a message failed (no projection, not a number) or inference broke off"},
      {"median_kl",
       "KL(exact moments || the engine's marginal), median over the variables of the graphs on "
       "which "
       "inference did not break off, which may be the easy ones; null: infinite, or no exact "
       "marginal is known"},
      {"kl_90", "the same, the 90 % quantile"},
      {"median_mean_error", "error of the mean in exact standard deviations, median"}};
}

}  // namespace dma::validation
