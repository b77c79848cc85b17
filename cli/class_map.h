// cli/class_map.h: probabilities of classes over one or two inputs, drawn with characters.
#pragma once

#include <dma/regressor/regressor.h>

#include <string>
#include <vector>

#include "cli/band.h"

namespace dma::cli {

// A curve per class, each of its own mark, from 0 below to 1 above. The predictions are those at the values.
std::string draw_curves(const Axis& across, const std::vector<Predicted>& predicted,
                        const std::vector<std::string>& classes, std::size_t height);

// The predictions are line by line, the lowest value of `up` first. Two classes: the darker, the more probable the second.
// More: the mark of a class whose probability is more than a half, and a dot where there is none.
std::string draw_map(const Axis& across, const Axis& up, const std::vector<Predicted>& predicted,
                     const std::vector<std::string>& classes);

}  // namespace dma::cli
