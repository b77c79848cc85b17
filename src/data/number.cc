#include "data/number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "data/digit.h"

namespace dma::csv {
namespace {

// Whether a number out of range is large, not small: std::from_chars reports the same error for both.
bool is_large(std::string_view number) {
  const std::size_t mark = std::min(number.find_first_of("eE"), number.size());
  const std::string_view digits = number.substr(0, mark);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const std::size_t first = digits.find_first_of("123456789");
  const auto place = static_cast<double>(point) - static_cast<double>(first);
  if (mark == number.size()) return place > 0;
  std::string_view exponent = number.substr(mark + 1);
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  double power = 0;
  std::from_chars(exponent.data(), exponent.data() + exponent.size(), power);
  return place + power > 0;
}

Reading read_unusual(std::string_view text, double& value) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (stop != text.data() + text.size() || error == std::errc::invalid_argument) {
    return Reading::text;
  }
  if (error == std::errc::result_out_of_range) {
    if (is_large(text)) return Reading::too_large;
    value = text.starts_with('-') ? -0.0 : 0.0;
    return Reading::number;
  }
  if (std::isnan(value)) return Reading::text;  // nan(...), or NaN in quotes
  return std::isinf(value) ? Reading::infinite : Reading::too_large;
}

constexpr std::array<std::string_view, 5> spaces = {" ", "\t", "\u00a0", "\u202f", "\u2009"};
constexpr std::array<std::string_view, 6> separators = {" ",      "\u00a0", "\u202f",
                                                        "\u2009", "'",      "\u2019"};
constexpr std::array<std::string_view, 3> signs = {"+", "-", "\u2212"};
// Longer ones before those they begin or end with.
constexpr std::array<std::string_view, 18> currencies = {
    "US$",    "R$",  "C$",  "A$",  "$",   "\u20ac", "\u00a3", "\u00a5", "\u20b9",
    "\u20bd", "EUR", "USD", "GBP", "CHF", "JPY",    "CNY",    "INR",    "kr"};

// Removes one of the words from the beginning and returns it; nothing: the text does not begin so.
template <std::size_t N>
std::string_view take_first(std::string_view& text, const std::array<std::string_view, N>& words) {
  for (const std::string_view word : words) {
    if (!text.starts_with(word)) continue;
    text.remove_prefix(word.size());
    return word;
  }
  return {};
}

template <std::size_t N>
std::string_view take_last(std::string_view& text, const std::array<std::string_view, N>& words) {
  for (const std::string_view word : words) {
    if (!text.ends_with(word)) continue;
    text.remove_suffix(word.size());
    return word;
  }
  return {};
}

void strip(std::string_view& text) {
  while (!take_first(text, spaces).empty()) {
  }
  while (!take_last(text, spaces).empty()) {
  }
}

std::string_view take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

// Appends the groups of three digits that follow the first group, all after the same separator.
bool take_thousands(std::string_view& text, char separator, std::string& digits) {
  if (digits.empty() || digits.size() > 3 || digits.front() == '0') return false;
  const std::string_view own(&separator, 1);
  std::string_view rest = text;
  std::string_view between = rest.starts_with(own) ? own : take_first(rest, separators);
  bool any = false;
  while (!between.empty() && text.starts_with(between)) {
    rest = text.substr(between.size());
    const std::string_view group = take_digits(rest);
    if (group.size() != 3) break;
    digits += group;
    text = rest;
    any = true;
  }
  return any;
}

// 1,234.5, $5 and 12 %; with a decimal comma 1.234,5 and 3,14.
Reading read_marked(std::string_view text, bool comma, double& value) {
  strip(text);
  std::string_view sign = take_first(text, signs);
  bool marked = !take_first(text, currencies).empty();
  if (marked) strip(text);
  if (sign.empty()) sign = take_first(text, signs);
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  if (percent || (!marked && !take_last(text, currencies).empty())) {
    marked = true;
    strip(text);
  }
  std::string digits(take_digits(text));
  const bool thousands = take_thousands(text, comma ? '.' : ',', digits);
  if (text.starts_with(comma ? ',' : '.')) {
    text.remove_prefix(1);
    const std::string_view fraction = take_digits(text);
    if (fraction.empty()) return Reading::text;
    digits += '.';
    digits += fraction;
  }
  const bool exponent = text.starts_with('e') || text.starts_with('E');
  if (digits.empty() || (!text.empty() && (!exponent || thousands || marked))) return Reading::text;
  digits += text;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (stop != digits.data() + digits.size() || error == std::errc::invalid_argument)
    return Reading::text;
  if (error == std::errc::result_out_of_range && !is_large(digits))
    value = 0;
  else if (error != std::errc() || value > largest_number)
    return Reading::too_large;
  if (!sign.empty() && sign != "+") value = -value;
  return marked || thousands ? Reading::marked : Reading::number;
}

}  // namespace

Reading read_number(const Cell& cell, double& value, bool comma) {
  if (!comma && is_plain_number(cell.begin, cell.end, value)) return Reading::number;
  if (is_empty(cell)) return Reading::empty;
  return read_number(trimmed(cell.raw()), value, comma);
}

Reading read_number(std::string_view text, double& value, bool comma) {
  if (text.empty()) return Reading::text;
  std::string_view number = text;
  if (number.starts_with('+') && !number.starts_with("+-")) number.remove_prefix(1);
  const bool has_mark = text.find_first_of(",.") != std::string_view::npos;
  if (!comma || !has_mark) {
    if (is_plain_number(number.data(), number.data() + number.size(), value))
      return Reading::number;
    const Reading unusual = read_unusual(number, value);
    if (unusual != Reading::text) return unusual;
  }
  if (is_empty_number(text)) return Reading::empty_number;
  return read_marked(text, comma, value);
}

}  // namespace dma::csv
