// belief/joint_backend.h: where the algebra of a joint belief runs.
//
// All that costs time in a joint belief is behind these few functions: values and gradients of blocks of rows, the rank
// update of the precision with them, factorisation and solves, and the variances of predictions. What they pass to and
// fro is small (a number per row or per weight); the matrices stay where they are. The CPU is the only implementation
// (joint_cpu.cc).
#pragma once

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

// What the messages of all rows say together, without the prior; where they were linearised.
class MessageSum {
 public:
  virtual ~MessageSum() = default;
  // Precision and gradient.
  virtual void multiply(double factor) = 0;

  std::vector<double> values;  // f of every row: rows x outputs
  Vector gradient;             // of the log likelihood by the weights
};

// The prior's precision: one number per weight, or a whole matrix (its lower triangle).
struct PriorPrecision {
  Vector diagonal;
  const Matrix* whole = nullptr;
};

// L with L L' the precision of the posterior: the prior's and that of the messages.
class PosteriorFactor {
 public:
  virtual ~PosteriorFactor() = default;
  // With the precision's diagonal times 1 + damping. False if it is not positive definite in numbers.
  [[nodiscard]] virtual bool set(const MessageSum& sum, const PriorPrecision& prior,
                                 double damping = 0) = 0;
  virtual Vector solve(Vector x) const = 0;            // (L L')^-1 x
  virtual double whitened_square(Vector x) const = 0;  // |L^-1 x|^2
  // The diagonal of (L L')^-1; L is gone afterwards.
  virtual Vector take_variances() = 0;
  virtual Matrix lower() const = 0;  // L; what is above its diagonal is not set
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
  // The rows' messages go into the ledger, if one is given.
  virtual std::unique_ptr<MessageSum> messages(const NetworkAt& network,
                                               std::span<const double> inputs,
                                               const RowTerms& terms,
                                               JointLedger* ledger) const = 0;
  virtual std::unique_ptr<PosteriorFactor> factor() const = 0;
  virtual std::unique_ptr<JointPredictor> predictor(const JointPosterior& posterior) const = 0;
};

const JointBackend& cpu_backend();

}  // namespace dma::detail
