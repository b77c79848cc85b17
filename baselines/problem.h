// baselines/problem.h: what every baseline is given: a network, rows, and the known noise.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include <dma/layers/architecture.h>

namespace dma::baselines {

// A value at `weights`, and its gradient there.
using Differentiable =
    std::function<double(std::span<const double> weights, std::span<double> gradient)>;

struct Problem {
  Architecture network;
  std::span<const double> inputs, targets;  // rows x inputs, rows x outputs, row-major
  std::size_t rows;
  double noise_variance;
  // Adam only: targets are numbers of classes, one per row, and the outputs go through a softmax.
  bool classes = false;

  // Every mean below is over the rows and outputs.
  std::size_t observations() const { return rows * network.outputs(); }
};

// -log N(error; 0, noise_variance), averaged, where half_squared_error is the sum of error^2 / 2.
double mean_nll(const Problem& problem, double half_squared_error);

// The mean of -log N(y; f(x; w), noise_variance) as a function of w. Each returned function has its own buffers: use
// one per thread. The problem's arrays must outlive it.
Differentiable mean_nll(const Problem& problem);

// log p(targets | w) + log p(w), up to a constant. As above: one per thread.
Differentiable log_joint(const Problem& problem, const WeightPrior& prior);

}  // namespace dma::baselines
