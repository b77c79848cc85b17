#include "counting_new.h"

#include <malloc.h>

#include <cstdlib>
#include <new>

namespace dma::test {
std::atomic<std::size_t> allocations{0};
std::atomic<std::size_t> bytes_in_use{0};
std::atomic<std::size_t> most_bytes_in_use{0};
std::atomic<std::size_t> largest_allocation{0};

namespace {

void raise_to(std::atomic<std::size_t>& most, std::size_t value) {
  std::size_t known = most;
  while (known < value && !most.compare_exchange_weak(known, value)) {
  }
}

}  // namespace
}  // namespace dma::test

// Sorting asks in this way.
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  using namespace dma::test;
  ++allocations;
  raise_to(largest_allocation, size);
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory != nullptr) raise_to(most_bytes_in_use, bytes_in_use += malloc_usable_size(memory));
  return memory;
}
void* operator new(std::size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  dma::test::bytes_in_use -= malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }
