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
// component, or the depth is used up. Kinks and narrow peaks inside a panel only cost more halving,
// provided the panel sees them at all: start with panels no wider than the features. Where a call is
// dear, f may take the points of a panel together: f(std::span<const double>, std::span<Integrals<N>>).
template <std::size_t N>
using Integrals = std::array<double, N>;

namespace detail {

extern const std::array<double, 5> legendre_nodes, legendre_weights;

template <std::size_t N, class F>
Integrals<N> panel(const F& f, double a, double b) {
  const double centre = (a + b) / 2;
  const double half = (b - a) / 2;
  std::array<double, 10> at;
  std::array<Integrals<N>, 10> values;
  for (std::size_t i = 0; i < legendre_nodes.size(); ++i) {
    at[2 * i] = centre - half * legendre_nodes[i];
    at[2 * i + 1] = centre + half * legendre_nodes[i];
  }
  if constexpr (std::is_invocable_v<const F&, double>) {
    std::transform(at.begin(), at.end(), values.begin(), std::cref(f));
  } else {
    f(std::span<const double>(at), std::span<Integrals<N>>(values));
  }
  Integrals<N> sum{};
  for (std::size_t i = 0; i < legendre_nodes.size(); ++i) {
    const Integrals<N>& left = values[2 * i];
    const Integrals<N>& right = values[2 * i + 1];
    for (std::size_t n = 0; n < N; ++n) sum[n] += legendre_weights[i] * half * (left[n] + right[n]);
  }
  return sum;
}

template <std::size_t N, class F>
Integrals<N> refine(const F& f, double a, double b, const Integrals<N>& whole,
                    const Integrals<N>& allowed, int depth) {
  const double middle = (a + b) / 2;
  const Integrals<N> left = panel<N>(f, a, middle);
  const Integrals<N> right = panel<N>(f, middle, b);
  bool agree = true;
  Integrals<N> sum;
  for (std::size_t n = 0; n < N; ++n) {
    sum[n] = left[n] + right[n];
    agree = agree && !(std::abs(sum[n] - whole[n]) > allowed[n]);
  }
  if (agree || depth == 0) return sum;
  const Integrals<N> below = refine<N>(f, a, middle, left, allowed, depth - 1);
  const Integrals<N> above = refine<N>(f, middle, b, right, allowed, depth - 1);
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
    const auto first = detail::panel<N>(f, breaks[k], breaks[k + 1]);
    for (std::size_t n = 0; n < N; ++n) allowed[n] += tolerance * std::abs(first[n]);
  }
  Integrals<N> total{};
  for (std::size_t k = 0; k + 1 < breaks.size(); ++k) {
    const auto first = detail::panel<N>(f, breaks[k], breaks[k + 1]);
    const auto part = detail::refine<N>(f, breaks[k], breaks[k + 1], first, allowed, depth);
    for (std::size_t n = 0; n < N; ++n) total[n] += part[n];
  }
  return total;
}

// n + 1 evenly spaced points from a to b.
std::vector<double> even_breaks(double a, double b, std::size_t n);

}  // namespace dma::special
