// dma completion bash|zsh: completions, generated from the commands.
#include <fmt/core.h>

#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/other_program.h"

namespace dma::cli {
namespace {

// zsh runs bash's completions through bashcompinit, so that there is one script to keep.
void print_script(Command app, const std::string& shell) {
  if (shell == "zsh") fmt::print("autoload -U +X bashcompinit && bashcompinit\n");
  std::string names;
  std::string cases;
  for (const auto& [name, options] : app.commands()) {
    names += name + " ";
    cases += fmt::format("    {}) words='{}' ;;\n", name, options);
  }
  for (const OtherProgram& other : other_programs) names += std::string(other.name) + " ";
  fmt::print(
      "_dma() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} words\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    COMPREPLY=($(compgen -W '{}' -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case ${{COMP_WORDS[1]}} in\n"
      "{}"
      "    *) words=$(dma \"${{COMP_WORDS[1]}}\" --help 2>/dev/null | grep -oE -- "
      "'--?[a-z][a-z-]*') ;;\n"
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

void add_completion(Command app) {
  auto shell = std::make_shared<std::string>();
  const Command command = app.command("completion", "print a shell completion script");
  command.option("shell", *shell, "bash or zsh").required().one_of({"bash", "zsh"}).text("SHELL");
  command.footer("example, in ~/.bashrc or ~/.zshrc:\n  source <(dma completion bash)\n");
  command.run([app, shell] { print_script(app, *shell); });
}

}  // namespace dma::cli
