// belief/joint_fit.h: a joint belief while it is fitted: the function and its noise, in stages.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <dma/belief/joint.h>

#include "belief/joint_network.h"
#include "belief/varying_noise.h"

namespace dma::detail {

// A fit is a list of these, each one fit of one of the two networks.
struct JointStage {
  enum class Part {
    some_rows,  // the function and its noise, from the first rows
    all_rows,   // from all
    noise,      // the noise network, given the function
    function,   // the function, given the noise of each row
  };
  Part part;
  JointSettings settings;
};

class JointFit {
 public:
  // Of a belief that knows nothing yet.
  JointFit(const Architecture& architecture, const TrainingOptions& options,
           const JointOptions& own);
  // Of one that knows something.
  JointFit(const JointKnowledge& known, const TrainingOptions& options, const JointOptions& own);

  // Called after epochs from which a fit can go on.
  using AfterEpoch = std::function<void()>;
  void fit(const Data& rows, const AfterEpoch& after_epoch);
  // Starts from what is known; the rows are all there are.
  void fit_again(const Data& rows);
  // New rows only, on top of what is known; precisions and noise stand.
  void stand(const JointKnowledge& known, const Data& rows);

  // All that is not known from the rows and the options.
  Arrays store() const;
  void restore(Arrays stored, std::size_t rows);

  // After fit() or fit_again().
  JointKnowledge finish(const Data& rows, bool keep_ledger);
  // After stand(): the function, and the messages of these rows.
  JointKnowledge finish_on_top(const Data& rows, bool keep_ledger) const;

  std::size_t epochs() const { return result_.epochs; }
  Stopped stopped() const { return result_.stopped; }
  // Of the function, after each of all its epochs.
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
  std::vector<JointStage> stages_for(bool many);
  void add_refinement(std::size_t rounds, std::size_t first_noise_epochs,
                      std::size_t function_epochs, std::vector<JointStage>& stages);
  JointSettings settings_for(std::size_t epochs);
  JointSettings settings_from_before(std::size_t epochs);
  void run(const JointStage& stage, const Data& rows);
  void fit_function(const Data& rows, const JointSettings& settings);
  void refine_function(const Data& rows, const JointSettings& settings);
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
  NetworkFit result_;           // of the function
  std::vector<double> train_nll_;
  AfterEpoch after_epoch_;
  std::size_t stage_ = 0;
  std::size_t rows_ = 0;
  NetworkFit fit_;  // of the stage, if it has begun
  std::size_t progress_ = 0;
  double damping_ = 0;
  double step_left_ = 0;
};

}  // namespace dma::detail
