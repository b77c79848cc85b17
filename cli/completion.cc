// dma completion bash|zsh: completions, generated from the commands themselves.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <memory>
#include <string>

#include "commands.h"

namespace dma::cli {
namespace {

std::string options_of(const CLI::App& command) {
  std::string words;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) words += "--" + name + " ";
    for (const std::string& name : option->get_snames()) words += "-" + name + " ";
  }
  return words;
}

// zsh runs bash's completions through bashcompinit, so that there is one script to keep.
void print_script(const CLI::App& app, const std::string& shell) {
  if (shell == "zsh") fmt::print("autoload -U +X bashcompinit && bashcompinit\n");
  std::string names;
  std::string cases;
  for (const CLI::App* command : app.get_subcommands({})) {
    names += command->get_name() + " ";
    cases += fmt::format("    {}) words='{}' ;;\n", command->get_name(), options_of(*command));
  }
  fmt::print(
      "_dma() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} words\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    COMPREPLY=($(compgen -W '{}' -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case ${{COMP_WORDS[1]}} in\n"
      "{}"
      "  esac\n"
      "  if [[ $word == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "  else\n"
      "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
      "  fi\n"
      "}}\n"
      "complete -o filenames -F _dma dma\n",
      names, cases);
}

}  // namespace

void add_completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "print a script that completes commands");
  command->add_option("shell", *shell, "bash or zsh")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}))
      ->option_text("SHELL");
  command->footer("example, in ~/.bashrc or ~/.zshrc:\n  source <(dma completion bash)\n");
  command->callback([&app, shell] { print_script(app, *shell); });
}

}  // namespace dma::cli
