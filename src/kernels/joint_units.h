// kernels/joint_units.h: the units of a joint network (dma/belief/joint.h), for the machine's instruction set.
//
// With i0 = Phi(-|z|), i1 = phi(z) - |z| i0, both from special/normal.h's tails, so that neither cancels:
//   leaky ReLU   slope z + (1 - slope) (z Phi(z) + phi(z)) = line z + (1 - slope) i1,  line = slope or, for z >= 0, 1
//                its derivative slope + (1 - slope) Phi(z), that is slope + (1 - slope) i0 or 1 - (1 - slope) i0
//   step         2 Phi(z) - 1 = 1 - 2 i0 with the sign of z, its derivative 2 phi(z)
// A unit has the same bits wherever it is. The values may overwrite the inputs.
#pragma once

#include <cstddef>

namespace dma::kernels {

void leaky_relu_units(std::size_t count, const double* z, double slope, double* value,
                      double* derivative);
void step_units(std::size_t count, const double* z, double* value, double* derivative);

}  // namespace dma::kernels
