// paper/splits.h: which rows of a table are for testing, split by split: {"test": [[0, 3], [1, 2], ...]}.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dma::cli {

// Of a table of so many rows. In every split there is a row to test and two to learn from. Throws BadInput,
// beginning with the source's name.
std::vector<std::vector<std::size_t>> parse_splits(const std::string& text,
                                                   const std::string& source, std::size_t rows);

}  // namespace dma::cli
