// cli/number_range.h: the numbers that an option takes.
//
// CLI11 makes 18446744073709551615 of -1 and of anything larger, reads 010 as 8, and finds NaN inside every
// range. With ->transform(whole_number(1, 1000)) or ->transform(real_number(0, 1)) what comes through is a number,
// finite, in the range, and the one that was written.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <limits>
#include <string>

namespace dma::cli {

inline constexpr std::uint64_t any_count = std::numeric_limits<std::uint64_t>::max();
// Each is a thread of the operating system.
inline constexpr std::uint64_t most_threads = 1024;
inline constexpr std::uint64_t most_epochs = 1000000;
inline constexpr std::uint64_t most_units = 1000000;  // of one hidden layer

// False if the text is anything but such a number. Decimal digits only.
bool read_whole(const std::string& text, std::uint64_t least, std::uint64_t most,
                std::uint64_t& number);
bool read_real(const std::string& text, double least, double most, double& number);

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);
CLI::Validator real_number(double least, double most);

}  // namespace dma::cli
