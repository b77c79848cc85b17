// belief/joint_messages.h: a joint posterior in the form of its messages (belief/joint_posterior.h).
#pragma once

#include <dma/belief/joint_posterior.h>

#include "belief/joint_backend.h"
#include "layers/gradients.h"

namespace dma::detail {

// A row sends one message of rank one per column c of the root R of its curvature: gradient g = J' R_c, shift
// t_c = s_c + g w, with the slope s of RowTerms::expand().
Gradients gradients_of(const NetworkAt& network, std::span<const double> inputs,
                       std::span<const double> roots, double* values);
// Those of a ledger, linearised where the posterior is; and of the posterior's own.
Gradients gradients_at(const JointPosterior& posterior, const JointLedger& ledger);
inline Gradients gradients_of(const JointPosterior& posterior) {
  return gradients_at(posterior, posterior.ledger);
}

// Column c of the root of every row: rows x outputs.
std::vector<double> column_of_roots(std::span<const double> roots, std::size_t c,
                                    std::size_t outputs);

// K = 1 + G Q G' = L L'. With the messages' slopes s, the mean moves by
//
//   precision^-1 (G' s + x) = Q x + Q G' K^-1 (s - G Q x)
//
// in which nothing cancels, however much more the messages weigh than the prior.
class MessageFactor final : public PosteriorFactor {
 public:
  // Gradients and slopes must outlive it. `square`: G Q G', its lower triangle.
  MessageFactor(const Gradients& gradients, const Vector& slopes, Vector prior_variance,
                Matrix square);

  Vector step(const Vector& x) const override;
  Vector take_determined() override;
  void put(JointPosterior& /*posterior*/) const override {}

  Matrix take_lower() { return std::move(lower_); }
  // Whether all is finite: K is then positive definite, since its eigenvalues are 1 at least.
  bool sound() const { return sound_; }

 private:
  const Gradients& gradients_;
  const Vector& slopes_;
  Vector prior_variance_;
  Matrix lower_;
  bool sound_;
};

Vector prior_variance_of(const JointPosterior& posterior);
// The factor of a posterior in the form of messages. Throws NetworkError if it is not sound.
MessageFactor message_factor(const JointPosterior& posterior, const Gradients& gradients,
                             const Vector& slopes);
inline Matrix message_lower(const JointPosterior& posterior, const Gradients& gradients) {
  return message_factor(posterior, gradients, {}).take_lower();
}

// Variances of the outputs at the ledger's own rows, one output each. With K^-1 = 1 - R' S R on its diagonal, S = J P J':
// nothing cancels where a row's noise is far below what the prior leaves open.
Vector own_variances(const JointPosterior& posterior);

std::unique_ptr<JointPredictor> message_predictor(const JointPosterior& posterior);

}  // namespace dma::detail
