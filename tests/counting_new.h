// tests/counting_new.h: how often operator new was called. Link counting_new to replace it by one that
// counts; it is a file of its own because a compiler that sees both sides takes malloc behind new and
// free behind delete for a mistake.
#pragma once

#include <atomic>
#include <cstddef>

namespace dma::test {
extern std::atomic<std::size_t> allocations;
}
