// Convergence variable by variable, damping, and what diverges.
#include <dma/factors/factors.h>
#include <dma/graph/graph.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "graph_errors.h"

namespace dma {
namespace {

using test::error_of;

// Sends y = gain x + shift forward, and nothing back.
struct Echo {
  double gain, shift;

  static const FactorInfo& info() {
    static constexpr std::array edges{EdgeInfo{.name = "y", .theorem = "none"},
                                      EdgeInfo{.name = "x", .theorem = "none"}};
    static constexpr FactorInfo info{
        .name = "echo", .density = "none", .domain = "any", .edges = edges};
    return info;
  }
  static constexpr std::size_t arity() { return 2; }

  template <std::floating_point T>
  Gaussian<T> message(std::size_t edge, Incoming<T> in, Rule /*rule*/) const {
    if (edge == 1 || in[1].rho == 0) return Gaussian<T>::uniform();
    return Gaussian<T>::from_moments(T(gain) * in[1].mean() + T(shift), 1);
  }
};

// Whatever x is, it comes back gain times as large.
Graph loop(double gain) {
  Graph g;
  const auto x = g.variable("x"), y = g.variable("y");
  g.add(Prior{1, 1e12}, x);
  g.add(Echo{gain, 0}, y, x);
  g.add(Echo{1, 0.5}, x, y);
  return g;
}

TEST(Convergence, IsKnownPerVariable) {
  Graph g;
  const auto x = g.variables("x", 3, Prior{1, 1});
  for (std::uint32_t k = 0; k < 3; ++k) g.add(WeightedSum{{0.9}, 0, 0.5}, x[k], x[(k + 1) % 3]);
  const auto alone = g.variable("alone");
  g.add(Prior{0, 1}, alone);
  const auto few = g.infer({.sweeps = 3, .tolerance = 1e-9});
  EXPECT_FALSE(few.converged);
  EXPECT_EQ(few.moving, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(few.change(alone), 0);
  EXPECT_EQ(few.changes(x)[1], few.change(x[1]));
  EXPECT_EQ(std::max({few.change(x[0]), few.change(x[1]), few.change(x[2])}), few.last_change);
  const auto many = g.infer({.sweeps = 200, .tolerance = 1e-9});
  EXPECT_TRUE(many.converged);
  EXPECT_TRUE(many.moving.empty());
  EXPECT_LE(many.change(x[0]), 1e-9);
  EXPECT_EQ(g.sweep().change(x[0]), 0);  // not measured
  EXPECT_EQ(g.sweep().changes(x), std::vector<double>(3));
}

TEST(Convergence, ADivergingGraphIsReported) {
  for (const double gain : {-1.5, 1.5, 20.0}) {
    const Graph g = loop(gain);
    const std::string error = error_of([&] { (void)g.infer({.sweeps = 1000, .tolerance = 1e-6}); });
    EXPECT_NE(error.find("inference diverges: sweep "), std::string::npos) << error;
    EXPECT_NE(error.find("damping (now 0.000000)"), std::string::npos) << error;
    EXPECT_THROW((void)g.infer({.sweeps = 1000, .tolerance = 1e-6}), Diverged);
  }
  // It moves less and less.
  EXPECT_TRUE(loop(-0.9).infer({.sweeps = 1000, .tolerance = 1e-6}).converged);
}

TEST(Convergence, DampingHelpsAndKeepsTheFixedPoint) {
  const Graph g = loop(-1.5);
  for (const double damping : {0.4, 0.6}) {
    const auto damped = g.infer({.sweeps = 1000, .tolerance = 1e-12, .damping = damping});
    EXPECT_TRUE(damped.converged);
    EXPECT_EQ(damped.damping, damping);
    EXPECT_NEAR(damped.marginal({0}).mean(), 0.2, 1e-9);  // x = -1.5 x + 0.5
  }
}

TEST(Convergence, DampingKeepsAShareOfTheOldMessage) {
  Graph g;
  const auto x = g.variable("x"), y = g.variable("y");
  g.add(Prior{1, 2}, x);
  const auto link = g.add(LeakyRelu{0.5}, y, x);
  g.add(Observation{0.3, 1}, y);
  const Schedule once{{{0, 0}, {2, 0}, {1, 1}}, {}};
  const auto first = g.infer({.rule = Rule::linear, .sweeps = 1, .damping = 0.25}, once);
  const auto plain = g.infer({.rule = Rule::linear, .sweeps = 1}, once);
  EXPECT_EQ(first.message(link, 1), plain.message(link, 1));  // sent whole
  Graph moved;
  const auto a = moved.variable("a"), b = moved.variable("b");
  moved.add(WeightedSum{{1}, 0, 1}, a, b);
  moved.add(WeightedSum{{1}, 0, 1}, b, a);
  moved.add(Observation{2, 1}, a);
  const Schedule two{{{2, 0}, {0, 1}, {1, 0}, {1, 1}, {0, 1}}, {}};
  const Schedule one{{{2, 0}, {0, 1}, {1, 0}, {1, 1}}, {}};
  const auto before = moved.infer({}, one).message({0}, 1);
  const auto after = moved.infer({}, two).message({0}, 1);
  ASSERT_NE(before, after);
  const auto mixed = moved.infer({.damping = 0.25}, two).message({0}, 1);
  EXPECT_NEAR(mixed.rho, 0.25 * before.rho + 0.75 * after.rho, 1e-12);
  EXPECT_NEAR(mixed.tau, 0.25 * before.tau + 0.75 * after.tau, 1e-12);
}

TEST(Convergence, DampingHasARange) {
  Graph g;
  const auto x = g.variable("x");
  g.add(Prior{1, 2}, x);
  for (const double damping : {-0.1, 1.0, std::nan("")}) {
    EXPECT_NE(error_of([&] { (void)g.infer({.damping = damping}); }).find("below 1, got"),
              std::string::npos);
  }
  for (const Engine engine : {Engine::vmp, Engine::adf}) {
    EXPECT_NE(error_of([&] {
                (void)g.infer({.engine = engine, .damping = 0.5});
              }).find("for the engines direct and ep"),
              std::string::npos);
  }
}

// A ring that is tied to its level by one loose prior alone: the level moves by little in each sweep.
TEST(Acceleration, ReachesTheSameFixedPointInFewerSweeps) {
  Graph g;
  constexpr std::uint32_t count = 30;
  const auto x = g.variables("x", count);
  g.add(Prior{3, 25}, x[0]);
  for (std::uint32_t k = 0; k < count; ++k) {
    g.add(WeightedSum{{1}, 0, 1}, x[k], x[(k + 1) % count]);
    g.add(WeightedSum{{1}, 0.1, 1}, x[k], x[(k + 7) % count]);
  }
  for (const Engine engine : {Engine::direct, Engine::ep}) {
    const InferenceOptions plain{.engine = engine, .sweeps = 10'000, .tolerance = 1e-10};
    auto fast = plain;
    fast.acceleration = 8;
    const auto slow = g.infer(plain), quick = g.infer(fast);
    EXPECT_TRUE(quick.converged);
    EXPECT_LT(quick.sweeps, slow.sweeps / 3);
    for (std::uint32_t k = 0; k < count; ++k) {
      EXPECT_NEAR(quick.marginal(x[k]).mean(), slow.marginal(x[k]).mean(), 1e-6);
      EXPECT_NEAR(quick.marginal(x[k]).rho, slow.marginal(x[k]).rho, 1e-9);
    }
  }
}

TEST(Acceleration, NeedsATolerance) {
  const Graph g = loop(0.5);
  EXPECT_NE(error_of([&] { g.infer({.sweeps = 3, .acceleration = 2}); }).find("tolerance"),
            std::string::npos);
}

}  // namespace
}  // namespace dma
