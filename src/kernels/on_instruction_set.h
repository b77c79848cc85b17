// kernels/on_instruction_set.h: runs a kernel on every compiled instruction set that the machine has, for tests and
// benchmarks. Include it before any other header of Highway.
#pragma once

#include "kernels/instruction_sets.h"
// It must come first.
#include <hwy/targets.h>

#include <cstdint>
#include <vector>

namespace dma::kernels {

// The best comes first.
inline std::vector<std::int64_t> instruction_sets() { return hwy::SupportedAndGeneratedTargets(); }

// While it exists, Highway uses this instruction set.
class OnInstructionSet {
 public:
  explicit OnInstructionSet(std::int64_t set) { choose(set); }
  ~OnInstructionSet() { choose(0); }  // 0: the best
  OnInstructionSet(const OnInstructionSet&) = delete;
  OnInstructionSet& operator=(const OnInstructionSet&) = delete;

 private:
  static void choose(std::int64_t set) {
    hwy::SetSupportedTargetsForTest(set);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

}  // namespace dma::kernels
