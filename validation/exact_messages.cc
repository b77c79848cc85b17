#include "validation/exact_messages.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <dma/special/normal.h>
#include <dma/special/quadrature.h>

namespace dma::validation {
namespace {

constexpr double reach = 16;
constexpr std::size_t panels = 64;
constexpr double infinity = std::numeric_limits<double>::infinity();

struct Range {
  double low, high;
};

Range range_of(Gaussian<double> message) {
  return {message.mean() - reach * message.stddev(), message.mean() + reach * message.stddev()};
}

// Panels over the part of a range between the limits; empty if there is none.
std::vector<double> clipped_breaks(Range range, Range limits) {
  const double low = std::max(range.low, limits.low);
  const double high = std::min(range.high, limits.high);
  return low < high ? special::even_breaks(low, high, panels) : std::vector<double>{};
}

// A message of two pieces that meet at 0, the left one stretched.
std::vector<double> breaks_of_pieces(Gaussian<double> piece, double stretch,
                                     Gaussian<double> beside) {
  const auto [low, high] = range_of(piece);
  auto breaks = merged_breaks(clipped_breaks({low * stretch, high * stretch}, {-infinity, 0}),
                              clipped_breaks({low, high}, {0, infinity}));
  breaks = merged_breaks(breaks, breaks_of(beside));
  const bool kink = breaks.front() < 0 && breaks.back() > 0;
  return kink ? merged_breaks(breaks, {0}) : breaks;
}

// The part of the product's density at z with x on one side of zero, y = z / x:
//   integral of N(z / x; y) N(x) dx / x = integral of N(z exp(-t); y) N(exp(t); x) dt
// over x > 0, smooth in t where the integrand in x has an essential singularity. The caller
// reflects x and z for the other side.
double product_density_right(double z, Gaussian<double> x, Gaussian<double> y) {
  if (z < 0) return product_density_right(-z, x, {-y.tau, y.rho});
  const Range of_x = range_of(x);
  const Range of_y = range_of(y);
  if (of_y.high <= 0) return 0;
  const double low = std::max(of_x.low, z / of_y.high);
  const double high = std::min(of_x.high, of_y.low > 0 ? z / of_y.low : infinity);
  if (!(low < high)) return 0;
  return integral(
      [&](double t) {
        const double at = std::exp(t);
        return std::exp(y.log_density(z / at) + x.log_density(at));
      },
      special::even_breaks(std::log(low), std::log(high), 24));
}

}  // namespace

std::vector<double> breaks_of(Gaussian<double> message) {
  const auto [low, high] = range_of(message);
  return special::even_breaks(low, high, panels);
}

ReluToX::ReluToX(LeakyRelu relu, Gaussian<double> y) : relu_(relu), y_(y) {
  const double v = y.mean() / y.stddev();
  log_mass_ = std::log(special::normal_cdf(v) + special::normal_cdf(-v) / relu.slope);
}

std::vector<double> ReluToX::breaks(Gaussian<double> beside) const {
  return breaks_of_pieces(y_, 1 / relu_.slope, beside);
}

double ReluToY::log_density(double y) const {
  if (y > 0) return x.log_density(y);
  return x.log_density(y / relu.slope) - std::log(relu.slope);
}

std::vector<double> ReluToY::breaks(Gaussian<double> beside) const {
  return breaks_of_pieces(x, relu.slope, beside);
}

double ProductToZ::log_density(double z) const {
  return std::log(product_density_right(z, x, y) + product_density_right(-z, {-x.tau, x.rho}, y));
}

std::vector<double> ProductToZ::breaks(Gaussian<double> beside) const {
  // The tails of wide messages fall like exp(-|z| / (s_x s_y)) only.
  const double far = 3 * reach * beside.stddev();
  auto breaks = merged_breaks(
      breaks_of(beside), special::even_breaks(beside.mean() - far, beside.mean() + far, panels));
  if (breaks.front() > 0 || breaks.back() < 0) return breaks;
  // The density grows like -log |z| at 0: panels that halve towards it.
  std::vector<double> graded{0};
  for (double at = beside.stddev(); at > 1e-12; at /= 2) {
    graded.push_back(at);
    graded.push_back(-at);
  }
  return merged_breaks(breaks, graded);
}

double product_to_x_log_density(double x, Gaussian<double> z, Gaussian<double> y) {
  const double variance = z.variance() + x * x * y.variance();
  return Gaussian<double>::from_moments(x * y.mean(), variance).log_density(z.mean());
}

double TruncatedProductToX::log_density(double x) const {
  // Given x, y is Gaussian: N(x y; z) N(y) with precision x^2 rho_z + rho_y.
  const double rho = x * x * z.rho + y.rho;
  const double deviation = 1 / std::sqrt(rho);
  const double mean = (x * z.tau + y.tau) / rho;
  const double half = std::abs(y.mean()) / 2;
  const double kept = special::normal_cdf((mean - half) / deviation) +
                      special::normal_cdf((-mean - half) / deviation);
  return product_to_x_log_density(x, z, y) + std::log(kept);
}

std::vector<double> TruncatedProductToX::breaks(Gaussian<double> beside) const {
  // |x| = |z / y| with |y| at its smallest
  const double largest = (std::abs(z.mean()) + reach * z.stddev()) / (std::abs(y.mean()) / 2);
  return merged_breaks(breaks_of(beside), special::even_breaks(-largest, largest, 4 * panels));
}

}  // namespace dma::validation
