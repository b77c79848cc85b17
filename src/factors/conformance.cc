#include <dma/factors/conformance.h>
#include <dma/special/larger.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <sstream>
#include <type_traits>

#include <dma/special/quadrature.h>
#include <dma/special/random.h>

#include "factors/marginal_moments.h"

namespace dma {

bool FactorReport::passed() const {
  return std::all_of(checks.begin(), checks.end(), [](const FactorCheck& c) { return c.passed; });
}

bool FactorReport::passed(std::string_view check) const {
  return std::all_of(checks.begin(), checks.end(),
                     [&](const FactorCheck& c) { return c.name != check || c.passed; });
}

std::string FactorReport::text() const {
  std::ostringstream out;
  out << factor << "\n";
  for (const FactorCheck& check : checks) {
    out << (check.passed ? "  ok    " : "  FAIL  ") << check.name
        << std::string(check.name.size() < 14 ? 14 - check.name.size() : 1, ' ') << check.detail
        << "\n";
  }
  return out.str();
}

namespace detail {
namespace {

using special::larger;
using special::Random;

constexpr std::array both_rules{Rule::direct, Rule::linear};

template <std::floating_point T>
std::string show(Gaussian<T> message) {
  std::ostringstream out;
  out << "{tau " << message.tau << ", rho " << message.rho << "}";
  return out.str();
}

template <std::floating_point T>
std::string show(Incoming<T> in) {
  std::string out;
  for (const auto& message : in) out += (out.empty() ? "" : " ") + show(message);
  return out;
}

struct Direction {
  std::size_t edge;
  Rule rule;
};

std::string show(const FactorUnderTest& factor, Direction direction) {
  return "to " + std::string(factor.info->edge(direction.edge).name) + " (edge " +
         std::to_string(direction.edge) + "), " + std::string(name_of(direction.rule));
}

std::vector<Direction> directions(const FactorUnderTest& factor) {
  std::vector<Direction> all;
  for (std::size_t edge = 0; edge < factor.arity; ++edge) {
    for (const Rule rule : both_rules) {
      if (factor.refusal(edge, rule).empty()) all.push_back({edge, rule});
    }
  }
  return all;
}

// A message of ordinary size.
Gaussian<double> moderate(Random& random) {
  const double sd = std::pow(10.0, random.uniform(-1, 0.3));
  return Gaussian<double>::from_moments(2 * random.normal(), sd * sd);
}

Gaussian<double> moderate(Random& random, MessageFamily family) {
  if (family == MessageFamily::gaussian) return moderate(random);
  const double shape = std::pow(10.0, random.uniform(-0.3, 1.5));
  const double mean = std::pow(10.0, random.uniform(-1, 1));
  return Gamma{shape, shape / mean}.message();
}

// Any valid message to a Gamma variable: uniform, a point mass, without a rate, or with shape and mean up to
// 10^+-decades.
Gaussian<double> extreme_gamma(Random& random, double decades) {
  const double kind = random.uniform(0, 1);
  const double shape = std::pow(10.0, random.uniform(-decades, decades) / 2);
  const double mean = std::pow(10.0, random.uniform(-decades, decades));
  if (kind > 0.95) return Gaussian<double>::uniform();
  if (kind > 0.9) return Gaussian<double>::point(mean);
  if (kind > 0.85) return {shape, 0};
  if (kind > 0.7) return moderate(random, MessageFamily::gamma);
  return Gamma{shape, shape / mean}.message();
}

// Any valid message: uniform, a point mass, ordinary, or with mean and width up to 10^+-decades.
template <std::floating_point T>
Gaussian<T> extreme(Random& random, double decades) {
  const double kind = random.uniform(0, 1);
  const double sign = random.uniform(0, 1) < 0.5 ? -1 : 1;
  const double mean = kind < 0.2 ? 0 : sign * std::pow(10.0, random.uniform(-decades, decades));
  if (kind > 0.95) return Gaussian<T>::uniform();
  if (kind > 0.9) return Gaussian<T>::point(T(mean));
  if (kind > 0.7) {
    const double ordinary = 2 * random.normal();  // before the variance: arguments have no order
    return Gaussian<T>::from_moments(T(ordinary), T(random.uniform(0, 4)));
  }
  const double sd = std::pow(10.0, random.uniform(-decades, decades) / 2);
  return Gaussian<T>::from_moments(T(mean), T(sd * sd));
}

// d relation / d x_k by a central difference.
double derivative(const FactorUnderTest& factor, std::vector<double> inputs, std::size_t k) {
  const double step = 1e-5 * std::max(1.0, std::abs(inputs[k]));
  inputs[k] += step;
  const double above = factor.relation(inputs);
  inputs[k] -= 2 * step;
  return (above - factor.relation(inputs)) / (2 * step);
}

FactorCheck check_dirac(const FactorUnderTest& factor, Random& random) {
  FactorCheck check{.name = "dirac"};
  if (!factor.relation) {
    check.detail = "not applicable: no relation between its edges";
    return check;
  }
  constexpr int trials = 200;
  std::size_t ladders = 0;
  double worst = 0;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> at(factor.arity);
    for (std::size_t k = 1; k < factor.arity; ++k) at[k] = 2 * random.normal();
    const std::vector<double> inputs(at.begin() + 1, at.end());
    at[0] = factor.relation(inputs);
    for (const Direction direction : directions(factor)) {
      const std::size_t edge = direction.edge;
      // If the output hardly depends on this input, the exact message says next to nothing.
      if (edge > 0 && !(std::abs(derivative(factor, inputs, edge - 1)) > 0.05)) continue;
      if (edge > 0 && factor.noise_variance > 0) continue;
      ++ladders;
      double last = std::numeric_limits<double>::infinity();
      double error = last;
      for (double width = 0.1; width > 0.5e-6; width /= 10) {
        std::vector<Gaussian<double>> in;
        for (const double mean : at)
          in.push_back(Gaussian<double>::from_moments(mean, width * width));
        const auto message = factor.message(edge, in, direction.rule);
        const double variance = message.variance() - (edge == 0 ? factor.noise_variance : 0);
        error = std::abs(message.mean() - at[edge]) + std::sqrt(larger(0, variance));
        if (!(error <= 2 * last + 1e-3)) break;
        last = error;
      }
      worst = larger(worst, error);
      if (error <= 1e-3 * std::max(1.0, std::abs(at[edge]))) continue;
      check.passed = false;
      check.detail = show(factor, direction) + " ends " + std::to_string(error) +
                     " away from its exact value " + std::to_string(at[edge]);
      return check;
    }
  }
  check.passed = ladders > 0;
  std::ostringstream detail;
  detail << ladders << " ladders of widths 1e-1 ... 1e-6, largest error at the end " << worst;
  check.detail =
      ladders > 0 ? detail.str() : "no input changed the output, so nothing could be checked";
  return check;
}

template <std::floating_point T, class Message>
bool valid_everywhere(const FactorUnderTest& factor, const Message& message, Direction direction,
                      double decades, std::size_t count, Random& random, std::size_t& refused,
                      std::string& failure) {
  std::vector<Gaussian<T>> in(factor.arity);
  for (std::size_t n = 0; n < count; ++n) {
    for (std::size_t k = 0; k < in.size(); ++k) {
      if (factor.info->edge(k).family == MessageFamily::gaussian) {
        in[k] = extreme<T>(random, decades);
      } else if constexpr (std::is_same_v<T, double>) {
        in[k] = extreme_gamma(random, decades);
      }
    }
    try {
      const Gaussian<T> result = message(direction.edge, Incoming<T>(in), direction.rule);
      const Gaussian<double> sent{double(result.tau), double(result.rho)};
      if (is_valid_message(sent, factor.info->edge(direction.edge).family)) continue;
      failure = show(factor, direction) + " is " + show(result) + " for " + show(Incoming<T>(in));
      return false;
    } catch (const std::domain_error&) {
      ++refused;
    }
  }
  return true;
}

FactorCheck check_precision(const FactorUnderTest& factor, std::size_t count, Random& random) {
  FactorCheck check{.name = "precision"};
  std::size_t refused = 0;
  std::size_t total = 0;
  for (const Direction direction : directions(factor)) {
    check.passed = valid_everywhere<double>(factor, factor.message, direction, 30, count, random,
                                            refused, check.detail);
    total += count;
    if (check.passed && factor.float_message) {
      const std::size_t float_count = count / 10;
      check.passed = valid_everywhere<float>(factor, factor.float_message, direction, 9,
                                             float_count, random, refused, check.detail);
      total += float_count;
    }
    if (!check.passed) return check;
  }
  check.detail = std::to_string(total) + " random inputs in " +
                 std::to_string(directions(factor).size()) + " directions, " +
                 std::to_string(refused) + " refused as outside the domain";
  return check;
}

// The relation with all inputs fixed except the last, which takes several values.
void relation_along_last(const FactorUnderTest& factor, std::span<double> at,
                         std::span<const double> last, std::span<double> y) {
  if (!factor.relations) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      at.back() = last[i];
      y[i] = factor.relation(at);
    }
    return;
  }
  std::vector<double> points;
  for (const double fixed : at.first(at.size() - 1)) points.insert(points.end(), y.size(), fixed);
  points.insert(points.end(), last.begin(), last.end());
  factor.relations(points, y);
}

// How many deviations of the inputs to integrate over: until the integrand of the variance, (y - centre)^2 exp(-|t|^2 /
// 2), is negligible. With y = exp(x) and x of deviation s it peaks at t = 2 s. Nothing if the relation grows so fast
// that there is no end.
std::optional<double> reach_of(const FactorUnderTest& factor, Incoming<double> inputs,
                               double centre) {
  constexpr double step = 1.5;
  constexpr double negligible = 1e-14;
  std::vector<double> at(inputs.size());
  for (int steps = 6; steps <= 25; ++steps) {
    std::vector<double> t =
        special::even_breaks(-steps * step, steps * step, 2 * std::size_t(steps));
    std::vector<double> last;
    for (const double one : t) last.push_back(inputs.back().mean() + inputs.back().stddev() * one);
    std::vector<double> y(t.size());
    double inside = 0;
    double at_end = 0;
    const auto look = [&](double first, bool first_ends) {
      relation_along_last(factor, at, last, y);
      for (std::size_t i = 0; i < t.size(); ++i) {
        const double square = first * first + t[i] * t[i];
        const double value = (y[i] - centre) * (y[i] - centre) * std::exp(-square / 2);
        double& largest = first_ends || i == 0 || i + 1 == t.size() ? at_end : inside;
        largest = larger(largest, value);
      }
    };
    if (inputs.size() == 1) look(0, false);
    for (std::size_t i = 0; inputs.size() == 2 && i < t.size(); ++i) {
      at[0] = inputs[0].mean() + inputs[0].stddev() * t[i];
      look(t[i], i == 0 || i + 1 == t.size());
    }
    if (at_end <= negligible * inside) return steps * step;
  }
  return std::nullopt;
}

// Mean and standard deviation of the relation under one or two independent Gaussians, by nested adaptive quadrature
// that is a thousand times as accurate as what the factor promises, to 1e-9.
std::optional<MeanAndDeviation> quadrature(const FactorUnderTest& factor, Incoming<double> inputs,
                                           double centre) {
  using Moments = special::Integrals<2>;
  const auto reach = reach_of(factor, inputs, centre);
  if (!reach) return std::nullopt;
  std::vector<double> at(inputs.size());
  const double tolerance = std::max(1e-9, 1e-3 * factor.moment_tolerance);
  const auto breaks = special::even_breaks(-*reach, *reach, std::size_t(*reach / 0.75));
  const auto weigh = [](Moments& values, double t) {
    const double weight = std::exp(-t * t / 2) / std::sqrt(2 * std::numbers::pi);
    for (double& value : values) value *= weight;
  };
  const std::function<Moments(std::size_t)> over = [&](std::size_t k) {
    const double mean = inputs[k].mean();
    const double sd = inputs[k].stddev();
    const double allowed = k == 0 ? tolerance : 1e-2 * tolerance;
    if (k + 1 == inputs.size()) {
      const auto along_last = [&](std::span<const double> t, std::span<Moments> values) {
        std::vector<double> last;
        for (const double one : t) last.push_back(mean + sd * one);
        std::vector<double> y(t.size());
        relation_along_last(factor, at, last, y);
        for (std::size_t i = 0; i < t.size(); ++i) {
          values[i] = {y[i] - centre, (y[i] - centre) * (y[i] - centre)};
          weigh(values[i], t[i]);
        }
      };
      return special::integrate<2>(along_last, breaks, allowed, 14);
    }
    const auto given = [&](double t) {
      at[k] = mean + sd * t;
      Moments values = over(k + 1);
      weigh(values, t);
      return values;
    };
    return special::integrate<2>(given, breaks, allowed, 14);
  };
  const auto [first, second] = over(0);
  const double variance = second - first * first;
  if (!std::isfinite(variance)) return std::nullopt;
  // Rounding may make a variance slightly negative if it is too small to be seen.
  return MeanAndDeviation{centre + first, std::sqrt(std::max(0.0, variance))};
}

FactorCheck check_output_moments(const FactorUnderTest& factor, Random& random) {
  FactorCheck check{.name = "moments"};
  if (factor.arity > 3) {
    check.detail = "not checked: quadrature over more than two inputs";
    return check;
  }
  constexpr int trials = 20;
  int settings = 0;
  double worst = 0;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<Gaussian<double>> in(factor.arity);
    std::vector<double> means;
    for (std::size_t k = 1; k < factor.arity; ++k) {
      in[k] = moderate(random);
      means.push_back(in[k].mean());
    }
    const auto exact = quadrature(factor, Incoming<double>(in).subspan(1), factor.relation(means));
    if (!exact) {
      check.passed = false;
      check.detail = "quadrature finds no finite variance of the relation for " +
                     show(Incoming<double>(in).subspan(1));
      return check;
    }
    if (exact->deviation <= 1e-9) continue;  // the output varies too little for quadrature
    ++settings;
    const double deviation = std::hypot(exact->deviation, std::sqrt(factor.noise_variance));
    for (const Rule rule : both_rules) {
      const auto message = factor.message(0, in, rule);
      const double error =
          larger(std::abs(message.mean() - exact->mean), std::abs(message.stddev() - deviation)) /
          deviation;
      worst = larger(worst, error);
      if (error <= factor.moment_tolerance) continue;
      std::ostringstream detail;
      detail << show(factor, {0, rule}) << " has mean " << message.mean()
             << " and standard deviation " << message.stddev() << ", quadrature " << exact->mean
             << " and " << deviation << ", for " << show(Incoming<double>(in).subspan(1))
             << "; tolerance " << factor.moment_tolerance;
      check.passed = false;
      check.detail = detail.str();
      return check;
    }
  }
  check.passed = settings > 0;
  std::ostringstream detail;
  detail << settings << " settings of " << trials << " that move the output, largest error "
         << worst << " standard deviations, tolerance " << factor.moment_tolerance;
  check.detail = detail.str();
  return check;
}

// What arrives at a factor of one edge while its marginal is checked. If the exact message has moments, they are the
// message's: then it is next to nothing.
Gaussian<double> arriving(const FactorUnderTest& factor, Random& random) {
  const Gaussian<double> ordinary = moderate(random);
  if (!factor.info->edge(0).proper) return ordinary;
  constexpr double width = 1e4;
  const std::array in{ordinary};
  const Gaussian<double> sent = factor.message(0, in, Rule::direct);
  return Gaussian<double>::from_moments(sent.mean() + ordinary.mean() * sent.stddev(),
                                        width * width * sent.variance());
}

// Mean and deviation of x under Gamma(x) exp(log_density(x)), by quadrature over log x about a mean that is close.
MeanAndDeviation gamma_moments(const std::function<double(double)>& log_density, Gamma incoming,
                               double about) {
  const auto log_weight = [&](double t) {
    const double x = about * std::exp(t);
    return incoming.shape * t - incoming.rate * x + log_density(x);
  };
  const double top = log_weight(0);
  const auto breaks = special::even_breaks(-60, 10, 280);
  const auto sums = special::integrate<2>(
      [&](double t) {
        const double weight = std::exp(log_weight(t) - top);
        return special::Integrals<2>{weight, weight * std::exp(t)};
      },
      breaks, 1e-13);
  const double mass = sums[0];
  const double mean = sums[1] / mass;
  const double variance = special::integrate<1>(
      [&](double t) {
        const double away = std::exp(t) - mean;
        return special::Integrals<1>{std::exp(log_weight(t) - top) * away * away / mass};
      },
      breaks, 1e-13)[0];
  return {about * mean, about * std::sqrt(variance)};
}

FactorCheck check_gamma_moments(const FactorUnderTest& factor, Random& random) {
  FactorCheck check{.name = "moments"};
  constexpr int trials = 100;
  double worst = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const std::array in{moderate(random, MessageFamily::gamma)};
    const auto marginal = Gamma::from_message(in[0] * factor.message(0, in, Rule::direct));
    const auto exact = gamma_moments([&](double x) { return factor.log_density(std::span(&x, 1)); },
                                     Gamma::from_message(in[0]), marginal.mean());
    const double error = larger(std::abs(marginal.mean() - exact.mean),
                                std::abs(marginal.stddev() - exact.deviation)) /
                         exact.deviation;
    worst = larger(worst, error);
    if (error <= factor.moment_tolerance) continue;
    check.passed = false;
    check.detail = "marginal " + show(marginal.message()) + ", quadrature has mean " +
                   std::to_string(exact.mean) + " and standard deviation " +
                   std::to_string(exact.deviation) + ", for " + show(in[0]);
    return check;
  }
  std::ostringstream detail;
  detail << trials << " marginals, largest error " << worst << " standard deviations, tolerance "
         << factor.moment_tolerance;
  check.detail = detail.str();
  return check;
}

FactorCheck check_marginal_moments(const FactorUnderTest& factor, Random& random) {
  if (factor.info->edge(0).family == MessageFamily::gamma)
    return check_gamma_moments(factor, random);
  FactorCheck check{.name = "moments"};
  constexpr int trials = 100;
  double worst = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const std::array in{arriving(factor, random)};
    const auto marginal = in[0] * factor.message(0, in, Rule::direct);
    const auto exact = marginal_moments(
        [&](double x) { return factor.log_density(std::span(&x, 1)); }, in[0], marginal.mean());
    if (!exact) {
      check.passed = false;
      check.detail = "no mass of the density found under the incoming " + show(in[0]);
      return check;
    }
    const double error = larger(std::abs(marginal.mean() - exact->mean),
                                std::abs(marginal.stddev() - exact->deviation)) /
                         exact->deviation;
    worst = larger(worst, error);
    if (error <= factor.moment_tolerance) continue;
    std::ostringstream detail;
    detail << "marginal " << show(marginal) << ", quadrature has mean " << exact->mean
           << " and standard deviation " << exact->deviation << ", for " << show(in[0]);
    check.passed = false;
    check.detail = detail.str();
    return check;
  }
  std::ostringstream detail;
  detail << trials << " marginals, largest error " << worst << " standard deviations, tolerance "
         << factor.moment_tolerance;
  check.detail = detail.str();
  return check;
}

FactorCheck check_moments(const FactorUnderTest& factor, Random& random) {
  if (factor.relation) return check_output_moments(factor, random);
  if (factor.log_density && factor.arity == 1) return check_marginal_moments(factor, random);
  return {.name = "moments", .detail = "not applicable: neither a relation nor a density is given"};
}

FactorCheck check_independence(const FactorUnderTest& factor, Random& random) {
  FactorCheck check{.name = "independence"};
  constexpr int trials = 1000;
  std::string exempt;
  std::size_t compared = 0;
  for (std::size_t edge = 0; edge < factor.arity; ++edge) {
    const EdgeInfo& info = factor.info->edge(edge);
    if (!factor.refusal(edge, Rule::direct).empty()) continue;
    if (!info.own_edge_reason.empty()) {
      exempt = "; exempt to " + std::string(info.name) + ": " + std::string(info.own_edge_reason);
      continue;
    }
    for (int trial = 0; trial < trials; ++trial) {
      std::vector<Gaussian<double>> in(factor.arity);
      for (std::size_t k = 0; k < in.size(); ++k)
        in[k] = moderate(random, factor.info->edge(k).family);
      const auto expected = factor.message(edge, in, Rule::direct);
      const auto known = Gaussian<double>::point(std::exp(random.normal()));
      for (const auto own : {moderate(random, info.family), Gaussian<double>::uniform(), known}) {
        in[edge] = own;
        ++compared;
        if (factor.message(edge, in, Rule::direct) == expected) continue;
        check.passed = false;
        check.detail = show(factor, {edge, Rule::direct}) + " changes from " + show(expected) +
                       " when its own edge becomes " + show(own);
        return check;
      }
    }
  }
  check.detail = std::to_string(compared) + " messages, bit for bit" + exempt;
  return check;
}

FactorCheck check_float(const FactorUnderTest& factor, std::size_t most, Random& random) {
  FactorCheck check{.name = "float"};
  if (!factor.float_message) {
    check.detail = "not applicable: the factor has no float messages";
    return check;
  }
  const std::size_t trials = std::min<std::size_t>(2000, most);
  constexpr double tolerance = 256 * double(std::numeric_limits<float>::epsilon());
  double worst = 0;
  for (std::size_t trial = 0; trial < trials; ++trial) {
    std::vector<Gaussian<float>> in(factor.arity);
    std::vector<Gaussian<double>> same(factor.arity);
    for (std::size_t k = 0; k < factor.arity; ++k) {
      const auto message = moderate(random);
      in[k] = {static_cast<float>(message.tau), static_cast<float>(message.rho)};
      same[k] = {in[k].tau, in[k].rho};
    }
    for (const Direction direction : directions(factor)) {
      const auto single = factor.float_message(direction.edge, in, direction.rule);
      const auto exact = factor.message(direction.edge, same, direction.rule);
      // A message that hardly moves the belief may lose digits, because they have no effect.
      const double negligible = 1e-6 * same[direction.edge].rho;
      if (exact.rho < negligible && double(single.rho) < 2 * negligible) continue;
      if (exact.rho > 1e30 && double(single.rho) > 1e30) continue;  // beyond what float can hold
      const double scale = std::abs(exact.mean()) + exact.stddev();
      const double error = larger(std::abs(double(single.mean()) - exact.mean()) / scale,
                                  std::abs(double(single.rho) / exact.rho - 1));
      worst = larger(worst, error);
      if (error <= tolerance) continue;
      check.passed = false;
      check.detail = show(factor, direction) + " is " + show(single) + " in float, " + show(exact) +
                     " in double, for " + show(Incoming<double>(same));
      return check;
    }
  }
  std::ostringstream detail;
  detail << trials << " inputs, largest relative difference " << worst << ", tolerance "
         << tolerance;
  check.detail = detail.str();
  return check;
}

}  // namespace

FactorReport check_factor(const FactorUnderTest& factor, const CheckOptions& options) {
  Random random(options.seed);
  FactorReport report{.factor = std::string(factor.info->name) + ": " +
                                std::string(factor.info->density)};
  report.checks = {check_dirac(factor, random),
                   check_precision(factor, options.random_inputs, random),
                   check_moments(factor, random), check_independence(factor, random),
                   check_float(factor, options.random_inputs, random)};
  return report;
}

}  // namespace detail
}  // namespace dma
