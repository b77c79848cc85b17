// baselines/hamiltonian.h: Hamiltonian Monte Carlo, the reference for the exact posterior.
//
// Leapfrog trajectories of H(q, p) = -log density(q) + p' M^-1 p / 2. During warm-up the step size follows
// dual averaging (Hoffman & Gelman 2014, Sec. 3.2) and M^-1 is the covariance of the draws so far, in
// windows of doubling length, as in Stan.
#pragma once

#include "baselines/problem.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace dma::baselines {

struct HamiltonianOptions {
  std::size_t chains = 4;
  std::size_t warmup = 1000;  // draws per chain, thrown away
  std::size_t draws = 2000;   // per chain, kept
  double target_acceptance = 0.8;
  // Step size times steps of a trajectory, where 1 is a standard deviation of the posterior in every
  // direction; each trajectory has a length drawn evenly from (0, 2) times this.
  double trajectory_length = 2;
  std::size_t max_steps = 1000;  // of a trajectory
  std::uint64_t seed = 1;
  std::vector<double> scale = {};  // first guess of the deviations, per dimension; empty: 1
};

struct HamiltonianChain {
  double acceptance = 0;                 // mean probability, after warm-up
  double step_size = 0;                  // after warm-up
  std::size_t divergences = 0;           // energy errors above 1000, after warm-up
  std::size_t gradient_evaluations = 0;  // warm-up included
};

struct HamiltonianResult {
  std::size_t chains = 0, draws = 0, dimension = 0;
  std::vector<double> positions;  // chains x draws x dimension
  std::vector<HamiltonianChain> chain;

  std::span<const double> draw(std::size_t chain_index, std::size_t draw_index) const {
    return std::span(positions).subspan((chain_index * draws + draw_index) * dimension, dimension);
  }
};

// starts: chains x dimension. make_density is called once per chain. Chains run in parallel; the result does not depend
// on the number of threads.
HamiltonianResult sample_hamiltonian(const std::function<Differentiable()>& make_density,
                                     std::span<const double> starts,
                                     const HamiltonianOptions& options);

// The posterior of a network's weights; every chain starts at a draw from the prior.
HamiltonianResult sample_posterior(const Problem& problem, const WeightPrior& prior,
                                   const HamiltonianOptions& options);

// Split R-hat (Gelman et al. 2013, Sec. 11.4; without ranks) of one quantity, chains x draws. Infinite if
// nothing moves.
double split_rhat(std::span<const double> values, std::size_t chains);

// The same for every output of the network at `rows` inputs: rows x outputs.
std::vector<double> rhat_of_outputs(const Architecture& network, const HamiltonianResult& result,
                                    std::span<const double> inputs, std::size_t rows);

}  // namespace dma::baselines
