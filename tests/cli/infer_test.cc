// The dma command as a user runs it: what it prints, where, and its exit status.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <map>
#include <vector>

#include "command.h"

namespace {

using dma::test::Outcome;
using dma::test::run;
using dma::test::Scratch;
using dma::test::shell_word;
using nlohmann::json;

std::string example(const std::string& name) {
  return shell_word(std::string(DMA_SOURCE_DIR) + "/examples/" + name);
}

Outcome infer_text(const std::string& text, const std::string& arguments = "--json") {
  const Scratch scratch;
  std::ofstream(scratch.path("graph.json")) << text;
  return run("infer " + shell_word(scratch.path("graph.json")) + " " + arguments);
}

// The run must fail with status 1, print nothing on stdout, and name the file and the place.
void expect_refusal(const Outcome& outcome, const std::string& place) {
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("graph.json: "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find(place), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
}

json product_graph() {
  return json::parse(R"({
    "variables": ["x", "y", "z"],
    "factors": [{"factor": "prior", "edges": ["x"], "mean": 3, "variance": 1},
                {"factor": "prior", "edges": ["y"], "mean": 4, "variance": 1},
                {"factor": "product", "edges": ["z", "x", "y"]},
                {"factor": "observation", "edges": ["z"], "value": 10, "variance": 5}]})");
}

// The product graph with `from` replaced by `to` in its text.
std::string product_text(const std::string& from, const std::string& to) {
  std::string text = product_graph().dump();
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " is not in " << text;
  return text.replace(at, from.size(), to);
}

template <class Change>
Outcome infer_changed(const Change& change) {
  json graph = product_graph();
  change(graph);
  return infer_text(graph.dump());
}

TEST(Infer, EveryExampleGivesOneJsonObject) {
  std::size_t examples = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(DMA_SOURCE_DIR) + "/examples")) {
    if (entry.path().extension() != ".json") continue;
    SCOPED_TRACE(entry.path());
    const auto outcome = run("infer " + shell_word(entry.path().string()) + " --json");
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.err, "");
    const json result = json::parse(outcome.out);  // one value and nothing after it
    ASSERT_TRUE(result.is_object());
    EXPECT_EQ(outcome.out, result.dump() + "\n");
    EXPECT_FALSE(result["marginals"].empty());
    for (const auto& [name, marginal] : result["marginals"].items()) {
      EXPECT_GE(marginal["variance"].get<double>(), 0) << name;
    }
    ++examples;
  }
  EXPECT_GE(examples, 6U);
}

TEST(Infer, TrueSkill) {
  const auto outcome = run("infer " + example("trueskill.json") + " --engine ep --json");
  ASSERT_EQ(outcome.status, 0);
  const auto marginals = json::parse(outcome.out)["marginals"];
  const auto deviation = [&](const char* name) {
    return std::sqrt(marginals[name]["variance"].get<double>());
  };
  EXPECT_NEAR(marginals["winner skill"]["mean"].get<double>(), 29.396, 5e-4);
  EXPECT_NEAR(deviation("winner skill"), 7.171, 5e-4);
  EXPECT_NEAR(marginals["loser skill"]["mean"].get<double>(), 20.604, 5e-4);
  EXPECT_NEAR(deviation("loser skill"), 7.171, 5e-4);
}

json example_graph(const std::string& name) {
  std::ifstream file(std::string(DMA_SOURCE_DIR) + "/examples/" + name);
  return json::parse(file);
}

double normal_cdf(double t) { return std::erfc(-t / std::sqrt(2.0)) / 2; }

// The probability of an event, given the mean of the sum that it is about and the variance of its noise.
double probability(const json& event, double mean, double variance) {
  const double s = std::sqrt(variance);
  if (event["factor"] == "greater_than")
    return normal_cdf((mean - event["threshold"].get<double>()) / s);
  if (event["factor"] == "between") {
    return normal_cdf((event["upper"].get<double>() - mean) / s) -
           normal_cdf((event["lower"].get<double>() - mean) / s);
  }
  EXPECT_EQ(event["factor"], "probit");
  return normal_cdf(event["sign"].get<double>() * mean / std::sqrt(variance + 1));
}

struct Unknown {
  std::string name;
  double mean, deviation;
};

struct Event {
  std::vector<double> coefficients;  // one per unknown
  double variance;
  json seen;
};

// A graph of priors, sums of their variables and one event per sum.
struct Events {
  std::vector<Unknown> unknowns = {};
  std::vector<Event> events = {};

  explicit Events(const json& graph) {
    std::map<std::string, json> sums;
    for (const json& factor : graph["factors"]) {
      const std::string of = factor["edges"][0];
      if (factor["factor"] == "prior") {
        unknowns.push_back({of, factor["mean"], std::sqrt(factor["variance"].get<double>())});
      } else if (factor["factor"] == "sum") {
        sums[of] = factor;
      } else {
        events.push_back({coefficients(sums.at(of)), sums.at(of).value("variance", 0.0), factor});
      }
    }
  }

  std::vector<double> coefficients(const json& sum) const {
    std::vector<double> all(unknowns.size());
    for (std::size_t k = 0; k < sum["coefficients"].size(); ++k) {
      for (std::size_t u = 0; u < unknowns.size(); ++u) {
        if (unknowns[u].name == sum["edges"][k + 1]) all[u] = sum["coefficients"][k];
      }
    }
    return all;
  }

  // At a point in deviations of the priors.
  double density(const std::vector<double>& t) const {
    double product = 1;
    for (const double one : t) product *= std::exp(-one * one / 2);
    for (const Event& event : events) {
      double mean = 0;
      for (std::size_t u = 0; u < t.size(); ++u)
        mean += event.coefficients[u] * (unknowns[u].mean + unknowns[u].deviation * t[u]);
      product *= probability(event.seen, mean, event.variance);
    }
    return product;
  }

  // The exact posterior, by a sum over a grid. Its error falls like exp(-2 (pi s / step)^2) with the step and the
  // posterior deviation s, both in deviations of the prior: with s > 0.4 it is below 1e-8.
  std::vector<Unknown> posterior() const {
    constexpr double step = 0.4;
    constexpr int reach = 15;
    std::vector<int> at(unknowns.size(), -reach);
    std::vector<double> t(unknowns.size());
    std::vector<double> first(unknowns.size());
    std::vector<double> second(unknowns.size());
    double mass = 0;
    for (std::size_t carry = 0; carry < at.size();) {
      for (std::size_t u = 0; u < t.size(); ++u) t[u] = step * at[u];
      const double weight = density(t);
      mass += weight;
      for (std::size_t u = 0; u < t.size(); ++u) {
        first[u] += weight * t[u];
        second[u] += weight * t[u] * t[u];
      }
      for (carry = 0; carry < at.size() && ++at[carry] > reach; ++carry) at[carry] = -reach;
    }
    std::vector<Unknown> result;
    for (std::size_t u = 0; u < t.size(); ++u) {
      const double mean = first[u] / mass;
      const double deviation = std::sqrt(second[u] / mass - mean * mean);
      result.push_back({unknowns[u].name, unknowns[u].mean + unknowns[u].deviation * mean,
                        unknowns[u].deviation * deviation});
    }
    return result;
  }
};

// EP against the exact posterior; both errors in exact deviations.
void expect_exact(const std::string& name, double allowed_mean, double allowed_deviation) {
  const auto outcome = run("infer " + example(name) + " --engine ep --tolerance 1e-9 --json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result["converged"], true);
  const auto exact = Events(example_graph(name)).posterior();
  ASSERT_GE(exact.size(), 2U);
  for (const Unknown& unknown : exact) {
    const json& found = result["marginals"][unknown.name];
    EXPECT_NEAR((found["mean"].get<double>() - unknown.mean) / unknown.deviation, 0, allowed_mean)
        << unknown.name;
    EXPECT_NEAR(std::sqrt(found["variance"].get<double>()) / unknown.deviation, 1,
                allowed_deviation)
        << unknown.name;
  }
}

// The graph has no cycles; what is left is that more than one message is not exact: 3e-5 and 2e-4 were found.
TEST(Infer, TrueSkillWithDraws) { expect_exact("trueskill_draws.json", 2e-4, 5e-4); }

// The rows share both weights, so that messages come back: 0.06 and 0.08 were found.
TEST(Infer, ProbitRegression) { expect_exact("probit_regression.json", 0.08, 0.1); }

TEST(Infer, EveryEngine) {
  for (const std::string engine : {"direct", "ep", "vmp", "adf"}) {
    SCOPED_TRACE(engine);
    const auto outcome = run("infer " + example("product.json") + " --json --engine " + engine);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const json result = json::parse(outcome.out);
    EXPECT_EQ(result["engine"], engine);
    const double variance = result["marginals"]["x"]["variance"].get<double>();
    EXPECT_EQ(variance == 0, engine == "vmp");
    EXPECT_EQ(variance == 1, engine == "adf");
  }
  for (const std::string rule : {"direct", "linear"}) {
    const auto outcome = run("infer " + example("product.json") + " --json --rule " + rule);
    EXPECT_EQ(json::parse(outcome.out)["rule"], rule);
  }
}

TEST(Infer, TableForPeople) {
  const auto outcome = run("infer " + example("product.json"));
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out.rfind("variable", 0), 0U) << outcome.out;
  EXPECT_NE(outcome.out.find("3 variables, 4 factors; engine direct"), std::string::npos);
}

TEST(Infer, Schedule) {
  const auto outcome = run("infer " + example("product.json") + " --schedule");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out,
            "forward  prior#0 -> x\n"
            "forward  prior#1 -> y\n"
            "forward  observation#3 -> z\n"
            "forward  product#2 -> z\n"
            "backward product#2 -> x\n"
            "backward product#2 -> y\n");
}

TEST(Infer, MissingFile) {
  const auto outcome = run("infer no-such-graph.json");
  expect_refusal(outcome, "no-such-graph.json: cannot be opened");
}

TEST(Infer, FolderInPlaceOfAFile) {
  const auto outcome = run("infer " + shell_word(DMA_SOURCE_DIR));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("cannot be opened"), std::string::npos) << outcome.err;
}

TEST(Infer, BrokenJson) {
  const std::string text = product_graph().dump();
  expect_refusal(infer_text(text.substr(0, text.size() / 2)), "parse error at line 1, column");
  expect_refusal(infer_text(""), "parse error at line 1, column 1");
  expect_refusal(infer_text(text + "{}"), "parse error at line 1, column");
  expect_refusal(infer_text("[]"), "must hold one JSON object");
}

TEST(Infer, DeepNesting) {
  expect_refusal(infer_text(std::string(100, '[') + std::string(100, ']')),
                 "nested deeper than 32 levels, before byte");
}

TEST(Infer, NotANumber) {
  const std::string mean = "\"mean\":3";
  expect_refusal(infer_text(product_text(mean, "\"mean\":NaN")), "parse error at line 1, column");
  expect_refusal(infer_text(product_text(mean, "\"mean\":1e999")), "too large, before byte");
  expect_refusal(infer_text(product_text(mean, "\"mean\":\"3\"")),
                 "\"factors\"[0]: \"mean\": must be a number, got \"3\"");
  expect_refusal(infer_text(product_text("\"variance\":5", "\"variance\":-5")),
                 "\"factors\"[3]: factor 3 (observation)");
}

TEST(Infer, WrongGraphs) {
  expect_refusal(infer_changed([](json& g) { g["factors"][2]["edges"][2] = "w"; }),
                 "\"factors\"[2]: there is no variable called 'w'");
  expect_refusal(infer_changed([](json& g) { g["factors"][2]["factor"] = "produkt"; }),
                 "\"factors\"[2]: unknown factor \"produkt\"; the factors are prior, ");
  expect_refusal(infer_changed([](json& g) { g["factors"][2]["edges"].erase(2); }),
                 "\"factors\"[2]: factor 2 (product) needs 3 variables, got 2");
  expect_refusal(infer_changed([](json& g) { g["variables"].push_back("x"); }),
                 "\"variables\"[3]: there is already a variable called 'x'");
  expect_refusal(infer_changed([](json& g) { g["factors"][2]["edges"][2] = "x"; }),
                 "\"factors\"[2]: factor 2 (product): variable 'x' is on two of its edges");
  expect_refusal(infer_changed([](json& g) { g["variables"].push_back("lonely"); }),
                 "variable 'lonely' has no proper message");
  expect_refusal(infer_changed([](json& g) { g["factors"][0].erase("mean"); }),
                 "\"factors\"[0]: has no \"mean\"");
}

// Its 64 bits are those of -1, which is a sign.
TEST(Infer, ASignBeyondSignedNumbers) {
  const json graph{
      {"variables", {"x", "l"}},
      {"factors",
       {{{"factor", "prior"}, {"edges", {"l"}}, {"mean", 0}, {"variance", 1}},
        {{"factor", "lognormal_copy"}, {"edges", {"x", "l"}}, {"sign", 18446744073709551615U}}}}};
  expect_refusal(infer_text(graph.dump()), "\"sign\": is out of range: 18446744073709551615");
}

// A name must not write a second line, nor colour the terminal.
TEST(Infer, NamesStayOnTheLine) {
  expect_refusal(infer_changed([](json& g) { g["a\nb\x1b[31m"] = 1; }),
                 "has an unknown key \"a\\x0ab\\x1b[31m\"");
  expect_refusal(infer_changed([](json& g) { g["factors"][2]["edges"][2] = "w\n"; }),
                 "there is no variable called 'w\\x0a'");
}

TEST(Infer, UnknownKeys) {
  expect_refusal(infer_changed([](json& g) { g["factors"][0]["sigma"] = 1; }),
                 "\"factors\"[0]: has an unknown key \"sigma\"");
  expect_refusal(infer_changed([](json& g) { g["extra"] = 1; }), "unknown key \"extra\"");
}

TEST(Infer, EqualKeys) {
  expect_refusal(infer_text(product_text("\"mean\":3", "\"mean\":3,\"mean\":4")),
                 "the key \"mean\" appears twice in one object, before byte");
}

TEST(Infer, ConvergenceIsKnownOnlyWhereItWasWatched) {
  const auto text = product_graph().dump();
  EXPECT_TRUE(json::parse(infer_text(text).out)["converged"].is_null());
  const auto watched = json::parse(infer_text(text, "--json --tolerance 1e-9").out);
  EXPECT_EQ(watched["converged"], true);
  EXPECT_EQ(watched["sweeps"], 2);
}

TEST(Infer, AdfVisitsEveryFactorOnce) {
  expect_refusal(infer_text(product_graph().dump(), "--json --engine adf --sweeps 2"),
                 "ADF visits every factor once");
  EXPECT_EQ(run("infer " + example("network.json") + " --engine adf --tolerance 1e-6").status, 0);
}

TEST(Infer, WrongSchedules) {
  const auto with_step = [](const json& step) {
    return infer_changed([&](json& g) {
      g["schedule"] = {{"forward", json::array({step})}, {"backward", json::array()}};
    });
  };
  expect_refusal(with_step({"product#2", "q"}),
                 "\"schedule\": \"forward\"[0]: factor \"product#2\" has no edge to variable 'q'");
  expect_refusal(with_step({"nothing", "x"}),
                 "\"schedule\": \"forward\"[0]: there is no factor called \"nothing\"");
  expect_refusal(with_step(json::array({"prior#0"})),
                 "\"schedule\": \"forward\"[0]: must be a [factor, variable] pair");
  expect_refusal(infer_changed([](json& g) {
                   g["schedule"] = {{"forward", json::array()},
                                    {"backward", json::array()},
                                    {"sideways", json::array()}};
                 }),
                 "\"schedule\": has an unknown key \"sideways\"");
}

TEST(Command, WrongUseIsStatusTwo) {
  const auto expect_misuse = [](const std::string& arguments, const std::string& part) {
    const auto outcome = run(arguments);
    EXPECT_EQ(outcome.status, 2) << arguments;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  };
  expect_misuse("infer " + example("product.json") + " --wrong", "--wrong");
  expect_misuse("infer " + example("product.json") + " --engine gibbs",
                "--engine: gibbs not in {adf,direct,ep,vmp}");
  expect_misuse("infer " + example("product.json") + " --sweeps 0", "--sweeps");
  expect_misuse("infer " + example("product.json") + " --json=1", "dma: --json takes no value\n");
  expect_misuse("fit x.csv --no-calibration=" + std::string(50, '1'),  // found by fuzzing
                "dma: --no-calibration takes no value\n");
  expect_misuse("infer", "graph is required");
  expect_misuse("infre", "unknown command 'infre'; the commands are: fit");
  expect_misuse("", "subcommand is required");
}

TEST(Command, HelpAndVersionAreStatusZero) {
  for (const std::string arguments : {"--help", "--version", "infer --help"}) {
    const auto outcome = run(arguments);
    EXPECT_EQ(outcome.status, 0) << arguments;
    EXPECT_NE(outcome.out, "");
    EXPECT_EQ(outcome.err, "");
  }
}

}  // namespace
