#include "baselines/ivon.h"

#include "baselines/point_network.h"

#include <dma/special/random.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace dma::baselines {
namespace {

bool finite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

// The state of Algorithm 1, in its letters.
class Ivon {
 public:
  Ivon(std::span<const double> start, const IvonOptions& options)
      : options_(options),
        random_(options.seed),
        m_(start.begin(), start.end()),
        g_(start.size(), 0),
        h_(start.size(), options.hessian_start),
        theta_(start.size()),
        gradient_(start.size()) {}

  void step(const Differentiable& mean_loss) {
    for (std::size_t k = 0; k < m_.size(); ++k) {
      theta_[k] = m_[k] + std::sqrt(variance(k)) * random_.normal();
    }
    mean_loss(theta_, gradient_);
    remaining_bias_ *= options_.beta1;
    for (std::size_t k = 0; k < m_.size(); ++k) update(k);
  }

  bool diverged() const { return !finite(m_) || !finite(h_); }
  const std::vector<double>& mean() const { return m_; }
  std::vector<double> variances() const {
    std::vector<double> values;
    for (std::size_t k = 0; k < m_.size(); ++k) values.push_back(variance(k));
    return values;
  }

 private:
  double variance(std::size_t k) const {
    return 1 / (options_.effective_samples * (h_[k] + options_.damping));
  }

  void update(std::size_t k) {
    const double delta = options_.damping;
    const double curvature = gradient_[k] * (theta_[k] - m_[k]) / variance(k);
    const double change = (1 - options_.beta2) * (h_[k] - curvature);
    g_[k] = options_.beta1 * g_[k] + (1 - options_.beta1) * gradient_[k];
    // The last term keeps h + delta positive: s - c + c^2 / (2 s) > 0 for every c if s > 0.
    h_[k] += -change + change * change / (2 * (h_[k] + delta));
    const double unbiased = g_[k] / (1 - remaining_bias_);
    m_[k] -= options_.learning_rate * (unbiased + delta * m_[k]) / (h_[k] + delta);
  }

  IvonOptions options_;
  special::Random random_;
  std::vector<double> m_, g_, h_, theta_, gradient_;
  double remaining_bias_ = 1;  // beta1^t
};

}  // namespace

IvonResult minimise_ivon(const Differentiable& mean_loss,
                         const std::function<double(std::span<const double>)>& score,
                         std::span<const double> start, const IvonOptions& options) {
  if (!(options.effective_samples > 0)) {
    throw std::invalid_argument("minimise_ivon: effective_samples must be positive");
  }
  Ivon ivon(start, options);
  IvonResult result;
  while (result.train_nll.size() < options.epochs && !result.diverged) {
    ivon.step(mean_loss);
    result.train_nll.push_back(score(ivon.mean()));
    result.diverged = ivon.diverged() || !std::isfinite(result.train_nll.back());
  }
  result.mean = ivon.mean();
  result.variance = ivon.variances();
  return result;
}

IvonResult train_ivon(const Problem& problem, std::span<const double> start,
                      const IvonOptions& options) {
  IvonOptions all = options;
  if (all.effective_samples == 0) {
    all.effective_samples = static_cast<double>(problem.observations());
  }
  PointNetwork network(problem.network, problem.inputs, problem.targets, problem.rows);
  const auto score = [&](std::span<const double> weights) {
    return mean_nll(problem, network.half_squared_error(weights));
  };
  return minimise_ivon(mean_nll(problem), score, start, all);
}

}  // namespace dma::baselines
