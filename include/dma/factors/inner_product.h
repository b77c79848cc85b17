// factors/inner_product.h: z = u_1 v_1 + ... + u_n v_n + offset + noise,   noise ~ N(0, variance)
//
//   Products and their sum in one factor: edges z, u_1, ..., u_n, v_1, ..., v_n, and no variables between.
//
//   With p_k the forward message of Product, of mean m_u m_v and variance v_u v_v + m_u^2 v_v + m_v^2 v_u:
//
//   to z:   mean = sum_k m_pk + offset,   variance = sum_k v_pk + variance
//   to u_k: the backward message of Product, where the rest of the sum says of u_k v_k
//           N(m_z - offset - sum_{j != k} m_pj,   v_z + variance + sum_{j != k} v_pj)
//   to v_k: the same with u and v exchanged
//
//   The others are summed for every edge: nothing is subtracted, nothing cancels. Both rules are those of Product.
//
//   EP to u_k: the projected marginal of Product under the rest. To z as under either rule.
//   variational (VMP), beliefs in place of messages, with s = E[v_k^2]:
//     to z:   N(sum_k E[u_k] E[v_k] + offset, variance)
//     to u_k: rho = s / variance,   tau = E[v_k] (E[z] - offset - sum_{j != k} E[u_j] E[v_j]) / variance
//     variance = 0 collapses to the point mass
//
//   log Z (evidence): that of the product of largest variance, exactly, under what the rest of the sum, as one Gaussian with
//   its moments, leaves of z. Exact if the other products are Gaussian: n = 1, or one vector is known.
//
//   Domain    any valid message.
#pragma once

#include <array>
#include <cmath>
#include <stdexcept>
#include <tuple>

#include <dma/factors/factor.h>
#include <dma/factors/product.h>

namespace dma {

struct InnerProduct {
  std::size_t edges = 3;  // 2 n + 1
  double offset = 0;
  double variance = 0;

  static constexpr std::tuple parameters{Parameter{"offset", &InnerProduct::offset, false},
                                         Parameter{"variance", &InnerProduct::variance, false}};

  static const FactorInfo& info() {
    static constexpr std::array rows{
        EdgeInfo{.name = "z", .theorem = "Thm. dma-master"},
        EdgeInfo{.name = "entry", .proper = false, .theorem = "Thm. product-bwd-bound"}};
    static constexpr FactorInfo info{.name = "inner_product",
                                     .density = "N(z; u_1 v_1 + ... + u_n v_n + offset, variance)",
                                     .domain = "any valid message",
                                     .edges = rows};
    return info;
  }

  constexpr std::size_t arity() const { return edges; }

  void validate() const {
    if (edges < 3 || edges % 2 == 0) {
      throw std::invalid_argument(
          "an inner product needs z and two vectors of the same length, got " +
          std::to_string(edges) + " variables");
    }
    (void)Gaussian<double>::from_moments(offset, variance);
  }

  double relation(std::span<const double> inputs) const {
    const std::size_t n = inputs.size() / 2;
    double sum = offset;
    for (std::size_t k = 0; k < n; ++k) sum += inputs[k] * inputs[n + k];
    return sum;
  }

  double noise_variance() const { return variance; }

  template <std::floating_point T>
  Gaussian<T> message(std::size_t edge, Incoming<T> in, Rule rule) const {
    const std::size_t n = in.size() / 2;
    if (edge == 0) return sum_without(n, in);
    if (in[0].rho == 0) return Gaussian<T>::uniform();
    const std::size_t own = (edge - 1) % n;
    const std::array of_product{difference(in[0], sum_without(own, in)), in[1 + own],
                                in[1 + n + own]};
    return Product{}.template message<T>(edge <= n ? 1 : 2, of_product, rule);
  }

  // EP: the other products as one Gaussian with their moments; then the product's truth. To z as under either rule.
  Gaussian<double> marginal(std::size_t edge, Incoming<double> in) const {
    const std::size_t n = in.size() / 2;
    if (edge == 0) return in[0] * sum_without(n, in);
    const std::size_t own = (edge - 1) % n;
    const std::array of_product{difference(in[0], sum_without(own, in)), in[1 + own],
                                in[1 + n + own]};
    return Product{}.marginal(edge <= n ? 1 : 2, of_product);
  }

  double log_normaliser(Incoming<double> in) const {
    const std::size_t n = in.size() / 2;
    for (const Gaussian<double>& entry : in.subspan(1)) (void)detail::known(entry);
    if (in[0].is_uniform()) return 0;
    const auto spread = [&](std::size_t k) {
      return Product::to_z(in[1 + k], in[1 + n + k]).variance();
    };
    std::size_t own = 0;
    for (std::size_t k = 1; k < n; ++k) {
      if (spread(k) > spread(own)) own = k;
    }
    const auto rest = difference(detail::known(in[0]), sum_without(own, in));
    return Product{}.log_normaliser(std::array{rest, in[1 + own], in[1 + n + own]});
  }

  // VMP: exp of the expected log factor; without noise it collapses to a point mass.
  Gaussian<double> variational(std::size_t edge, Incoming<double> in) const {
    const std::size_t n = in.size() / 2;
    const std::size_t own = edge == 0 ? n : (edge - 1) % n;
    double mean = offset;
    for (std::size_t k = 0; k < n; ++k) {
      if (k == own) continue;
      if (in[1 + k].rho == 0 || in[1 + n + k].rho == 0) return Gaussian<double>::uniform();
      mean += in[1 + k].mean() * in[1 + n + k].mean();
    }
    if (edge == 0) return message_from_moments(mean, variance);
    const Gaussian<double> other = in[edge <= n ? edge + n : edge - n];
    if (in[0].rho == 0 || other.rho == 0) return Gaussian<double>::uniform();
    const double square = other.mean() * other.mean() + other.variance();
    if (square == 0) return Gaussian<double>::uniform();
    return message_from_moments(other.mean() * (in[0].mean() - mean) / square, variance / square);
  }

  // Every message, in n steps: the sums over the other products are those before and those after.
  template <std::floating_point T>
  void messages(Incoming<T> in, Rule rule, std::span<Gaussian<T>> out) const {
    const std::size_t n = in.size() / 2;
    const auto product = [&](std::size_t k) { return Product::to_z(in[1 + k], in[1 + n + k]); };
    std::array<T, 2> before{T(offset), T(variance)};  // mean and spread
    for (std::size_t k = 0; k < n; ++k) {
      const auto one = product(k);
      out[1 + k] = {before[0], before[1]};  // until the messages replace them
      out[1 + n + k] = one;
      before = {before[0] + one.mean(), before[1] + one.variance()};
    }
    out[0] = message_from_moments<T>(before[0], before[1]);
    std::array<T, 2> after{};
    for (std::size_t k = n; k-- > 0;) {
      const auto [mean, spread] = out[1 + k];
      const auto one = out[1 + n + k];
      const std::array others{mean + after[0], spread + after[1]};
      after = {after[0] + one.mean(), after[1] + one.variance()};
      if (in[0].rho == 0) {
        out[1 + k] = out[1 + n + k] = Gaussian<T>::uniform();
        continue;
      }
      const auto rest = difference(in[0], message_from_moments<T>(others[0], others[1]));
      const std::array of_product{rest, in[1 + k], in[1 + n + k]};
      out[1 + k] = Product{}.template message<T>(1, of_product, rule);
      out[1 + n + k] = Product{}.template message<T>(2, of_product, rule);
    }
  }

 private:
  // offset + noise + all products but one (or all: own = n).
  template <std::floating_point T>
  Gaussian<T> sum_without(std::size_t own, Incoming<T> in) const {
    const std::size_t n = in.size() / 2;
    T mean = T(offset);
    T spread = T(variance);
    for (std::size_t k = 0; k < n; ++k) {
      if (k == own) continue;
      const Gaussian<T> product = Product::to_z(in[1 + k], in[1 + n + k]);
      if (product.rho == 0) return Gaussian<T>::uniform();
      mean += product.mean();
      spread += product.variance();
    }
    return message_from_moments<T>(mean, spread);
  }

  // Of independent Gaussians; uniform if one is.
  template <std::floating_point T>
  static Gaussian<T> difference(Gaussian<T> a, Gaussian<T> b) {
    return message_from_moments<T>(a.mean() - b.mean(), a.variance() + b.variance());
  }
};

static_assert(DeterministicFactor<InnerProduct>);

}  // namespace dma
