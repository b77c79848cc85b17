#include "experiments/rivals.h"

#include <dma/special/random.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "baselines/laplace.h"
#include "baselines/point_network.h"

namespace dma::experiments {
namespace {

constexpr std::size_t weight_samples = 1000;
constexpr std::size_t kept_draws = 2000;  // of the chains together, for predictions

double noise_variance(const Task& task) { return task.noise_deviation * task.noise_deviation; }

// Many equally likely weight vectors.
std::function<std::vector<Predicted>(const Rows&)> predict_by(const Task& task,
                                                              std::vector<double> samples) {
  const auto shared = std::make_shared<const std::vector<double>>(std::move(samples));
  return [network = task.model, noise = noise_variance(task), shared](const Rows& rows) {
    return as_predicted(
        baselines::predict_by_samples(network, *shared, rows.features, rows.size(), noise));
  };
}

std::function<std::vector<Predicted>(const Rows&)> predict_by_gaussians(
    const Task& task, std::uint64_t seed, const std::vector<double>& mean,
    const std::vector<double>& variance) {
  return predict_by(task, baselines::draw_weights(mean, variance, weight_samples, seed));
}

// N(0, 2 / fan_in), the paper's prior for Laplace.
std::vector<double> laplace_precision(const Architecture& network) {
  std::vector<double> precision;
  for (std::size_t l = 0; l < network.layers(); ++l) {
    const Dense layer = network.layer(l);
    precision.insert(precision.end(), layer.weights(), static_cast<double>(layer.inputs) / 2);
  }
  return precision;
}

std::vector<double> normal_start(const Task& task, std::uint64_t seed, double deviation) {
  special::Random random(prior_seed(seed));
  std::vector<double> start(task.model.weight_count());
  for (double& weight : start) weight = deviation * random.normal();
  return start;
}

std::vector<double> thinned(const baselines::HamiltonianResult& chains) {
  const std::size_t stride = std::max<std::size_t>(1, chains.chains * chains.draws / kept_draws);
  std::vector<double> kept;
  for (std::size_t c = 0; c < chains.chains; ++c) {
    for (std::size_t d = 0; d < chains.draws; d += stride) {
      const auto draw = chains.draw(c, d);
      kept.insert(kept.end(), draw.begin(), draw.end());
    }
  }
  return kept;
}

// -log of the mean over draws of N(truth; f(x; w), noise), averaged over rows.
double mixture_nll(const Task& task, const std::vector<double>& samples, const Rows& rows) {
  const std::size_t width = task.model.weight_count();
  const std::size_t count = samples.size() / width;
  std::vector<double> density(rows.size(), 0);
  for (std::size_t s = 0; s < count; ++s) {
    const auto values = baselines::outputs(task.model, std::span(samples).subspan(s * width, width),
                                           rows.features, rows.size());
    for (std::size_t n = 0; n < rows.size(); ++n) {
      const double away = (rows.truth[n] - values[n]) / task.noise_deviation;
      density[n] += std::exp(-away * away / 2) / static_cast<double>(count);
    }
  }
  const double scale = std::log(task.noise_deviation * std::sqrt(2 * std::numbers::pi));
  double sum = 0;
  for (const double one : density) sum += scale - std::log(one);
  return sum / static_cast<double>(rows.size());
}

}  // namespace

baselines::Problem problem_of(const Task& task) {
  return {task.model, task.train.features, task.train.targets, task.train.size(),
          noise_variance(task)};
}

std::vector<double> start_of(const Task& task, std::uint64_t seed) {
  return draw_prior(task.model, prior_seed(seed)).mean;
}

bool converged(const Task& task, std::span<const double> start, bool finite,
               std::span<const double> train_nll) {
  std::vector<double> gradient(start.size());
  const double before = baselines::mean_nll(problem_of(task))(start, gradient);
  return finite && !train_nll.empty() && train_nll.back() < before;
}

Method trained_by_adam(const std::string& name, const baselines::AdamOptions& options,
                       std::optional<double> start) {
  return {name, [options, start](const Task& task, std::uint64_t seed) {
            const auto from = start ? normal_start(task, seed, *start) : start_of(task, seed);
            auto result = baselines::train_adam(problem_of(task), from, options);
            Fit fit{.train_nll = std::move(result.train_nll),
                    .epochs = static_cast<double>(options.epochs)};
            fit.seconds = result.seconds_per_epoch * fit.epochs;
            if (converged(task, from, !result.diverged, fit.train_nll)) {
              fit.predict = predict_by(task, std::move(result.weights));
            }
            return fit;
          }};
}

Method trained_by_ivon(const std::string& name, const baselines::IvonOptions& options) {
  return {name, [options](const Task& task, std::uint64_t seed) {
            baselines::IvonOptions seeded = options;
            seeded.seed = seed;
            const auto start = start_of(task, seed);
            auto result = baselines::train_ivon(problem_of(task), start, seeded);
            Fit fit{.train_nll = std::move(result.train_nll),
                    .epochs = static_cast<double>(options.epochs)};
            if (converged(task, start, !result.diverged, fit.train_nll)) {
              fit.predict = predict_by_gaussians(task, seed, result.mean, result.variance);
            }
            return fit;
          }};
}

Method diagonal_laplace() {
  return {"laplace", [](const Task& task, std::uint64_t seed) {
            const auto precision = laplace_precision(task.model);
            const baselines::AdamOptions options{.prior_precision = precision};
            const auto start = start_of(task, seed);
            auto map = baselines::train_adam(problem_of(task), start, options);
            Fit fit{.train_nll = std::move(map.train_nll),
                    .epochs = static_cast<double>(options.epochs)};
            if (!converged(task, start, !map.diverged, fit.train_nll)) return fit;
            const auto diagonal =
                baselines::hessian_diagonal(problem_of(task), map.weights, precision);
            const auto belief = baselines::laplace(map.weights, diagonal, precision);
            fit.negative = belief.negative_curvatures;
            fit.predict = predict_by_gaussians(task, seed, belief.mean, belief.variance);
            return fit;
          }};
}

ExactPosterior exact_posterior(const Task& task, const WeightPrior& prior,
                               const baselines::HamiltonianOptions& options) {
  const auto chains = baselines::sample_posterior(problem_of(task), prior, options);
  const Rows& rows = task.extrapolation;
  ExactPosterior exact{{}, 0, 0, 0};
  const auto rhats = baselines::rhat_of_outputs(task.model, chains, rows.features, rows.size());
  exact.max_rhat = *std::max_element(rhats.begin(), rhats.end());
  for (const auto& chain : chains.chain) exact.divergences += chain.divergences;
  auto samples = thinned(chains);
  exact.mixture_nll = mixture_nll(task, samples, rows);
  exact.fit.predict = predict_by(task, std::move(samples));
  return exact;
}

}  // namespace dma::experiments
