// belief/one_pass.h: rows that are learnt as they come, and not kept.
#pragma once

#include <concepts>
#include <vector>

#include "belief/independent_state.h"
#include "layers/sweep.h"
#include "likelihood/noise.h"

namespace dma::detail {

template <std::floating_point T>
class OnePass {
 public:
  explicit OnePass(IndependentState<T>& state);

  // Returns what was predicted of each row before its own update.
  Prediction learn(const Data& data);
  void finish_noise();

 private:
  void sweep_through(Prediction& cavity);
  void learn_row(std::size_t row);
  void record(Prediction& cavity) const;
  void learn_noise_from(const Prediction& cavity, std::size_t row);
  void take_belief(std::size_t rows);

  std::size_t rows() const { return known_.batches.rows(); }
  std::size_t outputs() const { return known_.outputs(); }

  IndependentState<T>& known_;
  Sweep<T> sweep_;
  std::vector<T> noise_;
  std::vector<RunningNoise> running_noise_;  // by output
  std::size_t calls_ = 0;
};

}  // namespace dma::detail
