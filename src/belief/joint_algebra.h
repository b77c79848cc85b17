// belief/joint_algebra.h: a joint Gaussian over the weights as matrices: precision = L L'.
#pragma once

#include <dma/belief/joint.h>
#include <dma/likelihood/likelihood.h>

#include "backend/dense.h"
#include "layers/block.h"

namespace dma::detail {

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

Vector mean_of(const JointPosterior& posterior);
void set_mean(const Vector& mean, JointPosterior& posterior);
// Where the messages were linearised.
Vector centre_of(const JointPosterior& posterior);

// See JointCertificate. Over a few functions, drawn with a seed of its own.
double linearisation_error(const JointPosterior& posterior, std::span<const double> inputs);

// A posterior made ready for many rows: |L^-1 J'|^2 is a product, which is faster than solving.
class JointPredictor {
 public:
  explicit JointPredictor(const JointPosterior& posterior);
  // f(x; centre) + J step, with covariance (factor factor')^-1 of the weights; a step of no size is none.
  JointPredictor(Architecture architecture, JointUnit unit, Vector centre, Vector step,
                 Matrix factor);

  // Into arrays of rows x outputs; the covariance is written if there is more than one output.
  void predict(std::span<const double> inputs, std::size_t rows, double* mean, double* variance,
               double* covariance) const;
  OutputMoments outputs(std::span<const double> inputs, std::size_t rows) const;

 private:
  void add_steps(const Matrix& lots, std::size_t rows, double* mean) const;
  void predict_several(const Block& block, std::size_t rows, double* mean, double* variance,
                       double* covariance) const;

  Architecture architecture_;
  JointUnit unit_;
  Vector centre_;
  Vector step_;
  Matrix inverse_;  // of the factor; empty if there is one output
  backend::Whitening whitening_;
};

// Room for the moments of so many rows.
OutputMoments room_for(const Architecture& architecture, std::size_t rows);

}  // namespace dma::detail
