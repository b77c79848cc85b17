// factors/win_draw_loss.h: which of two performances was better, or neither by more than a margin
//
//   d = x - y + noise,   noise ~ N(0, variance)
//
//   f(x, y) = P(d > margin)  result 1;   P(|d| < margin)  result 0;   P(d < -margin)  result -1
//
//   It is a weighted sum and a threshold in one: with g the message of GreaterThan or Between to d, where
//   N(m_x - m_y, v_x + v_y + variance) arrives,
//
//   to x:  mean = m_y + m_g,   variance = v_y + variance + v_g
//   to y:  mean = m_x - m_g,   variance = v_x + variance + v_g
//
//   A loss is a win with x and y exchanged. EP: x and d are jointly Gaussian and only d is tilted, so that the message
//   with the truncated moments of d gives the exact moments of x.
//
//   Domain    margin >= 0, > 0 for a draw. x and y so known that they contradict the result: std::domain_error.
#pragma once

#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <tuple>

#include <dma/factors/between.h>
#include <dma/factors/factor.h>
#include <dma/factors/greater_than.h>

namespace dma {

struct WinDrawLoss {
  int result = 1;
  double margin = 0;
  double variance = 0;

  static constexpr std::tuple parameters{Parameter{"result", &WinDrawLoss::result},
                                         Parameter{"margin", &WinDrawLoss::margin, false},
                                         Parameter{"variance", &WinDrawLoss::variance, false}};

  const FactorInfo& info() const {
    static constexpr std::array decided{EdgeInfo{
        .name = "x",
        .proper = false,
        .theorem = "none: truncated marginal, divided (EP)",
        .own_edge_reason = "the exact message does not vanish on one side, which no Gaussian "
                           "matches without knowing where x is"}};
    static constexpr std::array drawn{
        EdgeInfo{.name = "x", .theorem = "Def. 1: the exact message's moments; no bound"}};
    static constexpr FactorInfo of_win{
        .name = "win_draw_loss",
        .density = "P(x - y + noise > margin), P(|x - y + noise| < margin) or P(< -margin)",
        .domain = "margin >= 0, for a draw > 0; variance >= 0",
        .edges = decided};
    static constexpr FactorInfo of_draw{
        .name = of_win.name, .density = of_win.density, .domain = of_win.domain, .edges = drawn};
    return result == 0 ? of_draw : of_win;
  }

  static constexpr std::size_t arity() { return 2; }

  void validate() const {
    if (result < -1 || result > 1) {
      throw std::invalid_argument("the result must be 1 (x won), 0 (a draw) or -1, got " +
                                  std::to_string(result));
    }
    if (!(margin >= 0) || !std::isfinite(margin) || (result == 0 && margin == 0)) {
      throw std::invalid_argument("the margin must be at least 0, and above 0 for a draw, got " +
                                  std::to_string(margin));
    }
    (void)Gaussian<double>::from_moments(0, variance);
  }

  template <std::floating_point T>
  Gaussian<T> message(std::size_t edge, Incoming<T> in, Rule rule) const {
    const Gaussian<T> other = in[1 - edge];
    if (other.rho == 0) return Gaussian<T>::uniform();
    const std::array arriving{difference(in)};
    const Gaussian<T> lead = result == 0
                                 ? Between{-margin, margin}.template message<T>(0, arriving, rule)
                                 : GreaterThan{margin}.template message<T>(0, arriving, rule);
    if (lead.rho == 0) return Gaussian<T>::uniform();
    // The winner is the other plus the lead.
    const T sign = edge == better() ? T(1) : T(-1);
    return message_from_moments<T>(other.mean() + sign * lead.mean(),
                                   other.variance() + T(variance) + lead.variance());
  }

  Gaussian<double> marginal(std::size_t edge, Incoming<double> in) const {
    for (const Gaussian<double> one : in) detail::require_proper(one);
    return in[edge] * message(edge, in, Rule::linear);
  }

  double log_normaliser(Incoming<double> in) const {
    const std::array arriving{difference(in)};
    return result == 0 ? Between{-margin, margin}.log_normaliser(arriving)
                       : GreaterThan{margin}.log_normaliser(arriving);
  }

 private:
  std::size_t better() const { return result < 0 ? 1 : 0; }

  // What arrives at the better one's lead.
  template <std::floating_point T>
  Gaussian<T> difference(Incoming<T> in) const {
    const Gaussian<T> first = in[better()];
    const Gaussian<T> second = in[1 - better()];
    if (first.rho == 0 || second.rho == 0) return Gaussian<T>::uniform();
    return message_from_moments<T>(first.mean() - second.mean(),
                                   first.variance() + second.variance() + T(variance));
  }
};

static_assert(Factor<WinDrawLoss>);

}  // namespace dma
