// kernels/instruction_sets.h: which of Highway's instruction sets the kernels are compiled for. Include it before any
// header of Highway.
//
// SVE is left out: a function that keeps its vectors on the stack needs unwinding tables (DW_OP_bregx) at which
// valgrind 3.19 stops. What SVE would gain was not measured.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
