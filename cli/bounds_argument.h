// cli/bounds_argument.h: --bounds none|LOW,HIGH.
#pragma once

#include <dma/data/bounds.h>

#include <optional>
#include <string>

#include "cli/command_line.h"

namespace dma::cli {

// LOW or HIGH may be left out: "0,".
void add_bounds_option(Command command, std::optional<Bounds>& bounds, const std::string& about);

// 0 or more; 0 to 100
std::string bounds_text(const Bounds& bounds);

}  // namespace dma::cli
