// factors/function.h: y = g(x_1, ..., x_n) for any function g that the user can write down
//
//   f(y, x_1, ..., x_n) = delta(y - g(x_1, ..., x_n))                 edges y, x_1, ..., x_n
//
//   auto softplus = dma::function("softplus", [](double x) { return std::log1p(std::exp(x)); });
//   auto larger = dma::function("max", [](double a, double b) { return std::max(a, b); });
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

#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <dma/factors/factor.h>
#include <dma/factors/linearise.h>
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

}  // namespace detail

template <class G, std::size_t N>
struct Function {
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
    return call(inputs, std::make_index_sequence<N>{});
  }

  template <std::floating_point T>
  Gaussian<T> message(std::size_t edge, Incoming<T> in, Rule /*rule*/) const {
    for (std::size_t k = 1; k <= N; ++k) {
      if (!in[k].is_distribution()) return Gaussian<T>::uniform();
    }
    if (edge > 0 && in[0].rho == 0) return Gaussian<T>::uniform();
    const Sums sums = accumulate(
        in, [](double) { return 1.0; }, edge);
    const double variance = sums.variance();
    if (edge == 0) return message_from_moments(T(sums.mean()), T(variance));
    const double input_variance = static_cast<double>(in[edge].variance());
    const double gain =
        input_variance > 0 ? sums.covariance() / input_variance : derivative(edge, in);
    const double residual = std::max(0.0, variance - gain * gain * input_variance);
    return linear_message<T>({in[edge].mean(), T(sums.mean()), T(gain), T(residual)}, in[0]);
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
    accumulate(
        in, [&](double at) { return top = std::max(top, log_weight(at)), 1.0; }, 0);
    const Sums sums = accumulate(
        in, [&](double at) { return std::exp(log_weight(at) - top); }, edge);
    const double mean = edge == 0 ? sums.mean() : sums.input_mean();
    const double variance = edge == 0 ? sums.variance() : sums.input_variance();
    if (!(variance > 0)) throw NoProjection("y's message is narrower than the quadrature resolves");
    return Gaussian<double>::from_moments(mean, variance);
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

  template <std::size_t... K>
  double call(std::span<const double> inputs, std::index_sequence<K...>) const {
    const auto y = static_cast<double>(g(inputs[K]...));
    if (!std::isfinite(y)) {
      std::string at;
      ((at += (K ? ", " : "") + std::to_string(inputs[K])), ...);
      throw std::domain_error(description_->name + "(" + at + ") is not finite");
    }
    return y;
  }

  // Calls weight(y) at every node of the tensor rule; `edge` names the input whose moments to sum.
  template <std::floating_point T, class Weight>
  Sums accumulate(Incoming<T> in, const Weight& weight, std::size_t edge) const {
    std::array<double, N> mean, deviation, inputs;
    std::array<std::size_t, N> node{};
    for (std::size_t k = 0; k < N; ++k) {
      mean[k] = static_cast<double>(in[k + 1].mean());
      deviation[k] = static_cast<double>(in[k + 1].stddev());
    }
    const std::size_t input = edge == 0 ? 0 : edge - 1;
    Sums sums{.centre = relation(mean), .input_centre = mean[input]};
    for (bool more = true; more;) {
      double w = 1;
      for (std::size_t k = 0; k < N; ++k) {
        inputs[k] = mean[k] + deviation[k] * rule_->nodes[node[k]];
        w *= rule_->weights[node[k]];
      }
      const double at = relation(inputs);
      w *= weight(at);
      const double y = at - sums.centre;
      const double x = inputs[input] - sums.input_centre;
      sums.w += w;
      sums.y += w * y;
      sums.yy += w * y * y;
      sums.x += w * x;
      sums.xx += w * x * x;
      sums.xy += w * x * y;
      more = false;
      for (std::size_t k = 0; k < N && !more; ++k) {
        more = ++node[k] < rule_->nodes.size();
        if (!more) node[k] = 0;
      }
    }
    return sums;
  }

  // At a point mass the regression slope is the derivative, averaged over the other inputs: a
  // central difference of E[y].
  template <std::floating_point T>
  double derivative(std::size_t edge, Incoming<T> in) const {
    std::array<Gaussian<double>, N + 1> shifted;
    for (std::size_t k = 0; k <= N; ++k) {
      shifted[k] = {static_cast<double>(in[k].tau), static_cast<double>(in[k].rho)};
    }
    const double at = shifted[edge].tau;
    const double step = 6e-6 * std::max(1.0, std::abs(at));
    const auto expected = [&](double x) {
      shifted[edge] = Gaussian<double>::point(x);
      return accumulate(
                 Incoming<double>(shifted), [](double) { return 1.0; }, 0)
          .mean();
    };
    return (expected(at + step) - expected(at - step)) / (2 * step);
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
  constexpr std::array<std::size_t, 6> orders{32, 20, 10, 8, 6, 5};
  return {name, std::move(g), order == 0 ? orders[N - 1] : order, tolerance};
}

}  // namespace dma
