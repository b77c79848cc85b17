// The dma command as a user runs it: what it prints, where, and its exit status.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "command.h"
#include "scratch.h"

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
    auto data = entry.path();
    data.replace_extension(".csv");
    const std::string with_data =
        std::filesystem::exists(data) ? " --data " + shell_word(data.string()) : "";
    const auto outcome = run("infer " + shell_word(entry.path().string()) + with_data + " --json");
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.err, "");
    const json result = json::parse(outcome.out);  // one value and nothing after it
    ASSERT_TRUE(result.is_object());
    EXPECT_EQ(outcome.out, result.dump() + "\n");
    EXPECT_FALSE(result["marginals"].empty());
    for (const auto& [name, marginal] : result["marginals"].items()) {
      const json& variance = marginal["variance"];
      for (const json& one : variance.is_array() ? variance : json::array({variance}))
        EXPECT_GE(one.get<double>(), 0) << name;
    }
    ++examples;
  }
  EXPECT_GE(examples, 7U);
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

json league() { return example_graph("league.json"); }

constexpr auto league_rows = R"(home,away,goals ahead
Ash,Bren,2
Bren,Carr,0
Carr,Ash,-1
)";

Outcome infer_league(const json& model, const std::string& rows = league_rows,
                     const std::string& arguments = "--json --sweeps 3") {
  const Scratch scratch;
  std::ofstream(scratch.path("rows.csv")) << rows;
  return infer_text(model.dump(),
                    "--data " + shell_word(scratch.path("rows.csv")) + " " + arguments);
}

template <class Change>
Outcome infer_changed_league(const Change& change, const std::string& rows = league_rows) {
  json model = league();
  change(model);
  return infer_league(model, rows);
}

TEST(Plates, AreTheGraphWrittenOut) {
  const json written = json::parse(R"({
    "variables": ["home", "a", "b", "c", "ab", "bc", "ca"],
    "factors": [
      {"factor": "prior", "edges": ["home"], "mean": 0, "variance": 1},
      {"factor": "prior", "edges": ["a"], "mean": 0, "variance": 1},
      {"factor": "prior", "edges": ["b"], "mean": 0, "variance": 1},
      {"factor": "prior", "edges": ["c"], "mean": 0, "variance": 1},
      {"factor": "sum", "edges": ["ab", "home", "a", "b"], "coefficients": [1, 1, -1]},
      {"factor": "sum", "edges": ["bc", "home", "b", "c"], "coefficients": [1, 1, -1]},
      {"factor": "sum", "edges": ["ca", "home", "c", "a"], "coefficients": [1, 1, -1]},
      {"factor": "observation", "edges": ["ab"], "value": 2, "variance": 2},
      {"factor": "observation", "edges": ["bc"], "value": 0, "variance": 2},
      {"factor": "observation", "edges": ["ca"], "value": -1, "variance": 2}]})");
  const json one_by_one =
      json::parse(infer_text(written.dump(), "--json --sweeps 3").out)["marginals"];
  const auto outcome = infer_league(league());
  EXPECT_EQ(outcome.err, "");
  const json result = json::parse(outcome.out);
  const json& marginals = result["marginals"];
  EXPECT_EQ(marginals["strength"]["labels"], json({"Ash", "Bren", "Carr"}));
  EXPECT_EQ(marginals["home advantage"], one_by_one["home"]);
  const std::vector<std::string> teams{"a", "b", "c"}, matches{"ab", "bc", "ca"};
  for (std::size_t k = 0; k < 3; ++k) {
    for (const char* moment : {"mean", "variance"}) {
      EXPECT_EQ(marginals["strength"][moment][k], one_by_one[teams[k]][moment]);
      EXPECT_EQ(marginals["lead"][moment][k], one_by_one[matches[k]][moment]);
    }
  }
  EXPECT_EQ(result["messages"][2]["factor"], "match");
  EXPECT_EQ(result["messages"][2]["edge"], 0);
  EXPECT_EQ(result["messages"][2]["mean"].size(), 3U);
}

TEST(Plates, AreListedByLabel) {
  const auto outcome = infer_league(league(), league_rows, "");
  EXPECT_NE(outcome.out.find("strength[Bren]"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("lead[2]"), std::string::npos) << outcome.out;
  const auto schedule =
      infer_league(league(), std::string(league_rows) + "Ash,Bren,2\nBren,Carr,1\n", "--schedule");
  EXPECT_NE(schedule.out.find("match[0] ... match[2] -> edges 0 (z), 1 (x), 2 (x), 3 (x)"),
            std::string::npos)
      << schedule.out;
}

TEST(Plates, HaveNumbersElementsColumnsAndCoefficients) {
  // y = weight . (x, 1): rows share the one vector of plate "model".
  const json model = json::parse(R"({
    "plates": {"row": "rows", "model": 1, "user": {"values": ["user"]}},
    "variables": [{"name": "weight", "plate": "model", "columns": 2}, {"name": "y", "plate": "row"},
                  {"name": "taste", "plate": "user"}],
    "factors": [
      {"factor": "prior", "edges": ["weight[0,0]"], "mean": 1, "variance": 0},
      {"factor": "prior", "edges": ["weight[0,1]"], "mean": 10, "variance": 0},
      {"factor": "prior", "edges": ["taste[7]"], "mean": 5, "variance": 1},
      {"factor": "prior", "edges": ["taste[3]"], "mean": 6, "variance": 1},
      {"factor": "sum", "plate": "row", "edges": ["y", "weight[which]"],
       "coefficients": ["x", 1], "variance": 1}]})");
  const auto outcome = infer_league(model, "user,which,x\n7,0,2\n3,0,-4\n");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json marginals = json::parse(outcome.out)["marginals"];
  EXPECT_EQ(marginals["y"]["mean"], json({12.0, 6.0}));
  EXPECT_EQ(marginals["taste"]["labels"], json({"7", "3"}));
  EXPECT_EQ(marginals["taste"]["mean"], json({5.0, 6.0}));
  EXPECT_EQ(marginals["weight"]["mean"][0].size(), 2U);
}

TEST(Plates, ErrorsNamePlateRowColumnAndValue) {
  const auto leave = [](json&) {};
  const auto with = [&](const std::string& row) {
    return infer_changed_league(leave, std::string(league_rows) + row + "\n");
  };
  expect_refusal(with(",Ash,1"), "plate 'team', line 5, column 'home': the cell is empty");
  expect_refusal(with("Ash,Carr,"),
                 "plate 'match', line 5, column 'goals ahead': the cell is empty");
  expect_refusal(with("Ash,Carr,two"), "line 5, column 'goals ahead': 'two' is not a number");
  expect_refusal(with("Ash,Ash,1"),
                 "plate 'match', line 5: factor 4 (sum), row 3: variable 'strength[0]' is on two");
  expect_refusal(infer_changed_league([](json& m) { m["plates"]["team"]["values"] = {"home"}; },
                                      std::string(league_rows) + "Ash,Dun,1\n"),
                 "line 5, column 'away': 'Dun' is not in plate 'team'");
  expect_refusal(infer_changed_league([](json& m) {
                   m["factors"][3]["factor"] = "poisson";
                   m["factors"][3].erase("value");
                   m["factors"][3].erase("variance");
                   m["factors"][3]["count"] = "goals ahead";
                 }),
                 "plate 'match', line 4, column 'goals ahead': -1.000000: a count must be");
  expect_refusal(infer_changed_league(
                     [](json& m) {
                       m["factors"][3] = {{"factor", "probit"},
                                          {"plate", "match"},
                                          {"edges", {"lead"}},
                                          {"sign", "goals ahead"}};
                     },
                     "home,away,goals ahead\nAsh,Bren,1.5\n"),
                 "line 2, column 'goals ahead': 1.500000: must be a whole number");
  expect_refusal(infer_changed_league([](json& m) { m["plates"]["team"] = 2; },
                                      "home,away,goals ahead\n0,1,1\n1,2,1\n"),
                 "plate 'match', line 3, column 'away': '2' is not a whole number from 0 to 1");
}

TEST(Plates, ErrorsNameThePlaceInTheModel) {
  const auto changed = [](const auto& change) { return infer_changed_league(change); };
  expect_refusal(changed([](json& m) { m["plates"]["team"]["values"] = {"team"}; }),
                 "no column 'team'");
  expect_refusal(changed([](json& m) { m["plates"]["match"] = "lines"; }),
                 "\"plates\": \"match\": must be \"rows\"");
  expect_refusal(changed([](json& m) { m["plates"]["match"] = 0; }), "has no elements");
  expect_refusal(changed([](json& m) { m["plates"]["match"] = 1000001; }),
                 "at most 1000000 elements");
  expect_refusal(changed([](json& m) { m["factors"][2]["plate"] = "game"; }),
                 "\"factors\"[2]: there is no plate called \"game\"");
  expect_refusal(changed([](json& m) { m["variables"][1]["plate"] = "game"; }),
                 "\"variables\"[1]: there is no plate called \"game\"");
  expect_refusal(changed([](json& m) { m["variables"][1]["columns"] = 0; }), "at least 1");
  expect_refusal(changed([](json& m) { m["factors"][2]["edges"][2] = "strength"; }),
                 "say which element, strength[column]");
  expect_refusal(changed([](json& m) { m["factors"][3].erase("plate"); }),
                 "'lead' is an array; an element is called 'lead[0]'");
  expect_refusal(infer_text(league().dump(), "--json"), "give it with --data FILE");
  const json without = product_graph();
  expect_refusal(infer_league(without), "has no \"plates\", so --data has no effect");
}

// Two Gaussians: N(2; 0, 1 + 1).
constexpr auto known_evidence = R"({"variables": ["x"], "factors": [
  {"factor": "prior", "edges": ["x"], "mean": 0, "variance": 1},
  {"factor": "observation", "edges": ["x"], "value": 2, "variance": 1}]})";

TEST(Evidence, IsInTheAnswer) {
  const double exact = -(std::log(4 * 3.14159265358979) + 2) / 2;
  const json result = json::parse(infer_text(known_evidence).out);
  EXPECT_NEAR(result["log_evidence"].get<double>(), exact, 1e-9);
  EXPECT_TRUE(result["no_evidence"].is_null());
  const auto table = infer_text(known_evidence, "");
  EXPECT_NE(table.out.find("log evidence -2.265512\n"), std::string::npos) << table.out;
  const auto cycles =
      run("infer " + example("probit_regression.json") + " --engine ep --tolerance 1e-9");
  EXPECT_NE(cycles.out.find("the Bethe approximation"), std::string::npos) << cycles.out;
}

TEST(Evidence, SaysWhyThereIsNone) {
  const json result = json::parse(infer_text(known_evidence, "--json --engine vmp").out);
  EXPECT_TRUE(result["log_evidence"].is_null());
  EXPECT_EQ(result["no_evidence"], "the evidence needs beliefs of the engine direct or ep");
}

TEST(Convergence, SaysWhatStillMoves) {
  const json result = json::parse(
      infer_league(league(), league_rows, "--json --tolerance 1e-12 --sweeps 3 --damping 0.25")
          .out);
  EXPECT_EQ(result["damping"], 0.25);
  EXPECT_EQ(result["converged"], false);
  ASSERT_FALSE(result["moving"].empty());
  EXPECT_EQ(result["moving"][0], "home advantage");
  const auto table =
      infer_league(league(), league_rows, "--tolerance 1e-12 --sweeps 3 --damping 0.25");
  EXPECT_NE(table.out.find("moved by more than the tolerance, the first 'home advantage'"),
            std::string::npos)
      << table.out;
  EXPECT_NE(table.out.find("damping 0.25"), std::string::npos) << table.out;
}

TEST(Infer, SchedulesOfPlates) {
  json graph = league();
  graph["schedule"] = json::parse(R"({"forward": [["match", 0], [["match", 1], ["match", 2]]],
                                      "backward": [[["match", 3], ["match", 1]]]})");
  const auto schedule = infer_league(graph, league_rows, "--schedule");
  EXPECT_EQ(schedule.status, 0) << schedule.err;
  std::vector<std::string> steps;
  std::istringstream lines(schedule.out);
  for (std::string line; std::getline(lines, line);) steps.push_back(line);
  EXPECT_EQ(steps,
            (std::vector<std::string>{"forward  match[0] ... match[2] -> edge 0 (z)",
                                      "forward  match[0] ... match[2] -> edges 1 (x), 2 (x)",
                                      "backward match[2] ... match[0] -> edges 3 (x), 1 (x)"}));
}

TEST(Infer, WrongSchedulesOfPlates) {
  const auto refuses = [](const json& step, const std::string& why) {
    json graph = league();
    graph["schedule"] = {{"forward", json::array({step})}, {"backward", json::array()}};
    const auto outcome = infer_league(graph, league_rows, "--json");
    EXPECT_EQ(outcome.status, 1);
    EXPECT_NE(outcome.err.find(why), std::string::npos) << outcome.err;
  };
  refuses({"game", 0}, "there are no factors of a plate called \"game\"");
  refuses({"match", 4}, "\"match\" has the edges 0 to 3, not 4");
  refuses({"match", -1}, "number of an edge");
  refuses(json::array({{"match", 0}, "match"}), "number of an edge");
  refuses(json::array(), "number of an edge");
}

// What the page is given.
json page_of(const std::string& arguments) {
  const Scratch scratch;
  const std::string path = scratch.path("page.html");
  EXPECT_EQ(run("infer " + arguments + " --html " + shell_word(path)).err, "");
  const std::string page = dma::test::content(path);
  const std::string begin = R"(<script type="application/json" id="results">)";
  const auto at = page.find(begin);
  if (at == std::string::npos) {
    ADD_FAILURE() << "no results in the page";
    return {};
  }
  const auto first = at + begin.size();
  return json::parse(page.substr(first, page.find("</script>", first) - first));
}

TEST(Page, ShowsPlatesAsTheyAre) {
  const json page = page_of(example("league.json") + " --data " + example("league.csv") +
                            " --tolerance 1e-12 --sweeps 3");
  EXPECT_EQ(page["kind"], "graph");
  EXPECT_EQ(page["model"], "league.json");
  const json& graph = page["graph"];
  ASSERT_EQ(graph["variables"].size(), 3U);
  EXPECT_EQ(graph["variables"][0]["plate"], "");
  EXPECT_EQ(graph["variables"][1]["plate"], "team");
  EXPECT_EQ(graph["variables"][1]["state"], "moving");
  ASSERT_EQ(graph["factors"].size(), 4U);
  const json& match = graph["factors"][2];
  EXPECT_EQ(match["name"], "match");
  EXPECT_EQ(match["plate"], "match");
  EXPECT_EQ(match["edges"], json({2, 0, 1}));  // both teams are of one array
  EXPECT_FALSE(page["moving"].empty());
  EXPECT_GE(page["moving"][0]["movement"], page["moving"].back()["movement"]);
  EXPECT_EQ(page["figures"]["beliefs"].size(), page["variables"].size());
}

// Values of a known mean: the posterior of their precision is Gamma(2 + 2 / 2, 0.5 + (1 + 4) / 2).
std::string precision_text() {
  return R"({
    "variables": ["x", "y", "at", "precision"],
    "factors": [{"factor": "gamma_prior", "edges": ["precision"], "shape": 2, "rate": 0.5},
                {"factor": "prior", "edges": ["at"], "mean": 0, "variance": 0},
                {"factor": "observation", "edges": ["x"], "value": 1, "variance": 0},
                {"factor": "observation", "edges": ["y"], "value": 2, "variance": 0},
                {"factor": "gaussian_precision", "edges": ["x", "at", "precision"]},
                {"factor": "gaussian_precision", "edges": ["y", "at", "precision"]}]})";
}

TEST(InferPrecision, HasShapeAndRate) {
  const json result = json::parse(infer_text(precision_text()).out);
  const json& precision = result["marginals"]["precision"];
  EXPECT_NEAR(precision["shape"].get<double>(), 3, 1e-12);
  EXPECT_NEAR(precision["rate"].get<double>(), 3, 1e-12);
  EXPECT_NEAR(precision["mean"].get<double>(), 1, 1e-12);
  EXPECT_NEAR(precision["variance"].get<double>(), 1.0 / 3, 1e-12);
  EXPECT_FALSE(result["marginals"]["at"].contains("shape"));
  EXPECT_TRUE(result["improper_marginals"].empty());
  EXPECT_TRUE(result["log_evidence"].is_number());
  const auto table = infer_text(precision_text(), "");
  EXPECT_NE(table.out.find("Gamma, shape 3, rate 3"), std::string::npos) << table.out;
}

TEST(InferPrecision, IsNotTakenByAGaussianEdge) {
  std::string text = precision_text();
  const std::string known = R"("edges": ["at"])";
  text.replace(text.find(known), known.size(), R"("edges": ["precision"])");
  expect_refusal(infer_text(text),
                 "\"factors\"[1]: factor 1 (prior): edge 0 (x) takes a Gaussian variable, but "
                 "'precision' is a Gamma variable");
}

TEST(Page, ShowsAPrecision) {
  const Scratch scratch;
  const json page = page_of(shell_word(scratch.file("graph.json", precision_text())));
  EXPECT_EQ(page["graph"]["variables"][3]["text"], "Gamma, shape 3, rate 3");
  EXPECT_EQ(page["graph"]["variables"][3]["state"], "");
  EXPECT_EQ(page["messages"][0]["message"], "Gamma, shape 2, rate 0.5");
  for (const json& row : page["figures"]["beliefs"]) EXPECT_TRUE(row["lower"].is_number());
}

TEST(Page, CountsWhatIsTooLargeToDraw) {
  const json page = page_of(example("kalman.json"));
  EXPECT_FALSE(page["graph"].contains("variables"));
  std::size_t factors = 0;
  for (const json& row : page["graph"]["types"]) factors += row["factors"].get<std::size_t>();
  for (const json& fact : page["facts"]) {
    if (fact["name"] == "factors") {
      EXPECT_EQ(fact["value"], factors);
    }
  }
  EXPECT_EQ(page["figures"]["beliefs"].size(), 100U);
}

TEST(Page, NamesMessagesOfNegativePrecision) {
  const json page = page_of(example("product.json") + " --engine ep --sweeps 5 --tolerance 1e-9");
  EXPECT_EQ(page["messages"].size(), 6U);
  const json result =
      json::parse(run("infer " + example("product.json") + " --engine ep --sweeps 5 --json").out);
  EXPECT_EQ(page["trouble"].size(),
            result["improper_messages"].size() + result["failed_messages"].size());
}

TEST(Page, NothingIsWrittenIfItCannotBe) {
  const auto outcome =
      run("infer " + example("product.json") + " --html /no/such/folder/page.html");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("/no/such/folder"), std::string::npos) << outcome.err;
}

TEST(SavedBeliefs, AreGoneOnFrom) {
  const Scratch scratch;
  const std::string saved = shell_word(scratch.path("saved"));
  const std::string league =
      "infer " + example("league.json") + " --data " + example("league.csv") + " --json ";
  const json half = json::parse(run(league + "--sweeps 2 --save " + saved).out);
  EXPECT_EQ(half["sweeps"], 2);
  const json rest = json::parse(run(league + "--sweeps 3 --start " + saved).out);
  const json whole = json::parse(run(league + "--sweeps 5").out);
  EXPECT_EQ(rest["marginals"], whole["marginals"]);
}

TEST(SavedBeliefs, OfAnotherGraphAreRefused) {
  const Scratch scratch;
  const std::string saved = shell_word(scratch.path("saved"));
  EXPECT_EQ(run("infer " + example("product.json") + " --save " + saved).status, 0);
  const auto other = run("infer " + example("kalman.json") + " --start " + saved);
  EXPECT_EQ(other.status, 1);
  EXPECT_EQ(other.out, "");
  EXPECT_EQ(other.err, "dma: " + scratch.path("saved") + ": these beliefs are of another graph\n");
  const auto nowhere =
      run("infer " + example("product.json") + " --save " + shell_word(scratch.path("no/file")));
  EXPECT_EQ(nowhere.status, 1);
  EXPECT_EQ(nowhere.out, "");
}

}  // namespace
