#include "network/joint_values.h"

#include <algorithm>
#include <vector>

#include "backend/dense.h"
#include "kernels/joint_units.h"

namespace dma::detail {
namespace {

// Of a layer, as a matrix with a row per unit.
backend::Operand weights_of(const Architecture& architecture, std::size_t layer,
                            const Vector& weights) {
  const std::size_t fan_in = architecture.fan_in(layer);
  return {weights.data() + architecture.offset(layer), architecture.width(layer), fan_in, fan_in,
          1};
}

// The inputs of the first layer: a column each, then ones for the bias.
Matrix first_units(std::span<const double> inputs, std::size_t first, std::size_t count,
                   std::size_t width) {
  Matrix units(index(count), index(width) + 1);
  units.leftCols(index(width)) =
      Eigen::Map<const RowMatrix>(inputs.data() + first * width, index(count), index(width));
  units.rightCols(1).setOnes();
  return units;
}

struct Layer {
  Matrix units;        // its inputs, with the bias; a row per row
  Matrix derivatives;  // of these by the sums below; of the first layer none
};

Layer layer_above(const Architecture& architecture, JointUnit unit, std::size_t below,
                  const Matrix& sums) {
  const auto count = static_cast<std::size_t>(sums.size());
  Layer layer{Matrix(sums.rows(), sums.cols() + 1), Matrix(sums.rows(), sums.cols())};
  if (unit == JointUnit::step) {
    kernels::step_units(count, sums.data(), layer.units.data(), layer.derivatives.data());
  } else {
    kernels::leaky_relu_units(count, sums.data(), architecture.slope(below), layer.units.data(),
                              layer.derivatives.data());
  }
  layer.units.rightCols(1).setOnes();
  return layer;
}

}  // namespace

void network_values(const Architecture& architecture, JointUnit unit, const Vector& weights,
                    std::span<const double> inputs, std::size_t first, std::size_t count,
                    double* values, Matrix* gradients, const double* scales) {
  const std::size_t layers = architecture.layers();
  std::vector<Layer> layer(layers);
  layer[0].units = first_units(inputs, first, count, architecture.inputs());
  for (std::size_t l = 0; l < layers; ++l) {
    Matrix sums = Matrix::Zero(index(count), index(architecture.width(l)));
    backend::add_product(backend::operand(layer[l].units),
                         weights_of(architecture, l, weights).transposed(), backend::target(sums));
    if (l + 1 == layers) {
      std::copy_n(sums.data(), count, values);
    } else {
      layer[l + 1] = layer_above(architecture, unit, l, sums);
    }
  }
  if (gradients == nullptr) return;
  gradients->resize(index(count), weights.size());
  Matrix back = Matrix::Ones(index(count), 1);  // df / d sums, times the scale
  if (scales != nullptr) back = Eigen::Map<const Vector>(scales, index(count));
  for (std::size_t l = layers; l-- > 0;) {
    const Matrix& units = layer[l].units;
    Eigen::Index k = index(architecture.offset(l));
    for (Eigen::Index i = 0; i < back.cols(); ++i) {
      for (Eigen::Index j = 0; j < units.cols(); ++j) {
        gradients->col(k++) = back.col(i).cwiseProduct(units.col(j));
      }
    }
    if (l == 0) break;
    backend::Operand above = weights_of(architecture, l, weights);
    --above.columns;  // nothing is below the bias
    Matrix below = Matrix::Zero(index(count), index(above.columns));
    backend::add_product(backend::operand(back), above, backend::target(below));
    back = below.cwiseProduct(layer[l].derivatives);
  }
}

}  // namespace dma::detail
