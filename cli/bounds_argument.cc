#include "cli/bounds_argument.h"

#include <fmt/core.h>

#include <cmath>

namespace dma::cli {
namespace {

Bounds parse_bounds(const std::string& text) {
  if (text == "none") return {};
  const auto comma = text.find(',');
  Bounds bounds;
  const auto read = [](const std::string& part, double& end) {
    return part.empty() || read_real(part, -any_size, any_size, end);
  };
  const bool is_read = comma != std::string::npos && text.size() > 1 &&
                       read(text.substr(0, comma), bounds.low) &&
                       read(text.substr(comma + 1), bounds.high);
  if (!is_read || !(bounds.low < bounds.high)) {
    throw UsageError(
        "--bounds: '" + text +
        "' is not none or LOW,HIGH with LOW below HIGH, such as 0,100; one of them may "
        "be left out: 0,");
  }
  return bounds;
}

}  // namespace

void add_bounds_option(Command command, std::optional<Bounds>& bounds, const std::string& about) {
  command
      .parsed(
          "--bounds", [&bounds](const std::string& text) { bounds = parse_bounds(text); }, about)
      .text("none|LOW,HIGH");
}

std::string bounds_text(const Bounds& bounds) {
  if (std::isinf(bounds.high)) return fmt::format("{:g} or more", bounds.low);
  if (std::isinf(bounds.low)) return fmt::format("{:g} or less", bounds.high);
  return fmt::format("from {:g} to {:g}", bounds.low, bounds.high);
}

}  // namespace dma::cli
