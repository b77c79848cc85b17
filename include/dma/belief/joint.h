// belief/joint.h: a network whose weights are one variable, with a joint Gaussian belief.
//
// The linear rule, applied to the whole network as one factor. At the belief's mean m,
//
//   f(x; w) = f(x; m) + J (w - m),   J = df/dw at m      one sweep forward, one backward
//
// and an example with target y and noise variance s sends the weights the message
//
//   precision J' J / s,   precision times mean J' (y - f(x; m) + J m) / s
//
// of rank one: never a negative precision. The posterior is the prior times all messages; an epoch replaces
// every message by the one at the new mean. A step that would lower the posterior density is damped
// (Levenberg and Marquardt), which leaves the fixed point where it is.
//
// Taking an example's message out again has a closed form. With leverage h = J P J' / s, P the posterior
// covariance, the prediction of that example without its own message is
//
//   mean y - (y - f) / (1 - h),   variance J P J' / (1 - h)                         the cavity
//
// Independent weights (belief/trainer.h) treat each other's uncertainty as noise; here what is known of
// their sums is known. The price: D^2 numbers, D^2 per row, D^3 per epoch, for D weights.
//
// Its units are in layers/architecture.h. Every layer has a bias.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <dma/belief/trainer.h>
#include <dma/layers/architecture.h>

namespace dma {

// Of a standardised target: what is fitted to the last digit still has so much noise, and reports say when
// it was reached.
inline constexpr double least_noise_variance = 1e-8;
// Of a prior precision that is learnt; beyond them more is not told from less.
inline constexpr double least_prior_precision = 1e-4;
inline constexpr double most_prior_precision = 1e6;

struct JointPosterior {
  Architecture architecture;  // one output
  JointUnit unit;
  std::vector<double> mean;             // of every weight, in the flat order
  std::vector<double> prior_precision;  // of every weight, around 0
  std::vector<double> factor;           // L, precision = L L': lower triangle, row by row
  // c, where the messages were linearised; empty: at the mean. Once rows came or went while the others' messages
  // stood, the mean is no longer there, and the messages know nothing of the network at the new mean: the function
  // that they speak of is f(x; c) + J (w - c), J = df/dw at c.
  std::vector<double> centre = {};
};

// What each row told the weights: precision g g', precision times mean g t, with g a row of gradients and
// t its shift. The posterior is the prior times all of them.
struct JointLedger {
  std::vector<double> gradients;  // rows x weights
  std::vector<double> shifts;     // rows
};

// Of the function: without noise.
Prediction predict(const JointPosterior& posterior, std::span<const double> inputs,
                   std::size_t rows);

// `count` functions drawn from the posterior, each evaluated at all rows: count x rows. They are linear in the
// weights around the mean, as the messages were, so that their moments are those of predict().
std::vector<double> sample_functions(const JointPosterior& posterior,
                                     std::span<const double> inputs, std::size_t rows,
                                     std::size_t count, std::uint64_t seed);

// Of every weight on its own.
std::vector<double> marginal_variances(const JointPosterior& posterior);

// Divides these rows' messages out of the posterior; the rows ascend. The ledger is left as it is. If it holds every row
// that the posterior has heard, the precision is put together anew from the rows that stay: a difference would keep the
// rounding of what went, which may be far more than what stays.
void forget(JointPosterior& posterior, const JointLedger& ledger, std::span<const std::size_t> rows,
            bool all_in_ledger = false);

}  // namespace dma
