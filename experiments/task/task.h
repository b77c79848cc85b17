// experiments/task/task.h: the paper's one-dimensional tasks (App. E, F, G): data drawn from a network, and scores for
// predictions beyond them.
#pragma once

#include <dma/belief/posterior.h>
#include <dma/layers/architecture.h>
#include <dma/metrics/predicted.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dma::experiments {

// Rows of features (bias included), row-major, with the network's true outputs and noisy targets.
struct Rows {
  std::vector<double> x, features, truth, targets;

  std::size_t size() const { return x.size(); }
};

struct Task {
  Architecture model;
  double noise_deviation = 0;
  std::size_t batch_size = 20;
  std::size_t max_epochs = 200;
  Rows train;
  Rows extrapolation;  // for the NLL, noiseless: targets = truth
  Rows calibration;    // 500 evenly spaced points outside the training range
  Rows inside;         // 500 evenly spaced points of the training range
  Rows grid;           // to draw: evenly spaced from end to end
};

// 8-6-5-1, N = 200 in [-2.5, 1.5], noise 0.2, outside [-4, -2.5] and [1.5, 3] (App. E).
Task regression_task(std::uint64_t seed);
// The data from 12-10, the model 6-5, N = 200 in [-5, 5], outside [-6.5, -5] and [5, 6.5] (App. F).
Task mismatch_task(std::uint64_t seed);
// 6-6-12-48-24-4, N = 1500 in [-4, 4], noise 0.1, outside [-6, -4] and [4, 6] (App. G).
Task large_task(std::uint64_t seed);

// The seven features of App. E, standardised over [-5, 5], and the constant 1.
std::vector<double> regression_features(double x);

// The seed of the model's prior means, which are independent of the data's.
std::uint64_t prior_seed(std::uint64_t task_seed, std::size_t member = 0);

// Gaussian predictions.
std::vector<Predicted> as_predicted(const Prediction& prediction);

// Mean of -log density over rows and outputs.
double mean_nll(const std::vector<Predicted>& predicted, const std::vector<double>& y);

// 0.05, 0.10, ..., 0.95.
std::vector<double> calibration_levels();

// Share of the values inside the central interval of each of these levels.
std::vector<double> coverage_curve(const std::vector<Predicted>& predicted,
                                   const std::vector<double>& y);

// Mean of (coverage - level) over these levels: above 0 too wide, below 0 too narrow.
double calibration_delta(const std::vector<Predicted>& predicted, const std::vector<double>& y);

}  // namespace dma::experiments
