#include "counting_new.h"

#include <cstdlib>
#include <new>

namespace dma::test {
std::atomic<std::size_t> allocations{0};
}

void* operator new(std::size_t size) {
  ++dma::test::allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
