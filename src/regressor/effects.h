// regressor/effects.h: learns the effects of columns with many values (data/effects.h) from encoded rows.
//
// What the other columns leave of a target is what the most probable linear function of their inputs misses it by. The
// target is as the network sees it: standardised; of a count log(1 + y); of a class 1 in its rows and 0 in the others.
//
// Between and within are the most likely: of all rows with the same value v
//
//   r ~ N(mean, within^2 (I + 1 1' / ratio))
//
// so that log p = -1/2 sum over v of log(1 + n_v / ratio) - W / 2 log within^2 + const with
//
//   W within^2 = sum of (r_i - mean)^2 - sum over v of S_v^2 / (n_v + ratio)
//
// at the most likely mean, W being the weight of all rows. The linear function's prior precision is found in the same way,
// with the eigenvalues of its inputs' precision in place of the n_v (MacKay 1992).
//
// A row that is learnt must not see its own target: its inputs are the effect by all other rows, S_v and n_v without it.
#pragma once

#include <vector>

#include <dma/data/encoder.h>
#include <dma/layers/architecture.h>

namespace dma::detail {

// Of rows from Encoder::encode_values(), each of which stands for all its copies. Puts into every row the effects that the
// other rows say.
void learn_effects(Encoder& encoder, EncodedRows& rows);

// Places of the effects and their deviations among the inputs.
std::vector<UncertainInput> uncertain_inputs(const Encoder& encoder);

}  // namespace dma::detail
