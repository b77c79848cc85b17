#include "layers/block.h"

#include <algorithm>
#include <vector>

#include "backend/dense.h"
#include "kernels/joint_units.h"

namespace dma::detail {
namespace {

// The weights of a layer as a matrix with a row per unit.
backend::Operand weights_of(const Architecture& architecture, std::size_t layer,
                            const Vector& weights) {
  const auto [first, units, inputs, bias] = architecture.layer(layer);
  return {weights.data() + first, units, inputs, inputs, 1};
}

// The inputs of the first layer: a column each, then their ramps, then ones for the bias.
Matrix first_units(const Architecture& architecture, std::span<const double> inputs,
                   std::size_t first, std::size_t count) {
  const std::size_t width = architecture.inputs();
  Matrix units(index(count), index(architecture.layer(0).inputs));
  units.leftCols(index(width)) =
      Eigen::Map<const RowMatrix>(inputs.data() + first * width, index(count), index(width));
  for (std::size_t k = 0; k < architecture.ramps.size(); ++k) {
    const Ramp& ramp = architecture.ramps[k];
    units.col(index(width + k)) =
        units.col(index(ramp.input)).unaryExpr([&](double x) { return ramp.at(x); });
  }
  units.rightCols(1).setOnes();
  return units;
}

void multiply_rows(std::size_t rows, const double* a, const double* b, double* to) {
  for (std::size_t n = 0; n < rows; ++n) to[n] = a[n] * b[n];
}

}  // namespace

Block::Layer Block::layer_above(const Architecture& architecture, JointUnit unit, std::size_t below,
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

Block::Block(const Architecture& architecture, JointUnit unit, const Vector& weights,
             std::span<const double> inputs, std::size_t first, std::size_t count, double* values)
    : architecture_(architecture), weights_(weights), layers_(architecture.layers()) {
  layers_[0].units = first_units(architecture, inputs, first, count);
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    Matrix sums = Matrix::Zero(index(count), index(architecture.layer(l).units));
    backend::add_product(backend::operand(layers_[l].units),
                         weights_of(architecture, l, weights).transposed(), backend::target(sums));
    if (l + 1 == layers_.size()) {
      Eigen::Map<RowMatrix>(values, sums.rows(), sums.cols()) = sums;
    } else {
      layers_[l + 1] = layer_above(architecture, unit, l, sums);
    }
  }
}

Matrix Block::back_of(std::span<const double> factors) const {
  return Eigen::Map<const RowMatrix>(factors.data(), layers_.front().units.rows(),
                                     index(architecture_.outputs()));
}

void Block::write_gradients(std::span<const double> factors, Matrix& gradients) const {
  write(back_of(factors), static_cast<std::size_t>(layers_.front().units.rows()), gradients);
}

void Block::write_lots(std::size_t output, std::size_t lot_rows, Matrix& lots) const {
  Matrix back = Matrix::Zero(layers_.front().units.rows(), index(architecture_.outputs()));
  back.col(index(output)).setOnes();
  write(std::move(back), lot_rows, lots);
}

Matrix Block::below(std::size_t layer, const Matrix& back) const {
  backend::Operand above = weights_of(architecture_, layer, weights_);
  --above.columns;  // nothing is below the bias
  Matrix sums = Matrix::Zero(back.rows(), index(above.columns));
  backend::add_product(backend::operand(back), above, backend::target(sums));
  return sums.cwiseProduct(layers_[layer].derivatives);
}

void Block::write(Matrix back, std::size_t lot_rows, Matrix& lots) const {
  const auto count = static_cast<std::size_t>(back.rows());
  const auto size = static_cast<std::size_t>(weights_.size());
  const std::size_t lot_count = (count + lot_rows - 1) / lot_rows;
  lots.resize(index(lot_rows), index(lot_count * size));
  if (count < lot_count * lot_rows) lots.rightCols(weights_.size()).setZero();
  each_layer(std::move(back), [&](std::size_t l, const Matrix& units, const Matrix& own) {
    for (std::size_t lot = 0; lot < lot_count; ++lot) {
      const std::size_t begin = lot * lot_rows;
      const std::size_t rows = std::min(lot_rows, count - begin);
      double* to = lots.data() + (lot * size + architecture_.layer(l).first) * lot_rows;
      for (Eigen::Index i = 0; i < own.cols(); ++i) {
        for (Eigen::Index j = 0; j < units.cols(); ++j, to += lot_rows) {
          multiply_rows(rows, own.data() + i * own.rows() + begin,
                        units.data() + j * units.rows() + begin, to);
        }
      }
    }
  });
}

}  // namespace dma::detail
