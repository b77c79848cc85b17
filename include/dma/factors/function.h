// factors/function.h: y = g(x_1, ..., x_n) for any function g that the user can write
//
//   f(y, x_1, ..., x_n) = delta(y - g(x_1, ..., x_n))                 edges y, x_1, ..., x_n
//
//   auto softplus = dma::function("softplus", [](double x) { return std::log1p(std::exp(x)); });
//   auto larger = dma::function("max", [](double a, double b) { return std::max(a, b); });
//
//   If a call is expensive, as into an interpreter, g may take all points of a message in one call:
//
//   auto square = dma::batch_function<1>("square", [](std::span<const double> x, std::span<double> y) {
//     for (std::size_t i = 0; i < y.size(); ++i) y[i] = x[i] * x[i];
//   });
//
//   Under the incoming messages, tensor Gauss-Hermite quadrature gives E[y], Var[y], Cov[x_k, y].
//
//   to y:   N(E[y], Var[y])                               the recipe of Sec. 2, both rules
//   to x_k: the linear rule (factors/linearise.h), both rules: no closed form is known for g^-1
//   marginal (EP): the same nodes, weighted with the message on y
//
//   Accuracy  that of the quadrature: to rounding if g is a polynomial of degree below the order,
//             about 1e-2 standard deviations at a kink (order 32). `tolerance` states what is
//             promised, for dma::check_factor.
//   Domain    every x_k known (proper or a point mass): else uniform. g finite at the nodes:
//             std::domain_error otherwise, naming the arguments.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <dma/factors/factor.h>
#include <dma/factors/linearise.h>
#include <dma/factors/normaliser.h>
#include <dma/special/quadrature.h>

namespace dma {

namespace detail {

template <std::size_t>
using AlwaysDouble = double;

template <class G, std::size_t... K>
constexpr bool takes_doubles(std::index_sequence<K...>) {
  return std::is_invocable_r_v<double, const G&, AlwaysDouble<K>...>;
}

// The smallest number of double arguments that g accepts, 1 to 6; 0 if there is none.
template <class G, std::size_t N = 1>
constexpr std::size_t argument_count() {
  if constexpr (N > 6) {
    return 0;
  } else if constexpr (takes_doubles<G>(std::make_index_sequence<N>{})) {
    return N;
  } else {
    return argument_count<G, N + 1>();
  }
}

// Default number of Gauss-Hermite nodes per input.
inline constexpr std::array<std::size_t, 6> default_order{32, 20, 10, 8, 6, 5};

}  // namespace detail

// g at many points: inputs holds x_1 of every point, then x_2 of every point, ...; one y per point.
template <class G>
concept BatchCallable = requires(const G& g, std::span<const double> inputs, std::span<double> y) {
  g(inputs, y);
};

template <class G, std::size_t N>
struct Function {
  // Tested in this order, since testing a generic lambda for spans may not compile.
  static constexpr bool takes_points = !detail::takes_doubles<G>(std::make_index_sequence<N>{});

  G g;
  // Bound on the error of E[y] and of the standard deviation of y, in standard deviations.
  double tolerance = 1e-6;

  Function(std::string_view name, G function, std::size_t order, double promised)
      : g(std::move(function)),
        tolerance(promised),
        rule_(std::make_shared<const special::QuadratureRule>(special::gauss_hermite(order))),
        description_(std::make_shared<const Description>(name)) {}

  const FactorInfo& info() const { return description_->info; }
  static constexpr std::size_t arity() { return N + 1; }

  double relation(std::span<const double> inputs) const {
    double y = 0;
    call(inputs, std::span(&y, 1));
    return y;
  }

  // The relation at many points, in the layout of BatchCallable.
  void relations(std::span<const double> inputs, std::span<double> y) const requires takes_points {
    call(inputs, y);
  }

  template <std::floating_point T>
  Gaussian<T> message(std::size_t edge, Incoming<T> in, Rule /*rule*/) const {
    for (std::size_t k = 1; k <= N; ++k) {
      if (!in[k].is_distribution()) return Gaussian<T>::uniform();
    }
    if (edge > 0 && in[0].rho == 0) return Gaussian<T>::uniform();
    // Computed in double, whatever T is: the residual is a difference.
    std::array<Gaussian<double>, N + 1> wide;
    for (std::size_t k = 0; k <= N; ++k) {
      wide[k] = {static_cast<double>(in[k].tau), static_cast<double>(in[k].rho)};
    }
    const double input_variance = wide[edge].variance();
    const bool differentiate = edge > 0 && wide[edge].is_point();
    const double step = 6e-6 * std::max(1.0, std::abs(wide[edge].mean()));
    std::array<Grid, 3> grids{grid(wide)};
    if (differentiate) {
      grids[1] = grids[2] = grids[0];
      grids[1].mean[edge - 1] += step;
      grids[2].mean[edge - 1] -= step;
    }
    const auto values = evaluate(std::span(grids).first(differentiate ? 3 : 1));
    const auto sums = accumulate(grids[0], values, unweighted, edge);
    const double variance = sums.variance();
    if (edge == 0) return message_from_moments(T(sums.mean()), T(variance));
    // At a point mass the regression slope is the derivative, averaged over the other inputs: a
    // central difference of E[y].
    const auto expected = [&](std::size_t side) {
      return accumulate(grids[side], values, unweighted, 0).mean();
    };
    const double gain = differentiate ? (expected(1) - expected(2)) / (2 * step)
                                      : sums.covariance() / input_variance;
    const double residual = std::max(0.0, variance - gain * gain * input_variance);
    return linear_message<T>({T(wide[edge].mean()), T(sums.mean()), T(gain), T(residual)}, in[0]);
  }

  Gaussian<double> marginal(std::size_t edge, Incoming<double> in) const {
    for (std::size_t k = 1; k <= N; ++k) {
      if (!in[k].is_distribution()) {
        throw NoProjection("a function's marginal needs proper messages on its inputs");
      }
    }
    const Gaussian<double> y = in[0];
    if (y.is_point()) throw NoProjection("a function's marginal needs a y that is not fixed");
    if (edge > 0 && in[edge].is_point()) return in[edge];
    double top = -std::numeric_limits<double>::infinity();
    const auto log_weight = [&](double at) { return (y.tau - y.rho * at / 2) * at; };
    std::array grids{grid(in)};
    const auto values = evaluate(grids);
    const auto find_top = [&](double at) { return top = std::max(top, log_weight(at)), 1.0; };
    accumulate(grids[0], values, find_top, 0);
    const auto weight = [&](double at) { return std::exp(log_weight(at) - top); };
    const auto sums = accumulate(grids[0], values, weight, edge);
    const double mean = edge == 0 ? sums.mean() : sums.input_mean();
    const double variance = edge == 0 ? sums.variance() : sums.input_variance();
    if (!(variance > 0)) throw NoProjection("y's message is narrower than the quadrature resolves");
    return Gaussian<double>::from_moments(mean, variance);
  }

  // By the same nodes.
  double log_normaliser(Incoming<double> in) const {
    for (std::size_t k = 1; k <= N; ++k) (void)detail::known(in[k]);
    if (in[0].is_uniform()) return 0;
    const Gaussian<double> y = detail::known(in[0]);
    if (y.is_point()) throw NoEvidence("a function's output is fixed");
    std::array grids{grid(in)};
    const auto values = evaluate(grids);
    double top = -std::numeric_limits<double>::infinity();
    const auto find_top = [&](double at) { return top = std::max(top, y.log_density(at)), 1.0; };
    const double all = accumulate(grids[0], values, find_top, 0).w;
    const auto weight = [&](double at) { return std::exp(y.log_density(at) - top); };
    return top + std::log(accumulate(grids[0], values, weight, 0).w / all);
  }

 private:
  struct Description {
    explicit Description(std::string_view factor_name)
        : name(factor_name), density("delta(y - " + name + "(x_1, ..., x_n))") {
      info = {.name = name, .density = density, .domain = "every input known", .edges = edges};
    }
    Description(const Description&) = delete;
    Description& operator=(const Description&) = delete;

    static constexpr std::array<EdgeInfo, 2> edges{
        EdgeInfo{.name = "y", .theorem = "Thm. dma-master"},
        EdgeInfo{.name = "x",
                 .theorem = "none: linear rule",
                 .own_edge_reason = "only the linear rule exists for a general function"}};
    std::string name, density;
    FactorInfo info;
  };

  // Weighted sums over the nodes, about the values at the incoming means.
  struct Sums {
    double centre = 0, input_centre = 0;
    double w = 0, y = 0, yy = 0, x = 0, xx = 0, xy = 0;

    double mean() const { return centre + y / w; }
    double variance() const { return std::max(0.0, yy / w - (y / w) * (y / w)); }
    double input_mean() const { return input_centre + x / w; }
    double input_variance() const { return xx / w - (x / w) * (x / w); }
    double covariance() const { return xy / w - (x / w) * (y / w); }
  };

  // The nodes of the tensor rule under the incoming messages; their centre is the point before them.
  struct Grid {
    std::array<double, N> mean, deviation;
    std::size_t first_point = 0;
  };

  static double unweighted(double) { return 1.0; }

  static Grid grid(Incoming<double> in) {
    Grid result;
    for (std::size_t k = 0; k < N; ++k) {
      result.mean[k] = in[k + 1].mean();
      result.deviation[k] = in[k + 1].stddev();
    }
    return result;
  }

  std::size_t points_per_grid() const {
    std::size_t nodes = 1;
    for (std::size_t k = 0; k < N; ++k) nodes *= rule_->nodes.size();
    return 1 + nodes;
  }

  // Calls visit(inputs, weight) at every node.
  template <class Visit>
  void for_each_node(const Grid& at, const Visit& visit) const {
    std::array<double, N> inputs;
    std::array<std::size_t, N> node{};
    for (bool more = true; more;) {
      double w = 1;
      for (std::size_t k = 0; k < N; ++k) {
        inputs[k] = at.mean[k] + at.deviation[k] * rule_->nodes[node[k]];
        w *= rule_->weights[node[k]];
      }
      visit(inputs, w);
      more = false;
      for (std::size_t k = 0; k < N && !more; ++k) {
        more = ++node[k] < rule_->nodes.size();
        if (!more) node[k] = 0;
      }
    }
  }

  template <std::size_t... K>
  double call(std::span<const double> inputs, std::index_sequence<K...>) const {
    return static_cast<double>(g(inputs[K]...));
  }

  void call(std::span<const double> inputs, std::span<double> y) const {
    if constexpr (takes_points) {
      static_assert(BatchCallable<G>, "a function factor needs a callable of doubles or of spans");
      g(inputs, y);
    } else {
      y[0] = call(inputs, std::make_index_sequence<N>{});
    }
    for (std::size_t point = 0; point < y.size(); ++point) {
      if (!std::isfinite(y[point])) refuse(inputs, point, y.size());
    }
  }

  [[noreturn]] void refuse(std::span<const double> inputs, std::size_t point,
                           std::size_t points) const {
    std::string at;
    for (std::size_t k = 0; k < N; ++k) {
      at += (k == 0 ? "" : ", ") + std::to_string(inputs[k * points + point]);
    }
    throw std::domain_error(description_->name + "(" + at + ") is not finite");
  }

  // Returns g at (point, inputs). A g of doubles is called on demand, which allocates nothing; a g of spans is called
  // once for the points of all grids.
  auto evaluate(std::span<Grid> grids) const {
    if constexpr (!takes_points) {
      return [this](std::size_t, std::span<const double> inputs) { return relation(inputs); };
    } else {
      const std::size_t points = grids.size() * points_per_grid();
      std::vector<double> inputs(N * points);
      std::vector<double> y(points);
      std::size_t point = 0;
      const auto put = [&](const std::array<double, N>& at, double) {
        for (std::size_t k = 0; k < N; ++k) inputs[k * points + point] = at[k];
        ++point;
      };
      for (Grid& one : grids) {
        one.first_point = point;
        put(one.mean, 1);
        for_each_node(one, put);
      }
      call(inputs, y);
      return [y = std::move(y)](std::size_t at, std::span<const double>) { return y[at]; };
    }
  }

  // Multiplies every node's weight by weight(y); `edge` names the input whose moments to sum.
  template <class Values, class Weight>
  Sums accumulate(const Grid& at, const Values& values, const Weight& weight,
                  std::size_t edge) const {
    const std::size_t input = edge == 0 ? 0 : edge - 1;
    std::size_t point = at.first_point;
    Sums sums{.centre = values(point, at.mean), .input_centre = at.mean[input]};
    for_each_node(at, [&](const std::array<double, N>& inputs, double w) {
      const double value = values(++point, inputs);
      w *= weight(value);
      const double y = value - sums.centre;
      const double x = inputs[input] - sums.input_centre;
      sums.w += w;
      sums.y += w * y;
      sums.yy += w * y * y;
      sums.x += w * x;
      sums.xx += w * x * x;
      sums.xy += w * x * y;
    });
    return sums;
  }

  std::shared_ptr<const special::QuadratureRule> rule_;
  std::shared_ptr<const Description> description_;
};

// A factor from a callable of 1 to 6 doubles. order: Gauss-Hermite nodes per input (0: 32, 20, 10,
// 8, 6, 5 for 1 to 6 inputs). tolerance: see Function.
template <class G, std::size_t N = detail::argument_count<G>()>
Function<G, N> function(std::string_view name, G g, std::size_t order = 0,
                        double tolerance = 1e-6) {
  static_assert(N > 0, "dma::function needs a callable that takes 1 to 6 doubles and returns one");
  return {name, std::move(g), order == 0 ? detail::default_order[N - 1] : order, tolerance};
}

// The same from a callable that evaluates many points at once, of N inputs each.
template <std::size_t N, BatchCallable G>
Function<G, N> batch_function(std::string_view name, G g, std::size_t order = 0,
                              double tolerance = 1e-6) {
  static_assert(N >= 1 && N <= 6, "dma::batch_function takes 1 to 6 inputs");
  return {name, std::move(g), order == 0 ? detail::default_order[N - 1] : order, tolerance};
}

}  // namespace dma
