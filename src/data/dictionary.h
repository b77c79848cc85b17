// data/dictionary.h: numbers the distinct texts of a column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <dma/data/table.h>

namespace dma::csv {

// Open addressing over a column's values: each text is stored once, and a look-up allocates nothing.
class Dictionary {
 public:
  // The index of the text in values; a new text is appended.
  std::uint32_t code(std::string_view text, std::vector<std::string>& values) {
    if (2 * (values.size() + 1) > slots_.size()) grow();
    const std::size_t hash = std::hash<std::string_view>{}(text);
    for (std::size_t k = hash & (slots_.size() - 1);; k = (k + 1) & (slots_.size() - 1)) {
      Slot& slot = slots_[k];
      if (slot.code == Column::empty_cell) {
        slot = {hash, static_cast<std::uint32_t>(values.size())};
        values.emplace_back(text);
        return slot.code;
      }
      if (slot.hash == hash && values[slot.code] == text) return slot.code;
    }
  }

  void clear() { slots_.assign(slots_.size(), {}); }

 private:
  struct Slot {
    std::size_t hash = 0;
    std::uint32_t code = Column::empty_cell;
  };

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 16 : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.code == Column::empty_cell) continue;
      std::size_t k = slot.hash & (slots_.size() - 1);
      while (slots_[k].code != Column::empty_cell) k = (k + 1) & (slots_.size() - 1);
      slots_[k] = slot;
    }
  }

  std::vector<Slot> slots_;  // a power of two, at most half of them used
};

}  // namespace dma::csv
