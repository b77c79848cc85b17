// tests/counting_new.h: replaces operator new by one that counts. For one source file of a test.
#pragma once

#include <atomic>
#include <cstdlib>
#include <new>

namespace dma::test {
inline std::atomic<std::size_t> allocations{0};
}

void* operator new(std::size_t size) {
  ++dma::test::allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
