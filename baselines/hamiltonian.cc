#include "baselines/hamiltonian.h"

#include "baselines/point_network.h"

#include <dma/base/parallel.h>
#include <dma/special/random.h>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace dma::baselines {
namespace {

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

constexpr double divergent_energy = 1000;

std::span<double> span(Vector& v) { return {v.data(), static_cast<std::size_t>(v.size())}; }

// Step sizes whose mean acceptance tends to the target (Hoffman & Gelman 2014, Eq. 6 and their constants).
class DualAveraging {
 public:
  DualAveraging(double step_size, double target)
      : target_(target), centre_(std::log(10 * step_size)), log_step_(std::log(step_size)) {}

  void learn(double acceptance) {
    constexpr double gamma = 0.05;
    constexpr double t0 = 10;
    constexpr double kappa = 0.75;
    count_ += 1;
    shortfall_ += (target_ - acceptance - shortfall_) / (count_ + t0);
    log_step_ = centre_ - std::sqrt(count_) / gamma * shortfall_;
    log_average_ += std::pow(count_, -kappa) * (log_step_ - log_average_);
  }

  double step_size() const { return std::exp(log_step_); }
  double average() const { return std::exp(log_average_); }

 private:
  double target_, centre_, log_step_;
  double count_ = 0, shortfall_ = 0, log_average_ = 0;
};

// Draws after which the metric is learnt from those since the last time: 7.5 % of the warm-up are for
// arriving, 10 % at the end for the last step size, between them are windows of 2.5 %, 5 %, 10 %, ... (Stan
// has 75, 50 and 25 of 1000). The last window takes what is left.
std::vector<std::size_t> window_ends(std::size_t warmup) {
  const std::size_t end = warmup - warmup / 10;
  std::size_t begin = warmup * 3 / 40;
  std::vector<std::size_t> ends;
  for (std::size_t length = warmup / 40; length > 0 && begin + length <= end; length *= 2) {
    begin = begin + 3 * length > end ? end : begin + length;
    ends.push_back(begin);
  }
  return ends;
}

// Lower Cholesky factor of the draws' covariance, shrunk as in Stan: n / (n + 5) S + 0.001 * 5 / (n + 5) I.
Matrix metric_factor(const std::vector<Vector>& draws) {
  const auto n = static_cast<double>(draws.size());
  Matrix centred(draws[0].size(), static_cast<Eigen::Index>(draws.size()));
  for (std::size_t k = 0; k < draws.size(); ++k) {
    centred.col(static_cast<Eigen::Index>(k)) = draws[k];
  }
  centred.colwise() -= Vector(centred.rowwise().mean());
  Matrix covariance = centred * centred.transpose() / (n - 1) * (n / (n + 5));
  covariance.diagonal().array() += 1e-3 * 5 / (n + 5);
  return covariance.llt().matrixL();
}

// M^-1 = L L'. With v = L' p, H = -log density(q) + v' v / 2, and a leapfrog step is
//   v += step / 2 L' gradient(q),  q += step L v,  v += step / 2 L' gradient(q)
class Chain {
 public:
  Chain(Differentiable density, std::span<const double> start, std::span<const double> scale,
        const HamiltonianOptions& options, std::uint64_t seed)
      : density_(std::move(density)),
        options_(options),
        random_(seed),
        factor_(Matrix::Identity(index(start.size()), index(start.size()))),
        q_(index(start.size())),
        raw_gradient_(index(start.size())),
        gradient_(index(start.size())),
        velocity_(index(start.size())) {
    for (std::size_t k = 0; k < start.size(); ++k) q_[index(k)] = start[k];
    for (std::size_t k = 0; k < scale.size(); ++k) factor_(index(k), index(k)) = scale[k];
    log_density_ = evaluate();
  }

  void warm_up() {
    const std::vector<std::size_t> ends = window_ends(options_.warmup);
    DualAveraging adaptation(reasonable_step_size(), options_.target_acceptance);
    std::vector<Vector> window;
    for (std::size_t n = 1, next = 0; n <= options_.warmup; ++n) {
      step_size_ = adaptation.step_size();
      adaptation.learn(trajectory());
      if (n > options_.warmup * 3 / 40) window.push_back(q_);
      if (next == ends.size() || n != ends[next]) continue;
      factor_ = metric_factor(window);
      log_density_ = evaluate();
      window.clear();
      ++next;
      adaptation = DualAveraging(reasonable_step_size(), options_.target_acceptance);
    }
    if (options_.warmup > 0) step_size_ = adaptation.average();
  }

  // draws x dimension into `positions`.
  HamiltonianChain run(std::span<double> positions) {
    divergences_ = 0;
    double acceptance = 0;
    for (std::size_t n = 0; n < options_.draws; ++n) {
      acceptance += trajectory();
      std::copy(q_.begin(), q_.end(), positions.begin() + q_.size() * index(n));
    }
    return {.acceptance = acceptance / static_cast<double>(options_.draws),
            .step_size = step_size_,
            .divergences = divergences_,
            .gradient_evaluations = evaluations_};
  }

 private:
  static Eigen::Index index(std::size_t n) { return static_cast<Eigen::Index>(n); }

  double evaluate() {
    ++evaluations_;
    const double value = density_(span(q_), span(raw_gradient_));
    gradient_.noalias() =
        std::as_const(factor_).triangularView<Eigen::Lower>().transpose() * raw_gradient_;
    return value;
  }

  double energy() const { return velocity_.squaredNorm() / 2 - log_density_; }

  void draw_velocity() {
    for (double& v : velocity_) v = random_.normal();
  }

  void leapfrog(double step) {
    velocity_ += step / 2 * gradient_;
    q_.noalias() += factor_.triangularView<Eigen::Lower>() * (step * velocity_);
    log_density_ = evaluate();
    velocity_ += step / 2 * gradient_;
  }

  // Moves to the end of a trajectory, or stays; returns the probability of moving.
  double trajectory() {
    draw_velocity();
    keep();
    const double start = energy();
    const double length = random_.uniform(0, 2 * options_.trajectory_length);
    const double wanted = std::ceil(length / step_size_);
    const double steps = std::min(wanted, static_cast<double>(options_.max_steps));
    double error = 0;
    for (double n = 0; n < steps && error <= divergent_energy; ++n) {
      leapfrog(step_size_);
      error = energy() - start;
      if (!std::isfinite(error)) error = std::numeric_limits<double>::infinity();
    }
    if (error > divergent_energy) ++divergences_;
    const double acceptance = std::min(1.0, std::exp(-error));
    if (!(random_.uniform() < acceptance)) go_back();
    return acceptance;
  }

  void keep() {
    kept_q_ = q_;
    kept_gradient_ = gradient_;
    kept_log_density_ = log_density_;
  }

  void go_back() {
    q_ = kept_q_;
    gradient_ = kept_gradient_;
    log_density_ = kept_log_density_;
  }

  // Doubled or halved until the acceptance of one step crosses 1/2 (Hoffman & Gelman 2014, Algorithm 4).
  double reasonable_step_size() {
    double step = 1;
    keep();
    const bool grow = accepts(step);
    do {
      step *= grow ? 2 : 0.5;
    } while (accepts(step) == grow && step > 1e-12 && step < 1e12);
    return step;
  }

  bool accepts(double step) {
    draw_velocity();
    const double start = energy();
    leapfrog(step);
    const double error = energy() - start;
    go_back();
    return std::isfinite(error) && error < std::log(2);
  }

  Differentiable density_;
  const HamiltonianOptions& options_;
  special::Random random_;
  Matrix factor_;  // L
  Vector q_, raw_gradient_;
  Vector gradient_;  // L' times the gradient at q
  Vector velocity_, kept_q_, kept_gradient_;
  double log_density_ = 0, kept_log_density_ = 0, step_size_ = 1;
  std::size_t evaluations_ = 0, divergences_ = 0;
};

// Mean and variance of each half of each chain.
struct Halves {
  Vector mean, variance;
  double length;
};

Halves halves(std::span<const double> values, std::size_t chains) {
  const std::size_t draws = values.size() / chains;
  const std::size_t length = draws / 2;
  const auto count = static_cast<Eigen::Index>(2 * chains);
  Halves result{Vector(count), Vector(count), static_cast<double>(length)};
  for (std::size_t k = 0; k < 2 * chains; ++k) {
    const std::size_t first = k / 2 * draws + (k % 2 == 0 ? 0 : draws - length);
    const Eigen::Map<const Vector> half(values.data() + first, static_cast<Eigen::Index>(length));
    const auto at = static_cast<Eigen::Index>(k);
    result.mean[at] = half.mean();
    result.variance[at] = (half.array() - half.mean()).square().sum() / (result.length - 1);
  }
  return result;
}

}  // namespace

HamiltonianResult sample_hamiltonian(const std::function<Differentiable()>& make_density,
                                     std::span<const double> starts,
                                     const HamiltonianOptions& options) {
  HamiltonianResult result{.chains = options.chains,
                           .draws = options.draws,
                           .dimension = starts.size() / options.chains,
                           .positions = {},
                           .chain = std::vector<HamiltonianChain>(options.chains)};
  const std::size_t size = result.draws * result.dimension;
  result.positions.resize(options.chains * size);
  detail::parallel_for(options.chains, 0, [&](std::size_t c) {
    Chain chain(make_density(), starts.subspan(c * result.dimension, result.dimension),
                options.scale, options, 1000 * options.seed + c);
    chain.warm_up();
    result.chain[c] = chain.run(std::span(result.positions).subspan(c * size, size));
  });
  return result;
}

HamiltonianResult sample_posterior(const Problem& problem, const WeightPrior& prior,
                                   const HamiltonianOptions& options) {
  HamiltonianOptions scaled = options;
  scaled.scale.clear();
  for (const double variance : prior.variance) scaled.scale.push_back(std::sqrt(variance));
  const auto starts = draw_weights(prior.mean, prior.variance, options.chains, options.seed);
  return sample_hamiltonian([&] { return log_joint(problem, prior); }, starts, scaled);
}

// W: mean variance within, B / n: variance between; R^2 = ((n - 1) / n W + B / n) / W
double split_rhat(std::span<const double> values, std::size_t chains) {
  const auto [mean, variance, n] = halves(values, chains);
  const double within = variance.mean();
  const double between =
      (mean.array() - mean.mean()).square().sum() / static_cast<double>(mean.size() - 1);
  if (within == 0) return std::numeric_limits<double>::infinity();
  return std::sqrt((n - 1) / n + between / within);
}

std::vector<double> rhat_of_outputs(const Architecture& network, const HamiltonianResult& result,
                                    std::span<const double> inputs, std::size_t rows) {
  const std::size_t width = rows * network.outputs();
  const std::size_t count = result.chains * result.draws;
  std::vector<double> values(width);
  std::vector<double> all(width * count);
  PointNetwork function(network, inputs, values, rows);
  for (std::size_t n = 0; n < count; ++n) {
    function.outputs(std::span(result.positions).subspan(n * result.dimension, result.dimension),
                     values);
    for (std::size_t k = 0; k < width; ++k) all[k * count + n] = values[k];
  }
  std::vector<double> rhat;
  for (std::size_t k = 0; k < width; ++k) {
    rhat.push_back(split_rhat(std::span(all).subspan(k * count, count), result.chains));
  }
  return rhat;
}

}  // namespace dma::baselines
