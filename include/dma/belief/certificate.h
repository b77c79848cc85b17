// belief/certificate.h: how far a fit was covered by the paper's theorems, and whether any number
// went wrong.
//
// Theorem product-bwd-bound covers a product's backward message if r = min(|m_y| / s_y, |m_z| / s_z)
// is at least 2. The certificate is taken at the end of a fit over evenly spaced examples.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace dma {

struct LayerCertificate {
  std::size_t product_messages = 0;         // to weights and, above the first layer, to inputs
  double share_below_two = 0;               // outside the theorem
  std::array<double, 5> signal_to_noise{};  // quantiles 0.05, 0.25, 0.5, 0.75, 0.95
  std::size_t uniform_messages = 0;  // units that heard nothing from above, times their products
  double smallest_precision = 0;     // of the weights' posterior
  double largest_precision = 0;
};

// Numbers of a joint network (belief/joint.h) that stand at an end of what is allowed.
struct Bounded {
  // At the upper end their weights, often those of a column, are switched off.
  std::size_t prior_precisions = 0;
  std::size_t noise_variances = 0;  // of rows: the least there is
  // Learnt while the weights had used up more than nine tenths of the rows.
  std::size_t noise_levels = 0;

  Bounded& operator+=(const Bounded& other) {
    prior_precisions += other.prior_precisions;
    noise_variances += other.noise_variances;
    noise_levels += other.noise_levels;
    return *this;
  }
};

struct Certificate {
  std::size_t examples = 0;  // over which the messages were taken
  std::size_t repaired = 0;  // values that had to be changed to go on: nothing is ever repaired
  Bounded bounded = {};
  std::vector<LayerCertificate> layers;
};

}  // namespace dma
