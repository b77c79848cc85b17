// data/value_counts.h: how often each text occurs in a column, in memory that does not grow with it.
//
// Exact for as many distinct values as there is room for, 65,536 of them or 4 MB of text. Beyond that (Misra and Gries
// 1982) the rarer half of the values is removed, and all other counts fall by the largest count removed: a count is too
// low by at most 2 rows / room, so a value in more rows than that is kept. The number of distinct values is then an
// estimate (Wegman's sampling by hash, Flajolet 1990), good to about 1 %.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "data/dictionary.h"

namespace dma {

class ValueCounts {
 public:
  explicit ValueCounts(std::size_t room = std::size_t{1} << 16U) : room_(room) {}

  // Position of the text's count, which is 0 if the text is new. Valid until `generation` changes.
  std::size_t place(std::string_view text);
  void count(std::size_t place, double weight = 1) {
    counts_[place] += weight;
    ++rows_[place];
  }
  std::size_t generation() const { return generation_; }

  std::size_t distinct() const;
  std::size_t rows_of(std::string_view text) const;
  // At most so many values, those with the largest counts first; equal counts in the order of appearance.
  std::vector<std::string> most_frequent(std::size_t most) const;

 private:
  void make_room();
  void sample(std::string_view text);

  std::size_t room_;
  csv::Dictionary dictionary_;
  std::vector<std::string> values_;
  std::vector<double> counts_;     // of values_, weighted
  std::vector<std::size_t> rows_;  // of values_, since they were last new
  std::size_t text_bytes_ = 0;
  std::size_t generation_ = 0;
  // Hashes of all values that end in sample_bits_ zeros; from the first make_room() on.
  std::unordered_set<std::uint64_t> sample_;
  unsigned sample_bits_ = 0;
};

}  // namespace dma
