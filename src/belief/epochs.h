// belief/epochs.h: a fit of independent weights: the room that it needs, and where it stands.
#pragma once

#include <concepts>
#include <functional>
#include <vector>

#include <dma/base/arrays.h>

#include "belief/independent_state.h"
#include "belief/output_message.h"
#include "layers/sweep.h"

namespace dma::detail {

template <std::floating_point T>
class Epochs {
 public:
  explicit Epochs(IndependentState<T>& state);

  FitResult fit(const std::function<void(bool)>& after_epoch);
  // Between two epochs; without posterior and ledger.
  Arrays state() const;
  void resume(Arrays state);
  // Certifies the belief as it is, over so many evenly spaced rows.
  Certificate certify(std::size_t examples);

 private:
  void begin_fit();
  bool is_done();
  bool has_settled() const;
  bool changes_little() const;
  bool run_epoch(std::size_t epoch);
  void set_cavity(std::size_t b);
  void close_batch(std::size_t b);
  std::size_t improper_layer() const;
  kernels::BatchBelief<T> working_belief();
  void sweep_from_cavity(std::size_t b);
  void sweep_from_belief(std::size_t b);
  void take_out_old(T share);
  void forward(Sweep<T>& sweep, std::size_t b, std::size_t row);
  void take_messages(std::size_t b, std::size_t row, double times);
  void advance(std::size_t b, std::size_t row, std::size_t next, double times);
  double weight_of(std::size_t b) const;
  Targets targets() const { return {targets_, known_.batches.weights()}; }
  void keep_outputs(const Sweep<T>& sweep, std::size_t row, OutputMoments& all);
  double cavity_nll(std::size_t batches) const;
  void score_training();
  void learn_likelihood();

  std::size_t outputs() const { return known_.outputs(); }
  std::size_t rows() const { return known_.batches.rows(); }

  IndependentState<T>& known_;
  const kernels::LayerKernels<T>* kernels_;
  Sweep<T> sweep_, cavity_sweep_;
  std::vector<T> cavity_tau_, cavity_rho_, start_mean_, start_variance_;
  OutputMessage<T> message_;
  std::vector<double> targets_;      // of all rows that are here
  OutputMoments cavity_, training_;  // and what was, or is, believed of their outputs
  FitResult result_;
  std::size_t negative_messages_ = 0;  // of this fit
  bool resumed_ = false;               // result_ and cavity_ hold the epochs before
};

}  // namespace dma::detail
