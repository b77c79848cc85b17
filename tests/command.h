// command.h: the dma command as a user runs it: what it prints, where, and its exit status.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "scratch.h"

namespace dma::test {

struct Outcome {
  int status;
  std::string out, err;
};

inline std::string shell_word(const std::string& text) { return "'" + text + "'"; }

// Runs a line of shell in which $DMA is the command.
inline Outcome shell(const std::string& line) {
  const Scratch scratch;
  // Under a sanitizer the search for leaks at exit takes seconds per process.
  const std::string command = "export ASAN_OPTIONS=detect_leaks=0 DMA=" + shell_word(DMA_COMMAND) +
                              "; { " + line + "; } >" + shell_word(scratch.path("out")) + " 2>" +
                              shell_word(scratch.path("err")) + " </dev/null";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(scratch.path("out")),
          content(scratch.path("err"))};
}

inline Outcome run(const std::string& arguments) { return shell("$DMA " + arguments); }

}  // namespace dma::test
