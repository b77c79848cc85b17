#include "data/number.h"

#include <algorithm>
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

bool are_thousands(std::string_view text, std::size_t comma) {
  for (; comma != std::string_view::npos; comma = text.find(',', comma + 1)) {
    const std::string_view group = text.substr(comma + 1, 3);
    if (group.size() < 3 || !std::all_of(group.begin(), group.end(), is_digit)) return false;
    if (comma + 4 < text.size() && is_digit(text[comma + 4])) return false;
  }
  return true;
}

}  // namespace

Reading read_number(const Cell& cell, double& value) {
  if (is_plain_number(cell.begin, cell.end, value)) return Reading::number;
  if (is_empty(cell)) return Reading::empty;
  std::string_view text = trimmed(cell.raw());
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return Reading::text;
  }
  if (is_plain_number(text.data(), text.data() + text.size(), value)) return Reading::number;
  return read_unusual(text, value);
}

bool has_decimal_comma(std::string_view text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos) return false;
  const bool single = text.find(',', comma + 1) == std::string_view::npos;
  if (!single && !are_thousands(text, comma)) return false;
  if (text.starts_with('+')) text.remove_prefix(1);
  std::string digits;
  std::copy_if(text.begin(), text.end(), std::back_inserter(digits),
               [](char c) { return c != ',' && c != '.'; });
  double value = 0;
  return is_plain_number(digits.data(), digits.data() + digits.size(), value);
}

}  // namespace dma::csv
