// The splits of dma benchmark. The first byte is the number of the table's rows, the rest is the file.
#include "paper/splits.h"

#include <set>

#include "cli/bad_input.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dma::fuzz;
  if (size == 0) return 0;
  const std::size_t rows = data[0];
  try {
    const std::string text(text_of(data + 1, size - 1));
    const auto splits = dma::cli::parse_splits(text, "splits.json", rows);
    require(!splits.empty(), "there is a split");
    for (const auto& split : splits) {
      const std::set<std::size_t> different(split.begin(), split.end());
      require(!split.empty() && different.size() == split.size(), "every row stands once");
      require(*different.rbegin() < rows, "every row is one of the table");
      require(split.size() + 2 <= rows, "two rows are left to learn from");
    }
  } catch (const dma::cli::BadInput& error) {
    require_one_line(error.what());
  }
  return 0;
}
