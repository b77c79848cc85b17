// data/number.h: a cell as a number.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <system_error>

#include "data/scan.h"

namespace dma::csv {

constexpr double largest_number = 1e300;

enum class Reading {
  number,
  marked,        // with separators of thousands, a sign of currency or of percent
  empty,         // whatever the column holds
  empty_number,  // if the column holds numbers; otherwise text
  infinite,      // inf, infinity
  too_large,     // larger than largest_number
  text,
};

__extension__ using Sixteen = unsigned __int128;  // bytes, the first one lowest

constexpr std::uint64_t each_byte = 0x0101010101010101U;

inline constexpr std::array<double, 17> powers_of_ten = {
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16};

// The number that eight decimal digits make, the first one in the lowest byte: pairs, fours, eight.
inline std::uint64_t join_digits(std::uint64_t digits) {
  constexpr std::uint64_t fours = 0x000000FF000000FFU;
  digits = digits * 10 + (digits >> 8U);
  const std::uint64_t high = (digits & fours) * (100U + (std::uint64_t{1'000'000} << 32U));
  const std::uint64_t low = ((digits >> 16U) & fours) * (1U + (std::uint64_t{10'000} << 32U));
  return (high + low) >> 32U;
}

// The first byte that equals c, or 8 if there is none.
inline std::size_t find_byte(std::uint64_t bytes, std::uint64_t c) {
  const std::uint64_t zero_if_equal = bytes ^ (c * each_byte);
  const std::uint64_t found = (zero_if_equal - each_byte) & ~zero_if_equal & (0x80U * each_byte);
  return static_cast<std::size_t>(std::countr_zero(found)) / 8;
}

inline bool are_digits(std::uint64_t bytes) {
  return (((bytes + 0x76U * each_byte) | bytes) & (0x80U * each_byte)) == 0;
}

// Position of the point among characters that were turned into digits, or 16 if there is none.
inline std::size_t find_point(Sixteen characters) {
  constexpr std::uint64_t point = '.' ^ '0';
  const std::size_t in_first = find_byte(static_cast<std::uint64_t>(characters), point);
  const std::size_t in_second = find_byte(static_cast<std::uint64_t>(characters >> 64U), point);
  return in_first < 8 ? in_first : 8 + in_second;
}

inline Sixteen without_byte(Sixteen bytes, std::size_t place) {
  const Sixteen before = (Sixteen{1} << (8 * place)) - 1;
  return (bytes & before) | ((bytes >> 8U) & ~before);
}

// Reads a number of at most 16 characters after its sign, without exponent, all digits at once. This is faster than
// std::from_chars, which would take most of the time, and equal to the bit, because whole numbers up to 2^53 and powers
// of ten up to 10^22 are exact and a division rounds once. False: not such a number. Reads 17 bytes from begin,
// whatever the length; Scanner::padding is more.
inline bool is_short_number(const char* begin, const char* end, double& value) {
  if constexpr (std::endian::native != std::endian::little) return false;
  constexpr std::uint64_t eight_zeros = '0' * each_byte;
  const bool negative = *begin == '-';
  begin += negative ? 1 : 0;
  const auto size = static_cast<std::size_t>(end - begin);
  if (size - 1 >= sizeof(Sixteen)) return false;
  Sixteen bytes = 0;
  std::memcpy(&bytes, begin, sizeof(bytes));
  bytes ^= (Sixteen{eight_zeros} << 64U) | eight_zeros;
  const std::size_t whole = std::min(find_point(bytes), size);
  const std::size_t digits = whole < size ? size - 1 : size;
  if (digits == 0) return false;
  if (whole < size) bytes = without_byte(bytes, whole);
  bytes <<= 8 * (sizeof(bytes) - digits);
  const auto first = static_cast<std::uint64_t>(bytes);
  const auto second = static_cast<std::uint64_t>(bytes >> 64U);
  if (!are_digits(first) || !are_digits(second)) return false;
  const std::uint64_t number = join_digits(first) * 100'000'000U + join_digits(second);
  if (number > std::uint64_t{1} << 53U) return false;
  const double magnitude = static_cast<double>(number) / powers_of_ten[digits - whole];
  value = negative ? -magnitude : magnitude;
  return true;
}

// The common case: std::from_chars reads the whole cell, and the number is allowed.
inline bool is_plain_number(const char* begin, const char* end, double& value) {
  const auto [stop, error] = std::from_chars(begin, end, value);
  return stop == end && error == std::errc() && std::abs(value) <= largest_number;
}

// Sets value if the cell is a number. Comma: this is the decimal mark, and a point stands between thousands.
Reading read_number(const Cell& cell, double& value, bool comma = false);
Reading read_number(std::string_view text, double& value, bool comma = false);

constexpr bool is_some_number(Reading reading) {
  return reading == Reading::number || reading == Reading::marked;
}

}  // namespace dma::csv
