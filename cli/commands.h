// cli/commands.h: one function per subcommand. Each adds its options and says what to run.
#pragma once

namespace CLI {
class App;
}

namespace dma::cli {

void add_benchmark(CLI::App& app);
void add_completion(CLI::App& app);
void add_demo(CLI::App& app);
void add_evaluate(CLI::App& app);
void add_fit(CLI::App& app);
void add_forget(CLI::App& app);
void add_gap(CLI::App& benchmark);
void add_infer(CLI::App& app);
void add_inspect(CLI::App& app);
void add_plot(CLI::App& app);
void add_predict(CLI::App& app);
void add_report(CLI::App& app);
void add_reproduce(CLI::App& app);
void add_sample(CLI::App& app);
void add_update(CLI::App& app);

// All of them.
void add_commands(CLI::App& app);

}  // namespace dma::cli
