#include "cli/other_program.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/bad_input.h"

namespace dma::cli {
namespace {

// Does not return if the program exists and can be run. execvp searches PATH if the name has no slash.
void become(const std::string& program, std::vector<char*>& arguments) {
  execvp(program.c_str(), arguments.data());
  if (errno == ENOENT || errno == ENOTDIR) return;
  throw BadInput(program + ": cannot be run: " + std::strerror(errno));
}

}  // namespace

void run_other_program(const std::vector<std::string>& words) {
  const std::string& name = words.front();
  if (name.empty() || name.find('/') != std::string::npos) return;
  std::vector<std::string> copy = words;
  copy.front() = "dma-" + name;
  std::vector<char*> arguments;
  for (std::string& word : copy) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::error_code none;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
  for (const auto* place : {".", "../libexec/dma"}) {
    become((folder / place / copy.front()).string(), arguments);
  }
  become(copy.front(), arguments);
  const bool ours = std::any_of(std::begin(other_programs), std::end(other_programs),
                                [&](const OtherProgram& program) { return name == program.name; });
  if (!ours) return;
  throw BadInput("dma " + name + " is a separate program, dma-" + name +
                 ", which is not installed: ./dev " +
                 (name == "reproduce" ? "reproduce" : "build") + " builds it");
}

}  // namespace dma::cli
