// special/larger.h: the larger of two errors. NaN is larger than any number; std::max may lose it.
#pragma once

#include <cmath>

namespace dma::special {

inline double larger(double a, double b) { return std::isnan(b) || b > a ? b : a; }

}  // namespace dma::special
