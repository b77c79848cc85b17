// A product is cut into tiles that fit into registers (backend/tile.h). Their operands are laid out first, term by
// term: the columns' numbers so that some of them stay in the first-level cache, the rows' so that they stay in the
// second (Goto and van de Geijn 2008). Everything else is products, except for small blocks on the diagonal.
#include "backend/dense.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "backend/tile.h"

namespace dma::backend {
namespace {

constexpr std::size_t most_terms = 320;     // laid out at once
constexpr std::size_t most_rows = 192;      // with so many terms, half a second-level cache
constexpr std::size_t most_columns = 1536;  // the same for the third
constexpr std::size_t few_tiles = 4;    // of columns, for which laying out the rows does not pay
constexpr std::size_t small = 64;       // a triangle that is not cut
constexpr std::size_t cut = 48;         // of which others are cut into multiples: whole tiles
constexpr std::size_t most_chunk = 16;  // of TileKernels::chunk

// Aligned to a cache line.
constexpr std::align_val_t alignment{64};
struct Release {
  void operator()(double* numbers) const { ::operator delete[](numbers, alignment); }
};
using Numbers = std::unique_ptr<double[], Release>;

Numbers room_for(std::size_t size) {
  return Numbers(static_cast<double*>(::operator new[](size * sizeof(double), alignment)));
}

// Memory that a thread keeps between calls: if allocated again, the system would clear it each time.
class Room {
 public:
  double* of(std::size_t size) {
    if (size > size_) {
      numbers_ = room_for(size);
      size_ = size;
    }
    return numbers_.get();
  }

 private:
  Numbers numbers_;
  std::size_t size_ = 0;
};

std::size_t round_up(std::size_t n, std::size_t step) { return (n + step - 1) / step * step; }

// Pieces of equal length, none longer than `most`.
std::size_t piece(std::size_t n, std::size_t most) {
  const std::size_t pieces = (n + most - 1) / most;
  return (n + pieces - 1) / pieces;
}

struct Range {
  std::size_t begin, end;
};

Range common(Range a, Range b) { return {std::max(a.begin, b.begin), std::min(a.end, b.end)}; }

// Terms of a product in which rows [begin, end) of A are not 0.
Range terms_of(Holds holds, Range rows, std::size_t terms) {
  switch (holds) {
    case Holds::lower:
      return {0, std::min(rows.end, terms)};
    case Holds::upper:
      return {rows.begin, terms};
    case Holds::all:
      break;
  }
  return {0, terms};
}

// For B: by columns, which are the rows of its transpose.
Holds transposed(Holds holds) {
  return holds == Holds::all ? holds : holds == Holds::lower ? Holds::upper : Holds::lower;
}

bool is_held(Holds holds, std::size_t row, std::size_t term) {
  return holds == Holds::all || (holds == Holds::lower ? term <= row : term >= row);
}

// Copies `depth` times `width` contiguous numbers; a call of memcpy for each would take longer.
template <std::size_t width>
void copy_lot(const double* from, std::size_t step, std::size_t depth, double* lot) {
  for (std::size_t k = 0; k < depth; ++k, from += step, lot += width) {
    for (std::size_t i = 0; i < width; ++i) lot[i] = from[i];
  }
}

void copy_whole_lot(const double* from, std::size_t step, std::size_t depth, std::size_t width,
                    double* lot) {
  switch (width) {
    case 4:
      return copy_lot<4>(from, step, depth, lot);
    case 6:
      return copy_lot<6>(from, step, depth, lot);
    case 8:
      return copy_lot<8>(from, step, depth, lot);
    case 24:
      return copy_lot<24>(from, step, depth, lot);
    default:
      for (std::size_t k = 0; k < depth; ++k) std::copy_n(from + k * step, width, lot + k * width);
  }
}

// Copies `depth` terms of `count` rows of A that are not contiguous. Four rows at a time: what is written is.
void turn_lot(const Operand& a, const double* from, std::size_t count, std::size_t depth,
              std::size_t width, double* lot) {
  std::size_t row = 0;
  for (; row + 4 <= count; row += 4) {
    const double* own = from + row * a.row_step;
    double* to = lot + row;
    for (std::size_t k = 0; k < depth; ++k, own += a.column_step, to += width) {
      to[0] = own[0];
      to[1] = own[a.row_step];
      to[2] = own[2 * a.row_step];
      to[3] = own[3 * a.row_step];
    }
  }
  for (; row < count; ++row) {
    for (std::size_t k = 0; k < depth; ++k) {
      lot[k * width + row] = from[row * a.row_step + k * a.column_step];
    }
  }
}

// Rows [rows.begin, rows.end) of A, `width` at a time, each lot term by term: of terms [terms.begin, terms.end) those that
// the lot has, with 0 where a triangle or the last rows end.
void lay_out(const Operand& a, Holds holds, Range rows, Range terms, std::size_t width,
             double* to) {
  const std::size_t depth = terms.end - terms.begin;
  for (std::size_t row = rows.begin; row < rows.end; row += width, to += width * depth) {
    const std::size_t count = std::min(width, rows.end - row);
    const Range own = common(terms_of(holds, {row, row + count}, a.columns), terms);
    if (own.begin >= own.end) continue;
    const double* from = a.data + row * a.row_step + own.begin * a.column_step;
    double* lot = to + (own.begin - terms.begin) * width;
    const std::size_t own_depth = own.end - own.begin;
    if (count < width) std::fill_n(lot, width * own_depth, 0.0);
    if (a.row_step == 1 && count == width) {
      copy_whole_lot(from, a.column_step, own_depth, width, lot);
    } else {
      turn_lot(a, from, count, own_depth, width, lot);
    }
    if (holds == Holds::all) continue;
    for (std::size_t k = 0; k < own_depth; ++k) {
      for (std::size_t i = 0; i < count; ++i) {
        if (!is_held(holds, row + i, own.begin + k)) lot[k * width + i] = 0;
      }
    }
  }
}

enum class Sign { plus, minus };

struct Product {
  Holds a_holds = Holds::all, b_holds = Holds::all;  // b_holds: of B'
  bool lower = false;                                // only the lower triangle of C
  Sign sign = Sign::plus;
};

// Rows of A, a lot of kernels.rows of them after the other: how far it is from a lot, and from a term, to the next.
struct Lots {
  const double* numbers;
  std::size_t lot_step, term_step;
};

// A tile that crosses the edge of C, or of its triangle.
void multiply_part(const TileKernels& kernels, const Product& product, std::size_t depth,
                   const double* a, std::size_t a_step, const double* b, const Target& c,
                   Range rows, Range columns) {
  alignas(64) double tile[24 * 8] = {};
  kernels.add(depth, a, a_step, b, tile, kernels.rows);
  for (std::size_t j = columns.begin; j < columns.end; ++j) {
    const std::size_t first = product.lower ? std::max(rows.begin, j) : rows.begin;
    const double* from = tile + (j - columns.begin) * kernels.rows;
    double* to = c.data + j * c.column_step;
    for (std::size_t i = first; i < rows.end; ++i) {
      if (product.sign == Sign::plus) {
        to[i] += from[i - rows.begin];
      } else {
        to[i] -= from[i - rows.begin];
      }
    }
  }
}

// Computes the block of C at these rows and columns; B was laid out.
void multiply_block(const TileKernels& kernels, const Product& product, std::size_t all_terms,
                    Range terms, const Lots& a, Range rows, const double* b, Range columns,
                    const Target& c) {
  const std::size_t depth = terms.end - terms.begin;
  for (std::size_t j = columns.begin; j < columns.end;
       j += kernels.columns, b += kernels.columns * depth) {
    const Range tile_columns{j, std::min(j + kernels.columns, columns.end)};
    const Range of_columns = terms_of(product.b_holds, tile_columns, all_terms);
    const double* own_a = a.numbers;
    for (std::size_t i = rows.begin; i < rows.end; i += kernels.rows, own_a += a.lot_step) {
      const Range tile_rows{i, std::min(i + kernels.rows, rows.end)};
      if (product.lower && tile_rows.end <= j) continue;
      const Range own =
          common(common(of_columns, terms_of(product.a_holds, tile_rows, all_terms)), terms);
      if (own.begin >= own.end) continue;
      const double* from_a = own_a + (own.begin - terms.begin) * a.term_step;
      const double* from_b = b + (own.begin - terms.begin) * kernels.columns;
      const bool whole = tile_rows.end - i == kernels.rows &&
                         tile_columns.end - j == kernels.columns &&
                         (!product.lower || i + 1 >= tile_columns.end);
      if (!whole) {
        multiply_part(kernels, product, own.end - own.begin, from_a, a.term_step, from_b, c,
                      tile_rows, tile_columns);
      } else {
        const auto tile = product.sign == Sign::plus ? kernels.add : kernels.subtract;
        tile(own.end - own.begin, from_a, a.term_step, from_b, c.data + i + j * c.column_step,
             c.column_step);
      }
    }
  }
}

template <class Take>
void each_piece(std::size_t n, std::size_t most, std::size_t step, const Take& take) {
  if (n == 0) return;
  const std::size_t length = round_up(piece(n, most), step);
  for (std::size_t begin = 0; begin < n; begin += length) {
    take(Range{begin, std::min(begin + length, n)});
  }
}

void multiply(const Operand& a, const Operand& b, const Target& c, const Product& product) {
  thread_local Room room_for_a;
  thread_local Room room_for_b;
  const TileKernels& kernels = tile_kernels();
  const Operand b_rows = b.transposed();
  const std::size_t all_terms = a.columns;
  each_piece(c.columns, most_columns, kernels.columns, [&](Range columns) {
    each_piece(all_terms, most_terms, 1, [&](Range terms) {
      const std::size_t depth = terms.end - terms.begin;
      double* b_laid =
          room_for_b.of(round_up(columns.end - columns.begin, kernels.columns) * depth);
      lay_out(b_rows, product.b_holds, columns, terms, kernels.columns, b_laid);
      const auto multiply_rows = [&](const Lots& lots, Range rows) {
        multiply_block(kernels, product, all_terms, terms, lots, rows, b_laid, columns, c);
      };
      const bool is_read_in_place = a.row_step == 1 && product.a_holds == Holds::all &&
                                    columns.end - columns.begin <= few_tiles * kernels.columns;
      each_piece(c.rows, most_rows, kernels.rows, [&](Range rows) {
        if (product.lower && rows.end <= columns.begin) return;
        const std::size_t height = rows.end - rows.begin;
        const std::size_t in_place = is_read_in_place ? height / kernels.rows * kernels.rows : 0;
        const Range rest{rows.begin + in_place, rows.end};
        if (in_place > 0) {
          multiply_rows(
              {a.data + rows.begin + terms.begin * a.column_step, kernels.rows, a.column_step},
              {rows.begin, rest.begin});
        }
        if (rest.begin == rest.end) return;
        double* a_laid = room_for_a.of(round_up(rest.end - rest.begin, kernels.rows) * depth);
        lay_out(a, product.a_holds, rest, terms, kernels.rows, a_laid);
        multiply_rows({a_laid, kernels.rows * depth, kernels.rows}, rest);
      });
    });
  });
}

// Rows of A that are laid out at once, if both products have so many terms together.
std::size_t rows_at_once(const TileKernels& kernels, std::size_t terms) {
  return std::max(kernels.rows, most_rows * most_terms / std::max<std::size_t>(terms, 1));
}

// A tile of C from the lots of its rows and columns in both products.
struct TwoLots {
  std::size_t depth, other_depth;
  const double *a, *b, *other_a, *other_b;
};

void add_tile_by_entry(const TileKernels& kernels, const TwoLots& lots, const Target& c, Part part,
                       Range rows, Range columns) {
  const auto add = [&](double* to, std::size_t stride) {
    kernels.add_by_entry(lots.depth, lots.a, lots.b, lots.other_depth, lots.other_a, lots.other_b,
                         to, stride);
  };
  const bool crosses_diagonal = part == Part::lower && rows.begin + 1 < columns.end;
  if (rows.end - rows.begin == kernels.rows && columns.end - columns.begin == kernels.columns &&
      !crosses_diagonal) {
    return add(c.data + rows.begin + columns.begin * c.column_step, c.column_step);
  }
  // A tile has the same bits at an edge, so it adds to what is in C.
  alignas(64) double tile[24 * 8] = {};
  const auto each_column = [&](const auto& take) {
    for (std::size_t j = columns.begin; j < columns.end; ++j) {
      const std::size_t first = part == Part::lower ? std::max(rows.begin, j) : rows.begin;
      if (first >= rows.end) continue;
      take(c.data + first + j * c.column_step,
           tile + (first - rows.begin) + (j - columns.begin) * kernels.rows, rows.end - first);
    }
  };
  each_column([](const double* in_c, double* in_tile, std::size_t count) {
    std::copy_n(in_c, count, in_tile);
  });
  add(tile, kernels.rows);
  each_column([](double* in_c, const double* in_tile, std::size_t count) {
    std::copy_n(in_tile, count, in_c);
  });
}

// Takes rows in whole chunks; the remaining ones are copied, with rows of 0 to fill the chunk.
template <class Take>
void in_chunks(const TileKernels& kernels, const Target& x, const Take& take) {
  const std::size_t whole = x.rows / kernels.chunk * kernels.chunk;
  if (whole > 0) take(Target{x.data, whole, x.columns, x.column_step});
  if (whole == x.rows) return;
  alignas(64) double rest[most_chunk * small] = {};
  const std::size_t left = x.rows - whole;
  for (std::size_t j = 0; j < x.columns; ++j) {
    const double* from = x.data + whole + j * x.column_step;
    std::copy(from, from + left, rest + j * kernels.chunk);
  }
  take(Target{rest, kernels.chunk, x.columns, kernels.chunk});
  for (std::size_t j = 0; j < x.columns; ++j) {
    const double* from = rest + j * kernels.chunk;
    std::copy(from, from + left, x.data + whole + j * x.column_step);
  }
}

// Four columns at a time.
template <class Take>
void each_four(std::size_t columns, const Take& take) {
  for (std::size_t first = 0; first < columns; first += 4) {
    take(first, std::min<std::size_t>(4, columns - first));
  }
}

void invert_diagonal(const Target& l, std::size_t first, std::size_t count, double* inverse) {
  for (std::size_t c = 0; c < count; ++c) {
    inverse[c] = 1 / l.data[(first + c) * (l.column_step + 1)];
  }
}

// Solves X L' = B; X replaces B.
void solve_small(const Target& l, const Target& x) {
  const TileKernels& kernels = tile_kernels();
  in_chunks(kernels, x, [&](const Target& rows) {
    each_four(l.rows, [&](std::size_t first, std::size_t count) {
      double inverse[4];
      invert_diagonal(l, first, count, inverse);
      kernels.reduce(rows.rows, first, count, rows.data, rows.column_step, l.data, l.column_step);
      kernels.solve(rows.rows, first, count, rows.data, rows.column_step, l.data, l.column_step,
                    inverse);
    });
  });
}

// Where a triangle is cut: about the middle.
std::size_t half_of(std::size_t size) { return (size / 2 + cut / 2) / cut * cut; }

void solve(const Target& l, const Target& x) {
  if (l.rows <= small) return solve_small(l, x);
  const std::size_t half = half_of(l.rows);
  const std::size_t rest = l.rows - half;
  const Target left = x.block(0, 0, x.rows, half);
  const Target right = x.block(0, half, x.rows, rest);
  solve(l.block(0, 0, half, half), left);
  subtract_product(operand(left), operand(l.block(half, 0, rest, half)).transposed(), right);
  solve(l.block(half, half, rest, rest), right);
}

// L_cc = sqrt(P_cc - ...), for at most four columns from which the part to the left is already subtracted.
bool factorise_four(const Target& p, std::size_t first, std::size_t count) {
  const auto at = [&](std::size_t row, std::size_t column) -> double& {
    return p.data[first + row + (first + column) * p.column_step];
  };
  for (std::size_t c = 0; c < count; ++c) {
    for (std::size_t k = 0; k < c; ++k) {
      for (std::size_t r = c; r < count; ++r) at(r, c) -= at(r, k) * at(c, k);
    }
    const double square = at(c, c);
    if (!(square > 0) || !std::isfinite(square)) return false;
    at(c, c) = std::sqrt(square);
    for (std::size_t r = c + 1; r < count; ++r) at(r, c) /= at(c, c);
  }
  return true;
}

// Works on a copy with room below, so that rows come in whole chunks, and with 0 above the diagonal.
bool factorise_small(const Target& p) {
  const TileKernels& kernels = tile_kernels();
  constexpr std::size_t stride = small + most_chunk;
  alignas(64) double room[small * stride];
  const std::size_t size = p.rows;
  const Target l{room, size, size, stride};
  for (std::size_t j = 0; j < size; ++j) {
    double* column = room + j * stride;
    std::fill_n(column, stride, 0.0);
    std::copy_n(p.data + j + j * p.column_step, size - j, column + j);
  }
  for (std::size_t first = 0; first < size; first += 4) {
    const std::size_t count = std::min<std::size_t>(4, size - first);
    const std::size_t below = first + count;
    kernels.reduce(round_up(size - first, kernels.chunk), first, count, room + first, stride, room,
                   stride);
    if (!factorise_four(l, first, count)) return false;
    double inverse[4];
    invert_diagonal(l, first, count, inverse);
    if (below == size) break;
    kernels.solve(round_up(size - below, kernels.chunk), first, count, room + below, stride, room,
                  stride, inverse);
  }
  for (std::size_t j = 0; j < size; ++j) {
    std::copy_n(room + j + j * stride, size - j, p.data + j + j * p.column_step);
  }
  return true;
}

// From X L' = 1: X = L^-1'. Column c of X has nothing below row c.
void invert_small(const Target& l) {
  const TileKernels& kernels = tile_kernels();
  const std::size_t stride = round_up(l.rows, most_chunk);
  alignas(64) double x[small * small] = {};
  for (std::size_t k = 0; k < l.rows; ++k) x[k * (stride + 1)] = 1;
  each_four(l.rows, [&](std::size_t first, std::size_t count) {
    double inverse[4];
    invert_diagonal(l, first, count, inverse);
    const std::size_t rows = round_up(first + count, kernels.chunk);
    kernels.reduce(rows, first, count, x, stride, l.data, l.column_step);
    kernels.solve(rows, first, count, x, stride, l.data, l.column_step, inverse);
  });
  for (std::size_t j = 0; j < l.rows; ++j) {
    for (std::size_t i = j; i < l.rows; ++i) l.data[i + j * l.column_step] = x[j + i * stride];
  }
}

}  // namespace

Operand operand(const Target& target) {
  return {target.data, target.rows, target.columns, 1, target.column_step};
}

Target target(Eigen::Ref<Matrix> matrix) {
  return {matrix.data(), static_cast<std::size_t>(matrix.rows()),
          static_cast<std::size_t>(matrix.cols()), static_cast<std::size_t>(matrix.outerStride())};
}

void add_product(const Operand& a, const Operand& b, const Target& c, Holds a_holds,
                 Holds b_holds) {
  multiply(a, b, c, {.a_holds = a_holds, .b_holds = transposed(b_holds)});
}

void subtract_product(const Operand& a, const Operand& b, const Target& c, Holds a_holds,
                      Holds b_holds) {
  multiply(a, b, c, {.a_holds = a_holds, .b_holds = transposed(b_holds), .sign = Sign::minus});
}

void add_square(const Operand& a, const Target& c, Holds a_holds) {
  multiply(a, a.transposed(), c, {.a_holds = a_holds, .b_holds = a_holds, .lower = true});
}

void subtract_square(const Operand& a, const Target& c) {
  multiply(a, a.transposed(), c, {.lower = true, .sign = Sign::minus});
}

// Tile by tile, over all terms at once, so that neither product is written out.
void add_by_entry(const ProductOf& ab, const ProductOf& de, const Target& c, Part part) {
  thread_local Room rooms[4];
  const TileKernels& kernels = tile_kernels();
  const std::size_t terms = ab.left.columns, other_terms = de.left.columns;
  const Operand b = ab.right.transposed(), e = de.right.transposed();
  const auto laid_out = [&](Room& room, const Operand& operand, Range lines, std::size_t width) {
    const Range all{0, operand.columns};
    double* laid = room.of(round_up(lines.end - lines.begin, width) * operand.columns);
    lay_out(operand, Holds::all, lines, all, width, laid);
    return laid;
  };
  const std::size_t rows_of_piece = rows_at_once(kernels, terms + other_terms);
  each_piece(c.columns, most_columns, kernels.columns, [&](Range columns) {
    const double* b_laid = laid_out(rooms[0], b, columns, kernels.columns);
    const double* e_laid = laid_out(rooms[1], e, columns, kernels.columns);
    each_piece(c.rows, rows_of_piece, kernels.rows, [&](Range rows) {
      if (part == Part::lower && rows.end <= columns.begin) return;
      const double* a_laid = laid_out(rooms[2], ab.left, rows, kernels.rows);
      const double* d_laid = laid_out(rooms[3], de.left, rows, kernels.rows);
      for (std::size_t j = columns.begin; j < columns.end; j += kernels.columns) {
        for (std::size_t i = rows.begin; i < rows.end; i += kernels.rows) {
          const Range tile_rows{i, std::min(i + kernels.rows, rows.end)};
          if (part == Part::lower && tile_rows.end <= j) continue;
          add_tile_by_entry(
              kernels,
              {terms, other_terms, a_laid + (i - rows.begin) * terms,
               b_laid + (j - columns.begin) * terms, d_laid + (i - rows.begin) * other_terms,
               e_laid + (j - columns.begin) * other_terms},
              c, part, tile_rows, {j, std::min(j + kernels.columns, columns.end)});
        }
      }
    });
  });
}

// [A . ; B C] = [K . ; M N] [K' M' ; . N']:  A = K K',  B = M K',  C = M M' + N N'.
bool factorise(const Target& p) {
  if (p.rows <= small) return factorise_small(p);
  const std::size_t half = half_of(p.rows);
  const std::size_t rest = p.rows - half;
  const Target corner = p.block(half, 0, rest, half);
  const Target last = p.block(half, half, rest, rest);
  if (!factorise(p.block(0, 0, half, half))) return false;
  solve(p.block(0, 0, half, half), corner);
  subtract_square(operand(corner), last);
  return factorise(last);
}

// [A . ; B C]^-1 = [A^-1 . ; -C^-1 B A^-1  C^-1].
void invert(const Target& l) {
  if (l.rows <= small) return invert_small(l);
  const std::size_t half = half_of(l.rows);
  const std::size_t rest = l.rows - half;
  const Target first = l.block(0, 0, half, half);
  const Target corner = l.block(half, 0, rest, half);
  const Target last = l.block(half, half, rest, rest);
  invert(first);
  invert(last);
  thread_local Room room;
  const Target product{room.of(rest * half), rest, half, rest};
  std::fill_n(product.data, rest * half, 0.0);
  add_product(operand(corner), operand(first), product, Holds::all, Holds::lower);
  for (std::size_t j = 0; j < half; ++j) {
    std::fill_n(corner.data + j * corner.column_step, rest, 0.0);
  }
  subtract_product(operand(last), operand(product), corner, Holds::lower, Holds::all);
}

// The rows of L^-1 in lots of a tile's columns, each term by term.
struct Whitening::Packed {
  const TileKernels& kernels;
  std::size_t size;
  Numbers numbers;
};

Whitening::Whitening(const Operand& inverse) {
  const TileKernels& kernels = tile_kernels();
  const std::size_t size = inverse.rows;
  packed_ = std::make_unique<Packed>(
      Packed{kernels, size, room_for(round_up(size, kernels.columns) * size)});
  lay_out(inverse, Holds::lower, {0, size}, {0, size}, kernels.columns, packed_->numbers.get());
}

Whitening::~Whitening() = default;
Whitening::Whitening(Whitening&&) noexcept = default;
Whitening& Whitening::operator=(Whitening&&) noexcept = default;

std::size_t Whitening::lot_rows() const { return packed_->kernels.rows; }

// Computes G L^-1' tile by tile, over all terms at once, and squares each tile in registers.
void Whitening::squares(const double* lots, std::size_t rows, double* squares) const {
  thread_local Room room;
  const TileKernels& kernels = packed_->kernels;
  const std::size_t size = packed_->size;
  const std::size_t height = round_up(rows, kernels.rows);
  double* sums = room.of(height);
  std::fill_n(sums, height, 0.0);
  for (std::size_t j = 0; j < size; j += kernels.columns) {
    const std::size_t depth = std::min(j + kernels.columns, size);
    for (std::size_t i = 0; i < height; i += kernels.rows) {
      kernels.add_squares(depth, lots + i * size, packed_->numbers.get() + j * size, sums + i);
    }
  }
  std::copy_n(sums, rows, squares);
}

}  // namespace dma::backend
