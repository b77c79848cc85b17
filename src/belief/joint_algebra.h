// belief/joint_algebra.h: a joint Gaussian over the weights as matrices: precision = L L'.
#pragma once

#include <dma/belief/joint_posterior.h>
#include <dma/likelihood/likelihood.h>

#include "backend/dense.h"
#include "layers/block.h"

namespace dma::detail {

inline constexpr const char* not_positive_definite =
    "a joint precision is not positive definite: some rows weigh so much that what the others "
    "say is lost beside them; look for a number far from those of the fit and leave its row "
    "out, or learn with independent weights";

// L; what is above the diagonal is not set.
Matrix factor_of(const JointPosterior& posterior);
void set_factor(const Matrix& lower, JointPosterior& posterior);
// Throws NetworkError if it is not positive definite in numbers.
Matrix factorised(Matrix precision);
// (L L')^-1 x.
Vector solution(const Matrix& lower, Vector x);
// L^-1.
Matrix inverse_of(Matrix lower);
// The diagonal of (L L')^-1, from L^-1.
Vector variances_of(const Matrix& inverse);
// L L', its lower triangle.
Matrix precision_of(const Matrix& lower);

// Computes the factor of a posterior whose ledger holds every row that it has heard; the same as a fit's, to the bit.
void take_factor_from_ledger(JointPosterior& posterior);

Vector mean_of(const JointPosterior& posterior);
void set_mean(const Vector& mean, JointPosterior& posterior);
// Where the messages were linearised.
Vector centre_of(const JointPosterior& posterior);

// Weights drawn from the posterior, a column each.
Matrix draw_weights(const JointPosterior& posterior, std::size_t count, std::uint64_t seed);

// Factors for Block::write_gradients(): the gradients of this output alone.
std::vector<double> only_output(std::size_t output, std::size_t outputs, std::size_t rows);

// Room for the moments of so many rows.
OutputMoments room_for(const Architecture& architecture, std::size_t rows);

}  // namespace dma::detail
