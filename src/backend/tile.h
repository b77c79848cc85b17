// backend/tile.h: the inner loops of backend/dense.cc, compiled for every instruction set.
#pragma once

#include <cstddef>

namespace dma::backend {

// A tile is what a product keeps in registers: rows x columns sums of `depth` terms each. `a` holds the rows' numbers
// term by term, `b` the columns': a[k * rows + i], b[k * columns + j]; with an `a_step`, a[k * a_step + i].
struct TileKernels {
  std::size_t rows, columns;
  // c[i + j * stride] += sum_k a_ik b_kj, or -=. Every sum is added up on its own, from k = 0 on, so it has the same
  // bits wherever it is in a tile.
  void (*add)(std::size_t depth, const double* a, std::size_t a_step, const double* b, double* c,
              std::size_t stride);
  void (*subtract)(std::size_t depth, const double* a, std::size_t a_step, const double* b,
                   double* c, std::size_t stride);
  // c[i + j * stride] += (sum_k a_ik b_kj) (sum_k other_a_ik other_b_kj).
  void (*add_by_entry)(std::size_t depth, const double* a, const double* b, std::size_t other_depth,
                       const double* other_a, const double* other_b, double* c, std::size_t stride);

  // Solves X L' = B in place, from left to right, for up to four columns of X from `first` on:
  //   reduce   column c -= sum_{k < first} column k L_ck
  //   solve    by the triangle of L at (first, first); the diagonal is given inverted
  // The number of rows must be a multiple of `chunk`.
  std::size_t chunk;
  void (*reduce)(std::size_t rows, std::size_t first, std::size_t columns, double* x,
                 std::size_t x_stride, const double* l, std::size_t l_stride);
  void (*solve)(std::size_t rows, std::size_t first, std::size_t columns, double* x,
                std::size_t x_stride, const double* l, std::size_t l_stride,
                const double* inverse_diagonal);

  // sum[i] += sum_j (sum_k a_ik b_kj)^2, in this order.
  void (*add_squares)(std::size_t depth, const double* a, const double* b, double* sum);
};

// For the best instruction set of this machine.
const TileKernels& tile_kernels();

}  // namespace dma::backend
