// What a graph says of a mistake.
#pragma once

#include <dma/graph/graph.h>

#include <gtest/gtest.h>

#include <string>

namespace dma::test {

template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const GraphError& error) {
    return error.what();
  }
  return "no error";
}

inline void expect_error(const std::string& error, const std::string& part) {
  EXPECT_NE(error.find(part), std::string::npos) << error;
}

}  // namespace dma::test
