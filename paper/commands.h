// paper/commands.h: the commands that are separate programs, dma-NAME, which dma NAME runs.
#pragma once

#include "cli/command_line.h"

namespace dma::cli {

void add_benchmark(Command app);
void add_gap(Command benchmark);
void add_reproduce(Command app);

}  // namespace dma::cli
