#include "number_range.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>

namespace dma::cli {
namespace {

template <class Number>
bool read_all(const std::string& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

bool read_whole(const std::string& text, std::uint64_t least, std::uint64_t most,
                std::uint64_t& number) {
  return read_all(text, number) && number >= least && number <= most;
}

bool read_real(const std::string& text, double least, double most, double& number) {
  return read_all(text, number) && std::isfinite(number) && number >= least && number <= most;
}

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  const auto read = [least, most](std::string& text) -> std::string {
    std::uint64_t number = 0;
    if (!read_whole(text, least, most, number)) {
      return most == any_count
                 ? fmt::format("'{}' is not a whole number from {} on", text, least)
                 : fmt::format("'{}' is not a whole number from {} to {}", text, least, most);
    }
    text = std::to_string(number);  // 010 is ten
    return {};
  };
  return {read, fmt::format("{} to {}", least, most), "whole_number"};
}

CLI::Validator real_number(double least, double most) {
  const auto read = [least, most](std::string& text) -> std::string {
    double number = 0;
    if (read_real(text, least, most, number)) return {};
    return most == std::numeric_limits<double>::max()
               ? fmt::format("'{}' is not a finite number from {} on", text, least)
               : fmt::format("'{}' is not a number from {} to {}", text, least, most);
  };
  return {read, fmt::format("{} to {}", least, most), "real_number"};
}

}  // namespace dma::cli
