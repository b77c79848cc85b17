// bench/sections.h: what dma_bench can measure. Each adds its measurements and ratios to a plan.
#pragma once

#include "bench/plan.h"

namespace dma::bench {

void add_kernels(Plan& plan);
void add_epochs(Plan& plan);
void add_quality(Plan& plan);
void add_commands(Plan& plan);
void add_honesty(Plan& plan);
void add_threads(Plan& plan);
void add_graph(Plan& plan);
void add_joint(Plan& plan);
void add_images(Plan& plan);

// The leaky ReLU, nanoseconds per unit: kernels/activation {forward,backward linear,backward direct}/{float,double}.
void add_activations(Plan& plan);

}  // namespace dma::bench
