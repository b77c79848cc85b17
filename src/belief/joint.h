// belief/joint.h: fits a JointPosterior.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <dma/belief/joint.h>

#include "backend/dense.h"
#include "layers/block.h"

namespace dma::detail {

// How the network's value f explains a row's target y.
enum class RowLikelihood {
  gaussian,      // y ~ N(f, s) with the row's noise variance s
  log_variance,  // f is the log of a variance, y a squared deviation: -log N(sqrt(y); 0, exp(f))
};

struct JointSettings {
  std::size_t epochs = 30;
  double damping = 1;  // at the start; a step that succeeds divides it by five
  // Epochs in which prior precisions (and noise) are learnt: from, every so many, and before.
  std::size_t evidence_from = 4;
  std::size_t evidence_every = 3;
  std::size_t evidence_before = 40;
  double tolerance = 1e-5;   // gain in log density per row below which an epoch has settled
  std::size_t patience = 3;  // settled epochs in a row that end the fit
  std::function<bool(std::size_t epoch)> go_on = {};

  bool learns_at(std::size_t epoch) const {
    return epoch >= evidence_from && epoch < evidence_before && epoch % evidence_every == 0;
  }
};

// A posterior made ready for many rows: |L^-1 J'|^2 is a product, which is faster than solving.
class JointPredictor {
 public:
  explicit JointPredictor(const JointPosterior& posterior);
  // f(x; centre) + J step, with covariance (factor factor')^-1 of the weights; a step of no size is none.
  JointPredictor(Architecture architecture, JointUnit unit, Vector centre, Vector step,
                 Matrix factor);

  void predict(std::span<const double> inputs, std::size_t rows, double* mean,
               double* variance) const;
  Prediction predict(std::span<const double> inputs, std::size_t rows) const;

 private:
  void add_steps(const Matrix& lots, std::size_t rows, double* mean) const;

  Architecture architecture_;
  JointUnit unit_;
  Vector centre_;
  Vector step_;
  backend::Whitening whitening_;
};

// Weights, one prior precision per group of weights, and the noise, all learnt from the rows: the
// precisions and the noise by the evidence of the linearised network (MacKay 1992).
class JointTrainer {
 public:
  // by_column: every input column has a precision of its own.
  JointTrainer(Architecture architecture, JointUnit unit, RowLikelihood likelihood,
               double prior_precision, bool by_column);
  // Goes on from an earlier fit, where its messages were linearised.
  JointTrainer(const JointPosterior& posterior, RowLikelihood likelihood, bool by_column);

  // Weights of the first step: N(0, gain^2 / inputs) and for the last layer N(0, 0.01 / inputs).
  void draw_start(std::uint64_t seed, double gain);
  void set_output_bias(double value);
  // From now on the posterior stands in for the prior and for the rows it was learnt from; precisions and
  // noise are no longer learnt.
  void stand_on(const JointPosterior& posterior);

  struct Result {
    std::size_t epochs = 0;
    Stopped stopped = Stopped::max_epochs;
    bool noise_bounded = false;          // see Bounded::noise_levels
    std::vector<double> train_nll = {};  // after each epoch, mean per row, at the weights
  };
  // Between two epochs of a fit.
  struct State {
    Result result = {};
    double damping = 0;
    std::size_t settled = 0;  // epochs in a row
  };
  using OnEpoch = std::function<void(const State&)>;
  // `variances`: of the noise, one per row (RowLikelihood::log_variance: not used). If `noise` is given,
  // all are equal to it and it is learnt. `start` with epochs behind it: goes on from there, with the same
  // bits, if parameters, variances and noise are those of then; `after_epoch` is called where that holds.
  Result fit(const Data& rows, Vector& variances, double* noise, const JointSettings& settings,
             const State& start, const OnEpoch& after_epoch);
  Result fit(const Data& rows, Vector& variances, double* noise, const JointSettings& settings) {
    return fit(rows, variances, noise, settings, {}, {});
  }

  // What fit() learns.
  struct Parameters {
    std::vector<double> weights, precisions;
  };
  Parameters parameters() const;
  // Throws NetworkError if they are those of another network.
  void set_parameters(const Parameters& parameters);

  // Linearised at the weights as they are; the rows' messages go into the ledger, if one is given.
  JointPosterior posterior(const Data& rows, const Vector& variances, JointLedger* ledger) const;
  // What posterior() would predict.
  JointPredictor predictor(const Data& rows, const Vector& variances) const;
  Vector values(const Data& rows) const;
  std::size_t bounded_precisions() const;

 private:
  struct Messages;

  Messages messages(const Data& rows, const Vector& variances, JointLedger* ledger) const;
  double loss(const Data& rows, const Vector& variances, const Vector& values) const;
  double mean_nll(const Data& rows, const Vector& variances, const Vector& values) const;
  double prior_loss() const;
  Vector prior_gradient() const;
  void set_posterior_precision(const Messages& sum, Matrix& precision) const;
  Matrix posterior_factor(const Messages& sum) const;
  std::optional<double> learn_precisions(const Messages& sum);
  bool step(const Data& rows, const Vector& variances, const Messages& sum, double& damping,
            double& gain);
  Vector prior() const;

  Architecture architecture_;
  JointUnit unit_;
  RowLikelihood likelihood_;
  Vector weights_;
  std::vector<std::size_t> group_;  // of each weight
  std::vector<double> precision_;   // of each group
  Vector standing_mean_;            // empty: the prior is around 0
  Matrix standing_precision_;       // lower triangle
};

}  // namespace dma::detail
