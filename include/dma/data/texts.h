// data/texts.h: columns of text that did not come from a file, read as if they had (data/csv.h): words for empty cells,
// numbers with decimal commas, separators of thousands, signs of currency and percent, a few stray cells among numbers or
// dates.
#pragma once

#include <string>
#include <vector>

#include <dma/data/encoder.h>
#include <dma/data/table.h>

namespace dma {

// Turns columns of text that hold numbers into columns of numbers, but for those named. Strict: a stray cell is an error.
// Throws DataError as a reader of files would.
void read_texts(Table& table, const std::vector<std::string>& keep, bool strict = false);

// The same for the features of a model, which knows which are numbers and what their decimal mark is. A word for an empty
// cell is one, unless it was a category in training.
void read_texts(Table& table, const Encoder& encoder, bool strict = false);

}  // namespace dma
