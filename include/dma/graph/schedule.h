// graph/schedule.h: the order in which a graph's messages are sent. A schedule is data: it can be
// printed, written by hand, or derived.
#pragma once

#include <cstdint>
#include <vector>

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

}  // namespace dma
