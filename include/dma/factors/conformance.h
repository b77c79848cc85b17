// factors/conformance.h: the checks that every factor must pass, built in or written by a user.
//
//   const auto report = dma::check_factor(MyFactor{});
//   std::cout << report.text();
//   return report.exit_status();
//
// Five checks:
//   dirac         as the other inputs concentrate, the message concentrates on the exact value
//                 (Definition 1), on a ladder of widths 1e-1 ... 1e-6
//   precision     never negative, never NaN, for random inputs up to 1e+-30, uniform messages and
//                 point masses, for every edge and rule
//   moments       the message to the output against adaptive quadrature of the relation (for a factor
//                 of one edge: the marginal against quadrature of its density, or the message, if its exact
//                 one has moments)
//   independence  under Rule::direct, bit for bit the same message whatever arrives on its own edge
//   float         the float message agrees with the double one
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <dma/factors/factor.h>

namespace dma {

struct FactorCheck {
  std::string name;
  bool passed = true;
  std::string detail = {};
};

struct FactorReport {
  std::string factor;
  std::vector<FactorCheck> checks = {};

  bool passed() const;
  bool passed(std::string_view check) const;
  int exit_status() const { return passed() ? 0 : 1; }
  std::string text() const;
};

struct CheckOptions {
  // Per direction and rule. 0: see usual_random_inputs().
  std::size_t random_inputs = 0;
  std::uint64_t seed = 1;
};

namespace detail {

// A factor behind plain functions, so that the harness is compiled once.
struct FactorUnderTest {
  const FactorInfo* info = nullptr;
  std::size_t arity = 0;
  double moment_tolerance = 1e-6;
  double noise_variance = 0;
  std::function<Gaussian<double>(std::size_t, Incoming<double>, Rule)> message;
  std::function<Gaussian<float>(std::size_t, Incoming<float>, Rule)> float_message;
  std::function<double(std::span<const double>)> relation;
  // The relation at many points, if the factor has it: see Function.
  std::function<void(std::span<const double> inputs, std::span<double> y)> relations;
  std::function<double(std::span<const double>)> log_density;
  std::function<std::string_view(std::size_t, Rule)> refusal;
};

FactorReport check_factor(const FactorUnderTest& factor, const CheckOptions& options);

}  // namespace detail

// 100,000 random inputs, or fewer for a factor whose messages take long.
template <Factor F>
constexpr std::size_t usual_random_inputs() {
  if constexpr (requires { F::random_inputs; }) return F::random_inputs;
  return 100'000;
}

template <Factor F>
FactorReport check_factor(const F& factor, const CheckOptions& options = {}) {
  detail::FactorUnderTest test;
  test.info = &factor.info();
  test.arity = factor.arity();
  test.message = [&](std::size_t edge, Incoming<double> in, Rule rule) {
    return factor.message(edge, in, rule);
  };
  if constexpr (requires(Incoming<float> in) { factor.message(0, in, Rule::direct); }) {
    test.float_message = [&](std::size_t edge, Incoming<float> in, Rule rule) {
      return factor.message(edge, in, rule);
    };
  }
  if constexpr (DeterministicFactor<F>) {
    test.relation = [&](std::span<const double> inputs) { return factor.relation(inputs); };
  }
  if constexpr (requires(std::span<const double> inputs, std::span<double> y) {
                  factor.relations(inputs, y);
                }) {
    test.relations = [&](std::span<const double> inputs, std::span<double> y) {
      factor.relations(inputs, y);
    };
  }
  if constexpr (requires { factor.noise_variance(); })
    test.noise_variance = factor.noise_variance();
  if constexpr (requires { factor.tolerance; }) test.moment_tolerance = factor.tolerance;
  if constexpr (requires(std::span<const double> at) { factor.log_density(at); }) {
    test.log_density = [&](std::span<const double> at) { return factor.log_density(at); };
  }
  test.refusal = [&](std::size_t edge, Rule rule) -> std::string_view {
    if constexpr (requires { factor.refusal(edge, rule); }) return factor.refusal(edge, rule);
    return {};
  };
  CheckOptions own = options;
  if (own.random_inputs == 0) own.random_inputs = usual_random_inputs<F>();
  return detail::check_factor(test, own);
}

}  // namespace dma
