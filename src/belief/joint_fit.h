// belief/joint_fit.h: a joint belief while it is fitted: the function and its noise, in stages.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <dma/belief/joint.h>

#include "belief/joint_network.h"
#include "belief/joint_plan.h"
#include "belief/varying_noise.h"

namespace dma::detail {

class JointFit {
 public:
  // Fits a belief that knows nothing yet.
  JointFit(const Architecture& architecture, const TrainingOptions& options,
           const JointOptions& own);
  // Goes on with one that knows something.
  JointFit(const JointKnowledge& known, const TrainingOptions& options, const JointOptions& own);

  // Called after epochs from which a fit can go on.
  using AfterEpoch = std::function<void()>;
  void fit(const Data& rows, const AfterEpoch& after_epoch);
  // Starts from what is known; the rows are all there are.
  void fit_again(const Data& rows);
  // New rows only, on top of what is known; precisions and noise stand.
  void learn_on_top(const Data& rows, bool keep_ledger, JointKnowledge& known);

  // Everything that does not follow from the rows and the options.
  Arrays store() const;
  void restore(Arrays stored, std::size_t rows);

  // What is known after fit() or fit_again().
  JointKnowledge finish(const Data& rows, bool keep_ledger);

  std::size_t epochs() const { return epochs_; }  // of both networks
  Stopped stopped() const;
  // Training NLL of the function, after each of its epochs.
  const std::vector<double>& train_nll() const { return train_nll_; }
  // What the likelihood says of these rows, as far as it is learnt.
  std::unique_ptr<RowTerms> terms_of(const Data& rows) const {
    return likelihood_->terms(rows.targets, scales_);
  }
  // The function at the weights where the messages are linearised.
  std::vector<double> values(const Data& rows) const {
    return function_.values(rows.inputs, rows.rows);
  }
  Bounded bounded(const Data& rows) const;
  double damping() const { return damping_; }
  double step_left() const { return step_left_; }  // after finish()

 private:
  bool noise_varies() const;
  JointSettings settings_of(const JointStage& stage);
  void run(const std::vector<JointStage>& stages, const Data& rows);
  Stopped run(const JointStage& stage, const Data& rows);
  Stopped fit_function(const Data& rows, const JointSettings& settings);
  void look_at_misses(const Data& rows);
  JointNetwork::OnEpoch keeper();
  // The stage, before the fit was interrupted.
  bool has_begun() const { return fit_.epochs > 0; }

  const TrainingOptions& options_;
  const JointOptions& own_;
  JointNetwork function_;
  std::unique_ptr<Likelihood> likelihood_;
  std::optional<VaryingNoise> noise_;
  std::vector<double> scales_;  // of the likelihood, by row; empty: its own
  std::vector<double> train_nll_;
  AfterEpoch after_epoch_;
  std::size_t stage_ = 0;
  std::size_t rows_ = 0;
  NetworkFit fit_;  // of the stage, if it has begun
  std::size_t epochs_ = 0, most_epochs_ = 0;
  bool interrupted_ = false;
  bool settled_ = true;   // the last stage that learnt the function and its noise together
  bool bounded_ = false;  // see RowTerms::Learnt, when noise that is one number was learnt last
  double damping_ = 0;
  double step_left_ = 0;
};

}  // namespace dma::detail
