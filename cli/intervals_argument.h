// cli/intervals_argument.h: the option that says which intervals are meant.
#pragma once

#include <dma/regressor/regressor.h>

#include "cli/command_line.h"

namespace dma::cli {

void add_intervals_option(Command command, Intervals& intervals);

}  // namespace dma::cli
