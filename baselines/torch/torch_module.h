// baselines/torch/torch_module.h: what passes between the module of libtorch and its loader.
//
// C++17, like the module: clang 14 does not compile torch 1.13's headers as C++20.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dma::baselines {

struct AdamOptions {
  double learning_rate = 0.1;
  double weight_decay = 0;  // > 0: AdamW, decoupled
  // Per weight; empty: none. Adds prior_precision w^2 / (2 observations) to the mean loss, which makes it
  // the MAP objective of the paper's Laplace.
  std::vector<double> prior_precision = {};
  std::size_t epochs = 200;
  std::size_t batch_size = 0;  // 0: all rows, one step per epoch
  std::uint64_t seed = 1;      // of the order of rows, when in batches
  bool single_precision = false;
  // Rows (inputs only) that are predicted after every epoch; null: none.
  const double* held_out = nullptr;
  std::size_t held_out_rows = 0;
};

struct AdamResult {
  std::vector<double> weights;
  std::vector<double> train_nll;           // after each epoch, over all rows
  double seconds_per_epoch = 0;            // of the training steps alone, without train_nll
  bool diverged = false;                   // a number was not finite; the run ends there
  std::vector<double> epoch_seconds = {};  // of each epoch, in the processor's time
  std::vector<double> held_out = {};       // epochs x rows x outputs
};

struct TorchLayer {
  std::size_t width, inputs;  // inputs without the bias
  bool bias;
  double slope;
};

struct TorchProblem {
  std::vector<TorchLayer> layers;
  const double *inputs, *targets;  // rows x inputs, rows x outputs
  std::size_t rows;
  double noise_variance;
  bool classes =
      false;  // targets are numbers of classes, one per row, and outputs go through a softmax
};

struct TorchFunctions {
  AdamResult (*train_adam)(const TorchProblem&, const double* start, const AdamOptions&);
  std::vector<double> (*hessian_diagonal)(const TorchProblem&, const double* weights,
                                          const std::vector<double>& prior_precision);
  // The file of the BLAS that was loaded.
  std::string (*blas)();
};

}  // namespace dma::baselines

// The one name that the module exports.
extern "C" __attribute__((visibility("default"))) const dma::baselines::TorchFunctions*
dma_torch_functions();
