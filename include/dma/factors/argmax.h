// factors/argmax.h: f(x_0, ..., x_n) = P(x_w + e_w is the largest of all x_k + e_k), e_k ~ N(0, variance): of several
// values, each seen through Gaussian noise, one wins (multinomial probit)
//
//   With s_k^2 = v_k + variance, z_k = (u - m_k) / s_k and M(z) = phi(z) / Phi(z), the winner's value u has the density
//
//     W(u) = N(u; m_w, s_w^2) prod_{k != w} Phi(z_k) / Z
//
//   and the message to every edge follows from integrals over u alone. In the words of factors/tilted.h:
//
//   direct:  no exact message has moments; the tilted marginal is divided
//     winner   g = E[u - m_w] / s_w^2,   k = (1 - Var[u] / s_w^2) / s_w^2
//     others   g = -E[M] / s_k,   k = (E[M (M + z)] - Var[M]) / s_k^2
//   linear:  "w wins" is 1 with probability Z, with its best linear regression on what arrives
//     g as above,   k = g^2 Z / (1 - Z)
//   EP: the tilted marginal.   VMP: none
//
//   Domain    variance > 0. A uniform edge gets the uniform message, and says nothing to the others; with a uniform winner
//             there is nothing to say.
#pragma once

#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <dma/factors/factor.h>
#include <dma/factors/normaliser.h>
#include <dma/factors/tilted.h>
#include <dma/special/normal.h>

namespace dma {

namespace detail {

// prod_k Phi((u - m_k) / s_k): all others stay below u.
struct StaysAbove {
  struct Other {
    double mean, deviation;
    double place(double u) const { return (u - mean) / deviation; }
  };
  std::vector<Other> others;

  double log_density(double u) const {
    double sum = 0;
    for (const Other& other : others) sum += special::normal_log_cdf(other.place(u));
    return sum;
  }
  double slope(double u) const {
    double sum = 0;
    for (const Other& other : others)
      sum += special::normal_mills(other.place(u)) / other.deviation;
    return sum;
  }
  double curvature(double u) const {
    double sum = 0;
    for (const Other& other : others) {
      const double cut = 1 - special::truncated_moments(other.place(u)).variance;
      sum += cut / (other.deviation * other.deviation);
    }
    return sum;
  }
  std::vector<Corner> corners() const {
    std::vector<Corner> all;
    for (const Other& other : others) all.push_back({other.mean, other.deviation});
    return all;
  }
};

}  // namespace detail

struct Argmax {
  std::size_t edges = 2;
  int winner = 0;
  double variance = 1;

  static constexpr std::size_t random_inputs = 1000;  // by which the harness checks it
  static constexpr std::tuple parameters{Parameter{"winner", &Argmax::winner},
                                         Parameter{"variance", &Argmax::variance, false}};

  static const FactorInfo& info() {
    static constexpr std::array rows{
        EdgeInfo{.name = "x",
                 .proper = false,
                 .theorem = "none: tilted marginal, divided (EP)",
                 .own_edge_reason = "the exact message does not vanish on one side, which no "
                                    "Gaussian matches without knowing where x is"}};
    static constexpr FactorInfo info{
        .name = "argmax",
        .density = "P(x_winner + e_winner is the largest of x_k + e_k)",
        .domain = "variance > 0",
        .edges = rows};
    return info;
  }

  constexpr std::size_t arity() const { return edges; }

  void validate() const {
    detail::validate_winner("an argmax", winner, edges);
    if (!(variance > 0) || !std::isfinite(variance)) {
      throw std::invalid_argument("the variance of an argmax must be positive, got " +
                                  std::to_string(variance));
    }
  }

  template <std::floating_point T>
  Gaussian<T> message(std::size_t edge, Incoming<T> in, Rule rule) const {
    if (in[edge].rho == 0 || in[place()].rho == 0) return Gaussian<T>::uniform();
    std::vector<Gaussian<double>> arrives;
    for (const Gaussian<T>& one : in) arrives.push_back({double(one.tau), double(one.rho)});
    return narrowed<T>(tilted_message(arrives[edge], tilted(edge, arrives, rule)));
  }

  Gaussian<double> marginal(std::size_t edge, Incoming<double> in) const {
    if (!in[edge].is_proper() || in[place()].rho == 0) {
      throw NoProjection("a tilted marginal needs proper messages, got precision " +
                         std::to_string(in[edge].rho));
    }
    return tilted_marginal(in[edge], tilted(edge, in, Rule::direct));
  }

  double log_normaliser(Incoming<double> in) const {
    for (const auto one : in) (void)detail::known(one);
    const Gaussian<double> first = in[place()];
    const detail::StaysAbove above = others_than_winner(in);
    return TiltedDensity(above, Gaussian<double>::from_moments(first.mean(), noisy(first)))
        .log_mass();
  }

 private:
  std::size_t place() const { return static_cast<std::size_t>(winner); }
  double noisy(Gaussian<double> x) const { return x.variance() + variance; }

  // What the winner's value has to stay above.
  detail::StaysAbove others_than_winner(Incoming<double> in) const {
    detail::StaysAbove above;
    for (std::size_t k = 0; k < in.size(); ++k) {
      if (k == place() || in[k].rho == 0) continue;
      above.others.push_back({in[k].mean(), std::sqrt(noisy(in[k]))});
    }
    return above;
  }

  Tilted<double> tilted(std::size_t edge, Incoming<double> in, Rule rule) const {
    const detail::StaysAbove above = others_than_winner(in);
    const Gaussian<double> first = in[place()];
    const auto seen = Gaussian<double>::from_moments(first.mean(), noisy(first));
    const TiltedDensity density(above, seen);
    const Tilted<double> direct = edge == place()
                                      ? of_winner(tilt(above, seen, density), first, seen)
                                      : of_other(density, in[edge]);
    if (rule == Rule::direct) return direct;
    return linear_tilt(direct.slope, std::exp(density.log_mass()), in[edge].variance());
  }

  Tilted<double> of_winner(const Tilted<double>& of_value, Gaussian<double> first,
                           Gaussian<double> seen) const {
    const double kept = (variance + first.variance() * of_value.kept) * seen.rho;
    return {of_value.slope, of_value.curvature, kept};
  }

  Tilted<double> of_other(const TiltedDensity<detail::StaysAbove>& density,
                          Gaussian<double> x) const {
    const detail::StaysAbove::Other other{x.mean(), std::sqrt(noisy(x))};
    const auto [mills, square, left] =
        density.template expected<3>([&](double u, double /*from_peak*/) {
          const double z = other.place(u);
          const double at = special::normal_mills(z);
          return special::Integrals<3>{at, at * at, special::truncated_moments(z).variance};
        });
    const double between = square - mills * mills;
    const double all = noisy(x);
    const double kept = (variance + x.variance() * (left + between)) / all;
    return {-mills / other.deviation, (1 - left - between) / all, kept};
  }
};

static_assert(Factor<Argmax>);

}  // namespace dma
