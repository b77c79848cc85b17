// bench/ceilings.h: how fast this machine does one thing at a time, on one instruction set.
#pragma once

#include <cstdint>
#include <string>

#include "bench/plan.h"

namespace dma::bench {

enum class Memory { level1, level2, level3, main };

// The nearest memory that holds so many bytes.
Memory memory_of(std::size_t bytes);

// Adds the measurements below under these names. Called again for the same set, it adds nothing.
//   operations   nanoseconds per number of a fused multiply-add, enough of them under way at once
//   divisions    nanoseconds per number of a division
//   memory       nanoseconds per byte read
void add_ceilings(Plan& plan, std::int64_t instruction_set);

std::string operations_ceiling(const char* number_type, std::int64_t instruction_set);
std::string divisions_ceiling(const char* number_type, std::int64_t instruction_set);
std::string memory_ceiling(Memory memory, std::int64_t instruction_set);

}  // namespace dma::bench
