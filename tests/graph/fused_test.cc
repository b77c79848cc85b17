// Factors that stand for several: the same marginals as the graph written out.
#include <dma/factors/factors.h>
#include <dma/graph/graph.h>

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace dma {
namespace {

using G = Gaussian<double>;

void expect_same(G fused, G written, double tolerance, const std::string& what) {
  EXPECT_NEAR(fused.mean(), written.mean(), tolerance * (1 + std::abs(written.mean()))) << what;
  EXPECT_NEAR(fused.variance() / written.variance(), 1, tolerance) << what;
}

G random_message(std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  return G::from_moments(2 * normal(random), std::exp(normal(random)));
}

// What arrives: mostly distributions; sometimes a known value, or nothing.
std::vector<G> random_messages(std::mt19937_64& random, std::size_t count) {
  std::vector<G> all;
  for (std::size_t k = 0; k < count; ++k) {
    const auto draw = random() % 20;
    all.push_back(draw == 0   ? G::uniform()
                  : draw == 1 ? G::point(std::normal_distribution<double>()(random))
                              : random_message(random));
  }
  return all;
}

template <class F>
void expect_together_as_one_by_one(const F& factor, std::mt19937_64& random) {
  const std::size_t arity = factor.arity();
  std::vector<G> together(arity);
  for (int repeat = 0; repeat < 200; ++repeat) {
    const auto arrives = random_messages(random, arity);
    for (const Rule rule : {Rule::direct, Rule::linear}) {
      factor.messages(Incoming<double>(arrives), rule, std::span(together));
      for (std::size_t edge = 0; edge < arity; ++edge) {
        const G alone = factor.message(edge, Incoming<double>(arrives), rule);
        EXPECT_EQ(together[edge].is_uniform(), alone.is_uniform()) << edge;
        EXPECT_EQ(together[edge].is_point(), alone.is_point()) << edge;
        EXPECT_NEAR(together[edge].tau, alone.tau, 1e-12 * (1 + std::abs(alone.tau))) << edge;
        if (!alone.is_point()) {
          EXPECT_NEAR(together[edge].rho, alone.rho, 1e-12 * (1 + alone.rho)) << edge;
        }
      }
    }
  }
}

TEST(Together, IsOneByOne) {
  std::mt19937_64 random(7);
  for (const std::size_t n : {1U, 2U, 3U, 20U}) {
    std::vector<double> coefficients(n);
    for (double& a : coefficients) a = random() % 5 == 0 ? 0 : random_message(random).mean();
    expect_together_as_one_by_one(WeightedSum{coefficients, 0.3, 0.7}, random);
    expect_together_as_one_by_one(WeightedSum{coefficients}, random);
    expect_together_as_one_by_one(InnerProduct{2 * n + 1, 0.3, 0.7}, random);
  }
}

TEST(InnerProduct, EpOfOneProductIsThatOfTheGraphWrittenOut) {
  std::mt19937_64 random(11);
  for (int repeat = 0; repeat < 5; ++repeat) {
    const G u_prior = random_message(random), v_prior = random_message(random);
    const auto add = [&](Graph& g, const std::string& name, G prior) {
      const auto x = g.variable(name);
      g.add(Prior{prior.mean(), prior.variance()}, x);
      return x;
    };
    Graph fused, written;
    const auto u = add(fused, "u", u_prior), v = add(fused, "v", v_prior), z = fused.variable("z");
    fused.add(InnerProduct{3, 0.3, 0.7}, z, u, v);
    fused.add(Observation{2, 0.5}, z);
    const auto x = add(written, "u", u_prior), y = add(written, "v", v_prior);
    const auto same_z = written.variable("z"), product = written.variable("product");
    written.add(Product{}, product, x, y);
    written.add(WeightedSum{{1}, 0.3, 0.7}, same_z, product);
    written.add(Observation{2, 0.5}, same_z);
    const InferenceOptions options{.engine = Engine::ep, .sweeps = 50, .tolerance = 1e-13};
    const auto one = fused.infer(options), other = written.infer(options);
    expect_same(one.marginal(u), other.marginal(x), 1e-9, "u");
    expect_same(one.marginal(v), other.marginal(y), 1e-9, "v");
  }
}

// Mean field: q(u_k) is the exponential of the expected log of all factors, which is quadratic in u_k.
TEST(InnerProduct, VmpIsMeanField) {
  constexpr double prior = 2, noise = 0.3, seen = 1.7, offset = 0.2;
  Graph g;
  const auto u = g.variables("u", 2, [](std::size_t k) { return Prior{0.5 + double(k), prior}; });
  const auto v = g.variables("v", 2, [](std::size_t k) { return Prior{1 - double(k), prior}; });
  const auto z = g.variable("z");
  g.add(Observation{seen, 0}, z);
  g.add(InnerProduct{5, offset, noise}, z, u[0], u[1], v[0], v[1]);
  const auto beliefs = g.infer({.engine = Engine::vmp, .sweeps = 500, .tolerance = 1e-13});
  EXPECT_TRUE(beliefs.collapsed.empty());
  for (std::uint32_t k = 0; k < 2; ++k) {
    const auto own = beliefs.marginal(u[k]), other = beliefs.marginal(v[k]);
    const double others = beliefs.marginal(u[1 - k]).mean() * beliefs.marginal(v[1 - k]).mean();
    const double square = other.mean() * other.mean() + other.variance();
    EXPECT_NEAR(own.rho, 1 / prior + square / noise, 1e-10);
    EXPECT_NEAR(own.tau, (0.5 + k) / prior + other.mean() * (seen - offset - others) / noise, 1e-9);
  }
}

TEST(InnerProduct, IsProductsAndASum) {
  std::mt19937_64 random(5);
  for (const std::size_t n : {1U, 2U, 5U, 10U}) {
    const G seen = random_message(random);
    Graph fused, written;
    const auto add_vector = [&](const std::string& name, const std::vector<G>& priors) {
      const auto prior = [&](std::size_t k) {
        return Prior{priors[k].mean(), priors[k].variance()};
      };
      written.variables(name, n, prior);
      return fused.variables(name, n, prior);
    };
    std::vector<G> priors_u, priors_v;
    for (std::size_t k = 0; k < n; ++k) {
      priors_u.push_back(random_message(random));
      priors_v.push_back(random_message(random));
    }
    const auto u = add_vector("u", priors_u), v = add_vector("v", priors_v);
    const auto z = fused.variable("z");
    fused.add(InnerProduct{2 * n + 1, 0.3, 0.7}, {EdgeRows(z, 1), VariableArray{u.first, 1, u.rows},
                                                  VariableArray{v.first, 1, v.rows}});
    fused.add(Observation{seen.mean(), seen.variance()}, z);

    const auto same_z = written.variable("z");
    const auto product = written.variables("product", n);
    written.add(Product{}, {product, u, v});
    written.add(WeightedSum{std::vector<double>(n, 1.0), 0.3, 0.7},
                {EdgeRows(same_z, 1), VariableArray{product.first, 1, product.rows}});
    written.add(Observation{seen.mean(), seen.variance()}, same_z);
    for (const Rule rule : {Rule::direct, Rule::linear}) {
      const auto one = fused.infer({.rule = rule, .sweeps = 5});
      const auto other = written.infer({.rule = rule, .sweeps = 5});
      for (std::uint32_t variable = 0; variable < fused.variable_count(); ++variable) {
        expect_same(one.marginal({variable}), other.marginal({variable}), 1e-12,
                    fused.name(Variable{variable}) + " of " + std::to_string(n));
      }
    }
  }
}

TEST(InnerProduct, NeedsTwoVectorsOfOneLength) {
  Graph g;
  const auto x = g.variables("x", 4, Prior{1, 1});
  try {
    g.add(InnerProduct{4}, x[0], x[1], x[2], x[3]);
    FAIL();
  } catch (const GraphError& error) {
    EXPECT_NE(std::string(error.what()).find("two vectors of the same length, got 4 variables"),
              std::string::npos)
        << error.what();
  }
}

TEST(WinDrawLoss, IsASumAndAThreshold) {
  for (const int result : {1, 0, -1}) {
    const WinDrawLoss match{result, 0.7, 1.3};
    Graph fused, written;
    for (Graph* g : {&fused, &written}) {
      const auto x = g->variable("x"), y = g->variable("y");
      g->add(Prior{1, 2}, x);
      g->add(Prior{1.5, 0.5}, y);
    }
    const Variable x{0}, y{1};
    fused.add(match, x, y);
    const auto lead = written.variable("lead");
    const double sign = result < 0 ? -1 : 1;
    written.add(WeightedSum{{sign, -sign}, 0, 1.3}, lead, x, y);
    if (result == 0) {
      written.add(Between{-0.7, 0.7}, lead);
    } else {
      written.add(GreaterThan{0.7}, lead);
    }
    for (const auto& options :
         {InferenceOptions{.sweeps = 5}, InferenceOptions{.rule = Rule::linear, .sweeps = 5},
          InferenceOptions{.engine = Engine::ep, .sweeps = 5}}) {
      const auto one = fused.infer(options), other = written.infer(options);
      for (const Variable v : {x, y}) {
        expect_same(one.marginal(v), other.marginal(v), 1e-12,
                    fused.name(v) + ", result " + std::to_string(result));
      }
      EXPECT_NEAR(fused.log_evidence(one), written.log_evidence(other), 1e-12);
    }
  }
}

TEST(WinDrawLoss, SharesOutAllProbability) {
  double all = 0;
  for (const int result : {1, 0, -1}) {
    Graph g;
    const auto x = g.variable("x"), y = g.variable("y");
    g.add(Prior{1, 2}, x);
    g.add(Prior{1.5, 0.5}, y);
    g.add(WinDrawLoss{result, 0.7, 1.3}, x, y);
    all += std::exp(g.log_evidence(g.sweep()));
  }
  EXPECT_NEAR(all, 1, 1e-12);
}

TEST(WinDrawLoss, ChecksItsParameters) {
  const auto refuses = [](const WinDrawLoss& factor) {
    EXPECT_THROW(factor.validate(), std::invalid_argument);
  };
  refuses({2});
  refuses({0, 0});
  refuses({1, -1});
  refuses({1, 0, -1});
  WinDrawLoss{-1, 0, 0}.validate();
}

}  // namespace
}  // namespace dma
