// cli/commands.h: one function per subcommand. Each adds its options and says what to run.
#pragma once

#include "cli/command_line.h"

namespace dma::cli {

void add_completion(Command app);
void add_demo(Command app);
void add_evaluate(Command app);
void add_fit(Command app);
void add_forget(Command app);
void add_infer(Command app);
void add_inspect(Command app);
void add_merge(Command app);
void add_plot(Command app);
void add_predict(Command app);
void add_prepare(Command app);
void add_report(Command app);
void add_sample(Command app);
void add_update(Command app);

// The commands of dma, in the order of its --help.
inline const std::vector<AddCommand> own_commands{
    add_fit,   add_predict, add_evaluate, add_update, add_forget, add_inspect, add_prepare,
    add_merge, add_report,  add_plot,     add_sample, add_demo,   add_infer,   add_completion};

}  // namespace dma::cli
