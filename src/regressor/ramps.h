// regressor/ramps.h: where the ramps of an input go (layers/architecture.h).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <dma/layers/architecture.h>

namespace dma::detail {

// Ramps of every input that has more than two values, from knot to knot: more with more rows, fewer of each if there are
// many inputs. Half of the knots have as many rows between them, half as many different values: an input that is mostly 0
// is not left without.
std::vector<Ramp> ramps_of(std::span<const double> inputs, std::size_t width);

}  // namespace dma::detail
