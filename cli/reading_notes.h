// cli/reading_notes.h: what was assumed of a file's cells, in words.
#pragma once

#include <dma/data/encoder.h>
#include <dma/data/table.h>

#include <string>
#include <vector>

namespace dma::cli {

struct ReadingNote {
  std::string about, text;
};

// Of the columns that the encoder uses.
std::vector<ReadingNote> reading_notes(const ReadingNotes& notes, const Encoder& encoder);

// Prints what a person should know of a file that was read for a model: its encoding and its stray cells.
void print_reading(const ReadingNotes& notes, const std::string& source);

}  // namespace dma::cli
