// fuzz/fuzz.h: what the fuzz targets share. A target feeds bytes to a reader, which returns what it read or throws a
// documented exception. Anything else, and any violated property, ends the process, and libFuzzer keeps the input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace dma::fuzz {

inline void require(bool property, const char* words) {
  if (property) return;
  std::fprintf(stderr, "fuzz: does not hold: %s\n", words);
  std::abort();
}

// Messages are one line: a file's content must not forge the program's output.
inline void require_one_line(std::string_view message) {
  require(!message.empty(), "an error has a message");
  require(message.find('\n') == std::string_view::npos, "a message has one line");
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace dma::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);
