#include "layers/block.h"

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

void multiply_rows(std::size_t rows, const double* a, const double* b, double* to) {
  for (std::size_t n = 0; n < rows; ++n) to[n] = a[n] * b[n];
}

std::vector<Layer> forward(const Architecture& architecture, JointUnit unit, const Vector& weights,
                           std::span<const double> inputs, std::size_t first, std::size_t count,
                           double* values) {
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
  return layer;
}

// take(layer, back): from the last layer to the first; back holds df / d sums, times the scale.
template <class Take>
void backward(const Architecture& architecture, const Vector& weights,
              const std::vector<Layer>& layer, Matrix back, const Take& take) {
  for (std::size_t l = layer.size(); l-- > 0;) {
    take(l, back);
    if (l == 0) break;
    backend::Operand above = weights_of(architecture, l, weights);
    --above.columns;  // nothing is below the bias
    Matrix below = Matrix::Zero(back.rows(), index(above.columns));
    backend::add_product(backend::operand(back), above, backend::target(below));
    back = below.cwiseProduct(layer[l].derivatives);
  }
}

// In lots of so many rows; a lot of all rows is a matrix with a row per row. back: of the last layer's sums.
void write_gradients(const Architecture& architecture, const Vector& weights,
                     const std::vector<Layer>& layers, Matrix back, std::size_t lot_rows,
                     Matrix& lots) {
  const auto count = static_cast<std::size_t>(back.rows());
  const auto size = static_cast<std::size_t>(weights.size());
  const std::size_t lot_count = (count + lot_rows - 1) / lot_rows;
  lots.resize(index(lot_rows), index(lot_count * size));
  if (count < lot_count * lot_rows) lots.rightCols(weights.size()).setZero();
  backward(architecture, weights, layers, std::move(back),
           [&](std::size_t l, const Matrix& of_sums) {
             const Matrix& units = layers[l].units;
             for (std::size_t lot = 0; lot < lot_count; ++lot) {
               const std::size_t begin = lot * lot_rows;
               const std::size_t rows = std::min(lot_rows, count - begin);
               double* to = lots.data() + (lot * size + architecture.offset(l)) * lot_rows;
               for (Eigen::Index i = 0; i < of_sums.cols(); ++i) {
                 for (Eigen::Index j = 0; j < units.cols(); ++j, to += lot_rows) {
                   multiply_rows(rows, of_sums.data() + i * of_sums.rows() + begin,
                                 units.data() + j * units.rows() + begin, to);
                 }
               }
             }
           });
}

}  // namespace

void network_values(const Architecture& architecture, JointUnit unit, const Vector& weights,
                    std::span<const double> inputs, std::size_t first, std::size_t count,
                    double* values, Matrix* gradients, const double* scales) {
  const auto layers = forward(architecture, unit, weights, inputs, first, count, values);
  if (gradients == nullptr) return;
  Matrix back = Matrix::Ones(index(count), 1);
  if (scales != nullptr) back = Eigen::Map<const Vector>(scales, index(count));
  write_gradients(architecture, weights, layers, std::move(back), count, *gradients);
}

void network_lots(const Architecture& architecture, JointUnit unit, const Vector& weights,
                  std::span<const double> inputs, std::size_t first, std::size_t count,
                  double* values, Matrix& lots, std::size_t lot_rows) {
  const auto layers = forward(architecture, unit, weights, inputs, first, count, values);
  write_gradients(architecture, weights, layers, Matrix::Ones(index(count), 1), lot_rows, lots);
}

}  // namespace dma::detail
