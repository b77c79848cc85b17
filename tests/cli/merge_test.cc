// dma prepare, fit --start and merge, as a user meets them.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>
#include <string>

#include "cli/expect.h"
#include "cli/fitted.h"

namespace {

using dma::test::expect_refusal;
using dma::test::expect_said;
using dma::test::Outcome;
using dma::test::parsed;
using dma::test::run;
using dma::test::Scratch;
using dma::test::shell_word;
using dma::test::wave_csv;
using nlohmann::json;

// Lines [first, end) of the rows of a table, with its header.
std::string rows_of(const std::string& csv, std::size_t first, std::size_t end) {
  std::istringstream lines(csv);
  std::string line, result;
  for (std::size_t n = 0; std::getline(lines, line) && n <= end; ++n) {
    if (n == 0 || n > first) result += line + "\n";
  }
  return result;
}

// A start, and the rows of two places.
struct Places {
  Scratch scratch;
  std::string all = wave_csv(120, 1);
  std::string north = scratch.file("north.csv", rows_of(all, 0, 50));
  std::string south = scratch.file("south.csv", rows_of(all, 50, 120));
  std::string both = scratch.file("both.csv", all);
  std::string start = scratch.path("s.start");
  json prepared = parsed(run("prepare " + shell_word(north) + " --target y -o " +
                             shell_word(start) + dma::test::quick + " --json"));

  std::string path(const std::string& name) const { return shell_word(scratch.path(name)); }
  Outcome fit(const std::string& rows, const std::string& name,
              const std::string& more = "") const {
    return run("fit " + shell_word(rows) + " --start " + shell_word(start) + " -o " + path(name) +
               " " + more);
  }
  json evaluate(const std::string& name) const {
    return parsed(run("evaluate " + path(name) + " " + shell_word(both) + " --json"));
  }
};

TEST(Merge, ThreeCommandsMakeTheModelOfAllRows) {
  const Places places;
  EXPECT_EQ(places.prepared["start"]["round"], 1);
  EXPECT_TRUE(places.prepared["start"]["parts"].empty());
  const json north = parsed(places.fit(places.north, "north.dma", "--json"));
  EXPECT_EQ(north["rows"], 50);
  EXPECT_EQ(north["start"]["digest"], places.prepared["start"]["digest"]);
  EXPECT_EQ(north["start"]["parts"].size(), 1U);
  const Outcome south = places.fit(places.south, "south.dma");
  EXPECT_EQ(south.status, 0) << south.err;
  expect_said(south.out, {"start", "round 1; learnt from it: 1 part", "sample's scores"});
  const json merged =
      parsed(run("merge " + places.path("north.dma") + " " + places.path("south.dma") + " -o " +
                 places.path("all.dma") + " --json"));
  EXPECT_EQ(merged["rows"], 120);
  EXPECT_EQ(merged["rows_alike"], 0);
  EXPECT_EQ(merged["start"]["parts"].size(), 2U);
  ASSERT_EQ(places.fit(places.both, "at_once.dma").status, 0);
  EXPECT_NEAR(places.evaluate("all.dma")["nll"], places.evaluate("at_once.dma")["nll"], 1e-9);

  const std::string shown = run("inspect " + places.path("all.dma")).out;
  expect_said(shown, {"learnt from it: 2 parts", "50 rows", "70 rows"});
  EXPECT_EQ(parsed(run("inspect " + places.path("all.dma") + " --json"))["start"]["parts"],
            merged["start"]["parts"]);
  expect_said(run("inspect " + shell_word(places.start)).out,
              {"a start", "which it has not learnt"});
  EXPECT_EQ(parsed(run("inspect " + shell_word(places.start) + " --json"))["start"]["digest"],
            merged["start"]["digest"]);
}

TEST(Merge, TheMergedModelForgetsLearnsAndBeginsAnotherRound) {
  const Places places;
  ASSERT_EQ(places.fit(places.north, "north.dma").status, 0);
  ASSERT_EQ(places.fit(places.south, "south.dma").status, 0);
  const std::string both = places.path("north.dma") + " " + places.path("south.dma");
  const Outcome merged = run("merge " + both + " -o " + places.path("all.dma"));
  ASSERT_EQ(merged.status, 0) << merged.err;
  expect_said(merged.out, {"rows", "120", "learnt from it: 2 parts"});
  const json forgotten =
      parsed(run("forget " + places.path("all.dma") + " --rows " + shell_word(places.north) +
                 " -o " + places.path("less.dma") + " --json"));
  EXPECT_EQ(forgotten["rows_removed"], 50);
  EXPECT_NEAR(places.evaluate("less.dma")["nll"], places.evaluate("south.dma")["nll"], 1e-9);
  const json learnt =
      parsed(run("update " + places.path("less.dma") + " " + shell_word(places.north) + " --json"));
  EXPECT_EQ(learnt["rows_added"], 50);
  EXPECT_NEAR(places.evaluate("less.dma")["nll"], places.evaluate("all.dma")["nll"], 1e-9);
  expect_refusal(run("forget " + places.path("all.dma") + " --rows " + shell_word(places.north) +
                     " --data " + shell_word(places.both)),
                 "leave --data out");
  const json next = parsed(run("prepare --from " + places.path("all.dma") + " -o " +
                               places.path("round2.start") + " --json"));
  EXPECT_EQ(next["start"]["round"], 2);
  EXPECT_EQ(
      run("plot " + places.path("all.dma") + " " + shell_word(places.north) + " --input a").status,
      0);
}

TEST(Merge, SaysWhatDoesNotFit) {
  const Places places;
  ASSERT_EQ(places.fit(places.north, "north.dma").status, 0);
  const std::string north = places.path("north.dma");
  const std::string out = " -o " + places.path("all.dma");
  expect_refusal(run("merge " + north + out), "two models at least", 2);
  expect_refusal(run("merge " + north + " " + north), "--output is required", 2);
  expect_refusal(run("merge " + north + " " + north + out), "its rows would count twice");
  expect_refusal(run("merge " + north + " " + shell_word(places.start) + out),
                 "is a start, which has learnt no rows");
  expect_refusal(run("merge " + north + " " + shell_word(places.north) + out), "north.csv");
  expect_refusal(run("predict " + shell_word(places.start) + " " + shell_word(places.north)),
                 "is a start, which has learnt no rows");
  expect_refusal(run("fit " + shell_word(places.north) + " --start " + north), "not a start");
  expect_refusal(places.fit(places.north, "x.dma", "--hidden 5"), "--hidden: this is decided", 2);
  expect_refusal(places.fit(places.north, "x.dma", "--target y"), "--target: this is decided", 2);
  expect_refusal(run("prepare -o " + places.path("x.start")), "needs a sample", 2);
  expect_refusal(run("prepare --from " + north + " --target y -o " + places.path("x.start")),
                 "--target: all comes from the model", 2);
  const std::string narrow = places.scratch.file("narrow.csv", "a,y\n1,2\n2,3\n");
  expect_refusal(places.fit(narrow, "x.dma"), "'b'");
}

TEST(Merge, TellsOfRowsThatAreInSeveralModels) {
  const Places places;
  ASSERT_EQ(places.fit(places.north, "north.dma").status, 0);
  ASSERT_EQ(places.fit(places.both, "both.dma").status, 0);
  const Outcome merged = run("merge " + places.path("north.dma") + " " + places.path("both.dma") +
                             " -o " + places.path("all.dma"));
  EXPECT_EQ(merged.status, 0);
  expect_said(merged.err, {"50 rows are alike in several models"});
}

}  // namespace
