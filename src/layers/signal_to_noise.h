// layers/signal_to_noise.h: how sure the messages are that a dense layer's products send back.
#pragma once

#include <concepts>
#include <cstddef>
#include <vector>

#include "layers/sweep.h"

namespace dma::detail {

// Appends r^2 of every product's message, r = min(|m_y| / s_y, |m_z| / s_z) (Theorem product-bwd-bound): those to the
// weights of a unit, then, above the first layer, those to its inputs. Units that heard nothing from above send nothing:
// returns the number of their messages. To be called before the weights take theirs.
template <std::floating_point T>
std::size_t append_signal_to_noise(const typename Sweep<T>::Layer& layer, bool to_inputs,
                                   std::vector<float>& squares);

}  // namespace dma::detail
