// data/row_hash.h: 64-bit hashes of a table's rows, the same on every machine.
//
// A row's hash takes one 64-bit word per cell. combine() is a bijection of the word for a given hash and
// of the hash for a given word: rows that differ in one cell never collide, others by chance only.
// Not meant to withstand an adversary.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dma {

// No number has these bits, because NaN is an empty cell.
inline constexpr std::uint64_t empty_word = 0x7ff8'0000'0000'0000;
inline constexpr std::uint64_t hash_start = 0x243f'6a88'85a3'08d3;

constexpr std::uint64_t combine(std::uint64_t hash, std::uint64_t word) {
  // splitmix64's finaliser (Steele, Lea and Flood 2014).
  std::uint64_t mixed = (hash + 0x9e37'79b9'7f4a'7c15) ^ word;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58'476d'1ce4'e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d0'49bb'1331'11eb;
  return mixed ^ (mixed >> 31);
}

inline std::uint64_t word_of(double number) {
  if (number != number) return empty_word;
  return std::bit_cast<std::uint64_t>(number + 0.0);  // -0 + 0 = 0
}

constexpr std::uint64_t word_of(std::string_view text) {
  std::uint64_t hash = combine(hash_start, text.size());
  for (std::size_t begin = 0; begin < text.size(); begin += 8) {
    std::uint64_t word = 0;
    const std::size_t bytes = std::min<std::size_t>(8, text.size() - begin);
    for (std::size_t k = 0; k < bytes; ++k) {
      word |= std::uint64_t{static_cast<unsigned char>(text[begin + k])} << (8 * k);
    }
    hash = combine(hash, word);
  }
  return hash;
}

}  // namespace dma
