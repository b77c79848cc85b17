#include "belief/joint_cavity.h"

#include <Eigen/Dense>
#include <algorithm>
#include <limits>

#include "belief/joint_messages.h"
#include "belief/joint_predictor.h"
#include "belief/uncertain_inputs.h"

namespace dma::detail {
namespace {

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

// One row: what is believed of its outputs, and its message.
struct Row {
  Eigen::Map<Vector> mean;
  Eigen::Map<Matrix> covariance;
  Eigen::Map<const Matrix> root;
  Eigen::Map<const Vector> slope;   // in the directions of the root's columns
  Eigen::Map<const Vector> centre;  // where the message was linearised
};

// C = S + S R (1 - A)^-1 R' S and mean f - C g, with A = R' S R and, since the message is linear, the gradient
// g = R (s - R' (f - centre)). Returns A's largest eigenvalue; the row is left as it is if that is not below 1.
double take_out(Row row) {
  const Matrix leverage = row.root.transpose() * row.covariance * row.root;
  if (!leverage.allFinite()) return std::numeric_limits<double>::infinity();
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(leverage);
  const double largest = eigen.eigenvalues().maxCoeff();
  if (!(largest < 1)) return largest;
  const Vector gradient = row.root * (row.slope - row.root.transpose() * (row.mean - row.centre));
  const Matrix turned = row.covariance * row.root * eigen.eigenvectors();
  const Vector stays = 1 - eigen.eigenvalues().array();
  row.covariance += turned * stays.cwiseInverse().asDiagonal() * turned.transpose();
  row.mean -= row.covariance * gradient;
  return largest;
}

}  // namespace

void take_out_own_messages(const RowTerms& terms, std::span<const double> values,
                           OutputMoments& moments, JointCertificate& certificate) {
  const std::size_t outputs = terms.outputs();
  const auto size = static_cast<Eigen::Index>(outputs);
  std::vector<double> roots(values.size() * outputs);
  std::vector<double> slopes(values.size());
  terms.expand(0, values, roots.data(), slopes.data());
  std::vector<double>& covariance = outputs > 1 ? moments.covariance : moments.variance;
  for (std::size_t n = 0; n < terms.rows(); ++n) {
    double* own = covariance.data() + n * outputs * outputs;
    Row row{{moments.mean.data() + n * outputs, size},
            {own, size, size},
            {roots.data() + n * outputs * outputs, size, size},
            {slopes.data() + n * outputs, size},
            {values.data() + n * outputs, size}};
    const double leverage = take_out(row);
    certificate.largest_leverage = std::max(certificate.largest_leverage, std::min(leverage, 1.0));
    if (!(leverage < 1)) {
      ++certificate.rows_alone;
      row.mean.setConstant(std::numeric_limits<double>::quiet_NaN());
      row.covariance.setConstant(std::numeric_limits<double>::quiet_NaN());
    }
    for (std::size_t k = 0; outputs > 1 && k < outputs; ++k) {
      moments.variance[n * outputs + k] = own[k * outputs + k];
    }
  }
}

OutputMoments cavity_of(const JointKnowledge& known, const Data& rows, const RowTerms& terms,
                        std::span<const double> values, JointCertificate& certificate) {
  OutputMoments moments = KnowledgePredictor(known).by_weights(rows.inputs, rows.rows, 1);
  if (known.function.in_messages() && terms.outputs() == 1) {
    const auto own = own_variances(known.function);
    moments.variance.assign(own.end() - static_cast<std::ptrdiff_t>(rows.rows), own.end());
  }
  take_out_own_messages(terms, values, moments, certificate);
  const Vector centre = centre_of(known.function);
  add_input_variance({known.function.architecture, known.function.unit, centre}, rows.inputs,
                     rows.rows, moments);
  return moments;
}

}  // namespace dma::detail
