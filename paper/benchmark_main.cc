// dma-benchmark, which dma benchmark runs.
#include "paper/commands.h"

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  words.insert(words.begin(), "benchmark");
  return dma::cli::run_command_line(words, {dma::cli::add_benchmark});
}
