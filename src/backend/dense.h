// backend/dense.h: algebra of dense matrices of doubles, for the machine's instruction set.
//
//   product        C + A B, C - A B; A or B may be a triangle
//   rank update    C + A A', C - A A'
//   by entry       C + (A B) o (D E), entry by entry
//   Cholesky       P = L L'
//   inverse        L^-1
//   whitening |L^-1 g|^2 for many g
//
// Only the lower half of a symmetric matrix or a triangle is read and written. Every call runs on the calling thread;
// calls from several threads are independent. The same numbers give the same bits, whatever else runs, and an entry of
// a product has the same bits wherever it is: rows may come in blocks of any size.
//
// The caller must check the numbers: an entry that is not finite spreads as in the formulas.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <memory>

namespace dma::backend {

using Matrix = Eigen::MatrixXd;

// A view of a matrix to read.
struct Operand {
  const double* data;
  std::size_t rows, columns;
  std::size_t row_step, column_step;  // from an entry to the one below, to the right

  Operand transposed() const { return {data, columns, rows, column_step, row_step}; }
};

// A view of a matrix to write, stored by columns.
struct Target {
  double* data;
  std::size_t rows, columns;
  std::size_t column_step;

  Target block(std::size_t row, std::size_t column, std::size_t height, std::size_t width) const {
    return {data + row + column * column_step, height, width, column_step};
  }
};

Operand operand(const Target& target);
// Takes a matrix or vector only: an expression would be gone before it is read.
template <class Derived>
Operand operand(const Eigen::PlainObjectBase<Derived>& matrix) {
  static_assert(!Derived::IsRowMajor);
  return {matrix.data(), static_cast<std::size_t>(matrix.rows()),
          static_cast<std::size_t>(matrix.cols()), 1,
          static_cast<std::size_t>(matrix.outerStride())};
}
Target target(Eigen::Ref<Matrix> matrix);

// What an operand holds; the rest counts as 0 and is not read.
enum class Holds { all, lower, upper };

// C += A B.
void add_product(const Operand& a, const Operand& b, const Target& c, Holds a_holds = Holds::all,
                 Holds b_holds = Holds::all);
// C -= A B.
void subtract_product(const Operand& a, const Operand& b, const Target& c,
                      Holds a_holds = Holds::all, Holds b_holds = Holds::all);
// C += A A'.
void add_square(const Operand& a, const Target& c, Holds a_holds = Holds::all);
// C -= A A'.
void subtract_square(const Operand& a, const Target& c);

struct ProductOf {
  Operand left, right;
};
enum class Part { all, lower };
// C += (A B) o (D E), or its lower triangle.
void add_by_entry(const ProductOf& ab, const ProductOf& de, const Target& c, Part part = Part::all);

// Replaces P by L. False if P is not positive definite; its contents are then useless.
[[nodiscard]] bool factorise(const Target& p);

// Replaces L by L^-1.
void invert(const Target& l);

// L^-1, laid out for whitening.
class Whitening {
 public:
  explicit Whitening(const Operand& inverse);
  ~Whitening();
  Whitening(Whitening&&) noexcept;
  Whitening& operator=(Whitening&&) noexcept;

  // squares[n] = |L^-1 g|^2, where g is row n of a matrix stored in lots of so many rows, each lot by columns. The last
  // lot is whole too, whatever its spare rows hold.
  std::size_t lot_rows() const;
  void squares(const double* lots, std::size_t rows, double* squares) const;

 private:
  struct Packed;
  std::unique_ptr<Packed> packed_;
};

}  // namespace dma::backend
