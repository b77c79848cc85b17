// Building, schedules, the four engines on the product factor, and errors that name the place.
#include <dma/factors/factors.h>
#include <dma/graph/graph.h>

#include <gtest/gtest.h>

#include <random>

#include "graph_errors.h"

namespace dma {
namespace {

using test::error_of;
using test::expect_error;

struct ProductGraph {
  ProductGraph(double x_mean = 3, double x_variance = 1, double y_mean = 4, double y_variance = 1,
               double z_mean = 10, double z_variance = 5)
      : x(graph.variable("x")), y(graph.variable("y")), z(graph.variable("z")) {
    graph.add(Prior{x_mean, x_variance}, x);
    graph.add(Prior{y_mean, y_variance}, y);
    product = graph.add(Product{}, z, x, y);
    graph.add(Observation{z_mean, z_variance}, z);
  }
  Graph graph;
  Variable x, y, z;
  FactorId product{};
};

TEST(Graph, SchedulesAreDataThatCanBePrintedAndSupplied) {
  const ProductGraph model;
  const auto tree = model.graph.tree_schedule();
  EXPECT_EQ(model.graph.text(tree),
            "forward  prior#0 -> x\n"
            "forward  prior#1 -> y\n"
            "forward  observation#3 -> z\n"
            "forward  product#2 -> z\n"
            "backward product#2 -> x\n"
            "backward product#2 -> y\n");
  const auto sequential = model.graph.sequential_schedule();
  EXPECT_EQ(sequential.forward, (std::vector<Step>{{0, 0}, {1, 0}, {2, 0}}));
  EXPECT_EQ(sequential.backward, (std::vector<Step>{{3, 0}, {2, 1}, {2, 2}}));
  const auto one = model.graph.infer({}, tree);
  const auto two = model.graph.infer({}, sequential);
  for (const auto v : {model.x, model.y, model.z}) EXPECT_EQ(one.marginal(v), two.marginal(v));
}

TEST(Graph, MarginalsAreTheFactorsOwnMessages) {
  const ProductGraph model;
  using G = Gaussian<double>;
  for (const Rule rule : {Rule::direct, Rule::linear}) {
    const auto beliefs = model.graph.sweep(rule);
    const std::array in{G::from_moments(10, 5), G::from_moments(3, 1), G::from_moments(4, 1)};
    const std::array variables{model.z, model.x, model.y};
    for (std::size_t k = 0; k < 3; ++k) {
      const auto message = Product{}.message<double>(k, in, rule);
      EXPECT_EQ(beliefs.message(model.product, k), message);
      EXPECT_EQ(beliefs.marginal(variables[k]), in[k] * message);
    }
    EXPECT_TRUE(beliefs.improper.empty());
  }
}

TEST(Graph, DirectMessagesOnATreeAreFinalAfterOneSweep) {
  const ProductGraph model;
  const auto once = model.graph.sweep();
  const auto again = model.graph.infer({.sweeps = 10, .tolerance = 1e-15});
  EXPECT_TRUE(again.converged);
  EXPECT_EQ(again.sweeps, 2U);
  EXPECT_EQ(again.last_change, 0);
  EXPECT_EQ(once.marginal(model.x), again.marginal(model.x));
}

// With one product and unary neighbours, EP's marginal is the projection of the exact one.
TEST(Engines, EpProjectsTheExactMarginal) {
  const ProductGraph model;
  const auto beliefs = model.graph.infer({.engine = Engine::ep, .sweeps = 50, .tolerance = 1e-9});
  EXPECT_TRUE(beliefs.converged);
  using G = Gaussian<double>;
  const std::array in{G::from_moments(10, 5), G::from_moments(3, 1), G::from_moments(4, 1)};
  const auto exact = Product{}.marginal(1, in);
  EXPECT_NEAR(beliefs.marginal(model.x).mean(), exact.mean(), 1e-9);
  EXPECT_NEAR(beliefs.marginal(model.x).variance(), exact.variance(), 1e-9);
}

// A wide z and signs that may differ: the exact marginal of x is wider than its prior.
TEST(Engines, EpProducesAndRecordsNegativePrecision) {
  const ProductGraph model(1, 4, -2.5, 1, -5, 1);
  const ProductGraph wide(0, 1, 0, 1, 3, 0.5);
  const auto beliefs = wide.graph.infer({.engine = Engine::ep, .sweeps = 3});
  ASSERT_FALSE(beliefs.improper.empty());
  const auto& first = beliefs.improper.front();
  EXPECT_EQ(first.factor, wide.product.index);
  EXPECT_LT(first.rho, 0);
  EXPECT_EQ(beliefs.message(wide.product, first.edge).rho,
            beliefs.improper.back().rho);  // passed on

  const auto skipped =
      wide.graph.infer({.engine = Engine::ep, .sweeps = 3, .on_improper = OnImproper::skip});
  EXPECT_FALSE(skipped.improper.empty());
  EXPECT_TRUE(skipped.message(wide.product, first.edge).is_uniform());

  const auto stopped =
      wide.graph.infer({.engine = Engine::ep, .sweeps = 3, .on_improper = OnImproper::stop});
  EXPECT_EQ(stopped.improper.size(), 1U);
  EXPECT_EQ(stopped.sweeps, 1U);

  for (const Rule rule : {Rule::direct, Rule::linear}) {
    EXPECT_TRUE(wide.graph.sweep(rule).improper.empty());
    EXPECT_TRUE(model.graph.sweep(rule).improper.empty());
  }
}

// A negative precision passes through linear factors as Gaussian algebra has it, and is recorded there
// too; nothing ends the run.
TEST(Engines, EpCarriesNegativePrecisionsThroughLinearFactors) {
  const ProductGraph wide(0, 1, 0, 1, 3, 0.5);
  Graph graph = wide.graph;
  const auto shifted = graph.variable("shifted");
  graph.add(WeightedSum{{2}, 1, 0.1}, shifted, wide.x);
  graph.add(Observation{0.5, 40}, shifted);
  const auto beliefs = graph.infer({.engine = Engine::ep, .sweeps = 4});
  EXPECT_FALSE(beliefs.improper.empty());
  EXPECT_TRUE(beliefs.failed.empty());
  for (const auto& message : beliefs.improper) EXPECT_LT(message.rho, 0);
}

// A ReLU whose output nobody has seen says nothing about its input: exactly nothing.
TEST(Engines, EpIsSilentWhereNothingWasSeen) {
  Graph graph;
  const auto x = graph.variable("x");
  const auto y = graph.variable("y");
  graph.add(Prior{0.3, 0.7}, x);
  const auto relu = graph.add(LeakyRelu{0.1}, y, x);
  for (const Engine engine : {Engine::ep, Engine::adf}) {
    const auto beliefs = graph.infer({.engine = engine});
    EXPECT_TRUE(beliefs.improper.empty());
    EXPECT_TRUE(beliefs.message(relu, 1).is_uniform());
  }
}

TEST(Engines, AdfIsHeldToOneVisit) {
  const ProductGraph model;
  expect_error(error_of([&] { model.graph.infer({.engine = Engine::adf, .sweeps = 2}); }),
               "ADF visits every factor once");
  expect_error(error_of([&] {
                 model.graph.infer({.engine = Engine::adf}, model.graph.sequential_schedule());
               }),
               "no backward steps");
}

TEST(Engines, VmpConvergesThoughItsPointMassesMoveByRounding) {
  const ProductGraph model(1.1, 1, 0.7, 1, 3, 1);
  const auto beliefs = model.graph.infer({.engine = Engine::vmp, .sweeps = 20, .tolerance = 1e-6});
  EXPECT_TRUE(beliefs.converged);
}

TEST(Engines, VmpCollapsesOnADiracFactorAndSaysSo) {
  const ProductGraph model;
  const auto beliefs = model.graph.infer({.engine = Engine::vmp, .sweeps = 5});
  ASSERT_EQ(beliefs.collapsed.size(), 3U);
  EXPECT_EQ(beliefs.collapsed.front().factor, model.product.index);
  EXPECT_NEAR(beliefs.marginal(model.z).mean(), 12, 1e-12);  // the observation of 10 is lost
  EXPECT_EQ(beliefs.marginal(model.z).variance(), 0);
  EXPECT_EQ(beliefs.marginal(model.x).variance(), 0);
}

// With noise in place of the Dirac factor VMP is the usual mean-field coordinate ascent: its fixed
// point has the exact means and the conditional precisions.
TEST(Engines, VmpOnANoisySumIsMeanField) {
  Graph graph;
  const auto x = graph.variable("x");
  const auto y = graph.variable("y");
  graph.add(Prior{1, 2}, x);
  graph.add(WeightedSum{{2}, 0, 0.5}, y, x);
  graph.add(Observation{3, 1}, y);
  const auto vmp = graph.infer({.engine = Engine::vmp, .sweeps = 500, .tolerance = 1e-12});
  EXPECT_TRUE(vmp.converged);
  EXPECT_TRUE(vmp.collapsed.empty());
  const auto exact = graph.sweep();
  EXPECT_NEAR(vmp.marginal(x).mean(), exact.marginal(x).mean(), 1e-9);
  EXPECT_NEAR(vmp.marginal(x).rho, 0.5 + 4 / 0.5, 1e-12);
  EXPECT_LT(vmp.marginal(x).variance(), exact.marginal(x).variance());
}

TEST(Engines, AdfSendsNothingBack) {
  const ProductGraph model;
  const auto beliefs = model.graph.infer({.engine = Engine::adf});
  EXPECT_EQ(beliefs.marginal(model.x), Gaussian<double>::from_moments(3, 1));
  EXPECT_NEAR(beliefs.marginal(model.z).mean(), model.graph.sweep().marginal(model.z).mean(),
              1e-12);
}

TEST(Engines, AUsersFunctionInAGraph) {
  Graph graph;
  const auto x = graph.variable("x");
  const auto y = graph.variable("y");
  graph.add(Prior{0.5, 1}, x);
  graph.add(function("tanh", [](double v) { return std::tanh(v); }), y, x);
  graph.add(Observation{0.9, 0.01}, y);
  const auto beliefs = graph.sweep(Rule::linear);
  EXPECT_GT(beliefs.marginal(x).mean(), 0.5);
  EXPECT_LT(beliefs.marginal(x).variance(), 1);
  const auto ep = graph.infer({.engine = Engine::ep, .sweeps = 50, .tolerance = 1e-8});
  EXPECT_NEAR(beliefs.marginal(x).mean(), ep.marginal(x).mean(), 0.5);
}

TEST(GraphErrors, NameThePlace) {
  Graph graph;
  const auto x = graph.variable("x");
  const auto y = graph.variable("y");
  expect_error(error_of([&] { graph.variable("x"); }), "already a variable called 'x'");
  expect_error(error_of([&] { graph.variable(""); }), "needs a name");
  expect_error(error_of([&] { (void)graph.find("w"); }), "no variable called 'w'");
  expect_error(error_of([&] { graph.add(Product{}, x, y); }),
               "factor 0 (product) needs 3 variables, got 2");
  expect_error(error_of([&] { graph.add(Product{}, x, y, y); }),
               "variable 'y' is on two of its edges");
  expect_error(error_of([&] {
                 graph.add(Prior{0, 1}, Variable{9});
               }),
               "not a variable of this graph");
  expect_error(error_of([&] {
                 graph.add(Prior{0, -1}, x);
               }),
               "factor 0 (prior): Gaussian::from_moments");
  EXPECT_EQ(graph.factor_count(), 0U);

  graph.add(Prior{0, 1}, x);
  graph.add(LeakyRelu{0}, y, x);
  expect_error(error_of([&] { graph.sweep(); }), "factor leaky_relu#1 to variable 'x': slope 0");
  EXPECT_EQ(error_of([&] { graph.sweep(Rule::linear); }), "no error");
  expect_error(error_of([&] { graph.infer({.sweeps = 0}); }), "at least one sweep");
  expect_error(error_of([&] { graph.infer({}, Schedule{{{7, 0}}, {}}); }), "factor 7, edge 0");

  graph.add(WeightedSum{{1}}, y, x);
  expect_error(error_of([&] { (void)graph.tree_schedule(); }),
               "cycles, but there is one through variable");
  graph.add(GreaterThan{0}, x);
  expect_error(error_of([&] { graph.infer({.engine = Engine::vmp}); }),
               "factor greater_than#3 to variable 'x': VMP has no message");
}

TEST(GraphErrors, ContradictionIsNamed) {
  Graph graph;
  const auto x = graph.variable("x");
  graph.add(Observation{1, 0}, x);
  graph.add(Observation{2, 0}, x);
  expect_error(error_of([&] { graph.sweep(); }), "two different point masses, at 1");
}

// x has so many factors that the product of its messages is kept, and is known exactly: what the others say of it is
// multiplied anew.
TEST(Graph, AKnownHubStillSaysWhatTheOthersSay) {
  Graph graph;
  const auto x = graph.variable("x"), y = graph.variable("y");
  const auto copy = graph.add(WeightedSum{{1}, 0, 0}, y, x);
  graph.add(Observation{3, 0}, y);
  for (int k = 0; k < 40; ++k) graph.add(Observation{1, 2}, x);
  const auto beliefs = graph.infer({.sweeps = 3}, graph.sequential_schedule());
  EXPECT_EQ(beliefs.marginal(x), Gaussian<double>::point(3));
  const auto others = beliefs.message(copy, 0);
  EXPECT_NEAR(others.mean(), 1, 1e-14);
  EXPECT_NEAR(others.rho, 20, 1e-13);
}

TEST(GraphErrors, AFactorThatRefusesItsMessageIsNamed) {
  Graph graph;
  const auto x = graph.variable();
  graph.add(Observation{-1, 0}, x);
  graph.set_name(graph.add(GreaterThan{0}, x), "barrier");
  expect_error(error_of([&] { graph.sweep(); }),
               "factor barrier to variable 'v0': x is fixed at -1.000000, which is not greater");
}

TEST(GraphErrors, AFactorWithoutProjectionIsNamed) {
  Graph graph;
  const auto x = graph.variable("x");
  const auto y = graph.variable("y");
  graph.add(Prior{1, 1}, x);
  graph.add(LogNormalCopy{}, y, x);
  for (const Engine engine : {Engine::ep, Engine::adf}) {
    expect_error(error_of([&] { graph.infer({.engine = engine}); }),
                 "factor lognormal_copy#1 to variable 'y': EP and ADF have no projection");
  }
}

TEST(Engines, HaveNames) {
  EXPECT_EQ(name_of(Engine::direct), "direct");
  EXPECT_EQ(name_of(Engine::ep), "ep");
  EXPECT_EQ(name_of(Engine::vmp), "vmp");
  EXPECT_EQ(name_of(Engine::adf), "adf");
}

TEST(Graph, VariablesWithoutAnyMessageAreListed) {
  Graph graph;
  const auto x = graph.variable("x");
  const auto y = graph.variable("y");
  graph.add(WeightedSum{{1}}, y, x);
  const auto beliefs = graph.sweep();
  EXPECT_EQ(beliefs.improper_marginals, (std::vector<std::uint32_t>{x.index, y.index}));
}

TEST(Graph, CanBeCopied) {
  ProductGraph model;
  Graph copy = model.graph;
  copy.add(Observation{0, 0.1}, model.x);
  EXPECT_EQ(model.graph.factor_count(), 4U);
  EXPECT_LT(copy.sweep().marginal(model.x).mean(), 1);
  EXPECT_GT(model.graph.sweep().marginal(model.x).mean(), 2);
}

}  // namespace
}  // namespace dma
