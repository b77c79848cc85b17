// factors/leaky_relu.h: y = r(x) = max(0, x) + slope min(0, x)
//
//   f(x, y) = delta(y - r(x))                                         edges y, x
//
//   to y (Prop. relu-fwd, moments exact): with u = m_x / s_x,
//     m_y = s_x mean(u),   v_y = s_x^2 variance(u)                    special::leaky_relu_moments
//
//   to x, Rule::direct (Prop. relu-bwd): the moments of N(r(x); m_y, v_y), a mixture of two truncated
//   Gaussians; with v = m_y / s_y,
//     m_x = s_y mean(v),   v_x = s_y^2 variance(v)                    special::leaky_relu_inverse_moments
//   slope = 0 has no such message: N(r(x); m_y, v_y) is constant for x < 0 (Rem. relu-improper).
//
//   to x, Rule::linear: gain = E[r'(x)], residual = Var[y] - gain^2 v_x (factors/linearise.h)
//
//   marginal (EP): two truncated Gaussians, with precisions rho_x + rho_y and rho_x + slope^2 rho_y.
//
//   variational (VMP), the limit of N(y; r(x), epsilon): point masses at E[r(x)] and r^-1(E[y]).
//
//   slope = 1 is the identity in both directions.
//   Domain    0 <= slope. Under Rule::linear an unknown x (uniform) has no point of linearisation,
//             and the message to x is uniform.
#pragma once

#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>

#include <dma/factors/factor.h>
#include <dma/factors/linearise.h>
#include <dma/factors/normaliser.h>
#include <dma/special/normal.h>

namespace dma {

struct LeakyRelu {
  double slope = 0.1;

  static constexpr std::tuple parameters{Parameter{"slope", &LeakyRelu::slope}};

  const FactorInfo& info() const {
    static constexpr std::array leaky{EdgeInfo{.name = "y", .theorem = "Thm. dma-master"},
                                      EdgeInfo{.name = "x", .theorem = "Thm. dma-master"}};
    static constexpr std::array standard{
        EdgeInfo{.name = "y", .theorem = "Thm. dma-master"},
        EdgeInfo{.name = "x", .proper = false, .theorem = "Rem. relu-improper (no bound derived)"}};
    static constexpr FactorInfo leaky_info{.name = "leaky_relu",
                                           .density = "delta(y - max(0, x) - slope min(0, x))",
                                           .domain = "slope > 0; slope = 0: no direct message to x",
                                           .edges = leaky};
    static constexpr FactorInfo standard_info{.name = "leaky_relu",
                                              .density = "delta(y - max(0, x))",
                                              .domain = "no direct message to x",
                                              .edges = standard};
    return slope > 0 ? leaky_info : standard_info;
  }

  static constexpr std::size_t arity() { return 2; }

  void validate() const {
    if (!(slope >= 0) || !std::isfinite(slope)) {
      throw std::invalid_argument(
          "the slope of a leaky ReLU must be finite and not negative, got " +
          std::to_string(slope));
    }
  }

  std::string_view refusal(std::size_t edge, Rule rule) const {
    if (edge == 0 || slope > 0 || rule == Rule::linear) return {};
    return "slope 0 has no direct message to x: every x < 0 gives y = 0, so the exact message is "
           "constant there and cannot be normalised; use a slope > 0 or the linear rule";
  }

  template <std::floating_point T>
  T apply(T x) const {
    return x > 0 ? x : T(slope) * x;
  }

  double relation(std::span<const double> inputs) const { return apply(inputs[0]); }

  template <std::floating_point T>
  Gaussian<T> message(std::size_t edge, Incoming<T> in, Rule rule) const {
    if (slope == 1) return in[1 - edge];
    if (edge == 0) return to_y(in[1]);
    if (const auto why = refusal(edge, rule); !why.empty())
      throw std::domain_error(std::string(why));
    return rule == Rule::direct ? to_x_direct(in[0]) : to_x_linear(in[0], in[1]);
  }

  template <std::floating_point T>
  Gaussian<T> to_y(Gaussian<T> x) const {
    if (x.rho == 0) return Gaussian<T>::uniform();
    if (x.is_point()) return Gaussian<T>::point(apply(x.tau));
    const T s = x.stddev();
    const auto moments = special::leaky_relu_moments(x.mean() / s, T(slope));
    return message_from_moments(s * moments.mean, s * s * moments.variance);
  }

  template <std::floating_point T>
  Gaussian<T> to_x_direct(Gaussian<T> y) const {
    if (y.rho == 0) return Gaussian<T>::uniform();
    if (y.is_point()) return Gaussian<T>::point(y.tau > 0 ? y.tau : y.tau / T(slope));
    const T s = y.stddev();
    const auto moments = special::leaky_relu_inverse_moments(y.mean() / s, T(slope));
    return message_from_moments(s * moments.mean, s * s * moments.variance);
  }

  template <std::floating_point T>
  Gaussian<T> to_x_linear(Gaussian<T> y, Gaussian<T> x) const {
    if (x.rho == 0) return Gaussian<T>::uniform();
    if (x.is_point()) {
      const T at = x.tau;
      const T gain = at > 0 ? T(1) : at < 0 ? T(slope) : (1 + T(slope)) / 2;
      return linear_message<T>({at, apply(at), gain, 0}, y);
    }
    const T s = x.stddev();
    const auto moments = special::leaky_relu_moments(x.mean() / s, T(slope));
    return linear_message<T>({x.mean(), s * moments.mean, moments.gain, s * s * moments.residual},
                             y);
  }

  Gaussian<double> marginal(std::size_t edge, Incoming<double> in) const {
    const Gaussian<double> y = in[0];
    const Gaussian<double> x = in[1];
    if (x.is_point() || y.is_point()) return in[edge] * message(edge, in, Rule::direct);
    if (y.is_uniform() && x.is_proper()) return edge == 0 ? to_y(x) : x;
    const auto [left, right] = halves(y, x);
    const double stretch = edge == 0 ? -slope : -1.0;
    const double share = 1 / (1 + std::exp(left.log_mass - right.log_mass));
    const double left_share = 1 / (1 + std::exp(right.log_mass - left.log_mass));
    const double gap = right.mean - stretch * left.mean;
    return Gaussian<double>::from_moments(share * right.mean + left_share * stretch * left.mean,
                                          share * right.variance +
                                              left_share * stretch * stretch * left.variance +
                                              share * left_share * gap * gap);
  }

  double log_normaliser(Incoming<double> in) const {
    const auto x = detail::known(in[1]);
    if (in[0].is_uniform()) return 0;
    const auto y = detail::known(in[0]);
    if (x.is_point()) return log_overlap(Gaussian<double>::point(apply(x.tau)), y);
    if (y.is_point()) {
      if (slope == 0 && y.tau <= 0) throw NoEvidence("a ReLU's output is exactly 0 or below");
      return y.tau > 0 ? x.log_density(y.tau) : x.log_density(y.tau / slope) - std::log(slope);
    }
    // The densities' constants; the halves leave out log sqrt(2 pi).
    const auto constant = [](Gaussian<double> one) {
      return (std::log(one.rho) - one.tau * (one.tau / one.rho)) / 2 - special::log_sqrt_two_pi;
    };
    const auto [left, right] = halves(y, x);
    return constant(x) + constant(y) + special::log_sqrt_two_pi +
           detail::log_add(right.log_mass, left.log_mass);
  }

  Gaussian<double> variational(std::size_t edge, Incoming<double> in) const {
    if (in[1 - edge].rho == 0) return Gaussian<double>::uniform();
    if (edge == 0) return Gaussian<double>::point(to_y(in[1]).mean());
    const double y = in[0].mean();
    if (y > 0) return Gaussian<double>::point(y);
    return slope > 0 ? Gaussian<double>::point(y / slope) : Gaussian<double>::uniform();
  }

 private:
  // exp(tau x - rho x^2 / 2) restricted to x > 0.
  struct Half {
    double log_mass, mean, variance;
  };

  struct Halves {
    Half left, right;
  };

  // For x > 0 the two messages multiply as they are; for x < 0, y = slope x.
  Halves halves(Gaussian<double> y, Gaussian<double> x) const {
    return {half(-(x.tau + slope * y.tau), x.rho + slope * slope * y.rho),
            half(x.tau + y.tau, x.rho + y.rho)};
  }

  static Half half(double tau, double rho) {
    if (!(rho > 0)) {
      throw NoProjection("the leaky ReLU's marginal cannot be normalised: precision " +
                         std::to_string(rho) + " on one side of the kink");
    }
    const double s = 1 / std::sqrt(rho);
    const double u = tau * s;
    const auto moments = special::truncated_moments(u);
    // log of the integral of exp(tau x - rho x^2 / 2) over x > 0, up to log sqrt(2 pi): for u << 0
    // u^2 / 2 + log Phi(u) is a difference of large numbers, the log of the scaled tail is not.
    const double log_mass =
        u < 0 ? std::log(special::normal_scaled_tail(-u).i0 * s) - special::log_sqrt_two_pi
              : std::log(s) + u * u / 2 + special::normal_log_cdf(u);
    return {log_mass, s * moments.mean, s * s * moments.variance};
  }
};

static_assert(DeterministicFactor<LeakyRelu>);

}  // namespace dma
