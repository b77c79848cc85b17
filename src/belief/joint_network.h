// belief/joint_network.h: a network whose weights are one variable, while it is fitted to rows.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <dma/belief/joint_posterior.h>

#include "belief/joint_algebra.h"
#include "belief/joint_backend.h"

namespace dma::detail {

inline constexpr double first_prior_precision = 1;

struct JointSettings {
  std::size_t epochs = 30;
  double damping = 1;  // at the start: see JointNetwork::step
  // Epochs in which prior precisions (and noise) are learnt: from, and every so many.
  std::size_t evidence_from = 4;
  std::size_t evidence_every = 3;
  // From this epoch on a step is followed by further ones (JointNetwork::step_on). Before the precisions are known that
  // would only learn the rows by heart.
  std::size_t further_from = 20;
  double tolerance = 1e-5;  // see TrainingOptions
  std::size_t patience = 3;
  std::function<bool(std::size_t epoch)> go_on = {};  // asked before every epoch, from 1

  void start_near_the_end() {
    damping = 1e-2;
    evidence_from = 0;
    further_from = 0;
  }
  bool learns_at(std::size_t epoch) const {
    return epoch >= evidence_from && epoch % evidence_every == 0;
  }
};

// Where the fit of a network stands between two epochs.
struct NetworkFit {
  std::size_t epochs = 0;
  Stopped stopped = Stopped::max_epochs;
  std::vector<double> train_nll = {};  // after each epoch, mean per row, at the weights
  double damping = 0;
  std::size_t settled = 0;  // epochs in a row
  bool bounded = false;     // what the likelihood learnt last: see RowTerms::Learnt

  Arrays store() const;
  static NetworkFit restore(Arrays stored);
};

// Weights, one prior precision per group of weights, and what the likelihood can learn, all from the rows: the
// precisions by the evidence of the linearised network (MacKay 1992).
class JointNetwork {
 public:
  // by_column: every input column has a precision of its own. None that is learnt is below the least.
  JointNetwork(Architecture architecture, JointUnit unit, double prior_precision, bool by_column,
               double least_precision = least_prior_precision,
               const JointBackend& backend = cpu_backend());
  // Goes on from an earlier fit, where its messages were linearised.
  JointNetwork(const JointPosterior& posterior, bool by_column,
               double least_precision = least_prior_precision,
               const JointBackend& backend = cpu_backend());

  // See layers/architecture.h.
  void draw_start(std::uint64_t seed, double gain);
  void set_output_bias(double value);

  using OnEpoch = std::function<void(const NetworkFit&)>;
  // The terms are of these rows. `start` with epochs behind it: goes on from there, with the same
  // bits, if parameters and terms are those of then; `after_epoch` is called where that holds.
  // `reached`, if given, becomes posterior() at the end, which costs less than to ask for it afterwards.
  NetworkFit fit(std::span<const double> inputs, RowTerms& terms, const JointSettings& settings,
                 const NetworkFit& start = {}, const OnEpoch& after_epoch = {},
                 JointPosterior* reached = nullptr);

  // What fit() learns. restore() throws NetworkError if it is that of another network.
  Arrays store() const;
  void restore(Arrays stored);

  // Linearised at the weights as they are. The form of messages has a ledger, that of weights if it is asked for.
  // `step_left`, if given, is how far the next step would go: see JointCertificate.
  JointPosterior posterior(std::span<const double> inputs, const RowTerms& terms, bool keep_ledger,
                           double* step_left = nullptr) const;
  std::vector<double> values(std::span<const double> inputs, std::size_t rows) const {
    return backend_->values(here(), inputs, rows);
  }
  std::size_t bounded_precisions() const;
  const Architecture& architecture() const { return architecture_; }

 private:
  NetworkAt here() const { return {architecture_, unit_, weights_}; }
  std::unique_ptr<MessageSum> messages(std::span<const double> inputs, const RowTerms& terms,
                                       JointLedger* ledger = nullptr) const;
  bool by_messages(const RowTerms& terms) const;
  JointPosterior without_factor(const Vector& prior) const;
  void put_factor(const MessageSum& sum, JointPosterior& posterior, double* step_left) const;
  void train(std::span<const double> inputs, RowTerms& terms, const JointSettings& settings,
             const OnEpoch& after_epoch, std::unique_ptr<MessageSum>& sum, NetworkFit& fit);
  double prior_loss() const { return weights_.dot(prior().cwiseProduct(weights_)) / 2; }
  std::optional<double> learn_precisions(const MessageSum& sum);
  bool step(std::span<const double> inputs, const RowTerms& terms, const MessageSum& sum,
            bool with_further, double& damping, double& gain);
  std::size_t further_steps(const RowTerms& terms) const;
  double step_on(std::span<const double> inputs, const RowTerms& terms, const MessageSum& sum,
                 const PosteriorFactor& factor, double loss);
  double loss(std::span<const double> inputs, const RowTerms& terms) const {
    return terms.loss(values(inputs, terms.rows())) + prior_loss();
  }
  Vector prior() const;
  Vector prior_beside(const MessageSum& sum) const;

  Architecture architecture_;
  JointUnit unit_;
  double least_precision_;
  const JointBackend* backend_;
  Vector weights_;
  std::vector<std::size_t> group_;  // of each weight
  std::vector<double> precision_;   // of each group
};

}  // namespace dma::detail
