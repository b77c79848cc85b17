// layers/block.h: a network as a function of its weights: the values and gradients of many rows at a time.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <span>
#include <vector>

#include <dma/layers/architecture.h>

namespace dma::detail {

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

inline Eigen::Index index(std::size_t n) { return static_cast<Eigen::Index>(n); }

// Rows of a block: what they take then fits into the second-level cache.
inline constexpr std::size_t block_rows = 192;

template <class Take>
void each_block(std::size_t rows, const Take& take) {
  for (std::size_t first = 0; first < rows; first += block_rows) {
    take(first, std::min(block_rows, rows - first));
  }
}

// The values f(x; weights) of rows [first, first + count), rows x outputs, and their gradients if they are asked for. A
// row has the same bits whatever the others are.
class Block {
 public:
  Block(const Architecture& architecture, JointUnit unit, const Vector& weights,
        std::span<const double> inputs, std::size_t first, std::size_t count, double* values);

  // A row per row: the gradient of a sum of its outputs with these factors, rows x outputs.
  void write_gradients(std::span<const double> factors, Matrix& gradients) const;
  // Gradients of one output in lots of so many rows, one lot's columns after the other's, as backend::Whitening takes
  // them. Spare rows of the last lot are 0.
  void write_lots(std::size_t output, std::size_t lot_rows, Matrix& lots) const;
  // take(layer, its inputs with the bias, derivative of the sum of outputs with these factors by its own sums), a row per
  // row, from the last layer to the first.
  template <class Take>
  void each_layer(std::span<const double> factors, const Take& take) const {
    each_layer(back_of(factors), take);
  }

 private:
  struct Layer {
    Matrix units;        // its inputs, with the bias; a row per row
    Matrix derivatives;  // of these by the sums below; of the first layer none
  };

  static Layer layer_above(const Architecture& architecture, JointUnit unit, std::size_t below,
                           const Matrix& sums);
  Matrix back_of(std::span<const double> factors) const;
  // The derivative by the sums of the layer below, from that by the sums of this one.
  Matrix below(std::size_t layer, const Matrix& back) const;
  template <class Take>
  void each_layer(Matrix back, const Take& take) const {
    for (std::size_t l = layers_.size(); l-- > 0;) {
      take(l, layers_[l].units, back);
      if (l > 0) back = below(l, back);
    }
  }
  // back: of the last layer's sums. A lot of all rows is a matrix with a row per row.
  void write(Matrix back, std::size_t lot_rows, Matrix& lots) const;

  const Architecture& architecture_;
  const Vector& weights_;
  std::vector<Layer> layers_;
};

// The values alone.
inline void write_values(const Architecture& architecture, JointUnit unit, const Vector& weights,
                         std::span<const double> inputs, std::size_t first, std::size_t count,
                         double* values) {
  const Block block(architecture, unit, weights, inputs, first, count, values);
}

}  // namespace dma::detail
