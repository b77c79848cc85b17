// The dma command.
#include <fmt/core.h>

#include "cli/commands.h"
#include "cli/other_program.h"

int main(int argc, char** argv) {
  using namespace dma::cli;
  std::string others = "separate programs:\n";
  for (const auto& [name, about] : other_programs)
    others += fmt::format("  {:<28}{}\n", name, about);
  return run_command_line({argv + 1, argv + argc}, own_commands, {run_other_program, others});
}
