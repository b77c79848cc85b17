// paper/splits.h: which rows of a table are for testing, split by split: {"test": [[0, 3], [1, 2], ...]}.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dma::cli {

// The test rows of each split, for a table of so many rows. Every split has at least one test row and two training
// rows. Throws BadInput, beginning with the source's name.
std::vector<std::vector<std::size_t>> parse_splits(const std::string& text,
                                                   const std::string& source, std::size_t rows);

}  // namespace dma::cli
