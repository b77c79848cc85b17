// kernels/instruction_sets.h: which of Highway's instruction sets the kernels are compiled for. Include it before any
// header of Highway.
//
// SVE is left out: a function that keeps its vectors on the stack needs unwinding tables (DW_OP_bregx) at which
// valgrind 3.19 stops. What SVE would gain was not measured.
#pragma once

#define DMA_NOT_WANTED (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#ifdef DMA_FEW_INSTRUCTION_SETS
// Under the sanitizers, where each costs a minute of compilation, amd64 has AVX2 and what Highway emulates in C++.
#define HWY_DISABLED_TARGETS (DMA_NOT_WANTED | HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL)
#else
#define HWY_DISABLED_TARGETS DMA_NOT_WANTED
#endif
