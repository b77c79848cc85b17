#include "bench/adam.h"

#include "baselines/torch_baselines.h"

namespace dma::bench {

bool adam_is_comparable(Plan& plan) {
  if (!baselines::torch_available()) {
    plan.note("NOTHING IS COMPARED WITH ADAM: libtorch was not found");
    return false;
  }
  const std::string blas = baselines::torch_blas();
  const bool fast = blas.find("openblas") != std::string::npos;
  plan.note(fast ? "libtorch's Adam runs on one thread of OpenBLAS (" + blas + ")"
                 : "NOTHING IS COMPARED WITH ADAM: libtorch computes with " + blas +
                       ", which is not OpenBLAS");
  return fast;
}

}  // namespace dma::bench
