// Table 1 (App. A), measured: every engine on the same graphs.
//
//   product, relu   one Dirac factor with a unary factor on each edge: the exact moments are known
//   network         one training example of the 8-6-5-1 network: the exact moments of the weights
//                   are importance-sampled
//   joint           a mini-batch on one graph, sharing the weights: no exact moments
#include "validation/pathologies.h"

#include <dma/factors/factors.h>
#include <dma/special/larger.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

#include "validation/engine_tally.h"
#include "validation/experiment.h"
#include "validation/regression_network.h"
#include "validation/verdicts.h"

namespace dma::validation {
namespace {

using nlohmann::json;
using G = Gaussian<double>;
using Random = std::mt19937_64;

constexpr double mean_deviation = 2;
constexpr double narrowest = 0.1;
constexpr double widest = 3;
constexpr std::array tried_slopes{0.1, 0.4, 0.8};

std::vector<EngineChoice> engines(const PathologySettings& settings) {
  const InferenceOptions iterate{.sweeps = settings.most_sweeps, .tolerance = settings.tolerance};
  auto linear = iterate;
  linear.rule = Rule::linear;
  auto ep = iterate;
  ep.engine = Engine::ep;
  auto ep_skip = ep;
  ep_skip.on_improper = OnImproper::skip;
  auto vmp = iterate;
  vmp.engine = Engine::vmp;
  // ADF visits every factor once: a second sweep would be EP.
  const InferenceOptions adf{.engine = Engine::adf};
  return {{"direct", iterate},  {"linear", linear}, {"ep", ep},
          {"ep_skip", ep_skip}, {"vmp", vmp},       {"adf", adf}};
}

Prior random_prior(Random& random) {
  const double mean = std::normal_distribution<double>(0, mean_deviation)(random);
  const double log_width =
      std::uniform_real_distribution<double>(std::log(narrowest), std::log(widest))(random);
  return {mean, std::exp(2 * log_width)};
}

double draw(const Prior& prior, Random& random) {
  return std::normal_distribution<double>(prior.mean, std::sqrt(prior.variance))(random);
}

// A random prior on each input of the factor; on its output, an observation drawn from the model.
template <DeterministicFactor F>
Problem random_neighbourhood(const F& factor, Random& random) {
  Problem problem;
  const std::size_t arity = factor.arity();
  for (std::size_t k = 0; k < arity; ++k) problem.variables.push_back(problem.graph.variable());
  std::vector<G> in(arity);
  std::vector<double> inputs;
  for (std::size_t k = 1; k < arity; ++k) {
    const Prior prior = random_prior(random);
    problem.graph.add(prior, problem.variables[k]);
    in[k] = G::from_moments(prior.mean, prior.variance);
    inputs.push_back(draw(prior, random));
  }
  const double variance = random_prior(random).variance;
  const double value = draw(Prior{factor.relation(inputs), variance}, random);
  in[0] = G::from_moments(value, variance);
  problem.graph.add(factor, problem.variables);
  problem.graph.add(Observation{value, variance}, problem.variables[0]);
  problem.schedule = problem.graph.tree_schedule();
  for (std::size_t k = 0; k < arity; ++k) problem.exact.push_back(factor.marginal(k, in));
  return problem;
}

std::vector<Problem> product_neighbourhoods(const PathologySettings& settings) {
  Random random(settings.seed);
  std::vector<Problem> problems;
  for (std::size_t n = 0; n < settings.neighbourhoods; ++n) {
    problems.push_back(random_neighbourhood(Product{}, random));
  }
  return problems;
}

std::vector<Problem> relu_neighbourhoods(const PathologySettings& settings) {
  Random random(settings.seed);
  std::vector<Problem> problems;
  for (std::size_t n = 0; n < settings.neighbourhoods; ++n) {
    problems.push_back(
        random_neighbourhood(LeakyRelu{tried_slopes[n % tried_slopes.size()]}, random));
  }
  return problems;
}

Problem network_problem(const RegressionTask& task, std::span<const std::size_t> examples) {
  NetworkGraph network = network_graph(task, examples);
  return {std::move(network.graph),
          std::move(network.schedule),
          std::move(network.weights),
          {},
          task.prior};
}

std::vector<Problem> network_problems(const RegressionTask& task,
                                      const std::vector<SampledPosterior>& exact) {
  std::vector<Problem> problems;
  for (std::size_t n = 0; n < exact.size(); ++n) {
    problems.push_back(network_problem(task, std::array{n}));
    problems.back().exact = exact[n].weights;
  }
  return problems;
}

std::vector<Problem> joint_problem(const RegressionTask& task, std::size_t examples) {
  std::vector<std::size_t> batch(examples);
  std::iota(batch.begin(), batch.end(), 0);
  std::vector<Problem> problem;
  problem.push_back(network_problem(task, batch));
  return problem;
}

json row(std::string_view set, const EngineChoice& engine, const Tally& tally) {
  json result = tally.to_json();
  result["set"] = set;
  result["engine"] = engine.name;
  return result;
}

// Algorithm 1: each message of an example is sent once.
EngineChoice one_sweep(EngineChoice engine) {
  engine.options.sweeps = 1;
  engine.options.tolerance = 0;
  return engine;
}

json settings_json(const PathologySettings& settings, const std::vector<SampledPosterior>& exact) {
  std::vector<double> effective;
  for (const auto& posterior : exact) effective.push_back(posterior.effective_samples);
  const double typical = quantile(effective, 0.5);
  return {
      {"seed", settings.seed},
      {"neighbourhoods", settings.neighbourhoods},
      {"inputs", "priors: means from N(0, mean_deviation^2), widths log-uniform"},
      {"output", "an observation: its width is drawn alike, its value from the model"},
      {"mean_deviation", mean_deviation},
      {"widths", {narrowest, widest}},
      {"slopes", tried_slopes},
      {"network_examples", settings.network_examples},
      {"network", "8-6-5-1, one graph per example, each with the prior on the weights (App. E)"},
      {"joint_examples", settings.joint_examples},
      {"joint", "examples on one graph, sharing the weights"},
      {"weight_samples", settings.weight_samples},
      {"effective_weight_samples", typical},
      {"sampling_noise_kl", 1 / typical},
      {"tolerance", settings.tolerance},
      {"most_sweeps", settings.most_sweeps},
      {"schedule", "the same for all but ADF: leaves to root and back; networks: Algorithm 1"},
      {"ep", "passes messages of negative precision on; ep_skip keeps the old message instead"},
      {"one sweep", "as in Algorithm 1: convergence is not tested, so it cannot fail"},
      {"figures", tally_definitions()}};
}

double figure_of(const json& rows, std::string_view engine, std::string_view set,
                 const char* figure) {
  for (const json& row : rows) {
    if (row["engine"] == engine && row["set"] == set && row[figure].is_number()) return row[figure];
  }
  return std::nan("");
}

constexpr std::array sets{"product", "relu", "network", "joint"};

double largest(const json& rows, std::string_view engine, const char* figure) {
  double result = 0;
  for (const char* set : sets)
    result = special::larger(result, figure_of(rows, engine, set, figure));
  return result;
}

std::string shares(const json& rows, std::string_view engine, const char* figure) {
  std::string text;
  for (const char* set : sets) {
    text += (text.empty() ? "" : ", ") + percent(figure_of(rows, engine, set, figure)) + " " + set;
  }
  return text;
}

std::string direct_linear_ep(const json& rows, const char* set, const char* figure) {
  std::string text;
  for (const char* engine : {"direct", "linear", "ep"}) {
    text += (text.empty() ? "" : ", ") + std::string(engine) + " " +
            digits(figure_of(rows, engine, set, figure), 2);
  }
  return text;
}

json verdicts(const json& rows) {
  const char* negative = "negative_precision_share";
  const double from_dma =
      special::larger(largest(rows, "direct", negative), largest(rows, "linear", negative));
  const double kept = figure_of(rows, "vmp", "network", "dirac_variance_kept");
  const bool ep_iterates = figure_of(rows, "ep", "product", "median_sweeps") >
                           figure_of(rows, "direct", "product", "median_sweeps");
  return {
      verdict("messages of negative precision, DMA", percent(from_dma), "none",
              agrees_if(from_dma == 0)),
      verdict("messages of negative precision, EP", shares(rows, "ep", negative), "they occur",
              agrees_if(largest(rows, "ep", negative) > 0)),
      verdict("variance of the weights that VMP keeps", percent(kept), "none",
              agrees_if(kept == 0)),
      verdict("sweeps until a product settles", direct_linear_ep(rows, "product", "median_sweeps"),
              "one for DMA, more for EP", agrees_if(ep_iterates),
              "The last sweep only confirms that nothing moves. EP is exact on a single factor and "
              "needs no more sweeps there; on the network: " +
                  direct_linear_ep(rows, "network", "median_sweeps") + "."),
      verdict("graphs on which EP fails", shares(rows, "ep", "failure_share"), "",
              Agreement::beyond,
              "DMA: at most " + percent(largest(rows, "direct", "failure_share")) +
                  "; EP that skips negative messages: at most " +
                  percent(largest(rows, "ep_skip", "failure_share")) + "."),
      verdict("KL from the exact marginal on the network, median",
              direct_linear_ep(rows, "network", "median_kl"), "", Agreement::beyond,
              "Over the graphs on which EP does not fail.")};
}

}  // namespace

json pathologies(const PathologySettings& settings) {
  const auto products = product_neighbourhoods(settings);
  const auto relus = relu_neighbourhoods(settings);
  const RegressionTask task = regression_task(settings.network_examples, settings.seed);
  const auto exact = sampled_posteriors(task, settings.weight_samples, settings.seed);
  const auto networks = network_problems(task, exact);
  const auto joint = joint_problem(task, settings.joint_examples);

  json rows = json::array();
  json summary = json::object();
  for (const EngineChoice& engine : engines(settings)) {
    Tally both = tally(engine, products);
    rows.push_back(row("product", engine, both));
    const Tally relu = tally(engine, relus);
    rows.push_back(row("relu", engine, relu));
    both.append(relu);
    summary[engine.name] = both.to_json();

    const Tally network = tally(engine, networks);
    rows.push_back(row("network", engine, network));
    summary["network"][engine.name] = network.to_json();
    rows.push_back(row("network, one sweep", engine, tally(one_sweep(engine), networks)));
    rows.push_back(row("joint", engine, tally(engine, joint)));
  }
  return {{"settings", settings_json(settings, exact)},
          {"summary", std::move(summary)},
          {"verdicts", verdicts(rows)},
          {"rows", std::move(rows)}};
}

json pathologies() { return pathologies(PathologySettings{}); }

}  // namespace dma::validation
