// cli/other_program.h: commands that are programs of their own, as git has them: dma NAME runs dma-NAME.
#pragma once

#include <string>
#include <vector>

namespace dma::cli {

// Becomes dma-NAME with the words after the first, which is NAME: the program beside this one, in libexec/dma of the
// same installation, or in PATH. Returns if there is none. Throws BadInput if it belongs to dma and was not built, or
// cannot be run.
void run_other_program(const std::vector<std::string>& words);

// Those that belong to dma, for --help and for completions.
struct OtherProgram {
  const char* name;
  const char* about;
};
inline constexpr OtherProgram other_programs[]{
    {"benchmark", "the UCI sets, beside published figures"},
    {"reproduce", "measure what the paper claims"}};

}  // namespace dma::cli
