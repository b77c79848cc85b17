// belief/one_pass.h: rows that are learnt as they come, and not kept.
#pragma once

#include <concepts>
#include <vector>

#include "belief/independent_state.h"
#include "belief/output_message.h"
#include "layers/sweep.h"

namespace dma::detail {

template <std::floating_point T>
class OnePass {
 public:
  explicit OnePass(IndependentState<T>& state);

  // Returns what was predicted of each row before its own update.
  Prediction learn(const Data& data);
  void finish_learning();

 private:
  void sweep_through(Prediction& cavity);
  void advance(std::size_t row, std::size_t next);
  void learn_row(std::size_t row);
  void keep_outputs();
  void predict_kept(const Likelihood& likelihood, Prediction& cavity);
  void take_belief(std::size_t rows);

  std::size_t rows() const { return known_.batches.rows(); }

  IndependentState<T>& known_;
  Sweep<T> sweep_;
  OutputMessage<T> message_;
  OutputMoments kept_;  // of the rows since the likelihood was last another
  std::size_t calls_ = 0;
};

}  // namespace dma::detail
