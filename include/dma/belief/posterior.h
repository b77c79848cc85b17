// belief/posterior.h: a Gaussian per weight, and the likelihood: what a belief of independent weights has come to.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <dma/belief/predictor.h>
#include <dma/layers/architecture.h>

namespace dma {

// Natural parameters of every weight, in the flat order of the architecture.
template <std::floating_point T>
struct Posterior {
  Architecture architecture;
  std::vector<T> tau, rho;
  std::shared_ptr<const Likelihood> likelihood = {};
};

// One forward sweep per row. The answer does not depend on the number of threads; 0 means all cores.
template <std::floating_point T>
OutputMoments outputs_of(const Posterior<T>& posterior, std::span<const double> inputs,
                         std::size_t rows, std::size_t threads = 1);
template <std::floating_point T>
Prediction predict(const Posterior<T>& posterior, std::span<const double> inputs, std::size_t rows,
                   std::size_t threads = 1);

// The mixture of several posteriors with equal weights, by its mean and variance: the spread between
// members counts as epistemic.
template <std::floating_point T>
Prediction predict(std::span<const Posterior<T>> members, std::span<const double> inputs,
                   std::size_t rows, std::size_t threads = 1);

// `count` functions drawn from the posterior, each evaluated at all rows: count x rows x outputs.
template <std::floating_point T>
std::vector<double> sample_functions(const Posterior<T>& posterior, std::span<const double> inputs,
                                     std::size_t rows, std::size_t count, std::uint64_t seed);

}  // namespace dma
