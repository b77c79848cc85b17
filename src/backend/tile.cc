#include "kernels/instruction_sets.h"
// It must come first.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/tile.cc"
#include <hwy/foreach_target.h>
// foreach_target.h must come first.
#include <hwy/highway.h>

#include "backend/tile.h"

HWY_BEFORE_NAMESPACE();
namespace dma::backend {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Numbers = hn::ScalableTag<double>;
using Lanes = hn::Vec<Numbers>;
constexpr std::size_t lanes = hn::MaxLanes(Numbers());

// As many sums as leave registers for one column of a and one number of b; more than the cycles of a multiply-add times
// how many start per cycle.
#if HWY_TARGET == HWY_NEON
constexpr std::size_t tile_vectors = 4, tile_columns = 6;
#elif HWY_TARGET <= HWY_AVX3
constexpr std::size_t tile_vectors = 3, tile_columns = 8;
#else
constexpr std::size_t tile_vectors = 2, tile_columns = 6;
#endif
constexpr std::size_t tile_rows = tile_vectors * lanes;

#if HWY_TARGET == HWY_NEON
// Takes a number of b from its lane: broadcasting it would cost as much as a multiply-add.
HWY_INLINE void add_terms(const Lanes (&a)[tile_vectors], const double* b,
                          Lanes (&sum)[tile_columns][tile_vectors]) {
  HWY_UNROLL(3)
  for (std::size_t j = 0; j < tile_columns; j += 2) {
    const float64x2_t pair = vld1q_f64(b + j);
    HWY_UNROLL(4)
    for (std::size_t i = 0; i < tile_vectors; ++i) {
      sum[j][i] = Lanes(vfmaq_laneq_f64(sum[j][i].raw, a[i].raw, pair, 0));
      sum[j + 1][i] = Lanes(vfmaq_laneq_f64(sum[j + 1][i].raw, a[i].raw, pair, 1));
    }
  }
}
#else
HWY_INLINE void add_terms(const Lanes (&a)[tile_vectors], const double* b,
                          Lanes (&sum)[tile_columns][tile_vectors]) {
  const Numbers d;
  HWY_UNROLL(8)
  for (std::size_t j = 0; j < tile_columns; ++j) {
    const auto all = hn::Set(d, b[j]);
    HWY_UNROLL(4)
    for (std::size_t i = 0; i < tile_vectors; ++i) sum[j][i] = hn::MulAdd(a[i], all, sum[j][i]);
  }
}
#endif

HWY_INLINE void multiply_tile(std::size_t depth, const double* a, std::size_t a_step,
                              const double* b, Lanes (&sum)[tile_columns][tile_vectors]) {
  const Numbers d;
  HWY_UNROLL(8)
  for (std::size_t j = 0; j < tile_columns; ++j) {
    HWY_UNROLL(4)
    for (std::size_t i = 0; i < tile_vectors; ++i) sum[j][i] = hn::Zero(d);
  }
  for (std::size_t k = 0; k < depth; ++k, a += a_step, b += tile_columns) {
    Lanes column[tile_vectors];
    HWY_UNROLL(4)
    for (std::size_t i = 0; i < tile_vectors; ++i) column[i] = hn::LoadU(d, a + i * lanes);
    add_terms(column, b, sum);
  }
}

template <bool negative>
void multiply(std::size_t depth, const double* a, std::size_t a_step, const double* b, double* c,
              std::size_t stride) {
  const Numbers d;
  Lanes sum[tile_columns][tile_vectors];
  multiply_tile(depth, a, a_step, b, sum);
  HWY_UNROLL(8)
  for (std::size_t j = 0; j < tile_columns; ++j) {
    HWY_UNROLL(4)
    for (std::size_t i = 0; i < tile_vectors; ++i) {
      double* to = c + j * stride + i * lanes;
      const auto old = hn::LoadU(d, to);
      hn::StoreU(negative ? hn::Sub(old, sum[j][i]) : hn::Add(old, sum[j][i]), d, to);
    }
  }
}

void add_by_entry(std::size_t depth, const double* a, const double* b, std::size_t other_depth,
                  const double* other_a, const double* other_b, double* c, std::size_t stride) {
  const Numbers d;
  HWY_ALIGN double first[tile_columns * tile_rows];
  Lanes sum[tile_columns][tile_vectors];
  multiply_tile(depth, a, tile_rows, b, sum);
  HWY_UNROLL(8)
  for (std::size_t j = 0; j < tile_columns; ++j) {
    HWY_UNROLL(4)
    for (std::size_t i = 0; i < tile_vectors; ++i) {
      hn::Store(sum[j][i], d, first + j * tile_rows + i * lanes);
    }
  }
  multiply_tile(other_depth, other_a, tile_rows, other_b, sum);
  HWY_UNROLL(8)
  for (std::size_t j = 0; j < tile_columns; ++j) {
    HWY_UNROLL(4)
    for (std::size_t i = 0; i < tile_vectors; ++i) {
      double* to = c + j * stride + i * lanes;
      const auto one = hn::Load(d, first + j * tile_rows + i * lanes);
      hn::StoreU(hn::MulAdd(one, sum[j][i], hn::LoadU(d, to)), d, to);
    }
  }
}

void add_squares(std::size_t depth, const double* a, const double* b, double* sum) {
  const Numbers d;
  Lanes tile[tile_columns][tile_vectors];
  multiply_tile(depth, a, tile_rows, b, tile);
  HWY_UNROLL(4)
  for (std::size_t i = 0; i < tile_vectors; ++i) {
    auto squares = hn::LoadU(d, sum + i * lanes);
    HWY_UNROLL(8)
    for (std::size_t j = 0; j < tile_columns; ++j) {
      squares = hn::MulAdd(tile[j][i], tile[j][i], squares);
    }
    hn::StoreU(squares, d, sum + i * lanes);
  }
}

constexpr std::size_t chunk_vectors = 2;
constexpr std::size_t chunk_rows = chunk_vectors * lanes;

template <std::size_t columns>
void reduce_columns(std::size_t rows, std::size_t first, double* x, std::size_t x_stride,
                    const double* l, std::size_t l_stride) {
  const Numbers d;
  for (std::size_t i = 0; i < rows; i += chunk_rows) {
    Lanes sum[columns][chunk_vectors];
    HWY_UNROLL(4)
    for (std::size_t c = 0; c < columns; ++c) {
      HWY_UNROLL(2)
      for (std::size_t v = 0; v < chunk_vectors; ++v) {
        sum[c][v] = hn::LoadU(d, x + (first + c) * x_stride + i + v * lanes);
      }
    }
    for (std::size_t k = 0; k < first; ++k) {
      Lanes column[chunk_vectors];
      HWY_UNROLL(2)
      for (std::size_t v = 0; v < chunk_vectors; ++v) {
        column[v] = hn::LoadU(d, x + k * x_stride + i + v * lanes);
      }
      HWY_UNROLL(4)
      for (std::size_t c = 0; c < columns; ++c) {
        const auto all = hn::Set(d, l[k * l_stride + first + c]);
        HWY_UNROLL(2)
        for (std::size_t v = 0; v < chunk_vectors; ++v) {
          sum[c][v] = hn::NegMulAdd(column[v], all, sum[c][v]);
        }
      }
    }
    HWY_UNROLL(4)
    for (std::size_t c = 0; c < columns; ++c) {
      HWY_UNROLL(2)
      for (std::size_t v = 0; v < chunk_vectors; ++v) {
        hn::StoreU(sum[c][v], d, x + (first + c) * x_stride + i + v * lanes);
      }
    }
  }
}

template <std::size_t columns>
void solve_columns(std::size_t rows, std::size_t first, double* x, std::size_t x_stride,
                   const double* l, std::size_t l_stride, const double* inverse_diagonal) {
  const Numbers d;
  for (std::size_t i = 0; i < rows; i += lanes) {
    Lanes solved[columns];
    HWY_UNROLL(4)
    for (std::size_t c = 0; c < columns; ++c) {
      auto left = hn::LoadU(d, x + (first + c) * x_stride + i);
      HWY_UNROLL(4)
      for (std::size_t k = 0; k < c; ++k) {
        left = hn::NegMulAdd(solved[k], hn::Set(d, l[(first + k) * l_stride + first + c]), left);
      }
      solved[c] = hn::Mul(left, hn::Set(d, inverse_diagonal[c]));
      hn::StoreU(solved[c], d, x + (first + c) * x_stride + i);
    }
  }
}

void reduce(std::size_t rows, std::size_t first, std::size_t columns, double* x,
            std::size_t x_stride, const double* l, std::size_t l_stride) {
  if (columns == 4) return reduce_columns<4>(rows, first, x, x_stride, l, l_stride);
  if (columns == 3) return reduce_columns<3>(rows, first, x, x_stride, l, l_stride);
  if (columns == 2) return reduce_columns<2>(rows, first, x, x_stride, l, l_stride);
  reduce_columns<1>(rows, first, x, x_stride, l, l_stride);
}

void solve(std::size_t rows, std::size_t first, std::size_t columns, double* x,
           std::size_t x_stride, const double* l, std::size_t l_stride,
           const double* inverse_diagonal) {
  if (columns == 4) {
    return solve_columns<4>(rows, first, x, x_stride, l, l_stride, inverse_diagonal);
  }
  if (columns == 3) {
    return solve_columns<3>(rows, first, x, x_stride, l, l_stride, inverse_diagonal);
  }
  if (columns == 2) {
    return solve_columns<2>(rows, first, x, x_stride, l, l_stride, inverse_diagonal);
  }
  solve_columns<1>(rows, first, x, x_stride, l, l_stride, inverse_diagonal);
}

const TileKernels& table() {
  static constexpr TileKernels kernels{.rows = tile_rows,
                                       .columns = tile_columns,
                                       .add = multiply<false>,
                                       .subtract = multiply<true>,
                                       .add_by_entry = add_by_entry,
                                       .chunk = chunk_rows,
                                       .reduce = reduce,
                                       .solve = solve,
                                       .add_squares = add_squares};
  return kernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace dma::backend
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dma::backend {

HWY_EXPORT(table);

const TileKernels& tile_kernels() { return HWY_DYNAMIC_DISPATCH(table)(); }

}  // namespace dma::backend
#endif
