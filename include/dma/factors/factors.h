// factors/factors.h: the list of built-in factors. A new factor adds its header and its name here;
// the JSON reader, the coverage table and the conformance tests read this list.
#pragma once

#include <tuple>

#include <dma/factors/argmax.h>
#include <dma/factors/between.h>
#include <dma/factors/equality.h>
#include <dma/factors/function.h>
#include <dma/factors/gamma_prior.h>
#include <dma/factors/gaussian_precision.h>
#include <dma/factors/greater_than.h>
#include <dma/factors/inner_product.h>
#include <dma/factors/leaky_relu.h>
#include <dma/factors/lognormal_copy.h>
#include <dma/factors/lognormal_observation.h>
#include <dma/factors/negative_binomial.h>
#include <dma/factors/observation.h>
#include <dma/factors/ordinal.h>
#include <dma/factors/poisson.h>
#include <dma/factors/prior.h>
#include <dma/factors/probit.h>
#include <dma/factors/product.h>
#include <dma/factors/softmax.h>
#include <dma/factors/weighted_sum.h>
#include <dma/factors/win_draw_loss.h>

namespace dma {

using BuiltinFactors =
    std::tuple<Prior, Observation, WeightedSum, Equality, Product, LeakyRelu, LogNormalCopy,
               GreaterThan, Between, Probit, Poisson, NegativeBinomial, LogNormalObservation,
               Argmax, Softmax, WinDrawLoss, InnerProduct, GammaPrior, GaussianPrecision, Ordinal>;

}  // namespace dma
