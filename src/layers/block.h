// layers/block.h: the values and gradients of a joint network, of many rows at a time.
#pragma once

#include <Eigen/Core>
#include <span>

#include <dma/layers/architecture.h>

namespace dma::detail {

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

inline Eigen::Index index(std::size_t n) { return static_cast<Eigen::Index>(n); }

// Of a block: what a row takes then fits into the second-level cache.
inline constexpr std::size_t block_rows = 192;

template <class Take>
void each_block(std::size_t rows, const Take& take) {
  for (std::size_t first = 0; first < rows; first += block_rows) {
    take(first, std::min(block_rows, rows - first));
  }
}

// f(x; weights) of rows [first, first + count), and, if asked for, its gradients as rows, each times its scale if there are
// any. A row has the same bits whatever the others are.
void network_values(const Architecture& architecture, JointUnit unit, const Vector& weights,
                    std::span<const double> inputs, std::size_t first, std::size_t count,
                    double* values, Matrix* gradients, const double* scales = nullptr);

// The gradients in lots of so many rows, one lot's columns after the other's, as backend::Whitening takes them. Rows that
// the last lot has too many are 0.
void network_lots(const Architecture& architecture, JointUnit unit, const Vector& weights,
                  std::span<const double> inputs, std::size_t first, std::size_t count,
                  double* values, Matrix& lots, std::size_t lot_rows);

}  // namespace dma::detail
