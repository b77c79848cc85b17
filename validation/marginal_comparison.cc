#include "validation/marginal_comparison.h"

#include <dma/factors/factors.h>
#include <dma/special/larger.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "validation/divergence.h"
#include "validation/exact_messages.h"
#include "validation/importance_sampling.h"
#include "validation/verdicts.h"

namespace dma::validation {
namespace {

using nlohmann::json;
using G = Gaussian<double>;

struct Method {
  std::string_view name;
  InferenceOptions options;
};

constexpr std::array methods{
    Method{"direct", {}},
    Method{"linear", {.rule = Rule::linear}},
    Method{"ep", {.engine = Engine::ep, .sweeps = 100, .tolerance = 1e-9}},
};

struct Marginals {
  std::vector<G> by_edge;
  std::size_t negative_messages;
};

Marginals infer(const FactorSetting& setting, const InferenceOptions& options) {
  Graph graph;
  std::vector<Variable> variables;
  for (const auto& name : setting.variables) variables.push_back(graph.variable(name));
  for (std::size_t k = 1; k < variables.size(); ++k) {
    graph.add(Prior{setting.in[k].mean(), setting.in[k].variance()}, variables[k]);
  }
  setting.add_factor(graph, variables);
  if (!setting.in[0].is_uniform()) {
    graph.add(Observation{setting.in[0].mean(), setting.in[0].variance()}, variables[0]);
  }
  const Beliefs beliefs = graph.infer(options, graph.tree_schedule());
  Marginals result{{}, beliefs.improper.size()};
  for (const Variable variable : variables) result.by_edge.push_back(beliefs.marginal(variable));
  return result;
}

struct Moments {
  double mean, variance;
};

Moments sampled_moments(std::span<const double> values, std::span<const double> weights) {
  double total = 0;
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    total += weights[i];
    sum += weights[i] * values[i];
  }
  const double mean = sum / total;
  double squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    squares += weights[i] * (values[i] - mean) * (values[i] - mean);
  }
  return {mean, squares / total};
}

json message_json(G message) {
  if (message.is_uniform()) return "uniform";
  return {{"mean", message.mean()}, {"variance", message.variance()}};
}

// Distance of the sampled moments from the exact ones, in exact standard deviations.
double sampling_error(Moments sampled, G exact) {
  return special::larger(std::abs(sampled.mean - exact.mean()),
                         std::abs(std::sqrt(sampled.variance) - exact.stddev())) /
         exact.stddev();
}

// Where a density is drawn: 4.5 deviations to either side, and both sides of 0, where one may jump.
std::vector<double> drawn_at(G exact) {
  constexpr int steps = 80;
  constexpr double reach = 4.5;
  const double beside_zero = 1e-9 * exact.stddev();
  std::vector<double> result{-beside_zero, beside_zero};
  for (int k = 0; k <= steps; ++k) {
    result.push_back(exact.mean() + exact.stddev() * reach * (2.0 * k / steps - 1));
  }
  std::sort(result.begin(), result.end());
  std::erase_if(result, [&](double at) {
    return std::abs(at - exact.mean()) > reach * exact.stddev() * (1 + 1e-9);
  });
  return result;
}

void draw(json& figures, const FactorSetting& setting, std::size_t edge, std::string_view method,
          const std::function<double(double)>& density) {
  for (const double at : drawn_at(setting.exact(edge))) {
    figures.push_back({{"setting", setting.name},
                       {"variable", setting.variables[edge]},
                       {"method", method},
                       {"x", at},
                       {"density", density(at)}});
  }
}

void draw_exact(json& figures, const FactorSetting& setting, std::size_t edge) {
  const G exact = setting.exact(edge);
  // The largest value on the way keeps the exponentials in range.
  double largest = -std::numeric_limits<double>::infinity();
  for (const double at : drawn_at(exact))
    largest = std::max(largest, setting.log_density(edge, at));
  const auto unscaled = [&](double at) {
    return std::exp(setting.log_density(edge, at) - largest);
  };
  const double mass = integral(unscaled, merged_breaks(breaks_of(exact), {0}));
  draw(figures, setting, edge, "exact", [&](double at) { return unscaled(at) / mass; });
}

// The largest KL of a method over the variables of a setting.
double worst(const json& of_method) {
  double result = 0;
  for (const json& figures : of_method)
    result = special::larger(result, figures["kl"].get<double>());
  return result;
}

json verdicts(std::span<const FactorSetting> settings, const json& summary) {
  json result = json::array();
  for (const FactorSetting& setting : settings) {
    std::string ours;
    for (const Method& method : methods) {
      const std::string name(method.name);
      ours +=
          (ours.empty() ? "" : ", ") + name + " " + digits(worst(summary[setting.name][name]), 2);
    }
    result.push_back(verdict("largest KL from the sampled marginal, " + setting.name, ours,
                             "a figure, no numbers", Agreement::beyond));
  }
  return result;
}

}  // namespace

json compare_marginals(std::span<const FactorSetting> settings) {
  json rows = json::array();
  json summary = json::object();
  json described = json::object();
  json figures = json::array();
  double largest_sampling_error = 0;
  for (const FactorSetting& setting : settings) {
    const auto samples =
        importance_samples(setting.relation, setting.in, comparison_samples, comparison_seed);
    std::vector<Marginals> marginals;
    for (const Method& method : methods) marginals.push_back(infer(setting, method.options));
    for (std::size_t k = 0; k < setting.variables.size(); ++k) {
      const std::string& variable = setting.variables[k];
      described[setting.name][variable] = message_json(setting.in[k]);
      const G exact = setting.exact(k);
      const auto sampled = sampled_moments(samples.values[k], samples.weights);
      const auto histogram = weighted_histogram(samples.values[k], samples.weights);
      largest_sampling_error =
          special::larger(largest_sampling_error, sampling_error(sampled, exact));
      draw_exact(figures, setting, k);
      for (std::size_t m = 0; m < methods.size(); ++m) {
        const G marginal = marginals[m].by_edge[k];
        draw(figures, setting, k, methods[m].name,
             [&](double at) { return std::exp(marginal.log_density(at)); });
        const double kl = kl_divergence(histogram, marginal);
        const double moment_kl = dma::kl_divergence(exact, marginal);
        rows.push_back({{"setting", setting.name},
                        {"variable", variable},
                        {"method", methods[m].name},
                        {"mean", marginal.mean()},
                        {"variance", marginal.variance()},
                        {"exact_mean", exact.mean()},
                        {"exact_variance", exact.variance()},
                        {"sampled_mean", sampled.mean},
                        {"sampled_variance", sampled.variance},
                        {"effective_samples", effective_sample_size(samples.weights)},
                        {"kl", kl},
                        {"kl_sampling_bias", histogram.bias},
                        {"moment_kl", moment_kl},
                        {"negative_messages", marginals[m].negative_messages}});
        summary[setting.name][std::string(methods[m].name)][variable] = {{"kl", kl},
                                                                         {"moment_kl", moment_kl}};
      }
    }
  }
  summary["largest_sampling_error"] = largest_sampling_error;
  return {
      {"settings",
       {{"samples", comparison_samples},
        {"seed", comparison_seed},
        {"bins", 500},
        {"range", "quantiles 0.1 % to 99.9 % of the samples"},
        {"messages", described},
        {"kl",
         "KL(sampled histogram || the method's marginal), both within the range; "
         "kl_sampling_bias of it is noise"},
        {"moment_kl", "KL(Gaussian with the exact moments || the method's marginal)"},
        {"ep",
         "on one factor with unary neighbours its marginals have the exact moments: no Gaussian "
         "has a smaller KL over the whole line, though one may within the range"},
        {"largest_sampling_error",
         "sampled mean and deviation from the exact ones, in exact "
         "standard deviations"}}},
      {"verdicts", verdicts(settings, summary)},
      {"summary", std::move(summary)},
      {"rows", std::move(rows)},
      {"figures", {{"marginals", std::move(figures)}}}};
}

}  // namespace dma::validation
