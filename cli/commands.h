// cli/commands.h: one function per subcommand. Each adds its options and says what to run.
#pragma once

namespace CLI {
class App;
}

namespace dma::cli {

void add_infer(CLI::App& app);
void add_reproduce(CLI::App& app);

}  // namespace dma::cli
