#include "factors/marginal_moments.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include <dma/special/quadrature.h>

namespace dma::detail {
namespace {

constexpr double negligible = -60;  // the logarithm of a weight, relative to the peak

// The weight f(x) N(x; incoming) about a point: with x = at + deviation u and t = (at - mean) / deviation,
//
//   log weight(u) - log weight(0) = log f(x) - log f(at) - t u - u^2 / 2
//
// which neither overflows nor cancels, however far the point is from the mean.
struct Weight {
  const std::function<double(double)>& log_density;
  double mean, deviation, at;
  double log_at = log_density(at);

  double x(double u) const { return at + deviation * u; }
  double u(double x) const { return (x - at) / deviation; }
  double operator()(double u) const {
    const double t = (at - mean) / deviation;
    return log_density(x(u)) - log_at - t * u - u * u / 2;
  }
  Weight about(double x) const { return {log_density, mean, deviation, x}; }
};

// Points in incoming deviations from the mean, ascending.
std::vector<double> scanned_points() {
  std::vector<double> points = special::even_breaks(-30, 30, 120);
  for (double t = 30 * 1.25; t < 1e150; t *= 1.25) {
    points.push_back(t);
    points.push_back(-t);
  }
  std::sort(points.begin(), points.end());
  return points;
}

// Adds the first point inside wherever the density begins or ends between two neighbours.
void insert_support_ends(std::vector<double>& points, const std::function<double(double)>& f) {
  const auto inside = [&](double at) { return std::isfinite(f(at)); };
  std::vector<double> ends;
  for (std::size_t k = 0; k + 1 < points.size(); ++k) {
    double low = points[k];
    double high = points[k + 1];
    const bool begins = inside(high);
    if (inside(low) == begins) continue;
    for (double middle = low / 2 + high / 2; middle > low && middle < high;
         middle = low / 2 + high / 2) {
      (inside(middle) == begins ? high : low) = middle;
    }
    ends.push_back(begins ? high : low);
  }
  points.insert(points.end(), ends.begin(), ends.end());
  std::sort(points.begin(), points.end());
}

// The u of the largest weight in [low, high], by golden sections; best is the largest known.
double peak_between(const Weight& weight, double low, double high, double best) {
  const double section = 1 / std::numbers::phi;
  double best_weight = weight(best);
  for (int n = 0; n < 1000 && low < high; ++n) {
    const double left = high - section * (high - low);
    const double right = low + section * (high - low);
    const double at_left = weight(left);
    const double at_right = weight(right);
    for (const auto& [at, value] : {std::pair(left, at_left), std::pair(right, at_right)}) {
      if (value > best_weight) best = at, best_weight = value;
    }
    // If neither is inside, the peak is on the side of the best point.
    const bool go_left = at_left == at_right ? best < right : at_left > at_right;
    if (!(go_left ? right < high : left > low)) break;
    (go_left ? high : low) = go_left ? right : left;
  }
  return best;
}

// Panels around the peak (u = 0), whose width doubles from where the weight has hardly fallen to where it is
// negligible; the points of the scan where it is not; the ends of the support.
std::vector<double> panels(const Weight& weight, const std::vector<double>& scanned) {
  std::vector<double> breaks{0};
  for (const double side : {-1.0, 1.0}) {
    double width = 1;
    while (weight(side * width) > -0.5) width *= 2;
    while (weight(side * width) < -0.5 && weight.x(side * width) != weight.at &&
           width > std::numeric_limits<double>::min()) {
      width /= 2;
    }
    do {
      breaks.push_back(side * width);
      width *= 2;
    } while (weight(breaks.back()) > negligible);
  }
  for (std::size_t k = 1; k + 1 < scanned.size(); ++k) {
    if (!(weight(weight.u(scanned[k])) > negligible)) continue;
    for (const double x : {scanned[k - 1], scanned[k], scanned[k + 1]}) {
      breaks.push_back(weight.u(x));
    }
  }
  std::sort(breaks.begin(), breaks.end());
  insert_support_ends(breaks, weight);
  breaks.erase(std::unique(breaks.begin(), breaks.end()), breaks.end());
  return breaks;
}

}  // namespace

std::optional<MeanAndDeviation> marginal_moments(const std::function<double(double)>& log_density,
                                                 Gaussian<double> incoming,
                                                 std::optional<double> guess) {
  const double mean = incoming.mean();
  const double deviation = incoming.stddev();
  std::vector<double> scanned;
  for (const double t : scanned_points()) {
    const double x = mean + deviation * t;
    if (std::isfinite(x)) scanned.push_back(x);
  }
  if (guess) scanned.insert(std::upper_bound(scanned.begin(), scanned.end(), *guess), *guess);
  insert_support_ends(scanned, log_density);
  std::size_t best = 0;
  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < scanned.size(); ++k) {
    const double t = (scanned[k] - mean) / deviation;
    const double log_weight = log_density(scanned[k]) - t * t / 2;
    if (log_weight > largest) best = k, largest = log_weight;
  }
  if (!std::isfinite(largest)) return std::nullopt;

  const Weight seen{log_density, mean, deviation, scanned[best]};
  const double low = scanned[best == 0 ? best : best - 1];
  const double high = scanned[best + 1 == scanned.size() ? best : best + 1];
  const double peak = seen.x(peak_between(seen, seen.u(low), seen.u(high), 0));
  const Weight weight = seen.about(peak);
  const auto [mass, first, second] = special::integrate<3>(
      [&](double u) {
        const double w = std::exp(weight(u));
        return special::Integrals<3>{w, w * u, w * u * u};
      },
      panels(weight, scanned), 1e-13);
  const double variance = second / mass - (first / mass) * (first / mass);
  if (!(mass > 0 && variance > 0 && std::isfinite(variance))) return std::nullopt;
  return MeanAndDeviation{peak + deviation * first / mass, deviation * std::sqrt(variance)};
}

}  // namespace dma::detail
