// kernels/instruction_sets.h: which of Highway's instruction sets the kernels are compiled for. Comes before any
// header of Highway.
//
// Without SVE: a function that keeps its vectors on the stack needs unwinding tables (DW_OP_bregx) that valgrind 3.19
// stops at. What SVE would gain was not measured, for want of such a core.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
