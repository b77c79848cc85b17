// dma sample wave: tables to try things on.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <memory>

#include "commands.h"
#include "experiments/task.h"
#include "number_range.h"

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

void add_sample(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("sample", "print a generated table as CSV");
  command
      ->add_option("name", arguments->name,
                   "wave: the paper's one-dimensional task, 200 rows of x and y, x in [-2.5, 1.5]")
      ->required()
      ->check(CLI::IsMember({"wave"}))
      ->option_text("NAME");
  command->add_option("--seed", arguments->seed, "another table for every seed (default: 1)")
      ->transform(whole_number(0, any_count))
      ->option_text("N");
  command->footer("example:\n  dma sample wave > wave.csv\n");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace dma::cli
