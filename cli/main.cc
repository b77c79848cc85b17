// The dma command. Exit status: 0 done, 1 it failed (bad data, bad file), 2 wrong command line.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include "commands.h"

namespace {

// CLI11 says "was given a disallowed flag override" of --json=1, and no more than that a subcommand is required when
// the first word is not one.
std::string explain(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  std::string text = error.what();
  const auto flag = text.find(" was given a disallowed flag override");
  if (flag != std::string::npos) return "--" + text.substr(0, flag) + " takes no value";
  if (argc < 2 || argv[1][0] == '-') return text;
  const std::string word = argv[1];
  std::string names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == word) return text;
    names += " " + command->get_name();
  }
  return "there is no command '" + word + "'; there are:" + names;
}

}  // namespace

int main(int argc, char** argv) {
  // A file that grows beyond the shell's limit is an error to report, not a reason to die.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app("Predictions that say how sure they are, from tables and from factor graphs.",
               "dma");
  app.set_version_flag("--version", DMA_VERSION);
  app.require_subcommand(1);
  dma::cli::add_commands(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    fmt::print(stderr, "dma: {}\nRun with --help for more information.\n",
               explain(app, error, argc, argv));
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "dma: {}\n", error.what());
    return 1;
  }
  return 0;
}
