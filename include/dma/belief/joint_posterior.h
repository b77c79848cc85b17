// belief/joint_posterior.h: what a joint belief knows: one Gaussian over all weights of a network (belief/joint.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <dma/belief/belief.h>
#include <dma/layers/architecture.h>
#include <dma/likelihood/likelihood.h>

namespace dma {

// Bounds of a prior precision that is learnt: beyond them the rows cannot tell more from less.
inline constexpr double least_prior_precision = 1e-4;
inline constexpr double most_prior_precision = 1e6;

// One of two forms, which say the same:
//
//   weights     a factor of the precision, weights x weights; the ledger may be missing
//   messages    no factor: with the ledger's gradients G and the prior's variances Q = P^-1,
//
//                 precision P + G' G,   covariance Q - Q G' (1 + G Q G')^-1 G Q
//
//               so that all that is factorised is messages x messages, and G Q G' never needs G (layers/gradients.h)
//
// With fewer rows than weights the second is cheaper.
struct JointPosterior {
  Architecture architecture;
  JointUnit unit;
  std::vector<double> mean;             // of every weight, in the flat order
  std::vector<double> prior_precision;  // of every weight, around 0
  std::vector<double> factor;  // L, precision = L L': lower triangle, row by row; empty: messages
  // c, where the messages were linearised; empty: at the mean. Once rows came or went while the others' messages
  // stood, the mean is no longer there, and the messages know nothing of the network at the new mean: the function
  // that they speak of is f(x; c) + J (w - c), J = df/dw at c.
  std::vector<double> centre = {};
  JointLedger ledger = {};  // empty: not kept

  bool in_messages() const { return factor.empty(); }
};

OutputMoments outputs_of(const JointPosterior& posterior, std::span<const double> inputs,
                         std::size_t rows);

// `count` functions drawn from the posterior, each evaluated at all rows: count x rows x outputs. They are linear in the
// weights around the mean, as the messages were, so that their moments are those of outputs_of().
std::vector<double> sample_functions(const JointPosterior& posterior,
                                     std::span<const double> inputs, std::size_t rows,
                                     std::size_t count, std::uint64_t seed);

// Variance of each weight on its own.
std::vector<double> marginal_variances(const JointPosterior& posterior);

// Divides the messages of these rows out of the posterior and its ledger, all but a share of them; they ascend. If the ledger holds every row that
// the posterior has heard, the precision is put together anew from the rows that stay: a difference would keep the
// rounding of what went, which may be far more than what stays.
void forget(JointPosterior& posterior, std::span<const std::size_t> rows,
            bool all_in_ledger = false, double share_that_stays = 0);

// Multiplies the messages of more rows in, linearised where the others are. Their ledger is kept with the form of
// messages, or if `keep_ledger`.
void learn(JointPosterior& posterior, std::span<const double> inputs, const RowTerms& terms,
           bool keep_ledger);

// What a noise network sees: the inputs and the function's value, standardised, none further out than in
// the rows it was learnt from.
struct NoiseInputs {
  double value_mean = 0, value_deviation = 1;
  std::vector<double> low = {}, high = {};  // of every input, then of the value
  std::optional<double> log_mean = {};  // of the noise where it was learnt; none up to format 14
};

// A function of the inputs, and the noise around it.
struct JointKnowledge {
  JointPosterior function = {};
  std::shared_ptr<const Likelihood> likelihood = {};
  // The log of the likelihood's scale (the noise variance), as a network; none if the scale is the likelihood's own.
  std::optional<JointPosterior> log_noise = {};
  NoiseInputs noise_inputs = {};
};

}  // namespace dma
