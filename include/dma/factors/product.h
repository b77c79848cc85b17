// factors/product.h: z = x y
//
//   f(x, y, z) = delta(z - x y)                                       edges z, x, y
//
//   to z (Prop. product-fwd, moments exact):
//     m = m_x m_y,   v = v_x v_y + m_x^2 v_y + m_y^2 v_x
//
//   to x, Rule::direct (Prop. product-bwd: Y and Z moment-matched by log-normals). The exact message
//   is improper; the bound is O(1/r^2) in r = min(|m_y|/s_y, |m_z|/s_z) (Thm. product-bwd-bound):
//     q = m_y^2 / (m_y^2 + v_y),   d = v_z + m_z^2 (1 - q)
//     mean = m_z / (q m_y),        variance = d / (q^3 m_y^2)
//   which is rho = m_y^8 / (e^2 (v_z e + m_z^2 v_y)) with e = m_y^2 + v_y. v_y = 0 gives the exact
//   message m_z / m_y, v_z / m_y^2; m_y = 0 gives the uniform one. Below |m_y| / s_y = 1 the precision falls like
//   m_y^8: the message says almost nothing.
//
//   to x, Rule::linear (statistical linearisation around the incoming message of x):
//     d = v_z + v_y (m_x^2 + v_x),   rho = m_y^2 / d,   tau = m_y m_z / d
//
//   marginal (EP): given y, x is Gaussian with precision p = rho_x + rho_z y^2 and mean
//   (tau_x + tau_z y) / p, so every moment is one integral over y with weight
//   N(y; m_y, v_y) N(m_z; m_x y, v_z + v_x y^2).
//
//   variational (VMP), the limit of N(z; x y, epsilon): point masses at E[x] E[y] and
//   E[y] E[z] / E[y^2].
//
//   Domain    any valid message; uniform in, uniform out. The message to y swaps x and y.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <tuple>

#include <dma/factors/factor.h>
#include <dma/factors/normaliser.h>
#include <dma/special/normal.h>
#include <dma/special/quadrature.h>

namespace dma {

struct Product {
  static constexpr std::tuple<> parameters{};

  static const FactorInfo& info() {
    static constexpr std::array edges{
        EdgeInfo{.name = "z", .theorem = "Thm. dma-master"},
        EdgeInfo{.name = "x", .proper = false, .theorem = "Thm. product-bwd-bound"},
        EdgeInfo{.name = "y", .proper = false, .theorem = "Thm. product-bwd-bound"}};
    static constexpr FactorInfo info{.name = "product",
                                     .density = "delta(z - x y)",
                                     .domain = "any valid message",
                                     .edges = edges};
    return info;
  }

  static constexpr std::size_t arity() { return 3; }

  double relation(std::span<const double> inputs) const { return inputs[0] * inputs[1]; }

  template <std::floating_point T>
  Gaussian<T> message(std::size_t edge, Incoming<T> in, Rule rule) const {
    if (edge == 0) return to_z(in[1], in[2]);
    const Gaussian<T> own = in[edge];
    const Gaussian<T> other = in[3 - edge];
    return rule == Rule::direct ? to_x_direct(in[0], other) : to_x_linear(in[0], own, other);
  }

  template <std::floating_point T>
  static Gaussian<T> to_z(Gaussian<T> x, Gaussian<T> y) {
    const auto zero = Gaussian<T>::point(0);
    if (x == zero || y == zero) return zero;
    if (x.rho == 0 || y.rho == 0) return Gaussian<T>::uniform();
    const T mx = x.mean();
    const T my = y.mean();
    const T vx = x.variance();
    const T vy = y.variance();
    return message_from_moments(mx * my, vx * vy + mx * mx * vy + my * my * vx);
  }

  template <std::floating_point T>
  static Gaussian<T> to_x_direct(Gaussian<T> z, Gaussian<T> y) {
    const T my = y.mean();
    if (z.rho == 0 || y.rho == 0 || my == 0) return Gaussian<T>::uniform();
    const T mz = z.mean();
    const T signal_to_noise = my * std::sqrt(y.rho);
    const T square = signal_to_noise * signal_to_noise;
    const T q = 1 / (1 + reciprocal(square));
    const T gain = q * q * q * my * my;
    if (gain == 0) return Gaussian<T>::uniform();  // underflow: no information
    const T d = z.variance() + mz * mz / (1 + square);
    return message_from_moments(mz / (q * my), d / gain);
  }

  template <std::floating_point T>
  static Gaussian<T> to_x_linear(Gaussian<T> z, Gaussian<T> x, Gaussian<T> y) {
    const T my = y.mean();
    if (z.rho == 0 || y.rho == 0 || my == 0) return Gaussian<T>::uniform();
    T d = z.variance();
    if (!y.is_point()) {
      if (x.rho == 0) return Gaussian<T>::uniform();
      d += y.variance() * (x.mean() * x.mean() + x.variance());
    }
    return message_from_moments(z.mean() / my, d / my / my);
  }

  Gaussian<double> marginal(std::size_t edge, Incoming<double> in) const {
    // With a point mass the factor is linear in the other input, and the direct message is exact.
    if (in[1].is_point() || in[2].is_point()) return in[edge] * message(edge, in, Rule::direct);
    if (edge == 2) return marginal(1, std::array{in[0], in[2], in[1]});
    if (edge == 1) return marginal_of_x(in[0], in[1], in[2]);
    return marginal_of_z(in[0], in[1], in[2]);
  }

  double log_normaliser(Incoming<double> in) const {
    const auto x = detail::known(in[1]);
    const auto y = detail::known(in[2]);
    if (in[0].is_uniform()) return 0;
    const auto z = detail::known(in[0]);
    if (x.is_point() || y.is_point()) {
      const auto product = to_z(x, y);
      if (product == Gaussian<double>::point(0) && z.is_point())
        throw NoEvidence("two point masses meet, where a density is infinite");
      return log_overlap(product, z);
    }
    const LogWeight log_weight{x, y, z};
    const auto [breaks, peak] = where_weight_lives(x, y, z, log_weight);
    const double top = log_weight(peak);
    const double mass = special::integrate<1>(
        [&](double at) -> special::Integrals<1> { return {std::exp(log_weight(at) - top)}; },
        breaks, 1e-12)[0];
    return top + std::log(mass) + std::log(y.rho) / 2 - 2 * special::log_sqrt_two_pi;
  }

  Gaussian<double> variational(std::size_t edge, Incoming<double> in) const {
    if (edge == 0) {
      if (in[1].rho == 0 || in[2].rho == 0) return Gaussian<double>::uniform();
      return Gaussian<double>::point(in[1].mean() * in[2].mean());
    }
    const Gaussian<double> other = in[3 - edge];
    if (in[0].rho == 0 || other.rho == 0) return Gaussian<double>::uniform();
    const double square = other.mean() * other.mean() + other.variance();
    if (square == 0) return Gaussian<double>::uniform();
    return Gaussian<double>::point(other.mean() * in[0].mean() / square);
  }

 private:
  // Of an outer value, with the inner variable integrated out: log N(outer) N(m_z; m_inner outer, v_z + v_inner outer^2),
  // without constants.
  struct LogWeight {
    LogWeight(Gaussian<double> inner, Gaussian<double> outer, Gaussian<double> z)
        : outer_rho(outer.rho),
          outer_mean(outer.mean()),
          inner_mean(inner.mean()),
          inner_variance(inner.variance()),
          z_mean(z.mean()),
          z_variance(z.variance()) {}

    double operator()(double at) const {
      const double from_mean = at - outer_mean;
      const double gap = z_mean - inner_mean * at;
      const double spread = z_variance + inner_variance * at * at;
      return -(outer_rho * from_mean * from_mean + gap * gap / spread + std::log(spread)) / 2;
    }

    double outer_rho, outer_mean, inner_mean, inner_variance, z_mean, z_variance;
  };

  static Gaussian<double> marginal_of_x(Gaussian<double> z, Gaussian<double> x,
                                        Gaussian<double> y) {
    if (z.is_uniform()) return x;
    return match(y, x, z, [](double at, special::Moments<double>) {
      return special::Moments<double>{at, 0};
    });
  }

  static Gaussian<double> marginal_of_z(Gaussian<double> z, Gaussian<double> x,
                                        Gaussian<double> y) {
    if (z.is_uniform()) return to_z(x, y);
    return match(x, y, z, [](double at, special::Moments<double> inner) {
      return special::Moments<double>{at * inner.mean, at * at * inner.variance};
    });
  }

  // Matches the moments of a quantity under the joint of x, y and z = x y: the inner variable is
  // integrated in closed form, the outer one numerically. quantity(outer value, moments of the inner
  // variable given it) returns the quantity's moments there.
  template <class Quantity>
  static Gaussian<double> match(Gaussian<double> inner, Gaussian<double> outer, Gaussian<double> z,
                                const Quantity& quantity) {
    if (!inner.is_proper() || !outer.is_proper() || !z.is_proper()) {
      throw NoProjection("the product's marginal needs proper messages, got precisions " +
                         std::to_string(inner.rho) + ", " + std::to_string(outer.rho) + ", z " +
                         std::to_string(z.rho));
    }
    const auto given = [&](double at) {
      const double p = inner.rho + z.rho * at * at;
      return quantity(at, special::Moments<double>{(inner.tau + z.tau * at) / p, 1 / p});
    };
    const LogWeight log_weight{inner, outer, z};
    const auto [breaks, peak] = where_weight_lives(inner, outer, z, log_weight);
    const double top = log_weight(peak);
    const double centre = given(peak).mean;
    const auto integrals = special::integrate<3>(
        [&](double at) -> special::Integrals<3> {
          const double weight = std::exp(log_weight(at) - top);
          const auto moments = given(at);
          const double from_centre = moments.mean - centre;
          return {weight, weight * from_centre,
                  weight * (from_centre * from_centre + moments.variance)};
        },
        breaks, 1e-12);
    const double shift = integrals[1] / integrals[0];
    const double variance = integrals[2] / integrals[0] - shift * shift;
    if (!(variance > 0) || !std::isfinite(variance)) {
      throw NoProjection("the product's marginal has no finite moments in double precision");
    }
    return Gaussian<double>::from_moments(centre + shift, variance);
  }

  // Ends of the first panels of the integral over the outer variable, and where its weight is largest.
  struct Support {
    std::array<double, 18> breaks;
    double peak;
  };

  // Covers the outer values whose weight is above e^-45 of the largest. Away from the outer message's mean the weight
  // can gain at most what the gap and the logarithm take there, which bounds the search. The point where the inner mean
  // meets z's mean is included too, since z may be sharp.
  static Support where_weight_lives(Gaussian<double> inner, Gaussian<double> outer,
                                    Gaussian<double> z, const LogWeight& log_weight) {
    const double mean = outer.mean();
    const double inner_mean = inner.mean();
    const double gap = z.mean() - inner_mean * mean;
    const double spread = z.variance() + inner.variance() * mean * mean;
    const double pull = gap * gap / spread + std::log(spread / z.variance());
    const double reach = std::sqrt(90 + pull) * outer.stddev();
    constexpr int half = 128;
    const auto scan = [&](int k) { return mean + reach * k / half; };

    double peak = mean;
    const auto climb = [&](double at) {
      if (log_weight(at) > log_weight(peak)) peak = at;
    };
    for (int k = -half; k <= half; ++k) climb(scan(k));
    if (inner_mean != 0) {
      const double ridge = z.mean() / inner_mean;
      if (std::abs(ridge - mean) < reach) climb(ridge);
    }
    const double floor = log_weight(peak) - 45;
    if (!std::isfinite(floor)) {
      throw NoProjection("the product's marginal overflows in double precision");
    }
    int first = -half;
    while (first < half && scan(first + 1) < peak && log_weight(scan(first + 1)) < floor) ++first;
    int last = half;
    while (last > -half && scan(last - 1) > peak && log_weight(scan(last - 1)) < floor) --last;

    Support support{{}, peak};
    const double step = (scan(last) - scan(first)) / 16;
    for (int k = 0; k < 17; ++k)
      support.breaks[static_cast<std::size_t>(k)] = scan(first) + step * k;
    support.breaks[17] = peak;
    std::sort(support.breaks.begin(), support.breaks.end());
    return support;
  }
};

static_assert(DeterministicFactor<Product>);

}  // namespace dma
