// A function that takes many points at once is the factor of the function that takes one.
#include <dma/factors/function.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>

namespace dma {
namespace {

using G = Gaussian<double>;

G any() {
  const double mean = *rc::gen::inRange(-300, 300) / 100.0;
  return G::from_moments(mean, std::exp(*rc::gen::inRange(-200, 100) / 100.0));
}

// f and the same function for many points at once; `calls` counts the calls of the second.
template <std::size_t N, class F>
auto both_ways(F f, std::size_t& calls) {
  const auto many = [f, &calls](std::span<const double> inputs, std::span<double> y) {
    ++calls;
    for (std::size_t i = 0; i < y.size(); ++i) {
      if constexpr (N == 1) y[i] = f(inputs[i]);
      if constexpr (N == 2) y[i] = f(inputs[i], inputs[y.size() + i]);
      if constexpr (N == 3) y[i] = f(inputs[i], inputs[y.size() + i], inputs[2 * y.size() + i]);
    }
  };
  return std::pair(function("f", f), batch_function<N>("f", many));
}

// Uniform messages, point masses and everything between.
G anything() {
  const int kind = *rc::gen::inRange(0, 6);
  return kind == 0 ? G::uniform() : kind == 1 ? G::point(any().mean()) : any();
}

template <std::floating_point T, class F>
std::optional<Gaussian<T>> message_of(const F& factor, std::size_t edge, Incoming<T> in) {
  try {
    return factor.template message<T>(edge, in, Rule::direct);
  } catch (const std::domain_error&) {
    return std::nullopt;
  }
}

template <class F>
std::optional<G> marginal_of(const F& factor, std::size_t edge, Incoming<double> in) {
  try {
    return factor.marginal(edge, in);
  } catch (const std::domain_error&) {
    return std::nullopt;
  }
}

// One call is all that a message may take, and its bits are those of one call per point.
template <std::size_t N, class F>
void expect_same_bits(F f) {
  static std::size_t calls = 0;
  static const auto factors = both_ways<N>(f, calls);
  const auto& [single, batch] = factors;
  std::array<G, N + 1> in;
  std::array<Gaussian<float>, N + 1> narrow;
  for (std::size_t k = 0; k <= N; ++k) {
    in[k] = anything();
    narrow[k] = {static_cast<float>(in[k].tau), static_cast<float>(in[k].rho)};
  }
  for (std::size_t edge = 0; edge <= N; ++edge) {
    calls = 0;
    RC_ASSERT(message_of<double>(single, edge, in) == message_of<double>(batch, edge, in));
    RC_ASSERT(calls <= 1U);
    RC_ASSERT(message_of<float>(single, edge, narrow) == message_of<float>(batch, edge, narrow));
    calls = 0;
    RC_ASSERT(marginal_of(single, edge, in) == marginal_of(batch, edge, in));
    RC_ASSERT(calls <= 1U);
  }
  const std::array<double, 3> at{0.3, -1.2, 2.5};
  RC_ASSERT(single.relation(std::span(at).first(N)) == batch.relation(std::span(at).first(N)));
}

RC_GTEST_PROP(BatchFunction, HasTheBitsOfOneCallPerPoint, ()) {
  expect_same_bits<1>([](double x) { return std::tanh(x) + 0.1 * x * x; });
  expect_same_bits<1>([](double x) { return std::log(x + 4); });  // not finite everywhere
  expect_same_bits<2>([](double a, double b) { return std::sin(a) * b; });
  expect_same_bits<3>([](double a, double b, double c) { return std::max(a, b) - c * c; });
}

TEST(BatchFunction, NamesTheArgumentsWhereItIsNotFinite) {
  const auto entropy = batch_function<2>("entropy", [](auto inputs, std::span<double> y) {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = -inputs[i] * std::log(inputs[y.size() + i]);
  });
  const std::array in{G::uniform(), G::from_moments(1, 1), G::point(0)};
  try {
    (void)entropy.message<double>(0, in, Rule::direct);
    FAIL();
  } catch (const std::domain_error& error) {
    EXPECT_EQ(std::string(error.what()), "entropy(1.000000, 0.000000) is not finite");
  }
}

}  // namespace
}  // namespace dma
