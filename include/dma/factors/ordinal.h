// factors/ordinal.h: f(score, lower, upper) = P(lower < score + noise < upper),   noise ~ N(0, variance)
//
//   A level of an ordinal scale: the score lies between two cut points, which may be variables.
//
//   With z = score + noise ~ N(m, V), lower ~ N(m_l, s_l^2) and upper ~ N(m_u, s_u^2), all that is known of z is the density
//
//     h(z) = N(z; m, V) Phi((z - m_l) / s_l) Phi((m_u - z) / s_u) / Z
//
//   which is log-concave; where a cut point is known, Phi is a step. One quadrature over z gives every message. Both rules, and
//   EP, match the tilted marginal, in the words of factors/tilted.h:
//
//     score:  g = E[z - m] / V,      1 - v k = (variance + v Var[z] / V) / V
//     lower:  given z it is truncated to lower < z, of mean m_l - s_l M(t) and variance s_l^2 T(t), t = (z - m_l) / s_l:
//             g = -E[M(t)] / s_l,    1 - v k = E[T(t)] + Var[M(t)]
//     upper:  the same mirrored
//
//   VMP: none.
//
//   The level at either end has one cut point only: that is WinDrawLoss{1} of the cut point and the score; or give the other end
//   a prior without variance, far away.
//
//   Domain    variance >= 0. An edge that is uniform silences the factor; one that is known learns nothing. Known cut points
//             that leave no room: std::domain_error.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <dma/factors/factor.h>
#include <dma/factors/normaliser.h>
#include <dma/factors/tilted.h>
#include <dma/special/normal.h>

namespace dma {

namespace detail {

// The density h above, by quadrature over the distance from its peak.
class BetweenCuts {
 public:
  BetweenCuts(Gaussian<double> z, Gaussian<double> lower, Gaussian<double> upper)
      : mean_(z.mean()),
        variance_(z.variance()),
        ends_{End{lower.mean(), lower.stddev(), 1}, End{upper.mean(), upper.stddev(), -1}} {
    const bool no_room = ends_[0].is_known() && ends_[1].is_known() && !(first() < last());
    const bool outside = variance_ == 0 && !(first() < mean_ && mean_ < last());
    if (no_room || outside) {
      throw std::domain_error("no score is between the cut points " + std::to_string(lower.mean()) +
                              " and " + std::to_string(upper.mean()));
    }
    peak_ = variance_ == 0 ? mean_ : find_peak();
    if (variance_ == 0) {
      nodes_.at = {0};
      nodes_.weight = {1};
      nodes_.mass = 1;
    } else {
      find_nodes();
    }
  }

  // E[z - m] and Var[z].
  std::pair<double, double> of_score() const {
    const auto [from_peak] = expected<1>([](double w) { return special::Integrals<1>{w}; });
    const auto [spread] = expected<1>(
        [first = from_peak](double w) { return special::Integrals<1>{(w - first) * (w - first)}; });
    return {peak_ - mean_ + from_peak, spread};
  }

  // E[M(t)] and what is left of the variance of a cut point that is not known.
  std::pair<double, double> of_cut(std::size_t which) const {
    const End& end = ends_[which];
    const auto [mills, square, kept] = expected<3>([&](double w) {
      const double t = end.distance(peak_, w);
      const double m = special::normal_mills(t);
      return special::Integrals<3>{m, m * m, special::truncated_moments(t).variance};
    });
    return {mills, kept + std::max(0.0, square - mills * mills)};
  }

  double log_mass() const {
    const double log = log_density(0) + std::log(nodes_.mass);
    return variance_ == 0 ? log : log - std::log(variance_) / 2 - special::log_sqrt_two_pi;
  }

 private:
  struct End {
    double mean, deviation;
    double side;  // 1: z is above it

    bool is_known() const { return deviation == 0; }
    double distance(double peak, double w) const { return side * ((peak - mean) + w) / deviation; }
  };

  double first() const {
    return ends_[0].is_known() ? ends_[0].mean : -std::numeric_limits<double>::infinity();
  }
  double last() const {
    return ends_[1].is_known() ? ends_[1].mean : std::numeric_limits<double>::infinity();
  }

  // log h at peak + w, up to Z and the Gaussian's constant.
  double log_density(double w) const {
    double log = 0;
    if (variance_ > 0) log -= (peak_ - mean_ + w) * ((peak_ - mean_ + w) / variance_) / 2;
    for (const End& end : ends_) {
      if (!end.is_known()) log += special::normal_log_cdf(end.distance(peak_, w));
    }
    return log;
  }

  double slope(double z) const {
    if (z <= first()) return std::numeric_limits<double>::infinity();
    if (z >= last()) return -std::numeric_limits<double>::infinity();
    double slope = (mean_ - z) / variance_;
    for (const End& end : ends_) {
      if (!end.is_known())
        slope += end.side * special::normal_mills(end.distance(z, 0)) / end.deviation;
    }
    return slope;
  }

  double find_peak() const {
    double narrowest = std::sqrt(variance_);
    for (const End& end : ends_) {
      if (!end.is_known()) narrowest = std::min(narrowest, end.deviation);
    }
    const double root =
        root_of([&](double z) { return slope(z); }, std::clamp(mean_, first(), last()),
                std::sqrt(variance_),
                [&](double near, double far) { return std::abs(far - near) < 0.01 * narrowest; });
    return std::clamp(root, first(), last());
  }

  void find_nodes() {
    constexpr double hardly = -0.6;
    constexpr double negligible = -45;
    const double top = log_density(0);
    const auto log_weight = [&](double w) { return log_density(w) - top; };
    if (!ends_[0].is_known() && !ends_[1].is_known()) return find_smooth_nodes(log_weight);
    std::array<double, 2> widths{}, reaches{};
    for (const std::size_t k : {0U, 1U}) {
      const double side = k == 0 ? -1 : 1;
      const double room = k == 0 ? peak_ - first() : last() - peak_;
      double& width = widths[k] = std::min(std::sqrt(variance_), room);
      while (width > 0 && !(log_weight(side * width) > hardly)) width /= 2;
      double& reach = reaches[k] = width;
      while (reach > 0 && reach < room && log_weight(side * reach) > negligible) reach *= 1.25;
      reach = std::min(reach, room);
    }
    double width = std::max(widths[0], widths[1]);
    for (const double one : widths) {
      if (one > 0) width = std::min(width, one);
    }
    std::array corners{Corner{0, width}, Corner{0, width}, Corner{0, width}};
    for (const std::size_t k : {0U, 1U}) {
      if (!ends_[k].is_known()) corners[1 + k] = {ends_[k].mean - peak_, ends_[k].deviation};
    }
    for (const std::size_t k : {0U, 1U}) {
      const double end = k == 0 ? -reaches[k] : reaches[k];
      if (end != 0)
        add_panels(log_weight, {std::min(end, 0.0), 0}, {std::max(end, 0.0), 0}, negligible,
                   corners, nodes_);
    }
    if (!(nodes_.mass > 0) || !std::isfinite(nodes_.mass))
      throw std::domain_error("what is left between the cut points is too narrow to be resolved");
    for (double& one : nodes_.weight) one /= nodes_.mass;
  }

  template <class LogWeight>
  void find_smooth_nodes(const LogWeight& log_weight) {
    const double unit = std::sqrt(variance_);
    std::vector<Corner> corners;
    for (const End& end : ends_)
      corners.push_back({(end.mean - peak_) / unit, end.deviation / unit});
    nodes_ = nodes_around_peak([&](double u) { return log_weight(unit * u); }, corners);
    for (double& at : nodes_.at) at *= unit;
    nodes_.mass *= unit;
  }

  template <std::size_t N, class Functions>
  special::Integrals<N> expected(const Functions& of) const {
    special::Integrals<N> means{};
    for (std::size_t i = 0; i < nodes_.at.size(); ++i) {
      const auto at = of(nodes_.at[i]);
      for (std::size_t k = 0; k < N; ++k) means[k] += nodes_.weight[i] * at[k];
    }
    return means;
  }

  double mean_, variance_;
  std::array<End, 2> ends_;
  double peak_ = 0;
  Nodes nodes_;
};

}  // namespace detail

struct Ordinal {
  double variance = 0;

  static constexpr std::size_t random_inputs = 5'000;  // by which the harness checks it
  static constexpr std::tuple parameters{Parameter{"variance", &Ordinal::variance, false}};

  static const FactorInfo& info() {
    static constexpr std::string_view reason =
        "the exact message does not vanish on one side, which no Gaussian matches without knowing "
        "where it arrives";
    static constexpr std::array edges{EdgeInfo{.name = "score",
                                               .proper = false,
                                               .theorem = "none: truncated marginal, divided (EP)",
                                               .own_edge_reason = reason},
                                      EdgeInfo{.name = "lower",
                                               .proper = false,
                                               .theorem = "none: truncated marginal, divided (EP)",
                                               .own_edge_reason = reason},
                                      EdgeInfo{.name = "upper",
                                               .proper = false,
                                               .theorem = "none: truncated marginal, divided (EP)",
                                               .own_edge_reason = reason}};
    static constexpr FactorInfo info{.name = "ordinal",
                                     .density = "P(lower < score + N(0, variance) < upper)",
                                     .domain = "variance >= 0",
                                     .edges = edges};
    return info;
  }

  static constexpr std::size_t arity() { return 3; }

  void validate() const { (void)Gaussian<double>::from_moments(0, variance); }

  Gaussian<double> message(std::size_t edge, Incoming<double> in, Rule /*rule*/) const {
    if (is_silent(in)) return Gaussian<double>::uniform();
    const auto between = between_cuts(in);
    if (in[edge].is_point()) return Gaussian<double>::uniform();
    return tilted_message(in[edge], tilted(edge, in, between));
  }

  // Every message, from one quadrature.
  void messages(Incoming<double> in, Rule rule, std::span<Gaussian<double>> out) const {
    if (is_silent(in)) {
      std::fill(out.begin(), out.end(), Gaussian<double>::uniform());
      return;
    }
    const auto between = between_cuts(in);
    for (std::size_t edge = 0; edge < arity(); ++edge) {
      out[edge] = in[edge].is_point() ? message(edge, in, rule)
                                      : tilted_message(in[edge], tilted(edge, in, between));
    }
  }

  Gaussian<double> marginal(std::size_t edge, Incoming<double> in) const {
    for (const auto& one : in) {
      if (!one.is_point()) detail::require_proper(one);
    }
    return tilted_marginal(in[edge], tilted(edge, in, between_cuts(in)));
  }

  double log_normaliser(Incoming<double> in) const {
    for (const auto& one : in) (void)detail::known(one);
    return between_cuts(in).log_mass();
  }

 private:
  detail::BetweenCuts between_cuts(Incoming<double> in) const {
    return {message_from_moments(in[0].mean(), in[0].variance() + variance), in[1], in[2]};
  }

  static bool is_silent(Incoming<double> in) {
    return std::any_of(in.begin(), in.end(), [](const auto& one) { return one.rho == 0; });
  }

  // Of an edge that is not known.
  Tilted<double> tilted(std::size_t edge, Incoming<double> in,
                        const detail::BetweenCuts& between) const {
    const double v = in[edge].variance();
    if (edge == 0) {
      const double all = v + variance;
      const auto [away, left] = between.of_score();
      return {away / all, (1 - left / all) / all, (variance + v * (left / all)) / all};
    }
    const auto [mills, kept] = between.of_cut(edge - 1);
    const double side = edge == 1 ? -1 : 1;
    return {side * mills / std::sqrt(v), (1 - kept) / v, kept};
  }
};

static_assert(Factor<Ordinal>);

}  // namespace dma
