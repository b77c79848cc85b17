// bench/child.h: the dma command as a child process, and a folder for its files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dma::bench {

// A folder that is removed at the end of the program, and when it is interrupted.
const std::filesystem::path& scratch_folder();

struct Child {
  double seconds;            // on the wall
  double processor_seconds;  // of all its threads
  double peak_bytes;
  std::string out;  // standard output
};

// Runs dma with these arguments. Throws std::runtime_error, with what it said, if it fails.
Child run_command(const std::vector<std::string>& arguments);

}  // namespace dma::bench
