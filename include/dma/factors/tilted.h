// factors/tilted.h: a Gaussian N(x; m, v) times a log-concave factor f, and the message that is left when the Gaussian is
// divided out again.
//
//   Z(m) = integral of f(x) N(x; m, v),      g = d log Z / dm,      k = -d^2 log Z / dm^2
//
//   marginal   mean m + v g,   variance v (1 - v k)
//   message    rho = k / (1 - v k),   tau = (m k + g) / (1 - v k)
//
// A log-concave factor never widens a Gaussian (Brascamp and Lieb 1976): 0 <= v k < 1. So the precision is never negative,
// and the message is written without a difference of precisions. With the slope s = (log f)' and the curvature
// c = -(log f)'' under the tilted Gaussian f N / Z,
//
//   g = E[s] = (E[x] - m) / v,      k = E[c] - Var[s],      1 - v k = Var[x] / v
//
// and under N itself, E[c] and E[s] + m E[c] are the variational message.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <dma/factors/factor.h>
#include <dma/special/normal.h>
#include <dma/special/quadrature.h>

namespace dma {

template <std::floating_point T>
struct Tilted {
  T slope;      // g
  T curvature;  // k
  T kept;       // 1 - v k
};

template <std::floating_point T>
Gaussian<T> tilted_marginal(Gaussian<T> in, const Tilted<T>& tilted) {
  const T v = in.variance();
  return message_from_moments(in.mean() + v * tilted.slope, v * tilted.kept);
}

// Uniform where the factor is so flat that its curvature rounds to zero, or so steep that no number holds it.
template <std::floating_point T>
Gaussian<T> tilted_message(Gaussian<T> in, const Tilted<T>& tilted) {
  if (!(tilted.kept > 0)) return Gaussian<T>::uniform();
  const T rho = tilted.curvature / tilted.kept;
  const T tau = (in.mean() * tilted.curvature + tilted.slope) / tilted.kept;
  if (!(rho > 0) || !std::isfinite(rho) || !std::isfinite(tau)) return Gaussian<T>::uniform();
  return {tau, rho};
}

// Of a factor that is the probability Z of an event: the best linear regression of the event on what arrives.
inline Tilted<double> linear_tilt(double slope, double probability, double variance) {
  const double other = 1 - probability;
  const double curvature = other > 0 ? slope * slope * probability / other : 0;
  return {slope, curvature, 1 - variance * curvature};
}

// A message computed in double precision, for a factor that is asked in single precision.
template <std::floating_point T>
Gaussian<T> narrowed(Gaussian<double> message) {
  const Gaussian<T> result{static_cast<T>(message.tau), static_cast<T>(message.rho)};
  return result.is_valid() && (message.is_point() || !result.is_point()) ? result
                                                                         : Gaussian<T>::uniform();
}

// Where the log of a factor bends, from one line to another, and over what distance.
struct Corner {
  double at, width;
};

namespace detail {

inline void require_proper(Gaussian<double> x) {
  if (x.is_proper()) return;
  throw NoProjection("a tilted marginal needs a proper message, got precision " +
                     std::to_string(x.rho));
}

// One of several variables wins.
inline void validate_winner(const std::string& factor, int winner, std::size_t edges) {
  if (edges < 2) throw std::invalid_argument(factor + " needs at least two variables");
  if (winner >= 0 && static_cast<std::size_t>(winner) < edges) return;
  throw std::invalid_argument("the winner of " + factor + " of " + std::to_string(edges) +
                              " variables must be 0 to " + std::to_string(edges - 1) + ", got " +
                              std::to_string(winner));
}

// Where a decreasing function changes sign, from `near` on with steps of this size that double; then halved until
// is_close(near, far).
template <class F, class IsClose>
double root_of(const F& decreasing, double near, double step, const IsClose& is_close) {
  const bool upwards = decreasing(near) > 0;
  double far = near;
  for (; (decreasing(far) > 0) == upwards && std::isfinite(step); step *= 2) {
    near = far;
    far += upwards ? step : -step;
  }
  for (;;) {
    const double middle = near + (far - near) / 2;
    if (middle == near || middle == far || is_close(near, far)) return middle;
    ((decreasing(middle) > 0) == upwards ? near : far) = middle;
  }
}

// Points that stand for a density, with weights that sum to 1, and its integral.
struct Nodes {
  std::vector<double> at, weight;
  double mass = 0;

  template <class LogWeight>
  void add(double place, double share, const LogWeight& log_weight) {
    const double own = share * std::exp(log_weight(place));
    if (own == 0) return;  // what is averaged may be infinite there
    at.push_back(place);
    weight.push_back(own);
    mass += own;
  }
};

// Whether a panel is short enough for the rule: no longer than a few times its distance from a corner, or the corner's width.
inline bool is_fine(double begin, double end, std::span<const Corner> corners) {
  constexpr double most = 2;
  return std::all_of(corners.begin(), corners.end(), [&](const Corner& corner) {
    const double away = std::max({begin - corner.at, corner.at - end, corner.width});
    return end - begin <= most * away;
  });
}

// The trapezoidal rule, whose error falls like exp(-2 pi width / step) if nothing is narrower than the width.
template <class LogWeight>
void add_even_nodes(const LogWeight& log_weight, double begin, double end, double step,
                    Nodes& nodes) {
  const double count = std::ceil((end - begin) / step);
  for (double k = 1; k < count; ++k) nodes.add(begin + k * step, step, log_weight);
}

struct PanelEnd {
  double at, log_weight;
};

// Gauss-Legendre panels, halved until they are fine. What is negligible is left out.
template <class LogWeight>
void add_panels(const LogWeight& log_weight, PanelEnd first, PanelEnd last, double negligible,
                std::span<const Corner> corners, Nodes& nodes) {
  static const special::QuadratureRule rule = special::gauss_legendre(16);
  std::vector<std::pair<PanelEnd, PanelEnd>> panels{{first, last}};
  while (!panels.empty()) {
    const auto [begin, end] = panels.back();
    panels.pop_back();
    if (std::max(begin.log_weight, end.log_weight) < negligible) continue;
    const double centre = begin.at + (end.at - begin.at) / 2;
    const bool can_be_halved = centre > begin.at && centre < end.at;
    if (can_be_halved && !is_fine(begin.at, end.at, corners)) {
      const PanelEnd middle{centre, log_weight(centre)};
      panels.push_back({begin, middle});
      panels.push_back({middle, end});
      continue;
    }
    const double half = (end.at - begin.at) / 2;
    for (std::size_t i = 0; i < rule.nodes.size(); ++i) {
      nodes.add(centre + half * rule.nodes[i], half * rule.weights[i], log_weight);
    }
  }
}

// Of exp(log_weight), unimodal with its peak near 0 and bent at the corners. Nodes are evenly spaced if that takes few of
// them, and otherwise the closer the nearer to the peak or a corner.
template <class LogWeight>
Nodes nodes_around_peak(const LogWeight& log_weight, std::vector<Corner> corners) {
  constexpr double hardly = -0.6;
  constexpr double negligible = -45;
  constexpr double steps_in_width = 3;
  constexpr double most_even_steps = 150;
  std::array<PanelEnd, 2> ends{};
  double narrowest = HUGE_VAL;
  for (const std::size_t side : {0U, 1U}) {
    double at = side == 0 ? -1 : 1;
    double log = log_weight(at);
    for (; log < hardly; log = log_weight(at)) at /= 2;
    narrowest = std::min(narrowest, std::abs(at));
    for (; log > negligible; log = log_weight(at)) at *= 1.25;
    ends[side] = {at, log};
  }
  corners.push_back({0, narrowest});
  for (const Corner& corner : corners) {
    if (corner.at > ends[0].at && corner.at < ends[1].at)
      narrowest = std::min(narrowest, corner.width);
  }
  Nodes nodes;
  const double step = narrowest / steps_in_width;
  if (ends[1].at - ends[0].at <= most_even_steps * step) {
    add_even_nodes(log_weight, ends[0].at, ends[1].at, step, nodes);
  } else {
    const PanelEnd peak{0, 0};
    add_panels(log_weight, ends[0], peak, negligible, corners, nodes);
    add_panels(log_weight, peak, ends[1], negligible, corners, nodes);
  }
  for (double& weight : nodes.weight) weight /= nodes.mass;
  return nodes;
}

}  // namespace detail

// f N / Z by quadrature. The factor has
//   double log_density(double x), double slope(double x), double curvature(double x) >= 0
//   a range of Corner corners()
// and the Gaussian is proper.
template <class F>
class TiltedDensity {
 public:
  TiltedDensity(const F& factor, Gaussian<double> in) : deviation_(in.stddev()) {
    const double m = in.mean();
    const double variance = in.variance();
    // In deviations from the mean, whose digits may not hold a deviation.
    shift_ = detail::root_of(
        [&](double t) { return factor.slope(m + deviation_ * t) * deviation_ - t; }, 0, 1,
        [&](double near, double far) {
          constexpr double close = 0.01;  // in deviations of the peak
          const double curvature = std::max(factor.curvature(m + deviation_ * near),
                                            factor.curvature(m + deviation_ * far));
          return (far - near) * (far - near) * (1 + curvature * variance) < close * close;
        });
    peak_ = m + deviation_ * shift_;
    const double at_peak = factor.log_density(peak_);
    std::vector<Corner> corners;
    for (const Corner& corner : factor.corners()) {
      corners.push_back({(corner.at - peak_) / deviation_, corner.width / deviation_});
    }
    nodes_ = detail::nodes_around_peak(
        [&](double u) {
          return factor.log_density(peak_ + deviation_ * u) - at_peak - shift_ * u - u * u / 2;
        },
        corners);
    log_mass_ = at_peak - shift_ * shift_ / 2 + std::log(nodes_.mass) - special::log_sqrt_two_pi;
  }

  // E[g(x)] of several functions; g(x, u) is a special::Integrals<N>, u the distance from the peak in deviations of N.
  template <std::size_t N, class Functions>
  special::Integrals<N> expected(const Functions& g) const {
    special::Integrals<N> means{};
    for (std::size_t i = 0; i < nodes_.at.size(); ++i) {
      const special::Integrals<N> at = g(peak_ + deviation_ * nodes_.at[i], nodes_.at[i]);
      for (std::size_t k = 0; k < N; ++k) means[k] += nodes_.weight[i] * at[k];
    }
    return means;
  }

  double log_mass() const { return log_mass_; }
  double shift() const { return shift_; }  // of the peak, in deviations of N

 private:
  double deviation_, peak_ = 0, shift_ = 0, log_mass_ = 0;
  detail::Nodes nodes_;
};

// What is known under f N / Z of x, in deviations of N from its mean or another place, and of slope and curvature.
struct TiltedMoments {
  double first, second;             // of x
  double slope, square, curvature;  // E[s], E[s^2], E[c]
};

// 1 - v k is what is left of the variance of x, and k = E[c] - Var[s]: both are differences, and the one that loses fewer
// digits is taken. `shift` is the place that x is measured from.
inline Tilted<double> tilted_by(const TiltedMoments& of, double shift, Gaussian<double> in) {
  const double kept = of.second - of.first * of.first;
  const double all = of.curvature - (of.square - of.slope * of.slope);
  if (in.is_proper() && (1 - kept) * of.curvature > all) {
    return {(shift + of.first) / in.stddev(), (1 - kept) * in.rho, kept};
  }
  return {of.slope, all, 1 - in.variance() * all};
}

template <class F>
Tilted<double> tilt(const F& factor, Gaussian<double> in, const TiltedDensity<F>& density) {
  const auto [first, second, slope, square, curvature] =
      density.template expected<5>([&](double x, double u) {
        const double at = factor.slope(x);
        return special::Integrals<5>{u, u * u, at, at * at, factor.curvature(x)};
      });
  return tilted_by({first, second, slope, square, curvature}, density.shift(), in);
}

template <class F>
Tilted<double> tilt(const F& factor, Gaussian<double> in) {
  return tilt(factor, in, TiltedDensity(factor, in));
}

// exp of the expected log factor, up to second order: see above.
template <class F>
Gaussian<double> variational_message(const F& factor, Gaussian<double> belief) {
  if (belief.rho == 0) return Gaussian<double>::uniform();
  const double m = belief.mean();
  const double s = belief.stddev();
  const auto [slope, curvature] = special::integrate<2>(
      [&](double t) {
        const double weight = std::exp(-t * t / 2) / std::sqrt(2 * std::numbers::pi);
        return special::Integrals<2>{weight * factor.slope(m + s * t),
                                     weight * factor.curvature(m + s * t)};
      },
      special::even_breaks(-12, 12, 48), 1e-12);
  if (!(curvature > 0)) return Gaussian<double>::uniform();
  return {slope + m * curvature, curvature};
}

}  // namespace dma
