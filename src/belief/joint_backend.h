// belief/joint_backend.h: where the algebra of a joint belief runs.
//
// All that costs time in a joint belief is behind these few functions: values and gradients of blocks of rows, the rank
// update of the precision with them, factorisation and solves, and the variances of predictions. What they pass to and
// fro is small (a number per row or per weight); the matrices stay where they are. The CPU is the only implementation
// (joint_cpu.cc).
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include <dma/belief/joint_posterior.h>

#include "layers/block.h"

namespace dma::detail {

// A network at these weights.
struct NetworkAt {
  const Architecture& architecture;
  JointUnit unit;
  const Vector& weights;
};

// The precision of a posterior, the prior's and that of all messages, ready to be solved with.
class PosteriorFactor {
 public:
  virtual ~PosteriorFactor() = default;
  // precision^-1 (the messages' gradient + x): how far the mean moves.
  virtual Vector step(const Vector& x) const = 0;
  // 1 - prior precision times variance, for weights that share a prior precision together: added up over them it is the
  // number of weights that the rows determine. What is factorised is gone afterwards.
  virtual Vector take_determined() = 0;
  // Puts the factor into the posterior, if that is in the form of weights.
  virtual void put(JointPosterior& posterior) const = 0;
};

// What the messages of all rows say together, without the prior; where they were linearised.
class MessageSum {
 public:
  virtual ~MessageSum() = default;
  // Precision and gradient.
  virtual void multiply(double factor) = 0;
  // With the prior's precisions, one per weight. Damped, a weight has so many times its own precision more, the prior's and
  // that of the messages; of the latter the mean over the units of its layer, which both forms can do (Levenberg and
  // Marquardt). Null if the precision is not positive definite in numbers. The factor refers to this sum.
  std::unique_ptr<PosteriorFactor> factor(const Vector& prior, double damping = 0) const {
    return factor_with(prior + damping * (prior + curvature));
  }

  std::vector<double> values;  // f of every row: rows x outputs
  Vector gradient;             // of the log likelihood by the weights
  Vector curvature;            // the diagonal of the precision, as a mean over the units of a layer

 private:
  virtual std::unique_ptr<PosteriorFactor> factor_with(const Vector& prior) const = 0;
};

// How the log likelihood changes with the weights, and f where it does.
struct Slope {
  std::vector<double> values = {};  // rows x outputs
  Vector gradient = {};
};

// A posterior made ready for many rows.
class JointPredictor {
 public:
  virtual ~JointPredictor() = default;
  // Into arrays of rows x outputs; the covariance is written if there is more than one output. From any thread.
  virtual void predict(std::span<const double> inputs, std::size_t rows, double* mean,
                       double* variance, double* covariance) const = 0;
};

class JointBackend {
 public:
  virtual ~JointBackend() = default;
  // rows x outputs.
  virtual std::vector<double> values(const NetworkAt& network, std::span<const double> inputs,
                                     std::size_t rows) const = 0;
  // What is in a MessageSum besides the precision, at a small part of its cost.
  virtual Slope slope(const NetworkAt& network, std::span<const double> inputs,
                      const RowTerms& terms) const = 0;
  // In the form of weights or in that of messages. The rows' messages go into the ledger, if one is given.
  virtual std::unique_ptr<MessageSum> messages(const NetworkAt& network,
                                               std::span<const double> inputs,
                                               const RowTerms& terms, JointLedger* ledger,
                                               bool in_messages) const = 0;
  virtual std::unique_ptr<JointPredictor> predictor(const JointPosterior& posterior) const = 0;
};

const JointBackend& cpu_backend();

// What an epoch over so many messages costs in each form.
struct EpochCost {
  double by_weights, by_messages;  // multiplications, more or less

  double least() const { return std::min(by_weights, by_messages); }
};
EpochCost epoch_cost(const Architecture& architecture, std::size_t messages);

inline bool messages_are_cheaper(const Architecture& architecture, std::size_t messages) {
  const EpochCost cost = epoch_cost(architecture, messages);
  return cost.by_messages < cost.by_weights;
}

}  // namespace dma::detail
