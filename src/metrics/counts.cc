#include "metrics/counts.h"

#include <algorithm>
#include <cmath>

#include <dma/special/gamma.h>
#include <dma/special/quadrature.h>

namespace dma::detail {
namespace {

double square(double value) { return value * value; }

// The first whole number where a function that does not fall is at least this; infinite if none is.
template <class F>
double first_at_least(const F& rising, double least) {
  double below = -1;
  double above = 1;
  for (; rising(above) < least; above = 2 * above + 1) {
    if (!std::isfinite(above)) return above;
    below = above;
  }
  while (above - below > 1) {
    const double middle = std::floor(below + (above - below) / 2);
    if (middle == below || middle == above)
      break;  // beyond the last whole number that a double tells apart
    (rising(middle) < least ? below : above) = middle;
  }
  return above;
}

}  // namespace

namespace {

// As many as an integrand needs that is so many times as wide as what they stand for.
std::size_t nodes_for(double squared_ratio) {
  if (squared_ratio == 0) return 1;
  if (squared_ratio <= 0.25) return 3;
  return squared_ratio <= 1 ? 5 : 7;
}

const special::QuadratureRule& hermite_of(std::size_t nodes) {
  static const std::array rules{special::gauss_hermite(1), special::gauss_hermite(3),
                                special::gauss_hermite(5), special::gauss_hermite(7)};
  return rules[nodes / 2];
}

}  // namespace

CountPart count_part(const PredictedPart& part) {
  using special::digamma;
  const double noise = square(part.noise_std);
  const double function = square(part.epistemic_std);
  const double folded = std::max(0.0, (function - 4 * noise) / 5);
  const double of_noise = special::inverse_trigamma(noise);
  CountPart count{part.weight, folded > 0 ? special::inverse_trigamma(noise + folded) : of_noise};
  double log_mean = part.mean;
  if (folded > 0) {
    log_mean +=
        digamma(of_noise) - std::log(of_noise) - digamma(count.shape) + std::log(count.shape);
  }
  count.nodes = nodes_for((function - folded) / (noise + folded));
  const special::QuadratureRule& rule = hermite_of(count.nodes);
  for (std::size_t k = 0; k < count.nodes; ++k) {
    count.share[k] = rule.weights[k];
    count.mean[k] = std::exp(log_mean + std::sqrt(function - folded) * rule.nodes[k]);
  }
  return count;
}

double log_probability(const CountPart& part, double count) {
  const double r = part.shape;
  std::array<double, CountPart::most_nodes> logs{};
  for (std::size_t k = 0; k < part.nodes; ++k) {
    const double over = std::log1p(part.mean[k] / r);  // log((r + mu) / r)
    logs[k] = -r * over + (count == 0 ? 0 : count * (std::log(part.mean[k] / r) - over));
  }
  const double largest = *std::max_element(logs.begin(), logs.begin() + part.nodes);
  double sum = 0;
  for (std::size_t k = 0; k < part.nodes; ++k) sum += part.share[k] * std::exp(logs[k] - largest);
  return std::lgamma(count + r) - std::lgamma(r) - std::lgamma(count + 1) + largest + std::log(sum);
}

namespace {

// The probability of at most so many, as a smooth function that is right at whole numbers from 0 on.
double smooth_cdf(const CountPart& part, double count) {
  double sum = 0;
  for (std::size_t k = 0; k < part.nodes; ++k) {
    sum += part.share[k] * special::incomplete_beta(part.shape, count + 1,
                                                    part.shape / (part.shape + part.mean[k]));
  }
  return sum;
}

}  // namespace

double cdf(const CountPart& part, double count) {
  if (count < 0) return 0;
  return std::isinf(count) ? 1 : smooth_cdf(part, std::floor(count));
}

double quantile(const CountPart& part, double probability) {
  return first_at_least([&](double n) { return cdf(part, n); }, probability);
}

CountMixture::CountMixture(const Predicted& predicted) {
  for (const PredictedPart& part : predicted.parts) parts_.push_back(count_part(part));
}

double CountMixture::log_probability(double count) const {
  if (!(count >= 0) || count != std::floor(count)) return -HUGE_VAL;
  std::vector<double> logs;
  for (const CountPart& part : parts_) {
    logs.push_back(std::log(part.weight) + detail::log_probability(part, count));
  }
  const double largest = *std::max_element(logs.begin(), logs.end());
  if (std::isinf(largest)) return largest;
  double sum = 0;
  for (const double log : logs) sum += std::exp(log - largest);
  return largest + std::log(sum);
}

double CountMixture::cdf(double count) const {
  double sum = 0;
  for (const CountPart& part : parts_) sum += part.weight * detail::cdf(part, count);
  return sum;
}

double CountMixture::quantile(double probability) const {
  return first_at_least([&](double n) { return cdf(n); }, probability);
}

namespace {

// The sum over the whole numbers [begin, end). The first of them may differ by much; where there are many more, it is the
// integral of a smooth function, by Gauss's rule in parts that are the shorter the nearer they are to the begin.
template <class F>
double sum_between(double begin, double end, const F& f) {
  constexpr double most_terms = 128;
  double sum = 0;
  for (double n = begin; n < std::min(end, begin + most_terms); ++n) sum += f(n);
  const double rest = end - begin - most_terms;
  if (rest <= 0) return sum;
  static const special::QuadratureRule rule = special::gauss_legendre(16);
  constexpr std::array<double, 5> ends{0, 1.0 / 64, 1.0 / 16, 1.0 / 4, 1};
  for (std::size_t part = 0; part + 1 < ends.size(); ++part) {
    const double first = begin + most_terms - 0.5 + ends[part] * rest;
    const double half = (ends[part + 1] - ends[part]) * rest / 2;
    for (std::size_t k = 0; k < rule.nodes.size(); ++k) {
      sum += half * rule.weights[k] * f(first + half * (1 + rule.nodes[k]));
    }
  }
  return sum;
}

}  // namespace

// What lies beyond the last of a million values adds nothing that is seen.
double CountMixture::ranked_score(double count) const {
  constexpr double last = 1 - 1e-6;
  const auto below = [&](double n) {
    double sum = 0;
    for (const CountPart& part : parts_) sum += part.weight * smooth_cdf(part, n);
    return sum;
  };
  const double end = std::max(count, quantile(last)) + 1;
  return sum_between(0, count, [&](double n) { return square(below(n)); }) +
         sum_between(count, end, [&](double n) { return square(1 - below(n)); });
}

// Var y = E[mu] + E[mu^2] / shape + Var[mu]. The noise's share is what the variance would be if the function were known.
void set_count_moments(const Interval& range, Predicted& mixture) {
  double mean = 0;
  double squares = 0;
  double over = 0;
  double noise = 0;
  for (PredictedPart part : mixture.parts) {
    part.mean = std::clamp(part.mean, range.lower, range.upper);
    const CountPart count = count_part(part);
    const double own_shape = special::inverse_trigamma(square(part.noise_std));
    for (std::size_t k = 0; k < count.nodes; ++k) {
      const double share = count.weight * count.share[k];
      mean += share * count.mean[k];
      squares += share * square(count.mean[k]);
      over += share * square(count.mean[k]) / count.shape;
      noise += share * square(count.mean[k]) / own_shape;
    }
  }
  mixture.mean = mean;
  mixture.noise_std = std::sqrt(mean + std::min(noise, over));
  mixture.epistemic_std =
      std::sqrt(std::max(0.0, over - noise) + std::max(0.0, squares - square(mean)));
}

}  // namespace dma::detail
