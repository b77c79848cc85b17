// What was accepted against what is measured now.
#include "bench/accepted.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bench/report.h"
#include "scratch.h"

namespace dma::bench {
namespace {

Report report_of(std::vector<RatioResult> ratios) {
  return {.machine = "a-machine",
          .quick = false,
          .notes = {},
          .results = {},
          .ratios = std::move(ratios)};
}

RatioResult ratio(const std::string& name, double value, Better better = Better::smaller) {
  return {name, better, std::nullopt, {value, value, value}};
}

const std::vector<std::string> sections{"kernels"};

TEST(Accepted, FifteenPercentWorseIsTheLimit) {
  EXPECT_FALSE(worse({Better::smaller, 2}, 2 * 1.14));
  EXPECT_TRUE(worse({Better::smaller, 2}, 2 * 1.16));
  EXPECT_FALSE(worse({Better::larger, 2}, 2 * 0.86));
  EXPECT_TRUE(worse({Better::larger, 2}, 2 * 0.84));
}

TEST(Accepted, BetterIsNeverWorse) {
  EXPECT_FALSE(worse({Better::smaller, 2}, 0.1));
  EXPECT_FALSE(worse({Better::larger, 2}, 100));
}

TEST(Accepted, WhatIsNoNumberIsWorse) {
  EXPECT_TRUE(worse({Better::smaller, 2}, std::nan("")));
  EXPECT_TRUE(worse({Better::larger, 2}, std::nan("")));
}

TEST(Accepted, ACheckFailsForOneRatioInItsOwnDirection) {
  const AcceptedRatios accepted{{"kernels/a", {Better::smaller, 1}},
                                {"kernels/b", {Better::larger, 1}}};
  EXPECT_TRUE(
      check(accepted, report_of({ratio("kernels/a", 1.14), ratio("kernels/b", 0.86)}), sections)
          .passed());
  const Check found =
      check(accepted, report_of({ratio("kernels/a", 1.16), ratio("kernels/b", 3)}), sections);
  EXPECT_FALSE(found.passed());
  ASSERT_EQ(found.worsened.size(), 1U);
  EXPECT_EQ(found.worsened[0].name, "kernels/a");
  EXPECT_NE(text(found).find("kernels/a was 1, is 1.16"), std::string::npos);
}

TEST(Accepted, ARatioThatIsGoneFails) {
  const AcceptedRatios accepted{{"kernels/a", {Better::smaller, 1}},
                                {"kernels/b", {Better::smaller, 1}}};
  Report report = report_of({ratio("kernels/a", 1)});
  EXPECT_EQ(check(accepted, report, sections).missing, std::vector<std::string>{"kernels/b"});
  EXPECT_FALSE(check(accepted, report, sections).passed());
  report.quick = true;
  EXPECT_TRUE(check(accepted, report, sections).passed());
}

TEST(Accepted, OtherSectionsAreNotCompared) {
  const AcceptedRatios accepted{{"kernels/a", {Better::smaller, 1}},
                                {"epochs/a", {Better::smaller, 1}}};
  const Check found = check(accepted, report_of({ratio("kernels/a", 1)}), sections);
  EXPECT_TRUE(found.passed());
  EXPECT_EQ(found.compared, 1U);
}

TEST(Accepted, NothingComparedIsNoSuccess) {
  EXPECT_FALSE(check({}, report_of({ratio("kernels/a", 1)}), sections).passed());
}

TEST(Accepted, AFileKeepsTheOtherSections) {
  const test::Scratch scratch;
  const auto path = accepted_file(scratch.path("accepted"), "a-machine");
  const std::vector<std::string> others{"epochs"};
  write_accepted(path, report_of({ratio("epochs/a", 2, Better::larger)}), others);
  write_accepted(path, report_of({ratio("kernels/old", 1)}), sections);
  RatioResult absolute = ratio("kernels/time", 1);
  absolute.absolute = true;
  write_accepted(path, report_of({ratio("kernels/new", 1.23456789), absolute}), sections);
  const AcceptedRatios read = read_accepted(path);
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read.at("epochs/a").better, Better::larger);
  EXPECT_EQ(read.at("kernels/new").value, 1.235);
}

}  // namespace
}  // namespace dma::bench
