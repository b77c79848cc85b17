// belief/joint_fit.h: a joint belief while it is fitted.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <dma/belief/joint.h>

#include "belief/joint_network.h"

namespace dma::detail {

class JointFit {
 public:
  // Fits a belief that knows nothing yet.
  JointFit(const Architecture& architecture, const TrainingOptions& options,
           const JointOptions& own);
  // Goes on with one that knows something. Noise that depends on the inputs stands.
  JointFit(const JointKnowledge& known, const TrainingOptions& options, const JointOptions& own);

  // The rows are all there are. `after_epoch` is called after epochs from which a fit can go on.
  using AfterEpoch = std::function<void()>;
  void fit(const Data& rows, const AfterEpoch& after_epoch);
  // New rows only, on top of what is known; precisions and noise stand.
  void learn_on_top(const Data& rows, bool keep_ledger, JointKnowledge& known);

  // Everything that does not follow from the rows and the options.
  Arrays store() const;
  void restore(Arrays stored, std::size_t rows);

  // What is known after fit().
  JointKnowledge finish(const Data& rows, bool keep_ledger);

  std::size_t epochs() const { return fit_.epochs; }
  Stopped stopped() const { return fit_.stopped; }
  const std::vector<double>& train_nll() const { return fit_.train_nll; }  // after each epoch
  // What the likelihood says of these rows, as far as it is learnt.
  std::unique_ptr<RowTerms> terms_of(const Data& rows) const {
    return likelihood_->terms(rows.weighted_targets(), scales_);
  }
  // The function at the weights where the messages are linearised.
  std::vector<double> values(const Data& rows) const {
    return function_.values(rows.inputs, rows.rows);
  }
  Bounded bounded(const Data& rows) const;
  double damping() const { return fit_.damping; }
  double step_left() const { return step_left_; }  // after finish()

 private:
  JointSettings settings() const;

  const TrainingOptions& options_;
  const JointKnowledge* before_ = nullptr;
  JointNetwork function_;
  std::unique_ptr<Likelihood> likelihood_;
  std::vector<double> scales_;  // of the likelihood, by row; empty: its own
  NetworkFit fit_;
  std::size_t rows_ = 0;
  double step_left_ = 0;
};

}  // namespace dma::detail
