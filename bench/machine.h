// bench/machine.h: the machine that is measured.
#pragma once

#include <cstddef>
#include <string>

namespace dma::bench {

// Architecture and model, such as aarch64-neoverse-n1: machines of one kind have the same ratios.
std::string machine_kind();

// The kind for which there are targets in nanoseconds.
bool is_neoverse_v1();

struct Caches {
  std::size_t level1, level2, level3;  // bytes, of data
};
// Sizes reported by the system; unknown ones are assumed to be 32 KiB, 512 KiB and 8 MiB.
Caches caches();

}  // namespace dma::bench
