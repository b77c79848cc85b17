// regressor/unseen.h: what is predicted of a row with cells that training had none like (EncodedRows::unseen).
//
// Nothing was learnt of such a cell, but much of the values that its column had. So the row is predicted once with each of
// them, and the predictions are mixed:
//
//   category    every one of training, equally: which it is like is not known
//   boolean     false and true, as often as in training
//   number      the mean, and sqrt(3) deviations below and above (or as far as training reached), so that mean and variance
//               are those of the column
//
// Of several such cells, all combinations, or most_variants of them that are spread evenly. A new value may also be like
// none: after K values the next one differs from all with probability 1 / (K + 1) (a Polya urn), and then the target has
// the mean and the deviation that it had in training.
//
// Knowing less of a row never makes its prediction more certain than the target's own distribution allows, nor less
// certain than that distribution is: numbers and amounts are drawn together around the mean until neither the deviation
// nor the 95 % interval is wider than that of a Gaussian with the target's deviation (of an amount: of its logarithm); a
// count that would be less certain is predicted as all counts of training.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include <dma/data/encoder.h>
#include <dma/metrics/predicted.h>

namespace dma::detail {

inline constexpr std::size_t most_variants = 32;  // of a row

// What is predicted of so many encoded rows: rows x targets.
using PredictRows = std::function<std::vector<Predicted>(std::span<const double>, std::size_t)>;

// Replaces the predictions of the rows that have unseen cells.
void predict_unseen(const Encoder& encoder, const EncodedRows& rows, const PredictRows& predict,
                    std::vector<Predicted>& predicted);

}  // namespace dma::detail
