// likelihood/likelihood.h: what the outputs of a network say of a target.
//
// A likelihood p(y | f) stands between the outputs f of a network and the targets y of a row. Beliefs, ledgers and
// fits know no more of it than this header, so that a new kind of target is one more implementation:
//
//   message       Algorithm 1: a Gaussian message to every output
//   terms         a joint belief: slope and curvature of log p(y | f), row by row
//   mean_nll      the evidence: p(y | f) integrated over what is believed of f
//   predictive    the moments of y, given what is believed of f
//   learn         its own parameters, such as the noise
//
// What is a sum or a mean over rows is weighted (data/data.h): a row of weight 2 is two rows.
//
// gaussian.h is of numbers, classes.h of classes, counts.h of counts.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <dma/base/arrays.h>
#include <dma/data/data.h>
#include <dma/factors/factor.h>
#include <dma/likelihood/prediction.h>
#include <dma/metrics/metrics.h>

namespace dma {

// What is believed of a network's outputs: a Gaussian per row.
struct Outputs {
  std::span<const double> mean, variance;  // rows x outputs
  // rows x outputs x outputs; empty: the outputs of a row are independent.
  std::span<const double> covariance = {};
};

// What is believed of the log of a likelihood's scale where it depends on the inputs: a Gaussian per row.
struct LogScale {
  std::span<const double> mean = {}, variance = {};  // empty: the scale is the likelihood's own
};

// Outputs and log scale, owned.
struct OutputMoments {
  std::vector<double> mean = {}, variance = {}, covariance = {};
  std::vector<double> log_scale_mean = {}, log_scale_variance = {};

  Outputs outputs() const { return {mean, variance, covariance}; }
  LogScale log_scale() const { return {log_scale_mean, log_scale_variance}; }
};

// -log p(y | f) of the rows that a joint network is fitted to, as a function of the values f: rows x outputs.
class RowTerms {
 public:
  virtual ~RowTerms() = default;

  virtual std::size_t rows() const = 0;
  virtual double weight() const { return static_cast<double>(rows()); }  // of all rows together
  virtual std::size_t outputs() const { return 1; }
  // The sum over all rows, up to what does not depend on f.
  virtual double loss(std::span<const double> values) const = 0;
  // -log p(y | f) with all its constants, mean per target.
  virtual double mean_nll(std::span<const double> values) const = 0;
  // For the rows from `first` on that have these values, K outputs each: the (expected) curvature R R' of -log p(y | f),
  // and s with R s = the gradient of log p(y | f), both times the row's weight w: R and s have sqrt(w) each. Column c of a
  // row's R stands at root + (row K + c) K, its s at slope + row K. Never a negative curvature: R is real.
  virtual void expand(std::size_t first, std::span<const double> values, double* root,
                      double* slope) const = 0;

  struct Learnt {
    std::optional<double> factor =
        1;                 // of all curvatures and slopes; none: they changed in another way
    bool bounded = false;  // what was learnt stands at an end of what is allowed
  };
  // The likelihood's own parameters, from rows that determine so many weights.
  virtual Learnt learn(std::span<const double> /*values*/, double /*determined*/) { return {}; }
  // Rows whose scale is the least that is believed.
  virtual std::size_t rows_at_floor() const { return 0; }
};

class Likelihood {
 public:
  virtual ~Likelihood() = default;
  virtual std::unique_ptr<Likelihood> clone() const = 0;
  // A copy for a network with so many outputs. Throws NetworkError if it cannot have so many.
  virtual std::unique_ptr<Likelihood> for_outputs(std::size_t outputs) const = 0;

  virtual std::size_t outputs() const = 0;
  virtual std::size_t targets() const = 0;  // per row
  // What the moments of its predictions are of, if they are not those of classes.
  virtual Family family() const { return Family::number; }
  // Throws NetworkError if a target cannot be observed.
  virtual void validate(std::span<const double> /*targets*/) const {}

  // The message of one row to each of its outputs, as mean and variance.
  virtual void message(Rule rule, std::span<const double> target, const Outputs& outputs,
                       std::span<double> mean, std::span<double> variance) const = 0;
  // These point to the targets and, if they learn, to this likelihood. With scales, one per row, nothing is learnt.
  virtual std::unique_ptr<RowTerms> terms(const Targets& targets,
                                          std::span<const double> scales = {}) = 0;
  // -log of p(y | f) integrated over f, mean per target.
  virtual double mean_nll(const Targets& targets, const Outputs& outputs) const = 0;
  virtual Prediction predictive(const Outputs& outputs, const LogScale& scale = {}) const = 0;
  // Scores predictions; rows without one (NaN) are left out.
  virtual Metrics score(const Targets& targets, const Prediction& predicted) const = 0;

  // Whether it has parameters that are learnt.
  virtual bool learns() const { return false; }
  // Learns its parameters from predictions that were made without these targets.
  virtual void learn(const Targets& /*targets*/, const Outputs& /*predicted*/) {}
  // Learns from one row after the other, which are not kept; finish_learning() takes the last ones into account. Returns
  // true if the parameters have changed.
  virtual bool follow(std::span<const double> /*target*/, const Outputs& /*predicted*/,
                      double /*weight*/ = 1) {
    return false;
  }
  virtual void finish_learning() {}

  // Whether it has a scale that can depend on the inputs. `squares` has one number per row, which is in expectation
  // exp(log scale), plus the variance of what is believed of the output.
  virtual bool has_scale() const { return false; }
  virtual std::vector<double> squares(std::span<const double> /*targets*/,
                                      const Outputs& /*outputs*/) const {
    return {};
  }

  // The parameters, as part of what a belief stores. Throws NetworkError if they cannot be.
  virtual void store(Arrays& /*stored*/) const {}
  virtual void restore(Arrays& /*stored*/) {}
};

}  // namespace dma
