// factors/softmax.h: f(x_0, ..., x_n) = exp(x_w) / sum_k exp(x_k), one class of several
//
//   With the multinomial-Poisson transformation (Baker 1994)
//
//     f = integral over u of Poisson(1; exp(x_w - u)) prod_{k != w} Poisson(0; exp(x_k - u))
//
//   the variables are independent given u, so that two nested integrals of one dimension give every message, however many
//   classes there are. With Z = E[f], c = 1 for the winner and 0 for the others, and
//   s = c - exp(x - u) under the tilted density, in the words of factors/tilted.h:
//
//   direct:  no exact message has moments; the tilted marginal is divided
//     g = E[s],   k = E[exp(x - u)] - Var[s]
//   linear:  "class w" is 1 with probability Z, with its best linear regression on what arrives
//     g as above,   k = g^2 Z / (1 - Z)
//   EP: the tilted marginal
//   VMP (Knowles and Minka 2011, with exact expectations): slope c - E[p_k], curvature E[p_k (1 - p_k)], p = softmax(x)
//
//   Domain    an edge that is uniform gets the uniform message; while another is, there is nothing to say.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <dma/factors/factor.h>
#include <dma/factors/normaliser.h>
#include <dma/factors/tilted.h>

namespace dma {

namespace detail {

// Poisson(count; exp(x)) of the count 0 or 1.
struct Arrival {
  double count;

  double log_density(double x) const { return count * x - std::exp(x); }
  double slope(double x) const { return count - std::exp(x); }
  static double curvature(double x) { return std::exp(x); }
  static std::array<Corner, 1> corners() { return {{{0, 1}}}; }
};

// N(x; m, v) Poisson(count; exp(x - u)), for one u: its mass, and moments of s = count - exp(x - u) and of
// t = (x - m) / sqrt(v).
struct PoissonTilt {
  double log_mass = 0;
  double slope = 0, square = 0, rate = 0;  // E[s], E[s^2], E[exp(x - u)]
  double first = 0, second = 0;            // E[t], E[t^2]

  void add(double weight, const PoissonTilt& other) {
    slope += weight * other.slope;
    square += weight * other.square;
    rate += weight * other.rate;
    first += weight * other.first;
    second += weight * other.second;
  }
};

inline PoissonTilt poisson_tilt(Gaussian<double> x, double count, double u) {
  if (x.is_point()) {
    const double rate = std::exp(x.mean() - u);
    const double slope = count - rate;
    return {count * (x.mean() - u) - rate, slope, slope * slope, rate, 0, 0};
  }
  const Arrival factor{count};
  const TiltedDensity density(factor, Gaussian<double>{x.tau - u * x.rho, x.rho});
  const auto [slope, square, first, second] =
      density.template expected<4>([&](double y, double from_peak) {
        const double at = factor.slope(y);
        const double t = density.shift() + from_peak;
        return special::Integrals<4>{at, at * at, t, t * t};
      });
  return {density.log_mass(), slope, square, count - slope, first, second};
}

}  // namespace detail

struct Softmax {
  std::size_t edges = 2;
  int winner = 0;

  static constexpr std::size_t random_inputs = 10;  // by which the harness checks it
  static constexpr std::tuple parameters{Parameter{"winner", &Softmax::winner}};

  static const FactorInfo& info() {
    static constexpr std::array rows{
        EdgeInfo{.name = "x",
                 .proper = false,
                 .theorem = "none: tilted marginal, divided (EP)",
                 .own_edge_reason = "the exact message does not vanish on one side, which no "
                                    "Gaussian matches without knowing where x is"}};
    static constexpr FactorInfo info{.name = "softmax",
                                     .density = "exp(x_winner) / (exp(x_0) + ... + exp(x_n))",
                                     .domain = "any",
                                     .edges = rows};
    return info;
  }

  constexpr std::size_t arity() const { return edges; }

  void validate() const { detail::validate_winner("a softmax", winner, edges); }

  template <std::floating_point T>
  Gaussian<T> message(std::size_t edge, Incoming<T> in, Rule rule) const {
    std::vector<Gaussian<double>> arrives;
    for (const Gaussian<T>& one : in) arrives.push_back({double(one.tau), double(one.rho)});
    if (is_unknown(arrives)) return Gaussian<T>::uniform();
    const Raced raced = race(edge, static_cast<std::size_t>(winner), arrives);
    if (rule == Rule::direct) return narrowed<T>(tilted_message(arrives[edge], raced.tilted));
    return narrowed<T>(tilted_message(
        arrives[edge], linear_tilt(raced.tilted.slope, std::exp(raced.log_probability),
                                   arrives[edge].variance())));
  }

  Gaussian<double> marginal(std::size_t edge, Incoming<double> in) const {
    if (is_unknown(in) || in[edge].is_point()) {
      throw NoProjection("a tilted marginal needs proper messages, got precision " +
                         std::to_string(in[edge].rho));
    }
    return tilted_marginal(in[edge], race(edge, static_cast<std::size_t>(winner), in).tilted);
  }

  double log_normaliser(Incoming<double> in) const {
    for (const Gaussian<double>& x : in) (void)detail::known(x);
    return race(0, static_cast<std::size_t>(winner), in).log_probability;
  }

  Gaussian<double> variational(std::size_t edge, Incoming<double> in) const {
    if (is_unknown(in)) return Gaussian<double>::uniform();
    // d E[p_k] / dm_k = E[p_k (1 - p_k)]
    const Raced raced = race(edge, edge, in);
    const double probability = std::exp(raced.log_probability);
    const double curvature = probability * raced.tilted.slope;
    const double slope = (edge == static_cast<std::size_t>(winner) ? 1 : 0) - probability;
    if (!(curvature > 0)) return Gaussian<double>::uniform();
    return {slope + in[edge].mean() * curvature, curvature};
  }

 private:
  struct Raced {
    Tilted<double> tilted;
    double log_probability;
  };

  static bool is_unknown(Incoming<double> in) {
    return std::any_of(in.begin(), in.end(), [](const auto& x) { return x.rho == 0; });
  }

  // Of one edge, if `first` wins.
  static Raced race(std::size_t edge, std::size_t first, Incoming<double> in) {
    const auto tilt_at = [&](std::size_t k, double u) {
      return detail::poisson_tilt(in[k], k == first ? 1 : 0, u);
    };
    // d log W / du = sum of the rates - 1
    const double peak = detail::root_of(
        [&](double u) {
          double rates = -1;
          for (std::size_t k = 0; k < in.size(); ++k) rates += tilt_at(k, u).rate;
          return rates;
        },
        in[first].mean(), 1,
        // The rates sum to 1 there, so that nothing is narrower than 1.
        [](double near, double far) { return std::abs(far - near) < 0.1; });
    const auto log_weight = [&](double u) {
      double log = 0;
      for (std::size_t k = 0; k < in.size(); ++k) log += tilt_at(k, peak + u).log_mass;
      return log;
    };
    const double highest = log_weight(0);
    std::vector<Corner> corners;
    for (const auto& x : in) corners.push_back({x.mean() - peak, std::max(1.0, x.stddev())});
    const detail::Nodes nodes =
        detail::nodes_around_peak([&](double u) { return log_weight(u) - highest; }, corners);
    detail::PoissonTilt mean;
    for (std::size_t i = 0; i < nodes.at.size(); ++i) {
      mean.add(nodes.weight[i], tilt_at(edge, peak + nodes.at[i]));
    }
    const TiltedMoments moments{mean.first, mean.second, mean.slope, mean.square, mean.rate};
    return {tilted_by(moments, 0, in[edge]), highest + std::log(nodes.mass)};
  }
};

static_assert(Factor<Softmax>);

}  // namespace dma
