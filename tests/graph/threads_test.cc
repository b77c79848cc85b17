// Rows that run at the same time: what one thread finds, bit for bit, with what went wrong in the same order.
#include <dma/factors/factors.h>
#include <dma/graph/graph.h>

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>
#include <vector>

#include "graph/independent_rows.h"
#include "graph_errors.h"

namespace dma {
namespace {

using test::error_of;

// y = x + noise, unless this row refuses.
struct Fussy {
  std::size_t row = 0;
  bool refuses = false;

  static const FactorInfo& info() {
    static constexpr std::array edges{EdgeInfo{.name = "y", .theorem = ""},
                                      EdgeInfo{.name = "x", .theorem = ""}};
    static constexpr FactorInfo info{.name = "fussy", .density = "", .domain = "", .edges = edges};
    return info;
  }
  static constexpr std::size_t arity() { return 2; }
  template <std::floating_point T>
  Gaussian<T> message(std::size_t edge, Incoming<T> in, Rule /*rule*/) const {
    if (refuses) throw std::domain_error("refused by row " + std::to_string(row));
    const auto other = in[1 - edge];
    if (other.rho == 0) return Gaussian<T>::uniform();
    return Gaussian<T>::from_moments(other.mean(), other.variance() + T(1));
  }
};

// Pairs of variables; one in twenty has one of the first few.
struct Pairs {
  std::vector<std::size_t> one, other;

  Pairs(std::size_t count, std::size_t variables, std::size_t few) {
    std::mt19937_64 random(11);
    for (std::size_t row = 0; row < count; ++row) {
      one.push_back(random() % 20 == 0 ? random() % few : random() % variables);
      other.push_back((one[row] + 1 + random() % (variables - 1)) % variables);
    }
  }
};

void expect_same(const Graph& graph, const Beliefs& one, const Beliefs& other) {
  for (std::uint32_t v = 0; v < graph.variable_count(); ++v)
    ASSERT_EQ(one.marginal({v}), other.marginal({v})) << graph.name(Variable{v});
  EXPECT_EQ(one.messages_sent, other.messages_sent);
  ASSERT_EQ(one.improper.size(), other.improper.size());
  for (std::size_t k = 0; k < one.improper.size(); ++k) {
    EXPECT_EQ(one.improper[k].factor, other.improper[k].factor);
    EXPECT_EQ(one.improper[k].edge, other.improper[k].edge);
    EXPECT_EQ(one.improper[k].sweep, other.improper[k].sweep);
    EXPECT_EQ(one.improper[k].tau, other.improper[k].tau);
  }
  ASSERT_EQ(one.failed.size(), other.failed.size());
  for (std::size_t k = 0; k < one.failed.size(); ++k)
    EXPECT_EQ(one.failed[k].factor, other.failed[k].factor);
}

// Products of variables, seen: EP finds negative precisions here.
struct Products {
  Graph graph;
  Schedule schedule;

  Products(std::size_t count, std::uint32_t variables, std::size_t few) {
    const Pairs rows(count, variables, few);
    const auto x = graph.variables("x", variables, [](std::size_t k) {
      return Prior{double(k % 7) - 3, 1};
    });
    const auto z = graph.variables("z", count);
    const auto seen = graph.add(
        [](std::size_t r) {
          return Observation{double(r % 11) - 5, 0.5};
        },
        {z});
    const auto product = graph.add(Product{}, {z, x.at(rows.one), x.at(rows.other)});
    schedule = row_by_row({{seen, 0}, {product, 1}, {product, 2}}, {{product, 0}, {product, 1}});
    Steps priors;
    priors.append_rows(std::vector<Step>{{0, 0}}, variables);
    priors.append(schedule.forward);
    schedule.forward = priors;
  }
};

void expect_beliefs_of_one(const Products& model, const InferenceOptions& options) {
  const Beliefs alone = model.graph.infer(options, model.schedule);
  EXPECT_EQ(alone.improper.empty(), options.engine != Engine::ep);
  for (const std::size_t threads : {2U, 5U, 0U}) {
    InferenceOptions with = options;
    with.threads = threads;
    expect_same(model.graph, alone, model.graph.infer(with, model.schedule));
  }
}

// The first eight variables have so many messages that their products are kept.
TEST(Threads, FindTheBeliefsOfOne) {
  const Products model(8000, 1500, 8);
  expect_beliefs_of_one(model, {.sweeps = 3});
  expect_beliefs_of_one(model, {.rule = Rule::linear, .sweeps = 3, .tolerance = 1e-9});
  expect_beliefs_of_one(model, {.engine = Engine::vmp, .sweeps = 2});
}

TEST(Threads, RecordWhatOneRecords) {
  const Products model(600, 1200, 1200);
  expect_beliefs_of_one(model, {.engine = Engine::ep, .sweeps = 2});
  for (const OnImproper on_improper : {OnImproper::skip, OnImproper::stop})
    expect_beliefs_of_one(model, {.engine = Engine::ep, .on_improper = on_improper});
}

constexpr std::size_t pairs = 8000;

// What one row after the other would find: the first row that refuses, although rows after it come earlier.
TEST(Threads, ReportTheErrorOfOne) {
  std::mt19937_64 random(2);
  for (int repeat = 0; repeat < 10; ++repeat) {
    const Pairs rows(pairs, 2000, 40);
    std::set<std::size_t> refusing;
    while (refusing.size() < 200) refusing.insert(random() % pairs);
    Graph g;
    const auto x = g.variables("x", 2000, Prior{0, 1});
    const auto fussy = g.add(
        [&](std::size_t row) {
          return Fussy{row, refusing.contains(row)};
        },
        {x.at(rows.one), x.at(rows.other)});
    const Schedule schedule = row_by_row({{fussy, 0}, {fussy, 1}});
    const std::string alone = error_of([&] { g.infer({}, schedule); });
    EXPECT_NE(alone.find("refused by row " + std::to_string(*refusing.begin())), std::string::npos);
    EXPECT_EQ(error_of([&] { g.infer({.threads = 4}, schedule); }), alone);
  }
}

// The property that makes the bits the same.
TEST(Threads, RowsOfALevelShareNoVariableThatIsSentTo) {
  const Pairs rows(pairs, 2000, 40);
  Graph g;
  const auto x = g.variables("x", 2000);
  const auto read_only = g.variable("read");
  const auto sums =
      g.add(WeightedSum{{1, 1}}, {x.at(rows.one), x.at(rows.other), EdgeRows(read_only)});
  detail::FactorTable table;
  std::vector<detail::EdgeColumn> columns(3);
  for (std::size_t row = 0; row < pairs; ++row) {
    columns[0].named.push_back(g.edge(sums[row], 0).index);
    columns[1].named.push_back(g.edge(sums[row], 1).index);
  }
  columns[2].first = read_only.index;
  table.add_rows(0, 0, 0, pairs, columns);
  const std::vector<Step> pattern{{0, 0}, {0, 1}};
  const Steps::Rows part{0, 2, pairs, false};
  const auto independent = detail::independent_rows(table, 2001, pattern, part);
  ASSERT_EQ(independent.rows.size(), pairs);
  std::vector<std::size_t> last_level(2001, 0);  // of the rows so far, from 1 on
  std::vector<std::size_t> level_of(pairs);
  for (std::size_t level = 0; level + 1 < independent.begin.size(); ++level) {
    std::set<std::uint32_t> touched;
    for (std::size_t k = independent.begin[level]; k < independent.begin[level + 1]; ++k) {
      level_of[independent.rows[k]] = level + 1;
      for (const std::size_t edge : {0U, 1U})
        EXPECT_TRUE(touched.insert(g.edge(sums[independent.rows[k]], edge).index).second);
    }
  }
  for (std::size_t row = 0; row < pairs; ++row) {
    for (const std::size_t edge : {0U, 1U}) {
      std::size_t& last = last_level[g.edge(sums[row], edge).index];
      EXPECT_GT(level_of[row], last) << row;
      last = level_of[row];
    }
  }
}

TEST(Threads, RowsThatAllSendToOneVariableRunOneByOne) {
  detail::FactorTable table;
  table.add_rows(0, 0, 0, 1000, {{.first = 1, .stride = 1}, {.first = 0}});
  const std::vector<Step> pattern{{0, 0}, {0, 1}};
  EXPECT_TRUE(detail::independent_rows(table, 1001, pattern, {0, 2, 1000, false}).rows.empty());
  const std::vector<Step> to_own{{0, 0}};  // the shared one is only read
  EXPECT_EQ(detail::independent_rows(table, 1001, to_own, {0, 1, 1000, false}).begin.size(), 2U);
}

}  // namespace
}  // namespace dma
