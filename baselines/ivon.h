// baselines/ivon.h: the Improved Variational Online Newton method (Shen et al. 2024, Algorithm 1).
//
// A Gaussian N(m, sigma^2) per weight. One step, all operations elementwise:
//
//   sigma = 1 / sqrt(lambda (h + delta)),  theta = m + sigma epsilon,  epsilon ~ N(0, 1)
//   g^ = gradient of the mean loss at theta,  h^ = g^ (theta - m) / sigma^2
//   g <- beta1 g + (1 - beta1) g^
//   h <- beta2 h + (1 - beta2) h^ + (1 - beta2)^2 (h - h^)^2 / (2 (h + delta))
//   m <- m - learning_rate (g / (1 - beta1^t) + delta m) / (h + delta)
//
// The authors' code (ivon-opt) multiplies the learning rate by hessian_start + delta, so that the first step
// is one of gradient descent; the paper's algorithm, and this, do not.
#pragma once

#include "baselines/problem.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace dma::baselines {

struct IvonOptions {
  double learning_rate = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.99999;
  double damping = 1e-4;         // delta: the prior is N(0, 1 / (lambda delta))
  double hessian_start = 1;      // 1 is also what the authors' code has (hess_init)
  double effective_samples = 0;  // lambda; 0: the number of observations
  std::size_t epochs = 500;      // of one step each, on all rows
  std::uint64_t seed = 1;
};

struct IvonResult {
  std::vector<double> mean, variance;
  std::vector<double> train_nll;  // after each epoch, of the predictions f(x; mean)
  bool diverged = false;  // a number was not finite; the run ends there, nothing is repaired
};

IvonResult train_ivon(const Problem& problem, std::span<const double> start,
                      const IvonOptions& options);

// Minimises any mean loss. `score` is called once per epoch for the entry of train_nll;
// options.effective_samples must be positive.
IvonResult minimise_ivon(const Differentiable& mean_loss,
                         const std::function<double(std::span<const double>)>& score,
                         std::span<const double> start, const IvonOptions& options);

}  // namespace dma::baselines
