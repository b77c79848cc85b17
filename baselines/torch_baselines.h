// baselines/torch_baselines.h: libtorch's Adam and AdamW, and exact second derivatives.
//
// libtorch is in a separate module, loaded at the first call, because linking it would slow every start of the command.
// Functions throw std::runtime_error if the module is missing, and may be called from
// several threads at once. Numbers are doubles, as everywhere in the comparisons (torch's default is float), unless
// single precision is asked for.
#pragma once

#include "baselines/problem.h"
#include "baselines/torch/torch_module.h"  // AdamOptions, AdamResult

#include <span>
#include <string>
#include <vector>

namespace dma::baselines {

// Loads the module.
bool torch_available();

// The file of the BLAS that libtorch uses, which decides how fast Adam is.
std::string torch_blas();

// Minimises the mean negative log likelihood.
AdamResult train_adam(const Problem& problem, std::span<const double> start,
                      const AdamOptions& options);

// Diagonal of the Hessian of -log p(targets | w) + sum of prior_precision w^2 / 2 (empty: none), exact: one
// backward pass through the gradient per weight.
std::vector<double> hessian_diagonal(const Problem& problem, std::span<const double> weights,
                                     std::span<const double> prior_precision);

}  // namespace dma::baselines
