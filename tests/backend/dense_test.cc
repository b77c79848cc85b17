// Dense algebra against Eigen's, on every instruction set that the machine has, at sizes around those at which blocks end.
#include "kernels/on_instruction_set.h"
// It must come before any header of Highway.
#include <dma/base/parallel.h>
#include <dma/special/random.h>

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backend/dense.h"
#include "backend/tile.h"

namespace dma::backend {
namespace {

using Vector = Eigen::VectorXd;

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

Matrix drawn(Eigen::Index rows, Eigen::Index columns, std::uint64_t seed) {
  special::Random random(seed);
  Matrix matrix(rows, columns);
  for (double& value : matrix.reshaped()) value = random.normal();
  return matrix;
}

// A matrix with NaN where it must not be read.
Matrix only_lower(Matrix matrix) {
  matrix.triangularView<Eigen::StrictlyUpper>().setConstant(nothing);
  return matrix;
}

Matrix only_upper(Matrix matrix) {
  matrix.triangularView<Eigen::StrictlyLower>().setConstant(nothing);
  return matrix;
}

// A matrix with a mark where it must not be written: -0, which even adding 0 would change.
Matrix marked_above(Matrix matrix) {
  matrix.triangularView<Eigen::StrictlyUpper>().setConstant(-0.0);
  return matrix;
}

bool is_marked(double value) { return value == 0 && std::signbit(value); }

bool still_marked_above(const Matrix& matrix) {
  for (Eigen::Index j = 1; j < matrix.cols(); ++j) {
    if (!std::all_of(matrix.col(j).begin(), matrix.col(j).begin() + j, is_marked)) return false;
  }
  return true;
}

Matrix lower_of(const Matrix& matrix) { return matrix.triangularView<Eigen::Lower>(); }
Matrix upper_of(const Matrix& matrix) { return matrix.triangularView<Eigen::Upper>(); }

// Eigenvalues around 1.
Matrix positive(Eigen::Index size, std::uint64_t seed) {
  const Matrix root = drawn(size, size + 10, seed);
  return root * root.transpose() / static_cast<double>(size) + Matrix::Identity(size, size);
}

constexpr double epsilon = std::numeric_limits<double>::epsilon();

// |computed - exact| <= terms eps |A| |B| in every entry (Higham 2002, 3.5), for both that are compared.
void expect_product(const Matrix& found, const Matrix& a, const Matrix& b, const Matrix& start,
                    double sign) {
  const Matrix expected = start + sign * (a * b);
  const Matrix bound = (2.0 * static_cast<double>(a.cols() + 2) * epsilon) *
                       (start.cwiseAbs() + a.cwiseAbs() * b.cwiseAbs());
  EXPECT_TRUE(((found - expected).cwiseAbs().array() <= bound.array()).all())
      << a.rows() << " x " << a.cols() << " x " << b.cols() << ": "
      << (found - expected).cwiseAbs().maxCoeff();
}

// The lower triangle only, if so said.
void expect_by_entry(const Matrix& found, const Matrix& start, const Matrix& a, const Matrix& b,
                     const Matrix& d, const Matrix& e, Part part = Part::all) {
  const Matrix expected = start + (a * b).cwiseProduct(d * e);
  const Matrix size = (a.cwiseAbs() * b.cwiseAbs()).cwiseProduct(d.cwiseAbs() * e.cwiseAbs());
  const Matrix bound =
      (2.0 * static_cast<double>(a.cols() + d.cols() + 3) * epsilon) * (start.cwiseAbs() + size);
  for (Eigen::Index j = 0; j < found.cols(); ++j) {
    for (Eigen::Index i = part == Part::lower ? j : 0; i < found.rows(); ++i) {
      ASSERT_LE(std::abs(found(i, j) - expected(i, j)), bound(i, j)) << i << " " << j;
    }
  }
}

class Dense : public testing::TestWithParam<std::int64_t> {
 private:
  const kernels::OnInstructionSet chosen_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(OnEverySet, Dense, testing::ValuesIn(kernels::instruction_sets()),
                         [](const auto& info) { return hwy::TargetName(info.param); });

const std::vector<Eigen::Index> sizes{1,  2,  3,  5,  8,  9,   16,  17,  24, 25,
                                      48, 63, 64, 65, 71, 128, 129, 193, 321};

TEST_P(Dense, ProductsAreEigens) {
  for (const Eigen::Index size : sizes) {
    for (const Eigen::Index terms : {Eigen::Index{1}, Eigen::Index{14}, size, size + 300}) {
      const Matrix a = drawn(size, terms, 1);
      const Matrix b = drawn(terms, size / 2 + 1, 2);
      const Matrix start = drawn(size, b.cols(), 3);
      Matrix c = start;
      add_product(operand(a), operand(b), target(c));
      expect_product(c, a, b, start, 1);
      c = start;
      const Matrix a_transposed = a.transpose();
      const Matrix b_transposed = b.transpose();
      subtract_product(operand(a_transposed).transposed(), operand(b_transposed).transposed(),
                       target(c));
      expect_product(c, a, b, start, -1);
    }
  }
  Matrix none = drawn(3, 2, 1);
  const Matrix before = none;
  add_product(operand(Matrix(3, 0)), operand(Matrix(0, 2)), target(none));
  EXPECT_EQ(none, before);
}

TEST_P(Dense, WideProductsAreEigens) {
  const Matrix a = drawn(20, 30, 1);
  const Matrix b = drawn(30, 3200, 2);
  Matrix c = Matrix::Zero(20, 3200);
  add_product(operand(a), operand(b), target(c));
  expect_product(c, a, b, Matrix::Zero(20, 3200), 1);
}

TEST_P(Dense, WhatIsAroundATargetIsLeftAlone) {
  for (const Eigen::Index size : sizes) {
    const Matrix a = drawn(size, 20, 1);
    const Matrix b = drawn(20, size, 2);
    Matrix around = Matrix::Constant(size + 40, size + 40, -0.0);
    const auto height = static_cast<std::size_t>(size);
    const Target block = target(around).block(7, 9, height, height);
    add_product(operand(a), operand(b), block);
    subtract_square(operand(a), block);
    around.block(7, 9, size, size).setConstant(-0.0);
    EXPECT_TRUE(std::all_of(around.reshaped().begin(), around.reshaped().end(), is_marked)) << size;
  }
}

TEST_P(Dense, OfTrianglesTheRestIsNotRead) {
  for (const Eigen::Index size : sizes) {
    const Matrix square = drawn(size, size, 4);
    const Matrix other = drawn(size, 19, 5);
    const Matrix wide = other.transpose();
    const Matrix zero = Matrix::Zero(size, 19);
    const Matrix wide_zero = zero.transpose();
    const Matrix lower = only_lower(square);
    const Matrix upper = only_upper(square);
    Matrix c = zero;
    add_product(operand(lower), operand(other), target(c), Holds::lower);
    expect_product(c, lower_of(square), other, zero, 1);
    c = zero;
    add_product(operand(upper), operand(other), target(c), Holds::upper);
    expect_product(c, upper_of(square), other, zero, 1);
    c = wide_zero;
    add_product(operand(wide), operand(lower), target(c), Holds::all, Holds::lower);
    expect_product(c, wide, lower_of(square), wide_zero, 1);
    c = wide_zero;
    subtract_product(operand(wide), operand(lower).transposed(), target(c), Holds::all,
                     Holds::upper);
    expect_product(c, wide, lower_of(square).transpose(), wide_zero, -1);
  }
}

TEST_P(Dense, SquaresAreEigensInTheLowerTriangle) {
  for (const Eigen::Index size : sizes) {
    const Matrix a = drawn(size, 33, 6);
    const Matrix start = drawn(size, size, 7);
    for (const double sign : {1.0, -1.0}) {
      Matrix c = marked_above(start);
      sign > 0 ? add_square(operand(a), target(c)) : subtract_square(operand(a), target(c));
      EXPECT_TRUE(still_marked_above(c)) << size;
      const Matrix full = c.selfadjointView<Eigen::Lower>();
      expect_product(full, a, a.transpose(), start.selfadjointView<Eigen::Lower>(), sign);
    }
    const Matrix triangle = only_lower(start);
    Matrix c = only_lower(Matrix::Zero(size, size));
    add_square(operand(triangle), target(c), Holds::lower);
    expect_product(c.selfadjointView<Eigen::Lower>(), lower_of(start), lower_of(start).transpose(),
                   Matrix::Zero(size, size), 1);
  }
}

TEST_P(Dense, ProductsByEntryAreEigens) {
  for (const Eigen::Index size : sizes) {
    for (const Eigen::Index terms : {Eigen::Index{1}, Eigen::Index{14}, size + 300}) {
      const Matrix a = drawn(size, terms, 1);
      const Matrix b = drawn(terms, size / 2 + 1, 2);
      const Matrix d = drawn(size, 9, 3);
      const Matrix e = drawn(9, size / 2 + 1, 4);
      const Matrix start = drawn(size, b.cols(), 5);
      Matrix c = start;
      add_by_entry({operand(a), operand(b)}, {operand(d), operand(e)}, target(c));
      expect_by_entry(c, start, a, b, d, e);
    }
    const Matrix a = drawn(size, 33, 6);
    const Matrix d = drawn(size, 5, 7);
    const Matrix start = drawn(size, size, 8);
    Matrix c = marked_above(start);
    add_by_entry({operand(a), operand(a).transposed()}, {operand(d), operand(d).transposed()},
                 target(c), Part::lower);
    EXPECT_TRUE(still_marked_above(c)) << size;
    expect_by_entry(c, start, a, a.transpose(), d, d.transpose(), Part::lower);
  }
}

TEST_P(Dense, TheFactorAndItsInverseAreEigens) {
  for (const Eigen::Index size : sizes) {
    const Matrix p = positive(size, 8);
    Matrix l = only_lower(p);
    ASSERT_TRUE(factorise(target(l))) << size;
    const Matrix expected = p.llt().matrixL();
    const double scale = 100 * epsilon * static_cast<double>(size);
    EXPECT_LT((lower_of(l) - expected).cwiseAbs().maxCoeff(), scale * expected.norm()) << size;
    EXPECT_LT((lower_of(l) * lower_of(l).transpose() - p).norm(), scale * p.norm()) << size;
    Matrix inverse = marked_above(l);
    invert(target(inverse));
    EXPECT_TRUE(still_marked_above(inverse)) << size;
    l = marked_above(p);
    ASSERT_TRUE(factorise(target(l)));
    EXPECT_TRUE(still_marked_above(l)) << size;
    const Matrix product = lower_of(inverse) * lower_of(l);
    EXPECT_LT((product - Matrix::Identity(size, size)).cwiseAbs().maxCoeff(), scale) << size;
  }
}

TEST_P(Dense, WhatIsNotPositiveDefiniteIsSaidToBe) {
  for (const Eigen::Index size : sizes) {
    const Matrix right = positive(size, 9);
    const Matrix factor = right.llt().matrixL();
    for (const Eigen::Index place : {Eigen::Index{0}, size / 2, size - 1}) {
      // The pivot there is what P has beyond what the rows above explain.
      const double negative = right(place, place) - 2 * factor(place, place) * factor(place, place);
      for (const double wrong : {-1e-3, negative, nothing, HUGE_VAL}) {
        Matrix p = right;
        p(place, place) = wrong;
        EXPECT_FALSE(factorise(target(p))) << size << ", " << place << ", " << wrong;
      }
    }
  }
}

// Spare rows hold what must not spread.
Vector squares_of(const Whitening& whitening, const Matrix& gradients) {
  const auto lot = static_cast<Eigen::Index>(whitening.lot_rows());
  const Eigen::Index count = (gradients.rows() + lot - 1) / lot;
  Matrix lots = Matrix::Constant(lot, count * gradients.cols(), std::nan(""));
  for (Eigen::Index n = 0; n < gradients.rows(); ++n) {
    lots.row(n % lot).segment(n / lot * gradients.cols(), gradients.cols()) = gradients.row(n);
  }
  Vector squares(gradients.rows());
  whitening.squares(lots.data(), static_cast<std::size_t>(gradients.rows()), squares.data());
  return squares;
}

TEST_P(Dense, WhiteningIsTheNormOfTheSolution) {
  for (const Eigen::Index size : sizes) {
    Matrix l = positive(size, 10);
    ASSERT_TRUE(factorise(target(l)));
    const Matrix lower = lower_of(l);
    invert(target(l));
    const Whitening whitening(operand(l));
    const Matrix gradients = drawn(201, size, 11);
    const Vector squares = squares_of(whitening, gradients);
    const Matrix solved = lower.triangularView<Eigen::Lower>().solve(gradients.transpose());
    const Vector expected = solved.colwise().squaredNorm();
    EXPECT_LT(((squares - expected).array() / expected.array()).abs().maxCoeff(),
              200 * epsilon * static_cast<double>(size))
        << size;
    // Blocks of any size give the same bits.
    for (Eigen::Index first = 0; first < 201; first += 13) {
      const Eigen::Index count = std::min<Eigen::Index>(13, 201 - first);
      const Matrix block = gradients.middleRows(first, count);
      EXPECT_EQ(squares_of(whitening, block), squares.segment(first, count)) << size;
    }
  }
}

TEST_P(Dense, AnEntryHasTheSameBitsWhereverItStands) {
  const Matrix a = drawn(100, 350, 12);
  const Matrix b = drawn(350, 90, 13);
  Matrix all = Matrix::Zero(100, 90);
  add_product(operand(a), operand(b), target(all));
  for (Eigen::Index row = 0; row < 100; row += 7) {
    const Eigen::Index count = std::min<Eigen::Index>(7, 100 - row);
    const Matrix rows = a.middleRows(row, count);
    Matrix part = Matrix::Zero(count, 90);
    add_product(operand(rows), operand(b), target(part));
    EXPECT_EQ(part, all.middleRows(row, count));
  }
  const Matrix d = drawn(100, 6, 14);
  const Matrix e = drawn(6, 90, 15);
  const Matrix start = drawn(100, 90, 16);
  Matrix by_entry = start;
  add_by_entry({operand(a), operand(b)}, {operand(d), operand(e)}, target(by_entry));
  for (Eigen::Index row = 0; row < 100; row += 7) {
    const Eigen::Index count = std::min<Eigen::Index>(7, 100 - row);
    const Matrix rows = a.middleRows(row, count), other_rows = d.middleRows(row, count);
    Matrix part = start.middleRows(row, count);
    add_by_entry({operand(rows), operand(b)}, {operand(other_rows), operand(e)}, target(part));
    EXPECT_EQ(part, by_entry.middleRows(row, count));
  }
}

// Concurrent calls give the same as one call after the other.
TEST_P(Dense, ThreadsDoNotMeet) {
  const auto result = [](std::size_t task) {
    const auto size = static_cast<Eigen::Index>(60 + 17 * (task % 9));
    const Matrix gradients = drawn(120, size, task);
    Matrix p = Matrix::Identity(size, size);
    add_square(operand(gradients).transposed(), target(p));
    EXPECT_TRUE(factorise(target(p)));
    invert(target(p));
    return squares_of(Whitening(operand(p)), gradients);
  };
  constexpr std::size_t tasks = 64;
  std::vector<Vector> alone(tasks);
  std::vector<Vector> together(tasks);
  for (std::size_t task = 0; task < tasks; ++task) alone[task] = result(task);
  detail::parallel_for(tasks, 0, [&](std::size_t task) { together[task] = result(task); });
  EXPECT_EQ(alone, together);
}

TEST_P(Dense, KernelsFitTheRoomThatDenseKeepsForThem) {
  const TileKernels& kernels = tile_kernels();
  EXPECT_LE(kernels.rows * kernels.columns, 24U * 8U);
  EXPECT_EQ(16 % kernels.chunk, 0U);
}

}  // namespace
}  // namespace dma::backend
