// cli/other_program.h: commands that are separate programs, as in git: dma NAME runs dma-NAME.
#pragma once

#include <string>
#include <vector>

namespace dma::cli {

// Becomes dma-NAME, where NAME is the first word; the other words are its arguments. Looks beside this program, in
// libexec/dma of the same installation, and in PATH. Returns if there is none. Throws BadInput if it belongs to dma
// and was not built, or cannot be run.
void run_other_program(const std::vector<std::string>& words);

// The separate programs that belong to dma, for --help and completions.
struct OtherProgram {
  const char* name;
  const char* about;
};
inline constexpr OtherProgram other_programs[]{
    {"benchmark", "compare with published figures on the UCI sets"},
    {"reproduce", "measure what the paper claims"}};

}  // namespace dma::cli
