// belief/training.h: what every belief does with TrainingOptions.
#pragma once

#include <dma/belief/belief.h>

namespace dma::detail {

// Throws NetworkError if one cannot be used.
void validate(const TrainingOptions& options);

// Throws NetworkError unless it can stay of a batch of which a part goes.
void require_share(double share);

// Whether a fit is over after so many settled epochs in a row.
inline bool is_over(std::size_t settled, double tolerance, std::size_t patience) {
  return tolerance > 0 && patience > 0 && settled >= patience;
}

// The options' likelihood for so many outputs, with the parameters that another one has learnt.
std::unique_ptr<Likelihood> likelihood_with(const Likelihood& learnt,
                                            const TrainingOptions& options, std::size_t outputs);

}  // namespace dma::detail
