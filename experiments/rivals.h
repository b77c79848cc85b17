// experiments/rivals.h: the paper's baselines and the exact posterior as methods.
#pragma once

#include <optional>
#include <span>

#include "baselines/hamiltonian.h"
#include "baselines/ivon.h"
#include "baselines/torch_baselines.h"
#include "experiments/method.h"

namespace dma::experiments {

// The rows in the form that the baselines take; the task must outlive it.
baselines::Problem problem_of(const Task& task);
// Where gradient methods start: at the prior means that Algorithm 1 starts from.
std::vector<double> start_of(const Task& task, std::uint64_t seed);

// A baseline fails if a number is not finite, or if its training NLL ends above where it started.
bool converged(const Task& task, std::span<const double> start, bool finite,
               std::span<const double> train_nll);

// Why the paper's figures for Adam are not reproduced.
inline constexpr const char* unknown_start =
    "the paper does not say where Adam starts; here at the prior means of Algorithm 1, N(0, 1 / "
    "fan_in). On the "
    "83-weight task Adam from N(0, 1) ends near the paper's figure (experiment adam); AdamW, and "
    "Adam on other "
    "tasks, were not run from there";

// Point estimates: every prediction has the known noise and nothing else. start: standard deviation of the
// weights that it starts from, if not at the prior means.
Method trained_by_adam(const std::string& name, const baselines::AdamOptions& options,
                       std::optional<double> start = {});
// 1,000 draws from the weights' Gaussians.
Method trained_by_ivon(const std::string& name, const baselines::IvonOptions& options);
// MAP by Adam (0.1, 200 epochs) under N(0, 2 / fan_in), the exact Hessian's diagonal, 1,000 draws.
Method diagonal_laplace();

// The exact posterior of the model that Algorithm 1 approximates: its network, noise and prior.
struct ExactPosterior {
  Fit fit;             // mean and variance over the draws
  double mixture_nll;  // extrapolation, under the mixture of all draws instead of one Gaussian
  double max_rhat;     // over the outputs at the extrapolation points
  std::size_t divergences;
};
ExactPosterior exact_posterior(const Task& task, const WeightPrior& prior,
                               const baselines::HamiltonianOptions& options);

}  // namespace dma::experiments
