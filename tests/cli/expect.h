// expect.h: what every command promises about its answers and its refusals.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>

#include "command.h"

namespace dma::test {

inline nlohmann::json parsed(const Outcome& outcome) {
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return nlohmann::json::parse(outcome.out);
}

// Fails with this status, and says this on standard error only, in one line; a wrong command line (2) has a
// second, which points to --help.
inline void expect_refusal(const Outcome& outcome, const std::string& said, int status = 1) {
  EXPECT_EQ(outcome.status, status) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find(said), std::string::npos) << outcome.err << "wanted: " << said;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), status) << outcome.err;
}

// Says all of these.
inline void expect_said(const std::string& text, std::initializer_list<const char*> all) {
  for (const char* said : all) EXPECT_NE(text.find(said), std::string::npos) << text << said;
}

}  // namespace dma::test
