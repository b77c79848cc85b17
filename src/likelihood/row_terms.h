// likelihood/row_terms.h: what the value of a network says of the targets of the rows that it is fitted to.
//
// A joint network needs no more of a likelihood than, for each row, -log p(y | f) as a function of the value f, its
// gradient and its (expected) curvature; and what of the likelihood itself can be learnt from all of them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace dma::detail {

class RowTerms {
 public:
  virtual ~RowTerms() = default;

  virtual std::size_t rows() const = 0;
  // -log p(y | f) summed over all rows, up to what does not depend on f.
  virtual double loss(std::span<const double> values) const = 0;
  // All of it, mean per row.
  virtual double mean_nll(std::span<const double> values) const = 0;
  // Of the rows from `first` on that have these values f: the root of the curvature of -log p(y | f), never
  // negative, and the slope of log p(y | f) divided by that root.
  virtual void expand(std::size_t first, std::span<const double> values, double* root,
                      double* slope) const = 0;
  // What can be learnt while the rows determine so many weights. Returns the factor by which all curvatures and
  // slopes change.
  virtual double learn(std::span<const double> /*values*/, double /*determined*/) { return 1; }
};

}  // namespace dma::detail
