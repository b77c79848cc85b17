#include <dma/metrics/predicted.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include <dma/special/normal.h>
#include <dma/special/quadrature.h>

#include "kernels/joint_units.h"
#include "metrics/counts.h"

namespace dma {
namespace {

constexpr std::size_t nodes = 9;

const special::QuadratureRule& hermite() {
  static const special::QuadratureRule rule = special::gauss_hermite(nodes);
  return rule;
}

// A mixture of Gaussians, number by number.
struct Gaussians {
  std::vector<double> weight, mean, deviation;

  std::size_t size() const { return weight.size(); }
};

void append(const PredictedPart& part, Gaussians& all) {
  const auto add = [&](double weight, double deviation) {
    all.weight.push_back(part.weight * weight);
    all.mean.push_back(part.mean);
    all.deviation.push_back(deviation);
  };
  if (part.noise_spread == 0 && part.epistemic_spread == 0) {
    return add(1, std::hypot(part.epistemic_std, part.noise_std));
  }
  const special::QuadratureRule& rule = hermite();
  for (std::size_t k = 0; k < nodes; ++k) {
    const double t = rule.nodes[k];
    add(rule.weights[k], std::hypot(part.epistemic_std * growth_at(t, part.epistemic_spread),
                                    part.noise_std * growth_at(t, part.noise_spread)));
  }
}

Gaussians gaussians_of(const Predicted& p) {
  Gaussians all;
  if (p.parts.empty()) append({p.mean, p.epistemic_std, p.noise_std, p.noise_spread}, all);
  for (const PredictedPart& part : p.parts) append(part, all);
  return all;
}

double cdf_of(const Gaussians& all, double y) {
  double sum = 0;
  for (std::size_t k = 0; k < all.size(); ++k) {
    sum += all.weight[k] * special::normal_cdf((y - all.mean[k]) / all.deviation[k]);
  }
  return sum;
}

// F(x), and the density there.
struct Below {
  double probability, density;
};

// With 2 Phi(z) - 1 and its derivative 2 phi(z).
Below below(const Gaussians& all, double x) {
  std::vector<double> z(all.size());
  std::vector<double> central(all.size());
  std::vector<double> growth(all.size());
  for (std::size_t k = 0; k < all.size(); ++k) z[k] = (x - all.mean[k]) / all.deviation[k];
  kernels::step_units(all.size(), z.data(), central.data(), growth.data());
  Below sum{0.5, 0};
  for (std::size_t k = 0; k < all.size(); ++k) {
    sum.probability += all.weight[k] * central[k] / 2;
    sum.density += all.weight[k] * growth[k] / all.deviation[k] / 2;
  }
  return sum;
}

// Newton's steps, halving the bracket where they leave it. The quantile lies between those of the parts, which are
// mean + z deviation.
double quantile_near_zero(const Gaussians& all, double probability, double z) {
  double low = HUGE_VAL;
  double high = -HUGE_VAL;
  double start = 0;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const double own = all.mean[k] + z * all.deviation[k];
    low = std::min(low, own);
    high = std::max(high, own);
    start += all.weight[k] * own;
  }
  if (!std::isfinite(z) || low == high) return low;
  double x = std::clamp(start, low, high);
  for (int step = 0; step < 200; ++step) {
    const Below at = below(all, x);
    (at.probability < probability ? low : high) = x;
    double next = at.density > 0 ? x + (probability - at.probability) / at.density : high;
    if (!(next > low && next < high)) next = low + (high - low) / 2;
    const bool settled = std::abs(next - x) <= 1e-13 * (1 + std::abs(next));
    x = next;
    if (settled) break;
  }
  return x;
}

// In a unit in which no number is too large or too small to be squared.
double quantile_of(Gaussians all, double probability, double z) {
  const double centre = all.mean.front();
  const double unit = *std::max_element(all.deviation.begin(), all.deviation.end());
  if (unit == 0) return centre;
  for (std::size_t k = 0; k < all.size(); ++k) {
    all.mean[k] = (all.mean[k] - centre) / unit;
    all.deviation[k] /= unit;
  }
  return centre + unit * quantile_near_zero(all, probability, z);
}

// E|X - miss|, X ~ N(0, deviation^2) (Gneiting and Raftery 2007): miss (2 Phi(z) - 1) + 2 s phi(z). Here z
// may be infinite although the mean is not.
double mean_distance(double miss, double deviation) {
  const double z = std::abs(miss) / deviation;
  return std::abs(miss) * (2 * special::normal_cdf(z) - 1) + 2 * deviation * special::normal_pdf(z);
}

}  // namespace

double growth_at(double t, double spread) { return std::exp(spread * (t - spread / 2) / 2); }

double Predicted::stddev() const { return std::hypot(epistemic_std, noise_std); }

CentralLevel::CentralLevel(double probability)
    : level(probability), quantile(special::normal_quantile((1 + probability) / 2)) {}

double Predicted::quantile(double probability) const {
  if (family == Family::count) return detail::CountMixture(*this).quantile(probability);
  const double value =
      quantile_of(gaussians_of(*this), probability, special::normal_quantile(probability));
  return family == Family::amount ? std::exp(value) : std::clamp(value, bounds.low, bounds.high);
}

// Around one mean both ends are as far away.
Interval Predicted::interval(const CentralLevel& central) const {
  const double low = (1 - central.level) / 2;
  const double high = (1 + central.level) / 2;
  if (family == Family::count) {
    const detail::CountMixture counts(*this);
    return {counts.quantile(low), counts.quantile(high)};
  }
  const Gaussians all = gaussians_of(*this);
  const double upper = quantile_of(all, high, central.quantile);
  const bool is_even = family == Family::number && parts.size() <= 1;
  const double centre = all.mean.front();
  const double lower =
      is_even ? centre - (upper - centre) : quantile_of(all, low, -central.quantile);
  if (family == Family::amount) return {std::exp(lower), std::exp(upper)};
  return {std::clamp(lower, bounds.low, bounds.high), std::clamp(upper, bounds.low, bounds.high)};
}

namespace {

// What is known exactly has no density to find a quantile by.
void give_density(Gaussians& all) {
  constexpr double nearly_exact = 1e-6;
  const double widest = *std::max_element(all.deviation.begin(), all.deviation.end());
  const auto [least, most] = std::minmax_element(all.mean.begin(), all.mean.end());
  const double least_deviation = nearly_exact * std::max(widest, *most - *least);
  for (double& deviation : all.deviation) deviation = std::max(deviation, least_deviation);
}

}  // namespace

// Of an amount or a count between quantiles of the functions, whose logarithms the parts speak of. They are those that
// Regressor::sample draws: the tails are drawn with the noise.
Interval Predicted::function_interval(const CentralLevel& central) const {
  if (family == Family::number) {
    const double reach = central.quantile * epistemic_std;
    return {std::max(bounds.low, mean - reach), std::min(bounds.high, mean + reach)};
  }
  Gaussians functions;
  for (PredictedPart part : parts) {
    part.noise_std = part.noise_spread = part.epistemic_spread = 0;
    append(part, functions);
  }
  if (functions.size() == 0) return {mean, mean};
  give_density(functions);
  const double below = (1 - central.level) / 2;
  return {std::exp(quantile_of(functions, below, -central.quantile)),
          std::exp(quantile_of(functions, 1 - below, central.quantile))};
}

namespace {

double log_density_of(Gaussians all, double y) {
  double largest = -HUGE_VAL;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const double z = (y - all.mean[k]) / all.deviation[k];
    // In place of the weight: the log of this part's share.
    all.weight[k] =
        std::log(all.weight[k]) - std::log(all.deviation[k]) - z * z / 2 - special::log_sqrt_two_pi;
    largest = std::max(largest, all.weight[k]);
  }
  if (all.size() == 1 || std::isinf(largest)) return largest;
  double sum = 0;
  for (const double log_share : all.weight) sum += std::exp(log_share - largest);
  return largest + std::log(sum);
}

}  // namespace

double Predicted::log_density(double y) const {
  if (family == Family::count) return detail::CountMixture(*this).log_probability(y);
  if (family == Family::number) return log_density_of(gaussians_of(*this), y);
  if (!(y > 0)) return -HUGE_VAL;
  return log_density_of(gaussians_of(*this), std::log(y)) - std::log(y);
}

namespace {

// Where the parts speak of an amount y; nothing lies below 0.
double log_of_amount(double y) { return y > 0 ? std::log(y) : -HUGE_VAL; }

}  // namespace

double Predicted::cdf(double y) const {
  if (family == Family::count) return detail::CountMixture(*this).cdf(y);
  const double x = family == Family::amount ? log_of_amount(y) : y;
  const Gaussians all = gaussians_of(*this);
  return cdf_of(all, x);
}

double Predicted::central_probability(double y) const {
  if (family == Family::count) {
    const detail::CountMixture counts(*this);
    return std::max({0.0, 1 - 2 * counts.cdf(y), 2 * counts.cdf(y - 1) - 1});
  }
  const double x = family == Family::amount ? log_of_amount(y) : y;
  const Gaussians all = gaussians_of(*this);
  double sum = 0;
  for (std::size_t k = 0; k < all.size(); ++k) {
    sum += all.weight[k] * std::erf((x - all.mean[k]) / all.deviation[k] / std::numbers::sqrt2);
  }
  return std::abs(sum);
}

namespace {

constexpr double left_out_of_crps = 5e-4;  // of the probability, at each end

// The integral of (F(x) - 1[y <= x])^2 from low to high, which enclose y, by the trapezoidal rule; unit(x) is how long a
// step is there.
template <class F, class Unit>
double squares_apart(const F& probability, double low, double y, double high, const Unit& unit) {
  constexpr int steps = 200;
  const auto between = [&](double begin, double end, bool reached) {
    if (!(end > begin) || std::isinf(begin)) return 0.0;
    const double step = (end - begin) / steps;
    double sum = 0;
    for (int k = 0; k <= steps; ++k) {
      const double x = begin + k * step;
      const double apart = reached ? 1 - probability(x) : probability(x);
      sum += (k == 0 || k == steps ? 0.5 : 1) * apart * apart * unit(x);
    }
    return step * sum;
  };
  return between(low, y, false) + between(y, high, true);
}

// Of all amounts but the one in 2000 at each end, which may have no mean; in steps of log x.
double crps_of_amount(const Gaussians& all, double y) {
  const double z = special::normal_quantile(left_out_of_crps);
  const double at = log_of_amount(y);
  const double low = std::min(at, quantile_of(all, left_out_of_crps, z));
  const double high = std::max(at, quantile_of(all, 1 - left_out_of_crps, -z));
  return squares_apart([&](double x) { return below(all, x).probability; }, low, at, high,
                       [](double x) { return std::exp(x); });
}

// What lies beyond the bounds is at their ends.
double crps_between(const Gaussians& all, const Bounds& bounds, double y) {
  const double z = special::normal_quantile(left_out_of_crps);
  const double low = std::clamp(quantile_of(all, left_out_of_crps, z), bounds.low, bounds.high);
  const double high =
      std::clamp(quantile_of(all, 1 - left_out_of_crps, -z), bounds.low, bounds.high);
  const double at = std::clamp(y, low, high);
  const auto probability = [&](double x) { return below(all, x).probability; };
  return squares_apart(probability, low, at, high, [](double) { return 1.0; }) + std::abs(y - at);
}

}  // namespace

// E|X - y| - E|X - X'| / 2, pair by pair.
double Predicted::crps(double y) const {
  if (family == Family::count) return detail::CountMixture(*this).ranked_score(y);
  const Gaussians all = gaussians_of(*this);
  if (family == Family::amount) return crps_of_amount(all, y);
  if (bounds.any()) return crps_between(all, bounds, y);
  double sum = 0;
  for (std::size_t k = 0; k < all.size(); ++k) {
    sum += all.weight[k] * mean_distance(y - all.mean[k], all.deviation[k]);
    sum -= all.weight[k] * all.weight[k] / 2 *
           mean_distance(0, std::numbers::sqrt2 * all.deviation[k]);
    for (std::size_t j = 0; j < k; ++j) {
      sum -=
          all.weight[k] * all.weight[j] *
          mean_distance(all.mean[k] - all.mean[j], std::hypot(all.deviation[k], all.deviation[j]));
    }
  }
  return sum;
}

namespace {

// Where the means of a mixture's parts may be, so that they count as they are: between the quartiles.
Interval quartiles_for(const Predicted& mixture) {
  const auto [least, most] =
      std::minmax_element(mixture.parts.begin(), mixture.parts.end(),
                          [](const auto& a, const auto& b) { return a.mean < b.mean; });
  Interval range{least->mean, most->mean};
  if (mixture.parts.size() <= 1 || !(range.lower < range.upper)) return range;
  if (mixture.cdf(range.lower) < 0.25) range.lower = mixture.quantile(0.25);
  if (mixture.cdf(range.upper) > 0.75) range.upper = mixture.quantile(0.75);
  return range;
}

}  // namespace

namespace {

constexpr double one_below = 0.15865525393145705;  // Phi(-1)

// Half the distance between the quantiles that a Gaussian has one deviation away.
double scale_of(Gaussians all) {
  if (all.size() == 1) return all.deviation.front();
  const double widest = *std::max_element(all.deviation.begin(), all.deviation.end());
  const auto [least, most] = std::minmax_element(all.mean.begin(), all.mean.end());
  const double apart = *most - *least;
  if (widest == 0 && apart == 0) return 0;
  if (apart == 0) return quantile_of(all, 1 - one_below, 1) - *most;
  give_density(all);
  return (quantile_of(all, 1 - one_below, 1) - quantile_of(all, one_below, -1)) / 2;
}

// Multiplies both deviations, so that that of the whole is this one.
void set_deviation(double deviation, Predicted& mixture) {
  if (mixture.stddev() == 0) return;
  const double unit = deviation / mixture.stddev();
  mixture.epistemic_std *= unit;
  mixture.noise_std *= unit;
}

// Of the noise, and what is left of that of the whole.
void set_deviations(Predicted& mixture) {
  Gaussians noise;
  bool is_known = true;  // the function, exactly
  for (const PredictedPart& part : mixture.parts) {
    append({0, 0, part.noise_std, part.noise_spread, part.weight}, noise);
    is_known = is_known && part.epistemic_std == 0 && part.mean == mixture.parts.front().mean;
  }
  Gaussians all = gaussians_of(mixture);
  if (all.size() == 1) return;  // a Gaussian
  const double whole = scale_of(std::move(all));
  mixture.noise_std = std::min(scale_of(std::move(noise)), whole);
  const double share = whole == 0 ? 1 : mixture.noise_std / whole;
  mixture.epistemic_std = is_known ? 0 : whole * std::sqrt((1 - share) * (1 + share));
  if (is_known) mixture.noise_std = whole;
}

void set_amount_moments(Predicted& mixture) {
  const Gaussians all = gaussians_of(mixture);
  mixture.mean = std::exp(quantile_of(all, 0.5, 0));
  set_deviation(
      (std::exp(quantile_of(all, 1 - one_below, 1)) - std::exp(quantile_of(all, one_below, -1))) /
          2,
      mixture);
}

}  // namespace

Predicted mixture_of(std::vector<PredictedPart> parts, Family family, const Bounds& bounds) {
  Predicted mixture{0, 0, 0, 0, std::move(parts)};
  const Interval range = quartiles_for(mixture);
  const auto mean_of = [&](const auto& value) {
    double sum = 0;
    for (const PredictedPart& part : mixture.parts) sum += part.weight * value(part);
    return sum;
  };
  const auto within = [low = range.lower, high = range.upper](const PredictedPart& part) {
    return std::clamp(part.mean, low, high);
  };
  mixture.mean = mean_of(within);
  mixture.epistemic_std = std::sqrt(mean_of([&](const PredictedPart& part) {
    const double apart = within(part) - mixture.mean;
    return part.epistemic_std * part.epistemic_std + apart * apart;
  }));
  mixture.noise_std =
      std::sqrt(mean_of([](const PredictedPart& part) { return part.noise_std * part.noise_std; }));
  const auto log_noise = [unit = mixture.noise_std](const PredictedPart& part) {
    return 2 * std::log(part.noise_std / unit) - part.noise_spread * part.noise_spread / 2;
  };
  const double centre = mean_of(log_noise);
  mixture.noise_spread = std::sqrt(mean_of([&](const PredictedPart& part) {
    const double apart = log_noise(part) - centre;
    return part.noise_spread * part.noise_spread + apart * apart;
  }));
  mixture.family = family;
  if (!std::isfinite(mixture.mean + mixture.stddev())) return mixture;  // a part is not known
  if (family == Family::count) {
    detail::set_count_moments(range, mixture);
    return mixture;
  }
  set_deviations(mixture);
  if (family == Family::amount) set_amount_moments(mixture);
  mixture.bounds = bounds;
  mixture.mean = std::clamp(mixture.mean, bounds.low, bounds.high);
  return mixture;
}

double entropy_term(double probability) {
  return probability == 0 ? 0 : -probability * std::log(probability);
}

std::size_t Predicted::most_probable() const {
  return static_cast<std::size_t>(std::max_element(probabilities.begin(), probabilities.end()) -
                                  probabilities.begin());
}

double Predicted::entropy() const {
  double sum = 0;
  for (const double probability : probabilities) sum += entropy_term(probability);
  return sum;
}

// Never negative, but by rounding.
double Predicted::doubt() const { return std::max(0.0, entropy() - noise_entropy); }

}  // namespace dma
