// belief/certificate.h: how far a fit can be trusted, in numbers that can turn out bad.
//
// Independent weights: Theorem product-bwd-bound covers a product's backward message if
// r = min(|m_y| / s_y, |m_z| / s_z) is at least 2, and Corollary no-neg-prec says that no message takes precision
// away. Looked at over evenly spaced examples at the end of a fit, and in every batch.
//
// Joint weights: the network was taken for linear in its weights around their mean, and the fit for finished.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
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
  // Precisions at the upper end switch their weights off, often those of a column.
  std::size_t prior_precisions = 0;
  std::size_t noise_variances = 0;  // of rows: the least there is, or as unknown as is believed
  // Learnt while the weights had used up more than nine tenths of the rows.
  std::size_t noise_levels = 0;

  Bounded& operator+=(const Bounded& other) {
    prior_precisions += other.prior_precisions;
    noise_variances += other.noise_variances;
    noise_levels += other.noise_levels;
    return *this;
  }
};

// What only a joint belief has to answer for.
struct JointCertificate {
  // How far the network at weights drawn from the belief is from the linear function that predictions are made with:
  // root of the mean square of (exact - linearised) / deviation, over such draws and some rows. Large where weights of
  // two layers are hardly determined: their products are then nothing like linear.
  double linearisation_error = 0;
  // The largest share that a row has in its own prediction, from 0 to 1; at 1 nothing is known of it without itself.
  double largest_leverage = 0;
  std::size_t rows_alone = 0;  // whose share rounds to 1: they have no cavity prediction
  double damping = 0;          // of the last step: far from 0 the fit was still looking for its way
  // How far the next step would have gone, in standard deviations of the weights (root of the mean square).
  double step_left = 0;
};

struct Certificate {
  std::size_t examples = 0;  // over which it was taken
  // Messages of a batch to a weight that took precision away, beyond rounding, over the whole fit. Not counted
  // in files before format 8.
  std::optional<std::size_t> negative_messages = {};
  Bounded bounded = {};
  std::optional<JointCertificate> joint = {};
  std::vector<LayerCertificate> layers;
};

}  // namespace dma
