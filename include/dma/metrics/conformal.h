// metrics/conformal.h: intervals that hold as often as they say, whatever the predictions are worth.
//
// Let u_1 <= ... <= u_n be the predicted probabilities below the targets of n rows that the model has not learnt, and
// k = floor((n + 1) (1 - level) / 2). If these rows and a new one are exchangeable (drawn in the same way, in any order), then
// the new target's own u is as likely to have each rank among the n + 1, so that
//
//   P(u < u_k) <= k / (n + 1)      P(u > u_(n + 1 - k)) <= k / (n + 1)
//
// (equal if no two are alike). So the interval between the quantiles of probability u_k and u_(n + 1 - k) of the prediction
// contains the new target with probability 1 - 2 k / (n + 1) at least, which is level or more, and misses it by equal
// chances on both sides. This is split conformal prediction (Vovk, Gammerman and Shafer 2005) with the probability integral
// transform as its score (Chernozhukov, Wuethrich and Zhu 2021). It is a mean over rows: it promises nothing of a group.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace dma {

// The probabilities of the quantiles that an interval ends at.
struct Tails {
  double lower, upper;
};

// None if there are too few rows: k must be at least 1.
std::optional<Tails> calibrated_tails(std::span<const double> probabilities_below, double level);
// The fewest rows that calibrate an interval of this level.
std::size_t rows_to_calibrate(double level);

}  // namespace dma
