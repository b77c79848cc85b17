// layers/gradients.h: the gradients of many rows, without writing them out.
//
// The gradient by the weight from input i of a layer to its unit j is back_j units_i, an outer product. With a scale s
// that is the same for all units of a layer, such as a prior variance per input column, the matrix
//
//   G diag(s) G' = sum over layers of (B B') o (U diag(s) U')        o: entry by entry
//
// then costs rows^2 times the sum of the layers' widths, not times the number of weights.
#pragma once

#include <span>
#include <vector>

#include "layers/block.h"

namespace dma::detail {

class Gradients {
 public:
  // Room for the gradients of so many sums of outputs.
  Gradients(const Architecture& architecture, std::size_t rows);
  // Row n of the block, with these factors of its outputs (rows x outputs), becomes row first + step n.
  void set(std::size_t first, std::size_t step, const Block& block,
           std::span<const double> factors);
  void multiply(double factor);

  std::size_t rows() const { return rows_; }
  Vector times(const Vector& weights) const;          // G w
  Vector transposed_times(const Vector& rows) const;  // G' u
  // G diag(scale) G', its lower triangle; what is above is 0.
  Matrix square(const Vector& scale) const;
  Vector square_diagonal(const Vector& scale) const { return product_diagonal(scale, *this); }
  // G diag(scale) H'.
  Matrix product(const Vector& scale, const Gradients& other) const;
  Vector product_diagonal(const Vector& scale, const Gradients& other) const;
  // The diagonal of G' S G, added up over the units of a layer: one number per weight from an input to the first unit, 0
  // for the others. S is symmetric; its lower triangle is read.
  Vector sandwich_by_input(const Matrix& symmetric) const;
  // The diagonal of G' G, as a mean over the units of a layer: one number per weight.
  Vector mean_curvature() const;
  // Written out: a row per row.
  Matrix all() const;

 private:
  struct Layer {
    Dense place;
    Matrix units, back;  // a row per row
  };
  template <class Take>
  void each_panel(const Take& take) const;

  std::size_t rows_, weights_;
  std::vector<Layer> layers_;
};

}  // namespace dma::detail
