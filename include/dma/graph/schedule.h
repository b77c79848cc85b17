// graph/schedule.h: the order in which a graph's messages are sent. A schedule is data: it can be
// printed, written by hand, or derived.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include <dma/graph/arrays.h>

namespace dma {

// Sends the message from a factor to one of its edges (0 is the first).
struct Step {
  std::uint32_t factor;
  std::uint32_t edge;

  friend bool operator==(Step, Step) = default;
};

// One sweep: the forward steps, then the backward steps.
struct Schedule {
  std::vector<Step> forward;
  std::vector<Step> backward;

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

// The message from each of these factors to one of their edges.
struct RowStep {
  FactorArray factors;
  std::uint32_t edge;
};

// For rows that follow each other in time: all forward steps of the first row, then of the next; then all backward steps
// of the last row, and of those before it. Throws GraphError unless all arrays have as many rows.
Schedule row_by_row(std::span<const RowStep> forward, std::span<const RowStep> backward = {});
inline Schedule row_by_row(std::initializer_list<RowStep> forward,
                           std::initializer_list<RowStep> backward = {}) {
  return row_by_row(std::span(forward.begin(), forward.size()),
                    std::span(backward.begin(), backward.size()));
}

}  // namespace dma
