// Beliefs in files: nothing is lost on the way, and what is not of this graph is refused.
#include <dma/base/error.h>
#include <dma/data/atomic_file.h>
#include <dma/factors/factors.h>
#include <dma/graph/saved_beliefs.h>

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <limits>

#include "data/safetensors.h"
#include "scratch.h"

namespace dma {
namespace {

using test::Scratch;

// A sum whose result is seen. VMP has no message for a bound.
struct Sums {
  Graph graph;
  VariableArray x = graph.variables("x", 3, Prior{1, 2});

  explicit Sums(bool bounded = true) {
    if (bounded) graph.add(GreaterThan{0}, x[0]);
    see(0);
  }
  FactorId see(double value) {
    const auto sum = graph.variable();
    graph.add(WeightedSum{{1, 2}, 0, 0.3}, sum, x[1], x[2]);
    return graph.add(Observation{value, 1}, sum);
  }
};

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const ModelError& error) {
    return error.what();
  } catch (const FileError& error) {
    return error.what();
  }
  return "no error";
}

void expect_error(const std::function<void()>& call, const std::string& part) {
  const std::string error = error_of(call);
  EXPECT_NE(error.find(part), std::string::npos) << error;
}

void expect_same(const Beliefs& one, const Beliefs& other) {
  ASSERT_EQ(one.variable_count(), other.variable_count());
  ASSERT_EQ(one.factor_count(), other.factor_count());
  for (std::uint32_t v = 0; v < one.variable_count(); ++v) {
    EXPECT_EQ(one.marginal({v}), other.marginal({v}));
    EXPECT_EQ(one.change({v}), other.change({v}));
  }
  for (std::uint32_t factor = 0; factor < one.factor_count(); ++factor) {
    for (std::size_t edge = 0; edge < one.arity({factor}); ++edge)
      EXPECT_EQ(one.message({factor}, edge), other.message({factor}, edge));
  }
  EXPECT_EQ(one.sweeps, other.sweeps);
  EXPECT_EQ(one.converged, other.converged);
  EXPECT_EQ(one.last_change, other.last_change);
  EXPECT_EQ(one.damping, other.damping);
  EXPECT_EQ(one.messages_sent, other.messages_sent);
  EXPECT_EQ(one.moving, other.moving);
  EXPECT_EQ(one.improper_marginals, other.improper_marginals);
  EXPECT_EQ(one.measured(), other.measured());
}

TEST(SavedBeliefs, ComeBackAsTheyWere) {
  const Scratch scratch;
  for (const Engine engine : {Engine::direct, Engine::ep, Engine::vmp}) {
    Sums sums(engine != Engine::vmp);
    sums.graph.add(Observation{2, 0}, sums.x[2]);  // a point mass
    for (const std::size_t sweeps : {1U, 2U, 50U}) {
      const auto beliefs =
          sums.graph.infer({.engine = engine, .sweeps = sweeps, .tolerance = 1e-9});
      save_beliefs(beliefs, scratch.path("beliefs"));
      expect_same(load_beliefs(scratch.path("beliefs"), sums.graph), beliefs);
    }
  }
}

TEST(SavedBeliefs, AreGoneOnFromInAGraphThatWasBuiltAgainAndGrew) {
  const Scratch scratch;
  Sums before, after;
  const InferenceOptions options{.sweeps = 3};
  save_beliefs(before.graph.infer(options), scratch.path("beliefs"));
  const auto known = before.graph.infer(options);
  for (Sums* sums : {&before, &after}) sums->see(4);
  const auto loaded = load_beliefs(scratch.path("beliefs"), after.graph);
  const auto schedule = after.graph.schedule();
  expect_same(after.graph.infer(options, schedule, loaded),
              before.graph.infer(options, schedule, known));
}

TEST(SavedBeliefs, KnowWhatWasForgotten) {
  const Scratch scratch;
  Sums sums;
  sums.graph.forget(sums.see(4));
  const auto beliefs = sums.graph.infer({.sweeps = 50, .tolerance = 1e-12});
  save_beliefs(beliefs, scratch.path("beliefs"));
  const auto loaded = load_beliefs(scratch.path("beliefs"), sums.graph);
  EXPECT_EQ(sums.graph.log_evidence(loaded), sums.graph.log_evidence(beliefs));
}

TEST(SavedBeliefs, OfAnotherGraphAreRefused) {
  const Scratch scratch;
  const std::string path = scratch.path("beliefs");
  Sums sums;
  save_beliefs(sums.graph.sweep(), path);
  const auto refused = [&](const Graph& graph) {
    expect_error([&] { load_beliefs(path, graph); }, path + ": these beliefs are of another graph");
  };
  refused({});
  Graph other_edges, other_types, fewer_variables;
  for (Graph* graph : {&other_edges, &other_types, &fewer_variables}) {
    const auto x = graph->variables("x", 3, Prior{1, 2});
    const auto bounded = x[graph == &other_edges ? 1 : 0];
    if (graph == &other_types) {
      graph->add(Observation{0, 1}, bounded);
    } else {
      graph->add(GreaterThan{0}, bounded);
    }
    const auto sum = graph == &fewer_variables ? x[0] : graph->variable();
    graph->add(WeightedSum{{1, 2}, 0, 0.3}, sum, x[1], x[2]);
    graph->add(Observation{0, 1}, sum);
    refused(*graph);
  }
}

TEST(SavedBeliefs, FilesThatAreNoneAreRefused) {
  const Scratch scratch;
  const std::string path = scratch.path("beliefs");
  Sums sums;
  const auto load = [&] { load_beliefs(path, sums.graph); };
  expect_error(load, path + ": ");
  std::ofstream(path) << "skill,mean\n";
  expect_error(load, path + ": ");
  detail::write_safetensors(path, {{"format", "dma-model"}}, {});
  expect_error(load, "does not hold the beliefs of a graph");
  detail::write_safetensors(path, {{"format", "dma-beliefs"}, {"version", "2"}}, {});
  expect_error(load, "another version");
  expect_error([&] { save_beliefs(sums.graph.sweep(), scratch.path("no/folder")); }, "no/folder");
}

// A file with a valid checksum may still hold anything.
TEST(SavedBeliefs, ArraysThatDoNotFitAreRefused) {
  const Sums sums;
  const Arrays good = sums.graph.infer({.sweeps = 9, .tolerance = 1e-9}).store();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto refused = [&](const std::string& name, auto numbers, const std::string& part) {
    Arrays arrays = good;
    arrays.put(name, std::move(numbers));
    try {
      Beliefs::restore(std::move(arrays));
      ADD_FAILURE() << name;
    } catch (const NetworkError& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  using Counts = std::vector<std::uint64_t>;
  using Numbers = std::vector<double>;
  EXPECT_NO_THROW(Beliefs::restore(good));
  refused("counts", Counts{9, 0, 0, 1, 1, 1}, "engine");
  refused("counts", Counts{0}, "counts");
  refused("messages", Numbers{1, 2, 3}, "pairs");
  refused("messages", Numbers{1, nan}, "messages 0 is not a number");
  refused("marginals", Numbers(8, -HUGE_VAL), "marginals 0 is not a number");
  refused("messages", Numbers(4, 1), "edge_begin names what is not there");
  refused("edge_begin", Counts{}, "without their messages");
  refused("edge_begin", Counts{0, 2, 1}, "without their messages");
  refused("changes", Numbers{1}, "changes of another graph");
  refused("moving", Counts{4}, "moving names what is not there");
  refused("improper_marginals", Numbers{}, "improper_marginals");
  refused("damping", Counts{0}, "damping");
}

}  // namespace
}  // namespace dma
