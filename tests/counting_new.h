// tests/counting_new.h: how often operator new was called, and for how much. Link counting_new to replace it by one
// that counts; it is a file of its own because a compiler that sees both sides takes malloc behind new and
// free behind delete for a mistake.
#pragma once

#include <atomic>
#include <cstddef>

namespace dma::test {
extern std::atomic<std::size_t> allocations;
extern std::atomic<std::size_t> bytes_in_use;
extern std::atomic<std::size_t> most_bytes_in_use;
extern std::atomic<std::size_t> largest_allocation;  // asked for, whether it was granted or not
}  // namespace dma::test
