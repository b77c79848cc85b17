// dma sample wave: prints a generated table.
#include <fmt/core.h>

#include <memory>

#include "cli/commands.h"
#include "experiments/task/task.h"

namespace dma::cli {
namespace {

struct Arguments {
  std::string name;
  std::uint64_t seed = 1;
};

void run(const Arguments& arguments) {
  const experiments::Task task = experiments::regression_task(arguments.seed);
  fmt::print("x,y\n");
  for (std::size_t n = 0; n < task.train.size(); ++n) {
    fmt::print("{},{}\n", task.train.x[n], task.train.targets[n]);
  }
}

}  // namespace

void add_sample(Command app) {
  auto arguments = std::make_shared<Arguments>();
  const Command command = app.command("sample", "print a generated table as CSV");
  command
      .option("name", arguments->name,
              "wave: the paper's one-dimensional task, 200 rows of x and y, x in [-2.5, 1.5]")
      .required()
      .one_of({"wave"})
      .text("NAME");
  command.option("--seed", arguments->seed, "random seed; each gives another table (default: 1)")
      .whole(0, any_count)
      .text("N");
  command.footer("example:\n  dma sample wave > wave.csv\n");
  command.run([arguments] { run(*arguments); });
}

}  // namespace dma::cli
