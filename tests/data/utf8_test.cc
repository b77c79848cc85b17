// What the JSON of a model file can hold, and nothing else.
#include "data/utf8.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace dma::csv {
namespace {

bool json_takes(const std::string& text) {
  try {
    (void)nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

std::string bytes(std::initializer_list<unsigned> values) {
  std::string text;
  for (const unsigned value : values) text += static_cast<char>(value);
  return text;
}

void expect_as_json(const std::string& text) {
  ASSERT_EQ(is_utf8(text), json_takes(text)) << ::testing::PrintToString(text);
}

TEST(Utf8, EveryPairOfBytesAndEveryCharacterOfThree) {
  for (unsigned a = 0; a < 256; ++a) {
    expect_as_json(bytes({a}));
    for (unsigned b = 0; b < 256; ++b) expect_as_json(bytes({a, b}));
  }
  for (unsigned a = 0xdf; a <= 0xf0; ++a) {
    for (unsigned b = 0x7e; b <= 0xc1; ++b) {
      for (const unsigned c : {0x00U, 0x41U, 0x7fU, 0x80U, 0xbfU, 0xc0U, 0xffU}) {
        expect_as_json(bytes({a, b, c}));
        expect_as_json(bytes({'x', a, b, c, 'y'}));
      }
    }
  }
}

TEST(Utf8, CharactersOfFour) {
  for (unsigned a = 0xef; a < 256; ++a) {
    for (unsigned b = 0x7e; b <= 0xc1; ++b) {
      for (const unsigned c : {0x7fU, 0x80U, 0xbfU, 0xc0U}) {
        for (const unsigned d : {0x7fU, 0x80U, 0xbfU, 0xc0U}) expect_as_json(bytes({a, b, c, d}));
      }
    }
  }
}

TEST(Utf8, TextOfAnyScript) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("Zürich, \u6771\u4eac, \U0001f600"));
  EXPECT_FALSE(is_utf8(bytes({0xed, 0xa0, 0x80})));        // a surrogate
  EXPECT_FALSE(is_utf8(bytes({0xe0, 0x80, 0xaf})));        // a slash in three bytes
  EXPECT_FALSE(is_utf8(bytes({0xf4, 0x90, 0x80, 0x80})));  // beyond the last character
  EXPECT_FALSE(is_utf8("Z" + bytes({0xfc}) + "rich"));     // Latin-1
}

}  // namespace
}  // namespace dma::csv
