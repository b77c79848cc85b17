#include "validation/divergence.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include <dma/special/normal.h>
#include <dma/special/quadrature.h>

#include <dma/special/larger.h>

namespace dma::validation {

double bregman(double log_p, double log_q) {
  const double p = std::exp(log_p);
  const double q = std::exp(log_q);
  if (p == 0) return q;
  const double log_ratio = log_p - log_q;
  // With t = q / p - 1, D = p (t - log(1 + t)).
  if (std::abs(log_ratio) < 1) return p * special::minus_log1p(std::expm1(-log_ratio));
  return p * (log_ratio - 1) + q;
}

std::vector<double> merged_breaks(std::vector<double> first, const std::vector<double>& second) {
  first.insert(first.end(), second.begin(), second.end());
  std::sort(first.begin(), first.end());
  first.erase(std::unique(first.begin(), first.end()), first.end());
  return first;
}

double integral(const std::function<double(double)>& f, const std::vector<double>& breaks) {
  static const auto rule = special::gauss_legendre(20);
  double sum = 0;
  for (std::size_t k = 0; k + 1 < breaks.size(); ++k) {
    const double centre = (breaks[k] + breaks[k + 1]) / 2;
    const double half = (breaks[k + 1] - breaks[k]) / 2;
    double panel = 0;
    for (std::size_t i = 0; i < rule.nodes.size(); ++i) {
      panel += rule.weights[i] * f(centre + half * rule.nodes[i]);
    }
    sum += half * panel;
  }
  return sum;
}

double log_integral(const LogDensity& log_f, const std::vector<double>& breaks) {
  double top = -std::numeric_limits<double>::infinity();
  const auto look = [&](double x) { return top = special::larger(top, log_f(x)); };
  integral(look, breaks);
  const double scaled = integral([&](double x) { return std::exp(log_f(x) - top); }, breaks);
  if (!(scaled > 0 && std::isfinite(top))) {
    throw std::domain_error("no mass of the density found between " +
                            std::to_string(breaks.front()) + " and " +
                            std::to_string(breaks.back()));
  }
  return top + std::log(scaled);
}

double kl_divergence(const LogDensity& log_p, const LogDensity& log_q,
                     const std::vector<double>& breaks) {
  const double log_p_mass = log_integral(log_p, breaks);
  const double log_q_mass = log_integral(log_q, breaks);
  return integral([&](double x) { return bregman(log_p(x) - log_p_mass, log_q(x) - log_q_mass); },
                  breaks);
}

}  // namespace dma::validation
