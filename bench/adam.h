// bench/adam.h: whether a comparison with libtorch's Adam is fair on this machine.
#pragma once

#include "bench/plan.h"

namespace dma::bench {

// False, with a note in the report, if libtorch is missing or computes with another BLAS than OpenBLAS: Debian's
// reference BLAS is 12 times slower, and a ratio would flatter us.
bool adam_is_comparable(Plan& plan);

}  // namespace dma::bench
