// validation/importance_sampling.h: the paper's Monte Carlo reference for a marginal (App. C).
//
//   const auto samples = importance_samples(dma::Product{}, std::array{z, x, y}, 500'000, seed);
//   const auto marginal = weighted_histogram(samples.values[1], samples.weights);
//   const double kl = kl_divergence(marginal, x * message);       // to the DMA marginal of x
//
// The inputs are drawn from their incoming messages, the output follows from the relation, and the
// sample is weighted with the message that arrives on the output edge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <dma/factors/factor.h>

namespace dma::validation {

struct WeightedSamples {
  std::vector<std::vector<double>> values;  // one row per edge of the factor
  std::vector<double> weights;              // the largest is 1
};

// in[0] is the message on the output: a uniform one leaves all weights equal. The other messages
// are proper.
WeightedSamples importance_samples(const std::function<double(std::span<const double>)>& relation,
                                   Incoming<double> in, std::size_t count, std::uint64_t seed);

template <DeterministicFactor F>
WeightedSamples importance_samples(const F& factor, Incoming<double> in, std::size_t count,
                                   std::uint64_t seed) {
  return importance_samples([&](std::span<const double> inputs) { return factor.relation(inputs); },
                            in, count, seed);
}

// (sum w)^2 / sum w^2
double effective_sample_size(std::span<const double> weights);

// Equal bins from the weighted quantile `tail` to the quantile 1 - `tail`; the masses sum to 1.
struct Histogram {
  double low = 0;
  double high = 0;
  std::vector<double> mass;
  // What sampling noise alone adds to the KL divergence from this histogram, to first order:
  // (sum_i s_i / p_i - sum_i s_i) / 2, s_i the sum of squared weights in bin i; with equal weights
  // that is (bins - 1) / (2 samples).
  double bias = 0;
};

Histogram weighted_histogram(std::span<const double> values, std::span<const double> weights,
                             std::size_t bins = 500, double tail = 0.001);

// KL(histogram || q), q integrated over each bin and normalised to the histogram's range: a q that
// kept its mass outside would never come closer than 2 tail.
double kl_divergence(const Histogram& p, Gaussian<double> q);

}  // namespace dma::validation
