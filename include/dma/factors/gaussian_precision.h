// factors/gaussian_precision.h: f(x, m, p) = N(x; m, 1 / p), a Gaussian whose precision is a Gamma variable
//
//   The noise of what is seen, the step of a random walk and the spread of effects are this factor over rows that share p.
//
//   With x ~ N(m_x, v_x), m ~ N(m_m, v_m), p ~ Gamma(a, b), the gap d = m_x - m_m, u = v_x + v_m, and
//
//     v(p) = u + 1 / p          the variance of the gap
//     s(p) = (1 / p) / v(p)     the share of it that is noise, in (0, 1]
//     E    the mean under the tilted density of p, Gamma(p; a, b) N(d; 0, v(p))
//
//   to x, direct: the exact message is a Student's t blurred by v_m; its moments
//           N(m_m, v_m + b / (a - 1)),   the uniform message if a <= 1, where the variance is infinite
//   to x, linear: centred where the exact message is, and such that the marginal of x has its exact mean
//           N(m_m, v_m + E[s] / E[1 / v])
//   to m:   the same with x and m exchanged
//   to p, both rules: the exact message tends to a constant for large p, so that no Gamma matches it without knowing where p
//           is. Of Gamma messages that leave the marginal of p its exact mean, the one that counts E[s] of an observation:
//           shape = 1 + E[s] / 2,   rate = E[p s^2] d^2 / (2 E[p])
//           u = 0 (both known): shape 3 / 2, rate d^2 / 2, which is the exact message (conjugate)
//
//   That the mean is exact follows from the integral of d/dp (p times the tilted density), which is 0:
//   a - b E[p] + E[s - d^2 p s^2] / 2 = 0. The shape of a message is at least 1 and its rate not negative, always.
//
//   EP: moments of the tilted marginals.
//   VMP: to x N(E[m], 1 / E[p]); to p shape 3 / 2, rate E[(x - m)^2] / 2
//
//   Rows that share p count as independent: where they share what they leave in doubt of x and m, p is believed too surely;
//   docs/graph-models.md has figures.
//
//   Domain    any valid message. A p without a proper message sends x and m the uniform one.
#pragma once

#include <array>
#include <cmath>
#include <optional>
#include <tuple>

#include <dma/factors/factor.h>
#include <dma/factors/normaliser.h>
#include <dma/factors/tilted.h>
#include <dma/special/gamma.h>

namespace dma {

namespace detail {

// Gamma(p; a, b) N(gap; 0, spread + 1 / p), by quadrature over t = log(p / peak).
class TiltedPrecision {
 public:
  // A proper Gamma; spread > 0.
  TiltedPrecision(Gamma precision, double gap, double spread)
      : shape_(precision.shape), rate_(precision.rate), gap_(gap), spread_(spread) {
    const Peaks peaks = find_peaks();
    go_to(peaks.first);
    if (peaks.second && log_weight(std::log(*peaks.second / peak_)) > 0) go_to(*peaks.second);
    // The Gaussian of the gap bends where half of its variance is noise, the sharper the farther out the gap is. The Gamma
    // falls off about its mean.
    const Corner bend{-std::log(spread_ * peak_), 1 / std::sqrt(1 + gap_ * gap_ / spread_)};
    const Corner fall{std::log(shape_ / rate_ / peak_), 1 / std::sqrt(1 + shape_)};
    if (peaks.second) {
      add_two_peaks(std::log(peaks.first / peak_), std::log(*peaks.second / peak_), {bend, fall});
    } else {
      nodes_ = nodes_around_peak([&](double t) { return log_weight(t); }, {bend, fall});
    }
  }

  // E of several functions of p, s and 1 / v.
  template <std::size_t N, class Functions>
  special::Integrals<N> expected(const Functions& of) const {
    special::Integrals<N> means{};
    for (std::size_t i = 0; i < nodes_.at.size(); ++i) {
      const double t = nodes_.at[i];
      const double less = std::exp(-t);
      const double ratio = variance_ratio(t, share_ * std::expm1(-t));
      const auto at = of(peak_ / less, share_ * less / ratio, 1 / (variance_ * ratio));
      for (std::size_t k = 0; k < N; ++k) means[k] += nodes_.weight[i] * at[k];
    }
    return means;
  }

  // log of the integral of p^(a - 1) exp(-b p) N(gap; 0, v(p)).
  double log_mass() const {
    return shape_ * std::log(peak_) - rate_ * peak_ - square_ / 2 - std::log(variance_) / 2 -
           special::log_sqrt_two_pi + std::log(nodes_.mass);
  }

 private:
  struct Peaks {
    double first;
    std::optional<double> second;
  };

  // d/dt of the log weight at p.
  double slope(double p) const {
    const double s = 1 / (1 + spread_ * p);
    return shape_ - rate_ * p + s * (1 - gap_ * gap_ * p * s) / 2;
  }

  // Between a place where the slope is positive and one where it is not, to a hundredth of the peak's width.
  double root_between(double low, double high) const {
    const double close = 0.01 / std::sqrt(1 + shape_ + gap_ * gap_ / spread_);
    for (int n = 0; n < 200 && high / low - 1 > close; ++n) {
      const double middle = std::sqrt(low) * std::sqrt(high);
      (slope(middle) > 0 ? low : high) = middle;
    }
    return std::sqrt(low) * std::sqrt(high);
  }

  // With z = u p, B = b / u and D = d^2 / u the slope is 0 where
  //   B z^3 + (2 B - a) z^2 + (B - 2 a - 1 / 2 + D / 2) z - (a + 1 / 2) = 0
  // which has one or three positive roots; three only if its turning points lie on both sides of 0.
  Peaks find_peaks() const {
    const double low = shape_ / (rate_ + gap_ * gap_ / 2);
    const double high = (shape_ + 0.5) / rate_;
    const double cubic = rate_ / spread_;
    const double square = 2 * cubic - shape_;
    const double linear = cubic - 2 * shape_ - 0.5 + gap_ * gap_ / spread_ / 2;
    const double inside = square * square - 3 * cubic * linear;
    if (square < 0 && linear > 0 && inside > 0) {
      // The roots of 3 B z^2 + 2 square z + linear, without a difference.
      const double larger = (-square + std::sqrt(inside)) / (3 * cubic);
      const double turn = linear / (3 * cubic * larger) / spread_;
      const double turn_back = larger / spread_;
      const bool inner = low < turn && turn < turn_back && turn_back < high;
      if (inner && slope(turn) < 0 && slope(turn_back) > 0)
        return {root_between(low, turn), root_between(turn_back, high)};
    }
    return {root_between(low, high), std::nullopt};
  }

  void go_to(double peak) {
    peak_ = peak;
    variance_ = spread_ + 1 / peak;
    share_ = 1 / (1 + spread_ * peak);
    square_ = gap_ * (gap_ / variance_);
  }

  // v(p) / v(peak) = 1 + rise, rise = s(peak) (exp(-t) - 1)
  double variance_ratio(double t, double rise) const {
    return t < 1 ? 1 + rise : spread_ / variance_ + share_ * std::exp(-t);
  }

  double log_weight(double t) const {
    const double rise = share_ * std::expm1(-t);
    const double ratio = variance_ratio(t, rise);
    const double log_ratio = t < 1 ? std::log1p(rise) : std::log(ratio);
    return (shape_ - rate_ * peak_) * t - rate_ * peak_ * special::exp_beyond_tangent(t) +
           (square_ * rise / ratio - log_ratio) / 2;
  }

  // How far from a peak, on one side, the weight has hardly fallen.
  double width_beside(double peak, double side) const {
    double width = 1;
    while (log_weight(peak + side * width) < log_weight(peak) - 0.6) width /= 2;
    return width;
  }

  double end_beside(double peak, double side, double negligible) const {
    double away = width_beside(peak, side);
    while (log_weight(peak + side * away) > negligible) away *= 1.25;
    return peak + side * away;
  }

  void add_two_peaks(double lower, double upper, std::array<Corner, 2> bends) {
    constexpr double negligible = -45;
    const auto peak = [&](double at) {
      return Corner{at, std::min(width_beside(at, -1), width_beside(at, 1))};
    };
    const std::array corners{peak(lower), peak(upper), bends[0], bends[1]};
    const std::array ends{end_beside(lower, -1, negligible), lower, upper,
                          end_beside(upper, 1, negligible)};
    const auto weight = [&](double t) { return log_weight(t); };
    for (std::size_t k = 0; k + 1 < ends.size(); ++k) {
      add_panels(weight, {ends[k], weight(ends[k])}, {ends[k + 1], weight(ends[k + 1])}, negligible,
                 corners, nodes_);
    }
    for (double& one : nodes_.weight) one /= nodes_.mass;
  }

  double shape_, rate_, gap_, spread_;
  double peak_ = 0, variance_ = 0, share_ = 0;  // p, v(p) and s(p) there
  double square_ = 0;                           // d^2 / v(peak)
  Nodes nodes_;
};

}  // namespace detail

struct GaussianPrecision {
  static constexpr std::size_t random_inputs = 20'000;  // by which the harness checks it
  static constexpr std::tuple<> parameters{};

  static const FactorInfo& info() {
    static constexpr std::array edges{
        EdgeInfo{.name = "x", .theorem = "Def. 1: the exact message's moments; no bound"},
        EdgeInfo{.name = "mean", .theorem = "Def. 1: the exact message's moments; no bound"},
        EdgeInfo{.name = "precision",
                 .proper = false,
                 .theorem = "exact (conjugate) if x and mean are known; else the exact mean",
                 .own_edge_reason = "the exact message tends to a constant, which no Gamma "
                                    "matches without knowing where the precision is",
                 .family = MessageFamily::gamma}};
    static constexpr FactorInfo info{.name = "gaussian_precision",
                                     .density = "N(x; mean, 1 / precision)",
                                     .domain = "any valid message",
                                     .edges = edges};
    return info;
  }

  static constexpr std::size_t arity() { return 3; }

  Gaussian<double> message(std::size_t edge, Incoming<double> in, Rule rule) const {
    const Gamma precision = Gamma::from_message(in[2]);
    if (edge == 2) return to_precision(in[0], in[1], precision);
    const Gaussian<double> own = in[edge];
    const Gaussian<double> other = in[1 - edge];
    if (other.rho == 0 || !precision.is_distribution()) return Gaussian<double>::uniform();
    const bool is_direct = rule == Rule::direct || own.rho == 0;
    const double noise = is_direct ? mean_noise(precision) : effective_noise(own, other, precision);
    return message_from_moments(other.mean(), other.variance() + noise);
  }

  Gaussian<double> marginal(std::size_t edge, Incoming<double> in) const {
    const Gamma precision = Gamma::from_message(in[2]);
    if (edge == 2) return marginal_of_precision(in[0], in[1], precision);
    const Gaussian<double> other = in[1 - edge];
    if (other.rho == 0) return in[edge];
    require_distributions(in);
    if (in[edge].rho == 0 || precision.is_point())
      return in[edge] * message(edge, in, Rule::direct);
    const double v = in[edge].variance();
    const double gap = in[edge].mean() - other.mean();
    // Given p, x has the mean m_x - d v_x / v and the variance v_x (v_m + 1 / p) / v.
    const detail::TiltedPrecision tilted(precision, gap, v + other.variance());
    const auto [share, inverse, square] = tilted.expected<3>([](double, double s, double w) {
      return special::Integrals<3>{s, w, w * w};
    });
    const double mean = in[edge].mean() - gap * v * inverse;
    const double within = v * (other.variance() * inverse + share);
    const double between = std::max(0.0, square - inverse * inverse) * (gap * v) * (gap * v);
    return Gaussian<double>::from_moments(mean, within + between);
  }

  Gaussian<double> variational(std::size_t edge, Incoming<double> in) const {
    if (edge == 2) {
      if (in[0].rho == 0 || in[1].rho == 0) return Gaussian<double>::uniform();
      const double gap = in[0].mean() - in[1].mean();
      return {0.5, (gap * gap + in[0].variance() + in[1].variance()) / 2};
    }
    const Gamma precision = Gamma::from_message(in[2]);
    const Gaussian<double> other = in[1 - edge];
    if (other.rho == 0 || !precision.is_distribution()) return Gaussian<double>::uniform();
    return {other.mean() * precision.mean(), precision.mean()};
  }

  double log_normaliser(Incoming<double> in) const {
    const Gamma precision = Gamma::from_message(in[2]);
    if (in[0].is_uniform() != in[1].is_uniform()) return log_integral(precision);
    const auto x = detail::known(in[0]);
    const auto m = detail::known(in[1]);
    const double gap = x.mean() - m.mean();
    const double spread = x.variance() + m.variance();
    if (spread == 0) {
      if (precision.is_point())
        return Gaussian<double>::from_moments(0, 1 / precision.mean()).log_density(gap);
      return log_integral({precision.shape + 0.5, precision.rate + gap * gap / 2}) -
             special::log_sqrt_two_pi;
    }
    if (precision.is_point())
      return Gaussian<double>::from_moments(0, spread + 1 / precision.mean()).log_density(gap);
    (void)log_integral(precision);  // throws unless it is proper
    return detail::TiltedPrecision(precision, gap, spread).log_mass();
  }

 private:
  // E[1 / p]
  static double mean_noise(Gamma precision) {
    if (precision.is_point()) return 1 / precision.mean();
    const double excess = precision.shape - 1;
    return excess > 0 ? precision.rate / excess : std::numeric_limits<double>::infinity();
  }

  // E[s] / E[1 / v]
  static double effective_noise(Gaussian<double> own, Gaussian<double> other, Gamma precision) {
    if (precision.is_point()) return 1 / precision.mean();
    const double gap = own.mean() - other.mean();
    const double spread = own.variance() + other.variance();
    if (spread == 0) return (precision.rate + gap * gap / 2) / (precision.shape + 0.5);
    const auto [share, inverse] =
        detail::TiltedPrecision(precision, gap, spread).expected<2>([](double, double s, double w) {
          return special::Integrals<2>{s, w};
        });
    return share / inverse;
  }

  static Gaussian<double> to_precision(Gaussian<double> x, Gaussian<double> m, Gamma precision) {
    if (x.rho == 0 || m.rho == 0) return Gaussian<double>::uniform();
    const double gap = x.mean() - m.mean();
    const double spread = x.variance() + m.variance();
    if (spread == 0) return {0.5, gap * gap / 2};
    if (precision.is_point()) {
      const double share = 1 / (1 + spread * precision.mean());
      return {share / 2, share * share * gap * gap / 2};
    }
    if (!precision.is_proper()) return Gaussian<double>::uniform();
    const auto [mean, share, square] =
        detail::TiltedPrecision(precision, gap, spread)
            .expected<3>([](double p, double s, double w) {
              return special::Integrals<3>{p, s, s * w};  // p s^2 = s / v
            });
    return {share / 2, gap * gap / 2 * square / mean};
  }

  static Gaussian<double> marginal_of_precision(Gaussian<double> x, Gaussian<double> m,
                                                Gamma precision) {
    if (x.rho == 0 || m.rho == 0) return precision.message();
    const double gap = x.mean() - m.mean();
    const double spread = x.variance() + m.variance();
    if (spread == 0) return Gamma{precision.shape + 0.5, precision.rate + gap * gap / 2}.message();
    require_distributions(std::array{x, m, precision.message()});
    const detail::TiltedPrecision tilted(precision, gap, spread);
    const double mean =
        tilted.expected<1>([](double p, double, double) { return special::Integrals<1>{p}; })[0];
    const double variance = tilted.expected<1>([&](double p, double, double) {
      return special::Integrals<1>{(p / mean - 1) * (p / mean - 1)};
    })[0];
    if (!(variance > 0)) throw NoProjection("the marginal of a precision has no width");
    return Gamma{1 / variance, 1 / variance / mean}.message();
  }

  static void require_distributions(Incoming<double> in) {
    const auto proper = [](Gaussian<double> one) { return one.rho >= 0; };
    if (proper(in[0]) && proper(in[1]) && Gamma::from_message(in[2]).is_distribution()) return;
    throw NoProjection("a Gaussian's marginal needs a proper precision, got shape " +
                       std::to_string(in[2].tau + 1) + ", rate " + std::to_string(in[2].rho));
  }
};

static_assert(Factor<GaussianPrecision>);

}  // namespace dma
