// belief/shared_centre.h: joint beliefs that were linearised at one centre, each by rows that the others have not seen.
//
// With the centre c, the prior precisions P and the scales of the likelihood given, what rows say of the weights is a sum
// over rows (belief/joint.h),
//
//   S = sum of J' H J,   h = sum of J' (gradient of log p(y | f)),   with f, J and H at c
//
// and what is believed is a Gaussian of precision A = P + S around m = c + A^-1 (h - P c). A belief therefore has S = A - P
// and h = A (m - c) + P c in it, and beliefs with the same c and P are put together by adding both up, or taken apart:
// nothing depends on which rows were together. All are in the form of weights, whose size does not grow with the rows, and
// none has a ledger: what a row said is computed anew from the row.
#pragma once

#include <span>

#include <dma/belief/joint_posterior.h>

namespace dma::detail {

// Says nothing yet: the prior, a centre and no message. It has no factor and is not meant to predict.
JointKnowledge without_messages(const JointKnowledge& known, std::vector<double> centre,
                                std::vector<double> prior_precision);
// What the rows say at the centre of `start`, without anything that `start` has heard.
JointPosterior learnt_at_centre(const JointKnowledge& start, const Data& rows);

// A belief whose messages count as often as `times`: 1 adds them, -1 takes them out.
struct CentredBelief {
  const JointPosterior& posterior;
  double times = 1;
};
// Centre and prior are those of the first. Throws NetworkError if the sum is not positive definite in numbers.
JointPosterior sum_of(std::span<const CentredBelief> beliefs);

// What the evidence of the network, taken for linear at its centre, makes of the prior precisions: one step of
// JointNetwork::learn_precisions.
std::vector<double> next_prior_precision(const JointPosterior& posterior);

}  // namespace dma::detail
