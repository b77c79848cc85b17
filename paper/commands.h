// paper/commands.h: what is a program of its own, dma-NAME, and found by dma NAME.
#pragma once

#include "cli/command_line.h"

namespace dma::cli {

void add_benchmark(Command app);
void add_gap(Command benchmark);
void add_reproduce(Command app);

}  // namespace dma::cli
