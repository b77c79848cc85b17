// special/quadrature.h: Gaussian quadrature rules, and an adaptive integral of several functions.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

namespace dma::special {

struct QuadratureRule {
  std::vector<double> nodes, weights;
};

// Nodes and weights with sum_i w_i g(x_i) = E[g(X)], X ~ N(0, 1), exact for polynomials of degree
// below 2 order. 1 <= order <= 128.
QuadratureRule gauss_hermite(std::size_t order);

// Nodes and weights on [-1, 1] with sum_i w_i g(x_i) = integral g. 1 <= order <= 128.
QuadratureRule gauss_legendre(std::size_t order);

// The integrals of f: double -> std::array<double, N> over [a, b]: 10-point Gauss-Legendre panels,
// halved until the halves agree with the whole to the tolerance, relative to `scale`, component by
// component, or the depth is used up. Kinks and narrow peaks inside a panel only cost more halving, provided that the
// panel sees them: start with panels no wider than the features. A kink beyond the last node, however near the end of
// its panel, shows in the values at the ends. If a call is expensive, f may take several points together:
// f(std::span<const double>, std::span<Integrals<N>>).
template <std::size_t N>
using Integrals = std::array<double, N>;

namespace detail {

// Nodes at -+ legendre_nodes. The polynomial through the values at all of them takes at the left end the value
// sum_i legendre_near[i] f(-node_i) + legendre_far[i] f(node_i), and at the right end the same mirrored.
extern const std::array<double, 5> legendre_nodes, legendre_weights, legendre_near, legendre_far;

template <std::size_t N, class F, std::size_t points>
std::array<Integrals<N>, points> values_at(const F& f, const std::array<double, points>& at) {
  std::array<Integrals<N>, points> values;
  if constexpr (std::is_invocable_v<const F&, double>) {
    std::transform(at.begin(), at.end(), values.begin(), std::cref(f));
  } else {
    f(std::span<const double>(at), std::span<Integrals<N>>(values));
  }
  return values;
}

template <std::size_t N>
struct Panel {
  Integrals<N> integral{};
  Integrals<N> at_begin{}, at_end{};  // of the polynomial
};

template <std::size_t N, class F>
Panel<N> panel(const F& f, double a, double b) {
  const double centre = (a + b) / 2;
  const double half = (b - a) / 2;
  std::array<double, 10> at;
  for (std::size_t i = 0; i < legendre_nodes.size(); ++i) {
    at[2 * i] = centre - half * legendre_nodes[i];
    at[2 * i + 1] = centre + half * legendre_nodes[i];
  }
  const auto values = values_at<N>(f, at);
  Panel<N> result;
  for (std::size_t i = 0; i < legendre_nodes.size(); ++i) {
    const Integrals<N>& left = values[2 * i];
    const Integrals<N>& right = values[2 * i + 1];
    for (std::size_t n = 0; n < N; ++n) {
      result.integral[n] += legendre_weights[i] * half * (left[n] + right[n]);
      result.at_begin[n] += legendre_near[i] * left[n] + legendre_far[i] * right[n];
      result.at_end[n] += legendre_far[i] * left[n] + legendre_near[i] * right[n];
    }
  }
  return result;
}

template <std::size_t N, class F>
Integrals<N> refine(const F& f, double a, double b, const Integrals<N>& whole,
                    const Integrals<N>& allowed, int depth) {
  constexpr double inside = 1e-9;  // of the panel: at the end itself f may jump
  const double middle = (a + b) / 2;
  const Panel<N> left = panel<N>(f, a, middle);
  const Panel<N> right = panel<N>(f, middle, b);
  const std::array<double, 2> ends{a + inside * (b - a), b - inside * (b - a)};
  const auto values = values_at<N>(f, ends);
  const double unseen = (1 - legendre_nodes.back()) / 2 * (middle - a);  // between end and node
  bool agree = true;
  Integrals<N> sum;
  for (std::size_t n = 0; n < N; ++n) {
    sum[n] = left.integral[n] + right.integral[n];
    agree = agree && !(std::abs(sum[n] - whole[n]) > allowed[n]) &&
            !(std::abs(values[0][n] - left.at_begin[n]) * unseen > allowed[n]) &&
            !(std::abs(values[1][n] - right.at_end[n]) * unseen > allowed[n]);
  }
  if (agree || depth == 0) return sum;
  const Integrals<N> below = refine<N>(f, a, middle, left.integral, allowed, depth - 1);
  const Integrals<N> above = refine<N>(f, middle, b, right.integral, allowed, depth - 1);
  for (std::size_t n = 0; n < N; ++n) sum[n] = below[n] + above[n];
  return sum;
}

}  // namespace detail

// tolerance is relative to the sum of the absolute values of the first panels; breaks are the ends of
// these panels, ascending.
template <std::size_t N, class F>
Integrals<N> integrate(const F& f, std::span<const double> breaks, double tolerance,
                       int depth = 24) {
  Integrals<N> allowed{};
  for (std::size_t k = 0; k + 1 < breaks.size(); ++k) {
    const auto first = detail::panel<N>(f, breaks[k], breaks[k + 1]).integral;
    for (std::size_t n = 0; n < N; ++n) allowed[n] += tolerance * std::abs(first[n]);
  }
  Integrals<N> total{};
  for (std::size_t k = 0; k + 1 < breaks.size(); ++k) {
    const auto first = detail::panel<N>(f, breaks[k], breaks[k + 1]).integral;
    const auto part = detail::refine<N>(f, breaks[k], breaks[k + 1], first, allowed, depth);
    for (std::size_t n = 0; n < N; ++n) total[n] += part[n];
  }
  return total;
}

// n + 1 evenly spaced points from a to b.
std::vector<double> even_breaks(double a, double b, std::size_t n);

}  // namespace dma::special
