#include "validation/importance_sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include <dma/special/normal.h>

namespace dma::validation {
namespace {

struct Weighted {
  double value, weight;
};

std::vector<Weighted> sorted(std::span<const double> values, std::span<const double> weights) {
  std::vector<Weighted> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) result[i] = {values[i], weights[i]};
  std::sort(result.begin(), result.end(),
            [](const Weighted& a, const Weighted& b) { return a.value < b.value; });
  return result;
}

// The first value at which the cumulated weight reaches `target`.
template <class Iterator>
double value_at(Iterator first, Iterator last, double target) {
  double cumulated = 0;
  for (; first + 1 != last; ++first) {
    cumulated += first->weight;
    if (cumulated >= target) break;
  }
  return first->value;
}

// Mass of N(0, 1) in [a, b], taken on the side where the tail is small.
double normal_mass(double a, double b) {
  return a > 0 ? special::normal_cdf(-a) - special::normal_cdf(-b)
               : special::normal_cdf(b) - special::normal_cdf(a);
}

void exponentiate(std::vector<double>& log_weights) {
  const double top = *std::max_element(log_weights.begin(), log_weights.end());
  for (double& weight : log_weights) weight = std::exp(weight - top);
}

}  // namespace

WeightedSamples importance_samples(const std::function<double(std::span<const double>)>& relation,
                                   Incoming<double> in, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::normal_distribution<double>> proposals;
  for (const auto& message : in.subspan(1)) {
    proposals.emplace_back(message.mean(), message.stddev());
  }
  WeightedSamples samples{std::vector(in.size(), std::vector<double>(count)),
                          std::vector<double>(count)};
  std::vector<double> inputs(proposals.size());
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      samples.values[k + 1][i] = inputs[k] = proposals[k](random);
    }
    const double output = relation(inputs);
    samples.values[0][i] = output;
    samples.weights[i] = (in[0].tau - in[0].rho * output / 2) * output;
  }
  exponentiate(samples.weights);
  return samples;
}

double effective_sample_size(std::span<const double> weights) {
  double sum = 0;
  double squares = 0;
  for (const double weight : weights) {
    sum += weight;
    squares += weight * weight;
  }
  return sum * sum / squares;
}

Histogram weighted_histogram(std::span<const double> values, std::span<const double> weights,
                             std::size_t bins, double tail) {
  const auto samples = sorted(values, weights);
  double total = 0;
  for (const double weight : weights) total += weight;
  Histogram result{.low = value_at(samples.begin(), samples.end(), tail * total),
                   .high = value_at(samples.rbegin(), samples.rend(), tail * total),
                   .mass = std::vector<double>(bins)};
  std::vector<double> squares(bins);
  const double width = (result.high - result.low) / static_cast<double>(bins);
  double inside = 0;
  for (const auto& [value, weight] : samples) {
    if (value < result.low || value > result.high) continue;
    const auto bin = std::min(bins - 1, static_cast<std::size_t>((value - result.low) / width));
    result.mass[bin] += weight;
    squares[bin] += weight * weight;
    inside += weight;
  }
  for (std::size_t i = 0; i < bins; ++i) {
    result.mass[i] /= inside;
    if (result.mass[i] == 0) continue;
    result.bias += squares[i] / (inside * inside) * (1 / result.mass[i] - 1) / 2;
  }
  return result;
}

double kl_divergence(const Histogram& p, Gaussian<double> q) {
  const double width = (p.high - p.low) / static_cast<double>(p.mass.size());
  const auto standard = [&](double x) { return (x - q.mean()) / q.stddev(); };
  const double inside = normal_mass(standard(p.low), standard(p.high));
  double sum = 0;
  for (std::size_t i = 0; i < p.mass.size(); ++i) {
    if (p.mass[i] == 0) continue;
    const double left = p.low + width * static_cast<double>(i);
    const double mass = normal_mass(standard(left), standard(left + width));
    sum += p.mass[i] * std::log(p.mass[i] * inside / mass);
  }
  return sum;
}

}  // namespace dma::validation
