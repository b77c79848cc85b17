// factors/weighted_sum.h: z = a_1 x_1 + ... + a_n x_n + offset + noise,   noise ~ N(0, variance)
//
//   f = N(z; sum_k a_k x_k + offset, variance);  variance = 0 is the Dirac factor of App. D
//
//   to z:   mean = sum_k a_k m_k + offset,   v = sum_k a_k^2 v_k + variance
//   to x_j: with V = v_z + variance + sum_{k != j} a_k^2 v_k
//           and  e = m_z - offset - sum_{k != j} a_k m_k:
//           rho = a_j^2 / V,   tau = a_j e / V
//
//   The paper subtracts an edge's own part from the total; here the others are summed, which costs
//   the same per message and cannot cancel.
//
//   variational (VMP), beliefs in place of messages: to z N(mean, variance), to x_j a_j^2 / variance;
//   variance = 0 collapses to the point mass.
//
//   Domain    coefficients finite; a_j = 0 sends the uniform message. Exact (Cor. dirac-exact).
#pragma once

#include <array>
#include <cmath>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include <dma/factors/factor.h>
#include <dma/factors/normaliser.h>

namespace dma {

struct WeightedSum {
  std::vector<double> coefficients;
  double offset = 0;
  double variance = 0;

  static constexpr std::tuple parameters{Parameter{"coefficients", &WeightedSum::coefficients},
                                         Parameter{"offset", &WeightedSum::offset, false},
                                         Parameter{"variance", &WeightedSum::variance, false}};

  static const FactorInfo& info() {
    static constexpr std::array edges{EdgeInfo{.name = "z", .theorem = "Cor. dirac-exact"},
                                      EdgeInfo{.name = "x", .theorem = "Cor. dirac-exact"}};
    static constexpr FactorInfo info{.name = "sum",
                                     .density = "N(z; a_1 x_1 + ... + a_n x_n + offset, variance)",
                                     .domain = "coefficients finite, variance >= 0",
                                     .edges = edges,
                                     .conjugate = true};
    return info;
  }

  std::size_t arity() const { return coefficients.size() + 1; }

  void validate() const {
    if (coefficients.empty()) throw std::invalid_argument("a sum needs at least one coefficient");
    for (const double a : coefficients) {
      if (!std::isfinite(a)) throw std::invalid_argument("a coefficient of a sum is not finite");
    }
    (void)Gaussian<double>::from_moments(offset, variance);
  }

  // The mean of z given the inputs.
  double relation(std::span<const double> inputs) const {
    double sum = offset;
    for (std::size_t k = 0; k < coefficients.size(); ++k) sum += coefficients[k] * inputs[k];
    return sum;
  }

  double noise_variance() const { return variance; }

  template <std::floating_point T>
  Gaussian<T> message(std::size_t edge, Incoming<T> in, Rule /*rule*/) const {
    T mean = T(offset);
    T spread = T(variance);
    for (std::size_t k = 1; k < in.size(); ++k) {
      const T a = T(coefficients[k - 1]);
      if (k == edge || a == 0) continue;
      if (in[k].rho == 0) return Gaussian<T>::uniform();
      mean += a * in[k].mean();
      spread += a * a * in[k].variance();
    }
    return solve_for(edge, in[0], mean, spread);
  }

  // Every message, in n steps: the sums over the others are those before and those after.
  template <std::floating_point T>
  void messages(Incoming<T> in, Rule /*rule*/, std::span<Gaussian<T>> out) const {
    std::array<T, 2> before{T(offset), T(variance)};  // mean and spread
    for (std::size_t k = 1; k < in.size(); ++k) {
      out[k] = {before[0], before[1]};  // until the message replaces it
      add_term(k, in[k], before);
    }
    std::array<T, 2> after{};
    for (std::size_t k = in.size(); k-- > 1;) {
      const auto [mean, spread] = out[k];
      out[k] = solve_for(k, in[0], mean + after[0], spread + after[1]);
      add_term(k, in[k], after);
    }
    out[0] = message_from_moments<T>(before[0], before[1]);
  }

  // An input about which nothing is known takes any value: the integral over it is 1 / |a|, whatever z is.
  double log_normaliser(Incoming<double> in) const {
    double mean = offset;
    double spread = variance;
    double free = 0;
    for (std::size_t k = 1; k < in.size(); ++k) {
      const double a = coefficients[k - 1];
      if (in[k].is_uniform() && a != 0 && free == 0) {
        free = std::abs(a);
        continue;
      }
      const auto x = detail::known(in[k]);
      mean += a * x.mean();
      spread += a * a * x.variance();
    }
    if (free == 0) return log_overlap(Gaussian<double>::from_moments(mean, spread), in[0]);
    (void)detail::known(in[0]);
    return -std::log(free);
  }

  Gaussian<double> variational(std::size_t edge, Incoming<double> in) const {
    double mean = offset;
    for (std::size_t k = 1; k < in.size(); ++k) {
      if (k == edge || coefficients[k - 1] == 0) continue;
      if (in[k].rho == 0) return Gaussian<double>::uniform();
      mean += coefficients[k - 1] * in[k].mean();
    }
    const auto z = in[0].rho == 0 ? in[0] : Gaussian<double>::point(in[0].mean());
    return solve_for(edge, z, mean, variance);
  }

 private:
  // An unknown input adds an infinite spread.
  template <std::floating_point T>
  void add_term(std::size_t edge, Gaussian<T> x, std::array<T, 2>& sums) const {
    const T a = T(coefficients[edge - 1]);
    if (a == 0) return;
    sums[0] += a * x.mean();
    sums[1] += a * a * x.variance();
  }

  // The message to one edge when the rest of the sum is N(mean, spread).
  template <std::floating_point T>
  Gaussian<T> solve_for(std::size_t edge, Gaussian<T> z, T mean, T spread) const {
    if (edge == 0) return message_from_moments<T>(mean, spread);
    const T a = T(coefficients[edge - 1]);
    if (a == 0 || z.rho == 0) return Gaussian<T>::uniform();
    return message_from_moments<T>((z.mean() - mean) / a, (z.variance() + spread) / a / a);
  }
};

static_assert(DeterministicFactor<WeightedSum>);

}  // namespace dma
