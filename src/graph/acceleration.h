// graph/acceleration.h: Anderson's extrapolation of messages, for graphs whose sweeps converge slowly.
//
// A sweep leads from messages x to g(x). With f_k = g(x_k) - x_k of the last sweeps, the weights a_k, which sum to 1, under
// which |sum_k a_k f_k| is least give the next x = sum_k a_k g(x_k). Where a sweep is linear this is GMRES (Walker and Ni
// 2011); a fixed point stays one. Only tau = mean / variance is extrapolated: precisions stay those of the last sweep, so that
// none can turn negative.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <dma/messages/gaussian.h>

namespace dma::detail {

class Acceleration {
 public:
  // Looks back on so many sweeps; 0: never extrapolates.
  explicit Acceleration(std::size_t depth) : depth_(depth) {}

  // Before a sweep.
  void begin(std::span<const Gaussian<double>> messages);
  // After it: replaces the messages by the next x. scale: by which a change of tau on an edge counts; where it is 0
  // the message stays. False if it left them
  // as they are.
  bool extrapolate(std::span<Gaussian<double>> messages, std::span<const double> scale);

 private:
  struct Sweep {
    std::vector<double> after;  // g(x)
    std::vector<double> moved;  // scaled f
  };

  std::size_t depth_;
  std::vector<double> before_;
  std::vector<Sweep> history_;  // the oldest first
};

}  // namespace dma::detail
