#include "commands.h"

namespace dma::cli {

void add_commands(CLI::App& app) {
  // --json=no or --json=1: CLI11 would read numbers there, and throw std::out_of_range for long ones.
  app.option_defaults()->disable_flag_override();
  for (const auto add :
       {add_fit, add_predict, add_evaluate, add_update, add_forget, add_inspect, add_report,
        add_plot, add_sample, add_demo, add_infer, add_benchmark, add_reproduce, add_completion}) {
    add(app);
  }
}

}  // namespace dma::cli
